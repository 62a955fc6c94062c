"""What looks wrong with the features of a data set, column by column."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.inspection_kernels import ColumnFacts, level_queries, pairwise_errors, scan_column
from rankwright.data.inspection_missing import JudgedGroups, MissingValues
from rankwright.data.queries import Queries
from rankwright.judgments.supervision import FullRanking, Grades
from rankwright.machine.threads import map_in_order, thread_count

# A feature leaks the label if it orders fewer than this share of the pairs wrongly …
_LEAK_ERROR = 0.001
# … of at least this many: fewer pairs can come out right by chance.
_ENOUGH_PAIRS = 100
# Values that rise in equal steps are a row number if there are at least this many steps.
_ENOUGH_STEPS = 10
# Whole numbers that are all different are an identifier if there are at least this many documents.
_ENOUGH_FOR_AN_IDENTIFIER = 1000
# Outliers are extreme if the range is more than this many times the inter-quartile range.
_EXTREME = 1000


@dataclass(frozen=True)
class Infinite:
    """A feature with infinite values, and how many."""

    feature: str
    documents: int


@dataclass(frozen=True)
class Duplicate:
    """A feature with the same values as an earlier one."""

    feature: str
    of: str


@dataclass(frozen=True)
class Leak:
    """A feature that orders the documents of queries (nearly) as the label does, or the other way round."""

    feature: str
    pairwise_error: float
    direction: Literal["as the label", "against the label"]


@dataclass(frozen=True)
class Identifier:
    """A feature that looks like a number given to documents, not a property of them."""

    feature: str
    kind: Literal["row number", "position in its query", "all different whole numbers"]


@dataclass(frozen=True)
class Outliers:
    """A feature with values so far out that they set its scale."""

    feature: str
    low: float
    high: float
    interquartile_range: float


@dataclass(frozen=True)
class FeatureFindings:
    """What looks wrong with the features, by name.

    ``absent`` counts the features of CSR data that no document has; they are not named among the constant
    ones. ``constant_within_queries`` leaves out those that are constant overall, and ``duplicates`` both:
    such a feature cannot change the order of documents, whatever it equals. ``missing_throughout`` has the features
    that no document has a value of, and ``missing`` the others with missing values.
    """

    absent: int = 0
    constant: tuple[str, ...] = ()
    constant_within_queries: tuple[str, ...] = ()
    missing_throughout: tuple[str, ...] = ()
    missing: tuple[MissingValues, ...] = ()
    infinite: tuple[Infinite, ...] = ()
    duplicates: tuple[Duplicate, ...] = ()
    leaks: tuple[Leak, ...] = ()
    identifiers: tuple[Identifier, ...] = ()
    outliers: tuple[Outliers, ...] = ()


class ValueCounts(NamedTuple):
    """How many values are neither zero nor missing, and how many are missing."""

    nonzero: int
    missing: int


def look_at_features(queries: Queries) -> tuple[FeatureFindings, npt.NDArray[np.uint64], ValueCounts]:
    """What looks wrong with the features; a fingerprint of each row, with query rows together; and counts of values."""
    present = _columns_present(queries.X)
    look = partial(_look_at_columns, queries, _Columns(queries, present), JudgedGroups.of(queries), _Labels.of(queries))
    looks = list(map_in_order(look, np.array_split(present, thread_count())))
    columns = [column for some, _ in looks for column in some]
    row_fingerprints = np.zeros(queries.n_documents, dtype=np.uint64)
    for _, fingerprints in looks:
        row_fingerprints += fingerprints
    missing = sum(column.facts.nan for column in columns)
    counts = ValueCounts(sum(column.facts.nonzero for column in columns) - missing, missing)
    return _feature_findings(columns, absent=queries.n_features - len(present)), row_fingerprints, counts


class _Columns:
    """The columns of X, each as the positions and values of its stored entries, with query rows together.

    Of CSR, only the columns ``present`` are kept: there may be millions without an entry.
    """

    def __init__(self, queries: Queries, present: npt.NDArray[np.int64]) -> None:
        self.grouping = queries.grouping
        self.offsets = np.array(queries.grouping.offsets)
        x: Any = queries.X
        self.present = present
        if sp.issparse(x):
            x = x if self.grouping.order is None else x[self.grouping.order]
            places = np.searchsorted(present, x.indices)
            x = sp.csr_array((x.data, places, x.indptr), shape=(x.shape[0], len(present))).tocsc()
        self.x = x
        self.every_position = np.arange(queries.n_documents)

    def __getitem__(self, j: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
        if sp.issparse(self.x):
            place = int(np.searchsorted(self.present, j))
            stored = slice(self.x.indptr[place], self.x.indptr[place + 1])
            return self.x.indices[stored].astype(np.int64), self.x.data[stored].astype(np.float64)
        return self.every_position, self.grouping.gather(self.x[:, j]).astype(np.float64)


@dataclass(frozen=True)
class _Labels:
    """The order that the supervision gives each query's documents: levels 0, 1, … and pairs that differ."""

    levels: npt.NDArray[np.int64]
    pairs: npt.NDArray[np.int64]

    @classmethod
    def of(cls, queries: Queries) -> _Labels | None:
        """The labels of graded or fully ranked queries, if they are enough to tell a leak from chance."""
        if isinstance(queries.supervision, Grades):
            worth = queries.y
        elif isinstance(queries.supervision, FullRanking):
            worth = -queries.supervision.ranks.astype(np.float64)
        else:
            return None
        labels = cls(np.zeros(queries.n_documents, np.int64), np.zeros(queries.n_queries, np.int64))
        grouping = queries.grouping
        level_queries(np.array(grouping.gather(worth)), np.array(grouping.offsets), labels.levels, labels.pairs)
        return labels if labels.pairs.sum() >= _ENOUGH_PAIRS else None


class _Column(NamedTuple):
    """What was found about one feature."""

    name: str
    facts: ColumnFacts
    missing: MissingValues | None
    leak: Leak | None
    identifier: Identifier | None
    outliers: Outliers | None

    @property
    def is_missing(self) -> bool:
        """Whether no document has a value."""
        return self.missing is not None and self.missing.share == 1


def _columns_present(x: Any) -> npt.NDArray[np.int64]:
    """The columns that have anything stored: of millions of hashed features, the few that occur."""
    if sp.issparse(x):
        return np.unique(x.indices).astype(np.int64)
    return np.arange(x.shape[1])


def _look_at_columns(
    queries: Queries, columns: _Columns, judged: JudgedGroups, labels: _Labels | None, chosen: npt.NDArray[np.int64]
) -> tuple[list[_Column], npt.NDArray[np.uint64]]:
    """What is found about some columns, and their part of the fingerprint of each row."""
    row_fingerprints = np.zeros(queries.n_documents, dtype=np.uint64)
    found = []
    for j in chosen.tolist():
        name = queries.feature_name(j)
        positions, values = columns[j]
        bits = values.view(np.uint64)
        facts = ColumnFacts(*scan_column(j, positions, values, bits, columns.offsets, row_fingerprints))
        missing = judged.missing_values(name, positions[np.isnan(values)]) if facts.nan else None
        leak, identifier, outliers = None, None, None
        if facts.varies_in_a_query and labels is not None:
            leak = _leak(name, positions, values, columns.offsets, labels)
        # With zeros in three quarters of the rows, the quartiles are zero and the numbers are not different.
        if facts.low < facts.high and 4 * facts.nonzero > queries.n_documents:
            column = _filled(positions, values, queries.n_documents)
            identifier = _identifier(name, column, facts, queries)
            outliers = _outliers(name, column, facts) if identifier is None else None
        found.append(_Column(name, facts, missing, leak, identifier, outliers))
    return found, row_fingerprints


def _filled(
    positions: npt.NDArray[np.int64], values: npt.NDArray[np.float64], n_documents: int
) -> npt.NDArray[np.float64]:
    """One column with its zeros."""
    if len(values) == n_documents:
        return values
    column = np.zeros(n_documents)
    column[positions] = values
    return column


def _leak(
    name: str,
    positions: npt.NDArray[np.int64],
    values: npt.NDArray[np.float64],
    offsets: npt.NDArray[np.int64],
    labels: _Labels,
) -> Leak | None:
    n_pairs = int(labels.pairs.sum())
    limit = _LEAK_ERROR * n_pairs
    upwards, downwards = pairwise_errors(positions, values, offsets, labels.levels, labels.pairs, limit)
    if min(upwards, downwards) >= limit:
        return None
    if upwards < downwards:
        return Leak(name, upwards / n_pairs, "as the label")
    return Leak(name, downwards / n_pairs, "against the label")


def _identifier(name: str, column: npt.NDArray[np.float64], facts: ColumnFacts, queries: Queries) -> Identifier | None:
    """Whether whole numbers count rows, count the documents of each query, or name each document."""
    if not facts.whole or facts.nan or facts.infinite:
        return None
    steps = np.diff(queries.grouping.scatter(column))
    if len(steps) >= _ENOUGH_STEPS and np.all(steps == steps[0]):
        return Identifier(name, "row number")
    within = np.ones(max(len(column) - 1, 0), dtype=bool)
    within[queries.grouping.offsets[1:-1] - 1] = False
    steps = np.diff(column)[within]
    starts = column[queries.grouping.offsets[:-1]]
    if len(steps) >= _ENOUGH_STEPS and np.all(steps == steps[0]) and np.all(starts == starts[0]):
        return Identifier(name, "position in its query")
    if len(column) >= _ENOUGH_FOR_AN_IDENTIFIER and facts.high - facts.low >= len(column) - 1:
        in_order = np.sort(column)
        if np.all(in_order[1:] > in_order[:-1]):
            return Identifier(name, "all different whole numbers")
    return None


def _outliers(name: str, column: npt.NDArray[np.float64], facts: ColumnFacts) -> Outliers | None:
    finite = column[np.isfinite(column)] if facts.nan or facts.infinite else column
    lower, upper = (len(finite) - 1) // 4, 3 * (len(finite) - 1) // 4
    in_part = np.partition(finite, (lower, upper))
    spread = float(in_part[upper]) - float(in_part[lower])
    if 0 < spread * _EXTREME < facts.high - facts.low:
        return Outliers(name, facts.low, facts.high, spread)
    return None


def _feature_findings(columns: list[_Column], absent: int) -> FeatureFindings:
    constant, within_queries, useful = [], [], []
    for column in columns:
        if column.is_missing:
            continue
        if column.facts.varies_in_a_query:
            useful.append(column)
        elif column.facts.constant:
            constant.append(column.name)
        else:
            within_queries.append(column.name)
    return FeatureFindings(
        absent=absent,
        constant=tuple(constant),
        constant_within_queries=tuple(within_queries),
        missing_throughout=tuple(column.name for column in columns if column.is_missing),
        missing=tuple(column.missing for column in columns if column.missing and not column.is_missing),
        infinite=tuple(Infinite(name, facts.infinite) for name, facts, *_ in columns if facts.infinite),
        duplicates=tuple(_duplicates(useful)),
        leaks=tuple(column.leak for column in columns if column.leak),
        identifiers=tuple(column.identifier for column in columns if column.identifier),
        outliers=tuple(column.outliers for column in columns if column.outliers),
    )


def _duplicates(columns: list[_Column]) -> Iterator[Duplicate]:
    """Each column with the fingerprint of an earlier one."""
    first_with: dict[np.uint64, str] = {}
    for column in columns:
        of = first_with.setdefault(column.facts.fingerprint, column.name)
        if of != column.name:
            yield Duplicate(column.name, of)
