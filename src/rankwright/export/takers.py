"""`targets_for`: where a model can go, found by exporting it."""

from __future__ import annotations

import warnings
from typing import Any

from rankwright.errors import ParameterError
from rankwright.export.exporting import TARGETS, export_model, takers_of
from rankwright.export.onnx_file import LacksPackage
from rankwright.models.model import Model


def targets_for(model: Model) -> tuple[str, ...]:
    """The targets that can compute a model.

    Names of features do not count: a map of features gives others. A target that needs to know which documents belong
    to a query is told.
    """
    return tuple(to for to in TARGETS if _takes(to, model))


def _takes(to: str, model: Model) -> bool:
    names = getattr(model, "feature_names_in_", [f"f{j + 1}" for j in range(model.n_features_in_)])
    plain = {str(name): str(j + 1) if to == "ranklib" else f"f{j + 1}" for j, name in enumerate(names)}
    options: dict[str, Any] = {"query_column": "query"} if to in takers_of("query_column") else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for given in ({}, options):
            try:
                export_model(model, to, features=plain, **given)
            except LacksPackage:  # another machine may have it
                return True
            except ParameterError:
                continue
            return True
    return False
