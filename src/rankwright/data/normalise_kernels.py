"""Compiled loops over rows and stored entries for the normalisers; each walks its rows in memory order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]
Csr = tuple[Floats, Indices, Indices]


@kernel
def scale_dense_queries(
    x: Floats, order: Indices, offsets: Indices, first: int, last: int, out: Floats
) -> tuple[int, int]:
    """Write (x − min_q) / (max_q − min_q) for queries first … last − 1.

    Returns the query and column of the first span that is not finite, or (−1, −1). ``fmin`` and ``fmax``
    pass over NaN. The second walk over a query's rows finds them in the processor's cache.
    """
    n_columns = x.shape[1]
    low = np.empty(n_columns, x.dtype)
    span = np.empty(n_columns, x.dtype)
    for q in range(first, last):
        low[:] = np.inf
        span[:] = -np.inf  # holds the maximum until it is known
        for k in range(offsets[q], offsets[q + 1]):
            row = x[order[k]]
            for j in range(n_columns):
                low[j] = np.fmin(low[j], row[j])
                span[j] = np.fmax(span[j], row[j])
        for j in range(n_columns):
            span[j] -= low[j]
            if not span[j] < np.inf:
                return q, j
            if span[j] <= 0:  # constant, or nothing but NaN (a span of −∞): divide by 1, and keep NaN as it is
                span[j] = 1
        for k in range(offsets[q], offsets[q + 1]):
            row = x[order[k]]
            scaled = out[order[k]]
            for j in range(n_columns):
                scaled[j] = (row[j] - low[j]) / span[j]
    return -1, -1


@kernel
def scale_sparse_queries(
    csr: Csr, n_columns: int, order: Indices, offsets: Indices, first: int, last: int, out: Floats
) -> tuple[int, int]:
    """The same for the stored entries of CSR; entries that are not stored count as zeros and stay zeros.

    Also stops where a negative minimum would make entries that are not stored differ from zero.
    """
    data, indices, indptr = csr
    low = np.empty(n_columns, data.dtype)
    span = np.empty(n_columns, data.dtype)
    stored = np.zeros(n_columns, np.int64)
    touched = np.empty(n_columns, np.int64)
    for q in range(first, last):
        n_touched = 0
        for k in range(offsets[q], offsets[q + 1]):
            for e in range(indptr[order[k]], indptr[order[k] + 1]):
                j = indices[e]
                if stored[j] == 0:
                    touched[n_touched] = j
                    n_touched += 1
                    low[j] = np.inf
                    span[j] = -np.inf
                stored[j] += 1
                low[j] = np.fmin(low[j], data[e])
                span[j] = np.fmax(span[j], data[e])
        for t in range(n_touched):
            j = touched[t]
            if stored[j] < offsets[q + 1] - offsets[q]:
                if low[j] < 0:
                    return q, j
                low[j] = 0
                span[j] = np.fmax(span[j], 0)
            span[j] -= low[j]
            if not span[j] < np.inf:
                return q, j
            if span[j] <= 0:
                span[j] = 1
            stored[j] = 0
        for k in range(offsets[q], offsets[q + 1]):
            for e in range(indptr[order[k]], indptr[order[k] + 1]):
                out[e] = (data[e] - low[indices[e]]) / span[indices[e]]
    return -1, -1


@kernel
def total_columns(x: Floats, first: int, last: int, count: Indices, total: Floats, low: Floats, high: Floats) -> None:
    """Add rows first … last − 1 to each column's number, sum, minimum and maximum, passing over NaN."""
    for i in range(first, last):
        row = x[i]
        for j in range(x.shape[1]):
            count[j] += 1 if row[j] == row[j] else 0
            total[j] += row[j] if row[j] == row[j] else 0.0
            low[j] = np.fmin(low[j], row[j])
            high[j] = np.fmax(high[j], row[j])


@kernel
def total_squares(x: Floats, first: int, last: int, mean: Floats, squares: Floats) -> None:
    """Add Σ (x − mean)² over the rows first … last − 1 to each column's sum, without NaN."""
    for i in range(first, last):
        row = x[i]
        for j in range(x.shape[1]):
            deviation = row[j] - mean[j]
            squares[j] += deviation * deviation if deviation == deviation else 0.0


@kernel
def standardise_rows(x: Floats, first: int, last: int, mean: Floats, scale: Floats, out: Floats) -> None:
    """Write (x − mean) / scale, computed in float64, for the rows first … last − 1."""
    for i in range(first, last):
        row = x[i]
        scaled = out[i]
        for j in range(x.shape[1]):
            scaled[j] = (row[j] - mean[j]) / scale[j]


@kernel
def first_infinite_row(x: Floats, first: int, last: int) -> int:
    """The first of the rows first … last − 1 that holds an infinite value, or −1."""
    for i in range(first, last):
        row = x[i]
        infinite = 0
        for j in range(x.shape[1]):
            infinite += 1 if abs(row[j]) == np.inf else 0
        if infinite > 0:
            return i
    return -1
