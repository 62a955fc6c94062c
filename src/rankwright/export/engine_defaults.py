"""Targets that know weights and nothing else: what they cannot compute is refused, what is missing gets a default."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from rankwright.errors import ParameterError
from rankwright.export.content import Linear, Term

_LARGEST = float(np.finfo(np.float32).max)
_OTHERS = "SQL, Vespa, ONNX and Python can"


def check_weights_suffice(content: Linear, to: str, where: str) -> None:
    """Refuse what a target that only multiplies cannot compute, and tell which defaults it needs, and ``where``."""
    for term in content.terms():
        if term.transform is not None:
            raise ParameterError(
                f"{to} cannot compute the {term.transform.name} of feature {term.feature.name!r}: {_OTHERS}; or train "
                "without transforms (--transform none)"
            )
        if term.missing is not None and not abs(term.default) <= _LARGEST:
            raise ParameterError(
                f"feature {term.feature.name!r} counts only by being missing, which {to} cannot tell: {_OTHERS}; or "
                "leave the feature out"
            )
    refuse_query_means(content, to)
    if content.missing:
        _tell_defaults(content.terms(), to, where)


def refuse_query_means(content: Linear, to: str) -> None:
    """Refuse a model that fills in the mean of a query, where the documents of a query do not meet."""
    if content.by_query:
        raise ParameterError(
            f"{to} cannot fill in a missing value by the mean of its query: SQL, ONNX and Python can; or train with "
            "missing values filled in by the mean of all documents (--missing mean)"
        )


def _tell_defaults(terms: Sequence[Term], to: str, where: str) -> None:
    told = ", ".join(f"{term.feature.name} {term.default:.9g}" for term in terms)
    warnings.warn(
        f"a model of {to} has no place for missing values: give each feature that may be missing its default value "
        f"in its own definition ({where}): {told}",
        stacklevel=4,
    )
