"""Trees as expressions in float64 that know missing values: SQL, Vespa and Python."""

from __future__ import annotations

import math
from typing import NamedTuple

from rankwright._version import __version__
from rankwright.errors import ParameterError
from rankwright.export.sql import checked_columns, sql_number, sql_total
from rankwright.export.trees import Split, Trees
from rankwright.export.vespa import rank_profile, sources_of
from rankwright.trees.trees import ZERO

_NESTED = 10  # SQLite cannot read cases within cases that are twenty deep; deeper trees have more cases side by side


def trees_to_sql(
    content: Trees,
    table: str | None = None,
    dialect: str = "ansi",
    nulls: str = "model",
    query_column: str | None = None,
) -> str:
    """A sum of cases in parentheses. NULL goes where missing values do, or where 0 does, or makes the score NULL."""
    columns = dict(zip(content.features, checked_columns(content, table, dialect, nulls), strict=True))
    if query_column is not None:
        raise ParameterError("query_column is for models that fill in a missing value by the mean of its query")
    values = {one: f"COALESCE({column}, 0)" if nulls == "zero" else column for one, column in columns.items()}

    def leaf(value: float) -> _Cases:
        return _Cases(0, [((), sql_number(value))])

    def split(node: Split, left: _Cases, right: _Cases) -> _Cases:
        return left.before(right, f"({_sql_goes_left(node, values[node.feature])})")

    total = sql_total([tree.folded(leaf, split).text() for tree in content.trees])
    if nulls == "null":
        missing = " OR ".join(f"{column} IS NULL" for column in columns.values())
        total = f"(CASE WHEN {missing} THEN NULL ELSE {total} END)"
    return total + "\n"


class _Cases(NamedTuple):
    """What a tree adds: the first case whose conditions all hold, the last of which has none.

    A case that has been passed over tells that a document goes right somewhere, so only ways to the left are
    conditions. Cases stand within cases so many times as ``height`` says.
    """

    height: int
    cases: list[tuple[tuple[str, ...], str]]

    def before(self, right: _Cases, condition: str) -> _Cases:
        """These cases where a condition holds, and else those to the right."""
        both = [((condition, *conditions), value) for conditions, value in self.cases] + right.cases
        height = 1 + max(self.height, right.height)
        joined = _Cases(height, both)
        return joined if height > _NESTED else _Cases(height, [((), joined.text())])

    def text(self) -> str:
        """All cases as one expression."""
        *cases, (_, otherwise) = self.cases
        told = "".join(f"WHEN {' AND '.join(conditions)} THEN {value} " for conditions, value in cases)
        return f"CASE {told}ELSE {otherwise} END" if cases else otherwise


def _sql_goes_left(split: Split, column: str) -> str:
    """True for documents that go left; of NULL it is NULL, which is not true, unless missing values go left."""
    threshold, zero = sql_number(split.threshold), sql_number(ZERO)
    if split.missing_left:
        of_zero = f" OR ABS({column}) <= {zero}" if split.sends_zero_astray else ""
        return f"{column} <= {threshold} OR {column} IS NULL{of_zero}"
    of_zero = f" AND ABS({column}) > {zero}" if split.sends_zero_astray else ""
    return f"{column} <= {threshold}{of_zero}"


def trees_to_vespa(content: Trees, name: str, mapped: frozenset[str] = frozenset()) -> str:
    """A rank profile of nested conditions, with < as Vespa's own import of trees has it; NaN is a missing value."""
    sources = sources_of(content, mapped)

    def split(node: Split, left: str, right: str) -> str:
        return f"if ({_vespa_goes_left(node, sources[node.feature])}, {left}, {right})"

    return rank_profile(name, [tree.folded(repr, split) for tree in content.trees])


def _vespa_goes_left(split: Split, source: str) -> str:
    """A comparison with what is no number is false, and so !(…) of it is true."""
    above = repr(math.nextafter(split.threshold, math.inf))
    if split.missing_left:
        of_zero = f" || abs({source}) <= {ZERO!r}" if split.sends_zero_astray else ""
        return f"!({source} >= {above}){of_zero}"
    of_zero = f" && abs({source}) > {ZERO!r}" if split.sends_zero_astray else ""
    return f"{source} < {above}{of_zero}"


def trees_to_python(content: Trees, name: str) -> str:
    """A module that needs no other, with a function ``score``. Names of features are literals of ASCII."""
    places = {feature: place for place, feature in enumerate(content.features)}

    def row(place: int, node: Split | float) -> str:
        if not isinstance(node, Split):
            return f"({node!r},)"
        sides = (node.missing_left, node.zero_is_missing)
        return f"({places[node.feature]}, {node.threshold!r}, {', '.join(map(repr, sides))}, {node.right})"

    trees = "".join(
        f"    [{', '.join(row(place, node) for place, node in enumerate(tree.nodes))}],\n" for tree in content.trees
    )
    names = "".join(f"    {feature.name!a},\n" for feature in content.features)
    return f'''"""A model that ranks, written by rankwright {__version__}. It needs nothing but Python."""

from math import isnan

NAME = {name!a}
FEATURES = [
{names}]
TREES = [  # of nodes: (leaf,) or (feature, threshold, whether missing ones go left, whether 0 is missing, right child)
{trees}]


def leaf(tree, values):
    """What a tree adds: left, which is the next node, where the feature is at most the threshold."""
    place = 0
    while len(tree[place]) > 1:
        feature, threshold, missing_left, zero_is_missing, right = tree[place]
        value = values[feature]
        if value is None or isnan(value) or (zero_is_missing and abs(value) <= {ZERO!r}):
            goes_left = missing_left
        else:
            goes_left = value <= threshold
        place = place + 1 if goes_left else right
    return tree[place][0]


def score(features):
    """The score of a document, the higher the better, from features by name; None, NaN or no entry is missing."""
    values = [features.get(name) for name in FEATURES]
    return sum(leaf(tree, values) for tree in TREES)
'''
