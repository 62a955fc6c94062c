"""What the documents of some queries tell of one feature, and of more queries when that of their parts is joined.

Positions count documents with each query's rows together. Of CSR features, only stored values are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.fingerprints import mixed
from rankwright.data.inspection_kernels import ColumnFacts, level_queries, pairwise_errors, scan_column
from rankwright.data.inspection_missing import JudgedGroups, MissingSums
from rankwright.data.queries import Queries
from rankwright.judgments.supervision import FullRanking, Grades

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

_SAMPLED_VALUES = 2**23  # at most so many are kept to tell quartiles of data that are larger


@dataclass(frozen=True)
class Labels:
    """The order that the supervision gives each query's documents: levels 0, 1, … and pairs that differ."""

    levels: Integers
    pairs: Integers

    @classmethod
    def of(cls, queries: Queries) -> Labels | None:
        """The labels of graded or fully ranked queries."""
        if isinstance(queries.supervision, Grades):
            worth = queries.y
        elif isinstance(queries.supervision, FullRanking):
            worth = -queries.supervision.ranks.astype(np.float64)
        else:
            return None
        labels = cls(np.zeros(queries.n_documents, np.int64), np.zeros(queries.n_queries, np.int64))
        grouping = queries.grouping
        level_queries(np.array(grouping.gather(worth)), np.array(grouping.offsets), labels.levels, labels.pairs)
        return labels


class Errors(NamedTuple):
    """How many pairs of documents a feature orders wrongly, read upwards and downwards; infinite if given up."""

    upwards: float = 0.0
    downwards: float = 0.0

    def with_later(self, later: Errors) -> Errors:
        """Those of both."""
        return Errors(self.upwards + later.upwards, self.downwards + later.downwards)


class Numbering(NamedTuple):
    """Whole numbers as a count of something: the first, the last, and the step from each to the next.

    ``step`` is None if there is no step yet, and NaN if steps differ. ``first`` and ``last`` are NaN if what has to be
    equal among them differs.
    """

    first: float
    last: float
    step: float | None
    n_steps: int

    @classmethod
    def of_rows(cls, column: Floats) -> Numbering:
        """The numbers of rows that stand below each other."""
        return cls(float(column[0]), float(column[-1]), _only(np.diff(column)), len(column) - 1)

    @classmethod
    def within_queries(cls, column: Floats, offsets: Integers) -> Numbering:
        """The numbers of documents within their queries, of which all should begin with the same one."""
        within = np.ones(len(column) - 1, dtype=bool)
        within[offsets[1:-1] - 1] = False
        steps = np.diff(column)[within]
        start = _only(column[offsets[:-1]])
        return cls(np.nan if start is None else start, np.nan, _only(steps), len(steps))

    def is_even(self, enough: int) -> bool:
        """Whether there are enough steps, all of them the same, from the same beginning."""
        return self.n_steps >= enough and self.step is not None and not np.isnan([self.step, self.first]).any()

    def with_rows(self, later: Numbering) -> Numbering:
        """These rows and those below them."""
        steps = (self.step, later.first - self.last, later.step)
        return Numbering(self.first, later.last, reduce(_same, steps), self.n_steps + later.n_steps + 1)

    def with_queries(self, later: Numbering) -> Numbering:
        """These queries and others."""
        first = _same(self.first, later.first)
        step = _same(self.step, later.step)
        return Numbering(np.nan if first is None else first, np.nan, step, self.n_steps + later.n_steps)


def _only(values: Floats) -> float | None:
    """The one value that there is; NaN if there are several, and None if there is none."""
    if len(values) == 0:
        return None
    return float(values[0]) if np.all(values == values[0]) else np.nan


def _same(one: float | None, other: float | None) -> float | None:
    """The value of both, of which one may not be there; NaN if they differ."""
    if one is None or other is None:
        return other if one is None else one
    return one if one == other else np.nan


class Numbers(NamedTuple):
    """Whole numbers that may be given to documents: by row, by place in their query, or all different."""

    rows: Numbering
    places: Numbering
    different: bool

    @classmethod
    def of(cls, column: Floats, queries: Queries, facts: ColumnFacts) -> Numbers:
        """Those of a whole column."""
        rows = Numbering.of_rows(queries.grouping.scatter(column))
        places = Numbering.within_queries(column, np.array(queries.grouping.offsets))
        different = False
        if facts.high - facts.low >= len(column) - 1:
            different = are_different(column)
        return cls(rows, places, different)

    def with_later(self, later: Numbers) -> Numbers:
        """Both one after the other; whether different numbers recur later is not seen here."""
        return Numbers(
            self.rows.with_rows(later.rows),
            self.places.with_queries(later.places),
            self.different and later.different,
        )


def are_different(numbers: Floats) -> bool:
    """Whether no number occurs twice."""
    in_order = np.sort(numbers)
    return bool(np.all(in_order[1:] > in_order[:-1]))


@dataclass(frozen=True)
class Column:
    """What is known of one feature.

    ``first`` is its value in the first document. ``missing`` is None if nothing is, and ``numbers`` if it cannot be a
    number given to documents.
    """

    facts: ColumnFacts
    first: float
    missing: MissingSums | None
    errors: Errors
    numbers: Numbers | None

    def with_later(self, later: Column) -> Column:
        """The same of the documents of both."""
        facts, more = self.facts, later.facts
        is_alike = self.first == later.first or (np.isnan(self.first) and np.isnan(later.first))
        joined = ColumnFacts(
            nan=facts.nan + more.nan,
            infinite=facts.infinite + more.infinite,
            nonzero=facts.nonzero + more.nonzero,
            low=min(facts.low, more.low),
            high=max(facts.high, more.high),
            whole=facts.whole and more.whole,
            constant=bool(facts.constant and more.constant and is_alike),
            varies_in_a_query=facts.varies_in_a_query or more.varies_in_a_query,
            fingerprint=np.uint64((int(facts.fingerprint) + int(more.fingerprint)) % 2**64),
        )
        missing = self.missing
        if later.missing is not None:
            missing = later.missing if missing is None else missing.with_later(later.missing)
        both = self.numbers is not None and later.numbers is not None
        numbers = self.numbers.with_later(later.numbers) if both else None  # type: ignore[union-attr, arg-type]
        return replace(
            self, facts=joined, missing=missing, errors=self.errors.with_later(later.errors), numbers=numbers
        )


class ColumnScan:
    """Looks at the features of one part, which begins at document ``first_document`` of all."""

    def __init__(self, queries: Queries, first_document: int) -> None:
        self.queries, self.first_document = queries, first_document
        self.offsets = np.array(queries.grouping.offsets)
        self.judged, self.labels = JudgedGroups.of(queries), Labels.of(queries)
        self.n_pairs = 0 if self.labels is None else int(self.labels.pairs.sum())

    def look(
        self,
        j: int,
        positions: Integers,
        values: Floats,
        before: Errors,
        give_up_at: float,
        row_fingerprints: npt.NDArray[np.uint64],
    ) -> Column:
        """What the stored values of feature j tell, and its part added to the fingerprint of each row.

        Errors are not counted any more where those of the parts ``before`` and these are too many both ways.
        """
        bits = values.view(np.uint64)
        facts = ColumnFacts(
            *scan_column(j, positions, values, bits, self.offsets, self.first_document, row_fingerprints)
        )
        missing = self.judged.missing(positions[np.isnan(values)]) if facts.nan else None
        first = float(values[0]) if len(positions) and positions[0] == 0 else 0.0
        errors = Errors(self.n_pairs / 2, self.n_pairs / 2)  # all are ties
        if facts.varies_in_a_query and self.labels is not None and not np.isinf(before.upwards):
            levels, pairs = self.labels.levels, self.labels.pairs
            upwards, downwards = pairwise_errors(positions, values, self.offsets, levels, pairs, give_up_at, *before)
            errors = Errors(upwards - before.upwards, downwards - before.downwards)
        return Column(facts, first, missing, errors, self._numbers(positions, values, facts))

    def absent(self) -> Column:
        """What is to be told of a feature that all documents have 0 of."""
        nothing, no_row = np.zeros(0, np.int64), np.zeros(0, np.uint64)
        return self.look(0, nothing, np.zeros(0), Errors(), 0.0, no_row)

    def _numbers(self, positions: Integers, values: Floats, facts: ColumnFacts) -> Numbers | None:
        """None where two zeros in a query show that documents are not numbered; a column of zeros alone may be."""
        if self.queries.n_documents == 0:
            return None
        n_zeros = self.queries.n_documents - facts.nonzero
        has_zeros_in_a_query = facts.nonzero > 0 and n_zeros > self.queries.n_queries
        if not facts.whole or facts.nan or facts.infinite or has_zeros_in_a_query:
            return None
        return Numbers.of(filled(positions, values, self.queries.n_documents), self.queries, facts)


class StoredColumns:
    """The columns of X, each as the positions and values of its stored entries, rows in the ``order`` of queries.

    Of CSR, only the columns ``present`` are kept: there may be millions without an entry.
    """

    def __init__(self, x: Any, order: npt.NDArray[np.intp] | None = None) -> None:
        self.n_rows: int = x.shape[0]
        self.is_sparse = sp.issparse(x)
        self._order = order
        if self.is_sparse:
            x = x if order is None else x[order]
            self.present = np.unique(x.indices).astype(np.int64)
            places = np.searchsorted(self.present, x.indices)
            x = sp.csr_array((x.data, places, x.indptr), shape=(x.shape[0], len(self.present))).tocsc()
        else:
            self.present = np.arange(x.shape[1])
            self._every_position = np.arange(self.n_rows)
        self._x = x

    def __contains__(self, j: int) -> bool:
        place = int(np.searchsorted(self.present, j))
        return place < len(self.present) and bool(self.present[place] == j)

    def __getitem__(self, j: int) -> tuple[Integers, Floats]:
        if not self.is_sparse:
            column = self._x[:, j] if self._order is None else self._x[self._order, j]
            return self._every_position, column.astype(np.float64)
        if j not in self:
            return np.zeros(0, np.int64), np.zeros(0)
        place = int(np.searchsorted(self.present, j))
        stored = slice(self._x.indptr[place], self._x.indptr[place + 1])
        return self._x.indices[stored].astype(np.int64), self._x.data[stored].astype(np.float64)


class RowSample:
    """Rows of X by chance, the same ones however they are cut into parts: all of them, if that is not too much.

    A row is kept if a number made of its place is below a limit, which is halved until what is kept is small enough.
    """

    def __init__(self) -> None:
        self._rows: list[Any] = []
        self._numbers = np.zeros(0, np.uint64)
        self._limit = 2**64 - 1

    def add(self, x: Any, first_row: int) -> None:
        """Take some of the next rows."""
        numbers = mixed(np.arange(first_row, first_row + x.shape[0], dtype=np.uint64))
        self._rows.append(x[numbers <= self._limit])
        self._numbers = np.concatenate([self._numbers, numbers[numbers <= self._limit]])
        while self._n_values() > _SAMPLED_VALUES and len(self._numbers):
            self._limit //= 2
            rows, kept = self.matrix(), self._numbers <= self._limit
            self._rows, self._numbers = [rows[kept]], self._numbers[kept]

    def _n_values(self) -> int:
        return sum(rows.nnz if sp.issparse(rows) else rows.size for rows in self._rows)

    def matrix(self) -> Any:
        """The rows that are kept."""
        is_sparse = sp.issparse(self._rows[0])
        return sp.csr_array(sp.vstack(self._rows)) if is_sparse else np.vstack(self._rows)

    def columns(self) -> StoredColumns:
        """Their columns."""
        return StoredColumns(self.matrix())


def filled(positions: Integers, values: Floats, n_documents: int) -> Floats:
    """One column with its zeros."""
    if len(values) == n_documents:
        return values
    column = np.zeros(n_documents)
    column[positions] = values
    return column
