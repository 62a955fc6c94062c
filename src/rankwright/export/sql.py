"""SQL: an expression over columns, in float64."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.export.content import Content, Linear, Stumps, Term, check_distinct, check_text
from rankwright.preparation.transforms import Log, Transform

QUOTES = {"ansi": '"', "mysql": "`"}
NULLS = ("model", "zero", "null")

_TERMS_PER_SUM = 64  # SQLite and DuckDB refuse expressions that are nested a thousand deep, and a + b + … is


def to_sql(
    content: Linear | Stumps,
    table: str | None = None,
    dialect: str = "ansi",
    nulls: str = "model",
    query_column: str | None = None,
) -> str:
    """A sum in parentheses, to be selected or ordered by.

    Columns are quoted as the dialect does, and belong to ``table`` if there is one. NULL is what a missing value is to
    the model, or 0, or with ``nulls="null"`` makes the score NULL.
    """
    columns = checked_columns(content, table, dialect, nulls)
    if isinstance(content, Stumps):
        filled = columns if nulls == "null" else [f"COALESCE({column}, 0)" for column in columns]
        return sql_total(_cases(content, filled, nulls)) + "\n"
    query = None
    if query_column is not None and not content.by_query:
        raise ParameterError("query_column is for models that fill in a missing value by the mean of its query")
    if content.by_query and nulls == "model":
        if query_column is None:
            raise ParameterError(
                "the model fills in a missing value by the mean of its query: name the column of query ids by "
                "query_column (--query-column)"
            )
        query = _owner(table, dialect) + _quoted(
            check_text(query_column, "query_column"), QUOTES[dialect], "query_column"
        )
    return sql_total(_products(content, columns, nulls, query)) + "\n"


def checked_columns(content: Content, table: str | None, dialect: str, nulls: str) -> list[str]:
    """The columns of the features, quoted; options that there are not are refused."""
    check_choice("dialect", dialect, QUOTES)
    check_choice("nulls", nulls, NULLS)
    check_distinct((feature.name.casefold() for feature in content.features), " but for capitals, which SQL ignores")
    owner = _owner(table, dialect)
    return [
        owner + _quoted(feature.name, QUOTES[dialect], f"the name of feature {feature.number}")
        for feature in content.features
    ]


def _owner(table: str | None, dialect: str) -> str:
    return "" if table is None else _quoted(check_text(table, "table"), QUOTES[dialect], "table") + "."


def _quoted(name: str, quote: str, what: str) -> str:
    if "\0" in name:
        raise ParameterError(f"{what} is {name!r}, but SQL has no zero bytes")
    return quote + name.replace(quote, 2 * quote) + quote


def _products(content: Linear, columns: Sequence[str], nulls: str, query: str | None) -> list[str]:
    products, indicators = [], []
    for term, column in zip(content.terms(), columns, strict=True):
        if term.weight:
            products.append(f"{sql_number(term.weight)} * {_value(term, column, nulls, query)}")
        if nulls == "model" and term.missing is not None and term.missing.score:
            indicators.append(f"CASE WHEN {column} IS NULL THEN {sql_number(term.missing.score)} ELSE 0e0 END")
    intercept = content.folded.intercept
    return [*products, *indicators, *([sql_number(intercept)] if intercept else [])]


def _value(term: Term, column: str, nulls: str, query: str | None) -> str:
    """T(x), and what stands for it where x is NULL; T(0) is 0."""
    value = column if term.transform is None else _transformed(term.transform, column)
    if nulls == "null":
        return value
    if nulls == "zero" or term.missing is None:
        return f"COALESCE({value}, 0)"
    mean = "" if query is None else f"AVG(1e0 * {value}) OVER (PARTITION BY {query}), "
    return f"COALESCE({value}, {mean}{sql_number(term.missing.value)})"


def _transformed(transform: Transform, column: str) -> str:
    """NULL of NULL."""
    if isinstance(transform, Log):
        unit = sql_number(transform.unit)
        return f"CASE WHEN {column} < 0 THEN -LN(1e0 - {column} / {unit}) ELSE LN(1e0 + {column} / {unit}) END"
    lines = [f"WHEN {column} IS NULL THEN NULL WHEN {column} <= {sql_number(transform.knots[0])}"]
    lines[0] += f" THEN {sql_number(transform.heights[0])}"
    for (low, bottom), (high, top) in pairwise(zip(transform.knots, transform.heights, strict=True)):
        slope = (top - bottom) / (high - low)
        line = f"{sql_number(bottom)} + {sql_number(slope)} * ({column} - {sql_number(low)})"
        lines.append(f"WHEN {column} < {sql_number(high)} THEN {line}")
    return f"CASE {' '.join(lines)} ELSE {sql_number(transform.heights[-1])} END"


def _cases(content: Stumps, columns: Sequence[str], nulls: str) -> list[str]:
    """For each feature, the step that it has reached; the highest comes first."""
    terms = []
    for column, stumps, (_, *steps) in zip(columns, content.stumps, content.steps(), strict=True):
        reached = [
            f"WHEN {column} > {sql_number(stump.threshold)} THEN {sql_number(step)}"
            for stump, step in zip(stumps, steps, strict=True)
        ]
        # A comparison with NULL is not true, so ELSE would take it in.
        lowest = "ELSE 0e0" if nulls != "null" else f"WHEN {column} IS NOT NULL THEN 0e0"
        terms.append(f"CASE {' '.join(reversed(reached))} {lowest} END")
    return terms


def sql_number(value: float) -> str:
    """With an exponent: a number without one is a decimal fraction to DuckDB, of few digits."""
    text = repr(value)
    return text if "e" in text else f"{text}e0"


def sql_total(terms: Sequence[str]) -> str:
    """The sum of the terms, nested little."""
    terms = terms or ["0e0"]
    while len(terms) > _TERMS_PER_SUM:
        runs = [terms[start : start + _TERMS_PER_SUM] for start in range(0, len(terms), _TERMS_PER_SUM)]
        terms = ["(" + " + ".join(run) + ")" for run in runs]
    return "(\n  " + "\n  + ".join(terms) + "\n)"
