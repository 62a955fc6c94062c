"""Formulas of few terms for SQL, Vespa and Python: the expressions that stand where weights times features would."""

from __future__ import annotations

from dataclasses import dataclass

from rankwright._version import __version__
from rankwright.errors import ParameterError
from rankwright.export.content import Feature
from rankwright.export.sql import checked_columns, sql_number, sql_total
from rankwright.export.sql import transformed as sql_transformed
from rankwright.export.terms import Syntax, TermSum
from rankwright.export.vespa import rank_profile, source_of
from rankwright.export.vespa import transformed as vespa_transformed
from rankwright.preparation.transforms import Log


@dataclass(frozen=True)
class _Sql(Syntax):
    columns: dict[Feature, str]
    nulls: str

    def number(self, value: float) -> str:
        return sql_number(value)

    def value(self, feature: Feature, fill: float | None) -> str:
        column = self.columns[feature]
        if self.nulls == "null":
            return column
        stands_in = "0" if self.nulls == "zero" or fill is None else sql_number(fill)
        return f"COALESCE({column}, {stands_in})"

    def missing(self, feature: Feature) -> str:
        if self.nulls != "model":
            return "0e0"
        return f"CASE WHEN {self.columns[feature]} IS NULL THEN 1e0 ELSE 0e0 END"

    def positive(self, left: str, right: str) -> str:
        """GREATEST has another name in SQLite, and other ideas of NULL elsewhere."""
        return f"CASE WHEN {left} > {right} THEN {left} - {right} WHEN {left} <= {right} THEN 0e0 END"

    def logarithm(self, value: str, unit: str) -> str:
        return sql_transformed(Log(float(unit)), value)


def terms_to_sql(
    content: TermSum,
    table: str | None = None,
    dialect: str = "ansi",
    nulls: str = "model",
    query_column: str | None = None,
) -> str:
    """A sum in parentheses, to be selected or ordered by."""
    if query_column is not None:
        raise ParameterError("query_column is for models that fill in a missing value by the mean of its query")
    columns = checked_columns(content, table, dialect, nulls)
    syntax = _Sql(dict(zip(content.features, columns, strict=True)), nulls)
    return sql_total(syntax.terms(content)) + "\n"


@dataclass(frozen=True)
class _Vespa(Syntax):
    mapped: frozenset[str]

    def number(self, value: float) -> str:
        return repr(value)

    def value(self, feature: Feature, fill: float | None) -> str:
        source = source_of(feature, self.mapped)
        return source if fill is None else f"if (isNan({source}), {fill!r}, {source})"

    def missing(self, feature: Feature) -> str:
        return f"if (isNan({source_of(feature, self.mapped)}), 1, 0)"

    def positive(self, left: str, right: str) -> str:
        return f"max(0, {left} - {right})"

    def logarithm(self, value: str, unit: str) -> str:
        return vespa_transformed(Log(float(unit)), value)


def terms_to_vespa(content: TermSum, name: str, mapped: frozenset[str] = frozenset()) -> str:
    """A rank profile whose first phase is the formula."""
    return rank_profile(name, _Vespa(mapped).terms(content))


class _Python(Syntax):
    def number(self, value: float) -> str:
        return repr(value)

    def value(self, feature: Feature, fill: float | None) -> str:
        return f"value(features, {feature.name!a}, {fill!r})"

    def missing(self, feature: Feature) -> str:
        return f"missing(features, {feature.name!a})"

    def positive(self, left: str, right: str) -> str:
        return f"max(0.0, {left} - {right})"

    def logarithm(self, value: str, unit: str) -> str:
        return f"log({value}, {unit})"


_MODULE = '''

def missing(features, name):
    """1 where a feature is None, NaN or not there, else 0."""
    x = features.get(name)
    return 1.0 if x is None or isnan(x) else 0.0


def value(features, name, fill):
    """A feature, or what stands for it where it is missing."""
    if not missing(features, name):
        return features[name]
    if fill is None:
        raise ValueError("feature " + repr(name) + " is missing")
    return fill


def log(x, unit):
    """The logarithm of x in units, on both sides of 0."""
    return copysign(log1p(abs(x) / unit), x)


def score(features):
    """The score of a document, the higher the better, from the values of its features by name."""
'''


def terms_to_python(content: TermSum, name: str) -> str:
    """A module with a function ``score``. Names of features stand in it as literals of ASCII, whatever they are."""
    terms = "\n        + ".join(_Python().terms(content))
    return (
        f'"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""\n\n'
        f"from math import copysign, isnan, log1p\n\nNAME = {name!a}\n{_MODULE}    return (\n        {terms}\n    )\n"
    )
