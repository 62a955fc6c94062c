"""How far features range: over all documents, and among documents of the same query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.explanation.moves import Places
from rankwright.judgments.grouping import Grouping
from rankwright.machine.runs import runs_of_queries
from rankwright.types import Array

# Rows that are looked at together, as float64; at least one whole query.
_ROWS_PER_BLOCK = 8192
# Sums of squares that are less than this part of the squares themselves are rounding: of differences from the mean,
# and of differences of two sums.
_ROUNDING, _SPARSE_ROUNDING = 1e-24, 1e-12


@dataclass(frozen=True, eq=False)
class Ranges:
    """Of each feature the least and the greatest value, and the spread σ: the standard deviation within queries.

    σ_j² = Σ_q Σ_i (x_ij − x̄_qj)² / m. It is 0 for a feature that tells of the query, not of the document, however
    much it differs from query to query. Values that are not finite do not count.
    """

    low: Array
    high: Array
    spread: Array


def ranges_of(x: Any, grouping: Grouping, columns: Places) -> Ranges:
    """The ranges of some columns of X."""
    return _sparse_ranges(x, grouping, columns) if sp.issparse(x) else _dense_ranges(x, grouping, columns)


def _dense_ranges(x: Any, grouping: Grouping, columns: Places) -> Ranges:
    n, offsets = len(columns), grouping.offsets
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    deviations, squares, counts = np.zeros((3, n))
    for first, last in runs_of_queries(offsets, _ROWS_PER_BLOCK):
        rows: Any = slice(int(offsets[first]), int(offsets[last]))
        values = x[rows if grouping.order is None else grouping.order[rows]][:, columns].astype(np.float64)
        finite = np.isfinite(values)
        low = np.minimum(low, values.min(axis=0, where=finite, initial=np.inf))
        high = np.maximum(high, values.max(axis=0, where=finite, initial=-np.inf))
        values[~finite] = 0.0
        squares += _sum_of_squares(values)
        counts += finite.sum(axis=0)
        _centre(values, finite, offsets[first : last + 1] - offsets[first])
        deviations += _sum_of_squares(values)
    return Ranges(low, high, _spread(deviations, squares, counts, _ROUNDING))


def _centre(values: Array, finite: npt.NDArray[np.bool_], offsets: npt.NDArray[np.int64]) -> None:
    """Take from each query's values, in place, their mean; what is not finite becomes 0."""
    counts = np.add.reduceat(finite, offsets[:-1], axis=0, dtype=np.int64)
    means = np.add.reduceat(values, offsets[:-1], axis=0) / np.maximum(counts, 1)
    values -= np.repeat(means, np.diff(offsets), axis=0)
    values[~finite] = 0.0


def _sparse_ranges(x: Any, grouping: Grouping, columns: Places) -> Ranges:
    """The same for CSR, from what is stored."""
    values = x[:, columns].astype(np.float64)
    finite = np.isfinite(values.data)
    lacking = sp.csr_array((1.0 * ~finite, values.indices, values.indptr), shape=values.shape)
    low, high = (_sparse_end(values, finite, least) for least in (True, False))
    values.data[~finite] = 0.0
    m, sizes = len(grouping.codes), np.diff(grouping.offsets)
    in_query = sp.csr_array((np.ones(m), (grouping.codes, np.arange(m))), shape=(len(sizes), m))
    squares = np.asarray(values.power(2).sum(axis=0)).ravel()
    sums, absent = sp.coo_array(in_query @ values), sp.csr_array(in_query @ lacking)
    known = np.maximum(sizes[sums.row] - np.asarray(absent[sums.row, sums.col]).ravel(), 1)
    of_means = np.bincount(sums.col, sums.data**2 / known, minlength=len(columns)).astype(np.float64, copy=False)
    counts = m - np.asarray(lacking.sum(axis=0)).ravel()
    return Ranges(low, high, _spread(squares - of_means, squares, counts, _SPARSE_ROUNDING))


def _sparse_end(values: Any, finite: npt.NDArray[np.bool_], least: bool) -> Array:
    """The least or the greatest finite value of each column of a CSR array; infinite if there is none."""
    end, take = (np.inf, np.minimum) if least else (-np.inf, np.maximum)
    has_zeros = np.bincount(values.indices, minlength=values.shape[1]) < values.shape[0]
    ends = np.where(has_zeros, 0.0, end)
    take.at(ends, values.indices[finite], values.data[finite])
    return ends


def _sum_of_squares(values: Array) -> Array:
    squares: Array = np.einsum("ij,ij->j", values, values)
    return squares


def _spread(deviations: Array, squares: Array, counts: Array, rounding: float) -> Array:
    spread: Array = np.sqrt(np.where(deviations > rounding * squares, deviations, 0.0) / np.maximum(counts, 1))
    return spread
