"""SQL: an expression over columns, in float64."""

from __future__ import annotations

from collections.abc import Sequence

from rankwright.errors import ParameterError
from rankwright.export.content import Feature, Linear, Stumps, check_distinct, check_text

QUOTES = {"ansi": '"', "mysql": "`"}
NULLS = ("zero", "null")

_TERMS_PER_SUM = 64  # SQLite and DuckDB refuse expressions that are nested a thousand deep, and a + b + … is


def to_sql(content: Linear | Stumps, table: str | None = None, dialect: str = "ansi", nulls: str = "zero") -> str:
    """A sum in parentheses, to be selected or ordered by.

    Columns are quoted as the dialect does, and belong to ``table`` if there is one. NULL counts as 0, or
    with ``nulls="null"`` makes the score NULL.
    """
    if dialect not in QUOTES:
        raise ParameterError(f"dialect must be one of {', '.join(QUOTES)}, not {dialect!r}")
    if nulls not in NULLS:
        raise ParameterError(f"nulls must be one of {', '.join(NULLS)}, not {nulls!r}")
    check_distinct((feature.name.casefold() for feature in content.features), " but for capitals, which SQL ignores")
    owner = "" if table is None else _quoted(check_text(table, "table"), QUOTES[dialect], "table") + "."
    columns = [_column(feature, owner, QUOTES[dialect], nulls) for feature in content.features]
    terms = _cases(content, columns, nulls) if isinstance(content, Stumps) else _products(content, columns)
    return _total(terms) + "\n"


def _column(feature: Feature, owner: str, quote: str, nulls: str) -> str:
    column = owner + _quoted(feature.name, quote, f"the name of feature {feature.number}")
    return column if nulls == "null" else f"COALESCE({column}, 0)"


def _quoted(name: str, quote: str, what: str) -> str:
    if "\0" in name:
        raise ParameterError(f"{what} is {name!r}, but SQL has no zero bytes")
    return quote + name.replace(quote, 2 * quote) + quote


def _products(content: Linear, columns: Sequence[str]) -> list[str]:
    linear = content.folded
    terms = [f"{_number(weight)} * {column}" for weight, column in zip(linear.weights, columns, strict=True)]
    return [*terms, _number(linear.intercept)] if linear.intercept else terms


def _cases(content: Stumps, columns: Sequence[str], nulls: str) -> list[str]:
    """For each feature, the step that it has reached; the highest comes first."""
    terms = []
    for column, stumps, (_, *steps) in zip(columns, content.stumps, content.steps(), strict=True):
        reached = [
            f"WHEN {column} > {_number(stump.threshold)} THEN {_number(step)}"
            for stump, step in zip(stumps, steps, strict=True)
        ]
        # A comparison with NULL is not true, so ELSE would take it in.
        lowest = "ELSE 0e0" if nulls == "zero" else f"WHEN {column} IS NOT NULL THEN 0e0"
        terms.append(f"CASE {' '.join(reversed(reached))} {lowest} END")
    return terms


def _number(value: float) -> str:
    """With an exponent: a number without one is a decimal fraction to DuckDB, of few digits."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def _total(terms: Sequence[str]) -> str:
    """The sum of the terms, nested little."""
    while len(terms) > _TERMS_PER_SUM:
        runs = [terms[start : start + _TERMS_PER_SUM] for start in range(0, len(terms), _TERMS_PER_SUM)]
        terms = ["(" + " + ".join(run) + ")" for run in runs]
    return "(\n  " + "\n  + ".join(terms) + "\n)"
