"""Vespa: a rank profile whose first phase is the model, in float64."""

from __future__ import annotations

import re

from rankwright.errors import ParameterError
from rankwright.export.content import Feature, Linear, Stumps

_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]*"
_ARGUMENT = rf"(?:{_IDENTIFIER}|[0-9]+|[0-9]+\.[0-9]+)"
_RANK_FEATURE = re.compile(rf"{_IDENTIFIER}(?:\({_ARGUMENT}(?:, ?{_ARGUMENT})*\))?(?:\.{_IDENTIFIER})*")
_PROFILE = re.compile(rf"{_IDENTIFIER}(?:-[A-Za-z0-9_]+)*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def to_vespa(content: Linear | Stumps, name: str, mapped: frozenset[str] = frozenset()) -> str:
    """A rank profile; names of features are rank features, such as ``bm25(title)``.

    Expressions that are ``mapped`` are the user's own, and may be anything that stays within its place.
    """
    if not _PROFILE.fullmatch(name):
        raise ParameterError(f"name must be that of a rank profile, of letters, digits, _ and -, not {name!r}")
    sources = {feature: _source(feature, mapped) for feature in content.features}
    if isinstance(content, Stumps):
        terms = [f"if ({sources[one]} > {stump.threshold!r}, {stump.weight!r}, 0)" for one, stump in content.each()]
    else:
        linear = content.folded
        weighted = zip(linear.features, linear.weights, strict=True)
        terms = [f"{weight!r} * {sources[feature]}" for feature, weight in weighted]
        if linear.intercept:
            terms.append(repr(linear.intercept))
    expression = "\n                + ".join(terms)
    return f"""rank-profile {name} {{
    first-phase {{
        expression {{
            {expression}
        }}
    }}
}}
"""


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
