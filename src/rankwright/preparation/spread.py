"""How far features spread among documents of the same query, which is all that a ranker can use of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.doubled_sums import DoubledSums
from rankwright.data.part import Part
from rankwright.data.query_blocks import QueryBlocks
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.types import Array, Columns

_ROUNDING = 1e-12  # of the size of a feature


def within_query_spread(queries: AnyQueries) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The standard deviation of each feature within queries, 1 where there is none; and whether there is one."""
    squares, varies = _within_query_squares(queries)
    return np.where(varies, np.sqrt(squares / max(1, queries.n_documents)), 1.0), varies


def varies_within_queries(queries: AnyQueries) -> npt.NDArray[np.bool_]:
    """Whether a feature differs between documents of the same query, in any query: else it can rank nothing."""
    return _within_query_squares(queries)[1]


def _within_query_squares(queries: AnyQueries) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The sum of squares of each feature less its mean in each query, and whether that is more than rounding."""
    if queries.n_documents == 0:
        return np.zeros(queries.n_features), np.zeros(queries.n_features, bool)
    sums, size = engine_of(queries).sum(_squares)
    total: Array = sums.values
    return total, np.sqrt(total) > _ROUNDING * np.sqrt(size)


def _squares(part: Part) -> tuple[DoubledSums, Array]:
    """Σ of squares of each feature, less its mean in each query, and as it is."""
    blocks = QueryBlocks(part.queries.X, part.queries.grouping)
    total, size = DoubledSums(part.n_features), np.zeros(part.n_features)
    for of_queries, _, rows in blocks:
        sizes = np.diff(blocks.offsets[of_queries.start : of_queries.stop + 1])
        if sp.issparse(rows):
            size += np.bincount(rows.indices, rows.data**2, minlength=len(size))
            total.add_entries(*_squares_of_sparse(rows, sizes))
        else:
            centred = rows - np.repeat(blocks.sums(of_queries, rows) / sizes[:, None], sizes, axis=0)
            size += np.einsum("ij,ij->j", rows, rows)
            total.add_rows(centred * centred)
    return total, size


def _squares_of_sparse(rows: Any, sizes: npt.NDArray[np.int64]) -> tuple[Columns, Array]:
    """Columns, and Σ_i (x_i − x̄_q)² of each in a query q: of what is stored, and x̄_q² for each document without it.

    Differences of sums of squares would lose what varies little beside how large it is, such as a time.
    """
    n_features = rows.shape[1]
    query = np.repeat(np.repeat(np.arange(len(sizes)), sizes), np.diff(rows.indptr))
    pairs, of_pair, stored = np.unique(query * n_features + rows.indices, return_inverse=True, return_counts=True)
    size = sizes[pairs // n_features]
    mean = np.bincount(of_pair, rows.data, len(pairs)) / size
    squares = np.bincount(of_pair, (rows.data - mean[of_pair]) ** 2, len(pairs)) + (size - stored) * mean**2
    return pairs % n_features, squares
