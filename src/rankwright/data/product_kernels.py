"""Compiled products of features with weights of features, and of documents: Xw and Xᵀv, run by run of documents.

Document d is row ``rows[d]`` of X. Features may be float32; sums are in float64.
"""

from __future__ import annotations

from typing import Any

from rankwright.machine.compile import summing_kernel


@summing_kernel
def dense_scores(x: Any, rows: Any, weights: Any, begin: int, end: int, out: Any) -> None:
    """Xw of documents begin … end − 1, four rows at a time, so that a weight is loaded once for four.

    Where fewer are left, the last one is computed again: so a score is the same bits wherever its row stands.
    """
    n, last = x.shape[1], end - 1
    for a in range(begin, end, 4):
        b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
        row_a, row_b, row_c, row_d = rows[a], rows[b], rows[c], rows[d]
        score_a = score_b = score_c = score_d = 0.0
        for i in range(n):
            weight = weights[i]
            score_a += x[row_a, i] * weight
            score_b += x[row_b, i] * weight
            score_c += x[row_c, i] * weight
            score_d += x[row_d, i] * weight
        out[a], out[b], out[c], out[d] = score_a, score_b, score_c, score_d


@summing_kernel
def add_dense_transposed(x: Any, rows: Any, values: Any, begin: int, end: int, out: Any) -> None:
    """Add Xᵀv of documents begin … end − 1, four rows at a time, so that a sum is loaded and stored once for four."""
    n = x.shape[1]
    d = begin
    while d + 4 <= end:
        a, b, c, e = rows[d], rows[d + 1], rows[d + 2], rows[d + 3]
        value_a, value_b, value_c, value_e = values[d], values[d + 1], values[d + 2], values[d + 3]
        if value_a != 0 or value_b != 0 or value_c != 0 or value_e != 0:
            for i in range(n):
                out[i] += x[a, i] * value_a + x[b, i] * value_b + x[c, i] * value_c + x[e, i] * value_e
        d += 4
    for rest in range(d, end):
        row, value = rows[rest], values[rest]
        if value != 0:
            for i in range(n):
                out[i] += x[row, i] * value


@summing_kernel
def sparse_scores(
    data: Any, indices: Any, indptr: Any, rows: Any, weights: Any, begin: int, end: int, out: Any
) -> None:
    """Xw of documents begin … end − 1."""
    for d in range(begin, end):
        row = rows[d]
        score = 0.0
        for k in range(indptr[row], indptr[row + 1]):
            score += data[k] * weights[indices[k]]
        out[d] = score


@summing_kernel
def add_sparse_transposed(
    data: Any, indices: Any, indptr: Any, rows: Any, values: Any, begin: int, end: int, out: Any
) -> None:
    """Add Xᵀv of documents begin … end − 1."""
    for d in range(begin, end):
        row, value = rows[d], values[d]
        if value != 0:
            for k in range(indptr[row], indptr[row + 1]):
                out[indices[k]] += data[k] * value


@summing_kernel
def dense_query_products(x: Any, rows: Any, offsets: Any, values: Any, first: int, last: int, out: Any) -> None:
    """X_qᵀv_q of queries first … last − 1."""
    n = x.shape[1]
    for q in range(first, last):
        for f in range(n):
            out[q, f] = 0.0
        for d in range(offsets[q], offsets[q + 1]):
            row, value = rows[d], values[d]
            if value != 0.0:
                for f in range(n):
                    out[q, f] += value * x[row, f]


@summing_kernel
def sparse_query_products(
    data: Any, indices: Any, indptr: Any, rows: Any, offsets: Any, values: Any, first: int, last: int, out: Any
) -> None:
    """X_qᵀv_q of queries first … last − 1, for CSR."""
    for q in range(first, last):
        for f in range(out.shape[1]):
            out[q, f] = 0.0
        for d in range(offsets[q], offsets[q + 1]):
            row, value = rows[d], values[d]
            if value != 0.0:
                for k in range(indptr[row], indptr[row + 1]):
                    out[q, indices[k]] += value * data[k]


@summing_kernel
def add_dense_squares(x: Any, rows: Any, values: Any, begin: int, end: int, out: Any) -> None:
    """Add Σ_d v_d x_d² of documents begin … end − 1."""
    for d in range(begin, end):
        row, value = rows[d], values[d]
        if value != 0:
            for i in range(x.shape[1]):
                out[i] += value * x[row, i] * x[row, i]


@summing_kernel
def add_sparse_squares(
    data: Any, indices: Any, indptr: Any, rows: Any, values: Any, begin: int, end: int, out: Any
) -> None:
    """Add Σ_d v_d x_d² of documents begin … end − 1."""
    for d in range(begin, end):
        row, value = rows[d], values[d]
        if value != 0:
            for k in range(indptr[row], indptr[row + 1]):
                out[indices[k]] += value * data[k] * data[k]
