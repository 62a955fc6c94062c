"""What looks wrong with the features of a data set, column by column."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.inspection_columns import (
    Column,
    ColumnScan,
    Errors,
    RowSample,
    StoredColumns,
    are_different,
    filled,
)
from rankwright.data.inspection_kernels import ColumnFacts
from rankwright.data.inspection_missing import MissingValues
from rankwright.data.queries import Queries
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


class FeatureLook:
    """Looks at the features of queries, part by part.

    ``most_pairs`` is how many pairs of documents the labels of all parts can put in order; None if there is one part.
    """

    def __init__(self, most_pairs: float | None = None) -> None:
        self._most_pairs = most_pairs
        self._columns: dict[int, Column] = {}
        self._absent: Column | None = None  # what is known of a feature that no document has had so far
        self._sample = RowSample()
        self._only_part: StoredColumns | None = None
        self._n_parts = self._n_documents = self._n_pairs = 0

    def add(self, queries: Queries) -> npt.NDArray[np.uint64]:
        """Look at one part more; gives a fingerprint of each of its rows, with query rows together."""
        scan = ColumnScan(queries, self._n_documents)
        stored = StoredColumns(queries.X, queries.grouping.order)
        absent = scan.absent()
        given_up_at = _LEAK_ERROR * (scan.n_pairs if self._most_pairs is None else self._most_pairs)
        row_fingerprints = np.zeros(queries.n_documents, dtype=np.uint64)
        earlier = {j: column.with_later(absent) for j, column in self._columns.items() if j not in stored}
        look = partial(self._look, scan, stored, given_up_at)
        for found, fingerprints in map_in_order(look, np.array_split(stored.present, thread_count())):
            earlier.update(found)
            row_fingerprints += fingerprints
        self._columns = earlier
        self._absent = absent if self._absent is None else self._absent.with_later(absent)
        self._only_part = stored if self._n_parts == 0 else None
        if self._most_pairs is not None:
            self._sample.add(queries.X, self._n_documents)
        self._n_parts, self._n_documents = self._n_parts + 1, self._n_documents + queries.n_documents
        self._n_pairs += scan.n_pairs
        return row_fingerprints

    def _look(
        self, scan: ColumnScan, stored: StoredColumns, given_up_at: float, chosen: npt.NDArray[np.int64]
    ) -> tuple[dict[int, Column], npt.NDArray[np.uint64]]:
        """What is known of some features after this part, and their part of the fingerprint of each row."""
        row_fingerprints = np.zeros(scan.queries.n_documents, dtype=np.uint64)
        found = {}
        for j in chosen.tolist():
            before = self._columns.get(j, self._absent)
            errors = Errors() if before is None else before.errors
            now = scan.look(j, *stored[j], errors, given_up_at, row_fingerprints)
            found[j] = now if before is None else before.with_later(now)
        return found, row_fingerprints

    def values(self) -> tuple[int, int]:
        """How many values are neither zero nor missing, and how many are missing."""
        missing = sum(column.facts.nan for column in self._columns.values())
        return sum(column.facts.nonzero for column in self._columns.values()) - missing, missing

    def findings(self, n_features: int, feature_name: Callable[[int], str]) -> FeatureFindings:
        """What looks wrong with the features."""
        rows = self._only_part or self._sample.columns()
        found = [self._found(feature_name(j), j, column, rows) for j, column in sorted(self._columns.items())]
        return _feature_findings(found, absent=n_features - len(found))

    def _found(self, name: str, j: int, column: Column, rows: StoredColumns) -> _Found:
        """What is found about one feature; ``rows`` are those of all documents, or of a sample of them."""
        facts, n_documents = column.facts, self._n_documents
        missing = None if column.missing is None else column.missing.told(name, n_documents)
        leak = _leak(name, column.errors, self._n_pairs) if facts.varies_in_a_query else None
        identifier, outliers = None, None
        # With zeros in three quarters of the rows, the quartiles are zero and the numbers are not different.
        if facts.low < facts.high and 4 * facts.nonzero > n_documents:
            values = filled(*rows[j], rows.n_rows)
            identifier = _identifier(name, column, values, n_documents)
            outliers = _outliers(name, values, facts) if identifier is None else None
        return _Found(name, facts, missing, leak, identifier, outliers)


class _Found(NamedTuple):
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


def _leak(name: str, errors: Errors, n_pairs: int) -> Leak | None:
    if n_pairs < _ENOUGH_PAIRS or min(errors) >= _LEAK_ERROR * n_pairs:
        return None
    if errors.upwards < errors.downwards:
        return Leak(name, errors.upwards / n_pairs, "as the label")
    return Leak(name, errors.downwards / n_pairs, "against the label")


def _identifier(name: str, column: Column, values: npt.NDArray[np.float64], n_documents: int) -> Identifier | None:
    """Whether whole numbers count rows, count the documents of each query, or name each document."""
    numbers, facts = column.numbers, column.facts
    if numbers is None:
        return None
    if numbers.rows.is_even(_ENOUGH_STEPS):
        return Identifier(name, "row number")
    if numbers.places.is_even(_ENOUGH_STEPS):
        return Identifier(name, "position in its query")
    is_wide = n_documents >= _ENOUGH_FOR_AN_IDENTIFIER and facts.high - facts.low >= n_documents - 1
    if is_wide and numbers.different and are_different(values):
        return Identifier(name, "all different whole numbers")
    return None


def _outliers(name: str, column: npt.NDArray[np.float64], facts: ColumnFacts) -> Outliers | None:
    finite = column[np.isfinite(column)] if facts.nan or facts.infinite else column
    if len(finite) == 0:  # of a sample
        return None
    lower, upper = (len(finite) - 1) // 4, 3 * (len(finite) - 1) // 4
    in_part = np.partition(finite, (lower, upper))
    spread = float(in_part[upper]) - float(in_part[lower])
    if 0 < spread * _EXTREME < facts.high - facts.low:
        return Outliers(name, facts.low, facts.high, spread)
    return None


def _feature_findings(columns: list[_Found], absent: int) -> FeatureFindings:
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


def _duplicates(columns: list[_Found]) -> Iterator[Duplicate]:
    """Each column with the fingerprint of an earlier one."""
    first_with: dict[np.uint64, str] = {}
    for column in columns:
        of = first_with.setdefault(column.facts.fingerprint, column.name)
        if of != column.name:
            yield Duplicate(column.name, of)
