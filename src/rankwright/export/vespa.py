"""Vespa: a rank profile whose first phase is the model, in float64."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from rankwright.errors import ParameterError
from rankwright.export.content import Content, Feature, Linear, Stumps, Term
from rankwright.export.engine_defaults import refuse_query_means
from rankwright.preparation.transforms import Log, Quantile, Transform

_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_ARGUMENT = rf"(?:{_IDENTIFIER}|[0-9]+|[0-9]+\.[0-9]+)"
_RANK_FEATURE = re.compile(rf"{_IDENTIFIER}(?:\({_ARGUMENT}(?:, ?{_ARGUMENT})*\))?(?:\.{_IDENTIFIER})*")
_PROFILE = re.compile(rf"{_IDENTIFIER}(?:-[A-Za-z0-9_]+)*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def to_vespa(content: Linear | Stumps, name: str, mapped: frozenset[str] = frozenset()) -> str:
    """A rank profile; names of features are rank features, such as ``bm25(title)``.

    Expressions that are ``mapped`` are the user's own, and may be anything that stays within its place.
    """
    sources = sources_of(content, mapped)
    if isinstance(content, Stumps):
        terms = [f"if ({sources[one]} > {stump.threshold!r}, {stump.weight!r}, 0)" for one, stump in content.each()]
    else:
        refuse_query_means(content, "a rank profile of Vespa")
        terms = [_product(term, sources[term.feature]) for term in content.terms()]
        if content.folded.intercept:
            terms.append(repr(content.folded.intercept))
    return rank_profile(name, terms)


def sources_of(content: Content, mapped: frozenset[str]) -> dict[Feature, str]:
    """The expression of each feature."""
    return {feature: _source(feature, mapped) for feature in content.features}


def rank_profile(name: str, terms: Sequence[str]) -> str:
    """A rank profile whose first phase is a sum."""
    if not _PROFILE.fullmatch(name):
        raise ParameterError(f"name must be that of a rank profile, of letters, digits, _ and -, not {name!r}")
    expression = "\n                + ".join(terms)
    return f"""rank-profile {name} {{
    first-phase {{
        expression {{
            {expression}
        }}
    }}
}}
"""


def _product(term: Term, source: str) -> str:
    """weight · T(x), or what stands for it where x is not a number, as Vespa has it for a missing attribute."""
    product = f"{term.weight!r} * {source if term.transform is None else _transformed(term.transform, source)}"
    if term.missing is None:
        # A comparison with what is no number is false, which would put it among the highest quantiles.
        return f"if (isNan({source}), {source}, {product})" if isinstance(term.transform, Quantile) else product
    return f"if (isNan({source}), {term.weight * term.missing.value + term.missing.score!r}, {product})"


def _transformed(transform: Transform, source: str) -> str:
    if isinstance(transform, Log):
        unit = transform.unit
        return f"if ({source} < 0, -log(1 - {source} / {unit!r}), log(1 + {source} / {unit!r}))"
    lines = [repr(transform.heights[0])]
    for (low, bottom), (high, top) in pairwise(zip(transform.knots, transform.heights, strict=True)):
        lines.append(f"{bottom!r} + {(top - bottom) / (high - low)!r} * ({source} - {low!r})")
    return _between(source, transform.knots, [*lines, repr(transform.heights[-1])])


def _between(source: str, knots: Sequence[float], pieces: Sequence[str]) -> str:
    """The piece before the first knot, between two of them, or from the last one on, found by halving."""
    if not knots:
        return pieces[0]
    middle = len(knots) // 2
    below = _between(source, knots[:middle], pieces[: middle + 1])
    return f"if ({source} < {knots[middle]!r}, {below}, {_between(source, knots[middle + 1 :], pieces[middle + 1 :])})"


def _source(feature: Feature, mapped: frozenset[str]) -> str:
    if _RANK_FEATURE.fullmatch(feature.name):
        return feature.name
    if feature.name not in mapped:
        raise ParameterError(
            f"features: {feature.name!r} is no rank feature of Vespa, such as 'bm25(title)': map it to an expression"
        )
    if not _stays_in_place(feature.name):
        raise ParameterError(
            f"features: the expression {feature.name!r} must be one line whose brackets and quotes close, without #"
        )
    return f"({feature.name})"


def _stays_in_place(expression: str) -> bool:
    """Whether an expression in brackets ends where its brackets do."""
    open_brackets: list[str] = []
    rest = re.sub(r'"(?:[^"\\]|\\.)*"', "", expression)
    if not expression.isprintable() or any(character in rest for character in '"#'):
        return False
    for character in rest:
        if character in _CLOSING:
            open_brackets.append(_CLOSING[character])
        elif character in _CLOSING.values() and (not open_brackets or open_brackets.pop() != character):
            return False
    return not open_brackets
