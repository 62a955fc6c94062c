"""Whole queries block by block in float64, for sums that need no more than that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.machine.runs import runs_of_queries
from rankwright.types import Array

ROWS_PER_BLOCK = 65_536  # documents made float64 at a time
_LARGEST = 1e150  # squares of larger numbers overflow, or their sums do


class QueryBlocks:
    """X as blocks of whole queries in float64, each query's documents together."""

    def __init__(self, X: Any, grouping: Grouping) -> None:
        if X.shape[1] == 0:
            raise DataError("the queries have no features")
        self.n_features = int(X.shape[1])
        self._x, self._grouping, self.offsets = X, grouping, grouping.offsets

    def __iter__(self) -> Iterator[tuple[slice, slice, Any]]:
        """The queries, their documents, and their rows of X."""
        for first, last in runs_of_queries(self.offsets, ROWS_PER_BLOCK):
            documents = slice(int(self.offsets[first]), int(self.offsets[last]))
            yield slice(first, last), documents, self._rows(documents)

    def _rows(self, documents: slice) -> Any:
        order = self._grouping.order
        rows = self._x[documents if order is None else order[documents]].astype(np.float64, copy=False)
        if not _largest_number(rows) <= _LARGEST:
            at = int(np.argmin([_largest_number(row) <= _LARGEST for row in rows]))
            q = int(np.searchsorted(self.offsets, documents.start + at, side="right")) - 1
            row = rows[[at]].toarray()[0] if sp.issparse(rows) else rows[at]
            feature = int(np.argmin(np.abs(row) <= _LARGEST)) + 1
            wrong = "is not a finite number, or is beyond ±10^150"
            raise DataError(f"query {self._grouping.query_id(q)!r}: feature {feature} of a document {wrong}")
        return rows

    def sums(self, queries: slice, rows: Any, weights: Array | None = None) -> Any:
        """Σ_i v_i x_i of each query of a block, with weights v or 1: an array, or CSR."""
        offsets = self.offsets[queries.start : queries.stop + 1] - self.offsets[queries.start]
        if not sp.issparse(rows):
            return np.add.reduceat(rows if weights is None else rows * weights[:, None], offsets[:-1], axis=0)
        ones = np.ones(rows.shape[0]) if weights is None else weights
        return sp.csr_array((ones, np.arange(rows.shape[0]), offsets), shape=(len(offsets) - 1, rows.shape[0])) @ rows


class BlocksOfParts(QueryBlocks):
    """The same of queries that are read part by part, at every iteration."""

    def __init__(self, queries: StreamedQueries) -> None:
        self._parts, self.n_features = queries.parts, queries.n_features
        self.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(queries.sizes)])

    def __iter__(self) -> Iterator[tuple[slice, slice, Any]]:
        """The queries, their documents, and their rows of X."""
        first = 0
        for part in self._parts():
            row = int(self.offsets[first])
            for queries, documents, rows in QueryBlocks(part.X, part.grouping):
                yield _moved(queries, first), _moved(documents, row), rows
            first += part.n_queries


def blocks_of(queries: AnyQueries) -> QueryBlocks:
    """Blocks of queries in memory or not."""
    return QueryBlocks(queries.X, queries.grouping) if isinstance(queries, Queries) else BlocksOfParts(queries)


def _moved(run: slice, by: int) -> slice:
    return slice(run.start + by, run.stop + by)


def _largest_number(rows: Any) -> float:
    """max |x|; NaN if there is one."""
    return float(np.abs(rows.data if sp.issparse(rows) else rows).max(initial=0.0))
