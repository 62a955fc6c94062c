"""Compiled loops over dense features that are centred query by query while they are read: X̂_q = X_q − 1 x̄_qᵀ.

``documents`` are x, the rows of documents in it, and the offsets of queries: those of a query are
``rows[offsets[q]:offsets[q + 1]]``. Features may be float32; every sum is in float64.
Columns are centred before they are multiplied, so that large offsets cancel exactly where they should.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel, summing_kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]
Documents = tuple[Floats, Indices, Indices]
Fitted = tuple[Floats, Floats, Floats, Floats]

# Documents whose products are summed before they are added to a row of H: so the row is loaded and stored less often.
_TOGETHER = 4


@kernel
def means(documents: Documents, first: int, last: int, out: Floats) -> None:
    """x̄_q of queries first … last − 1, written to out[0], out[1], …"""
    x, rows, offsets = documents
    n = x.shape[1]
    for q in range(first, last):
        mean = out[q - first]
        mean[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            for i in range(n):
                mean[i] += row[i]
        size = offsets[q + 1] - offsets[q]
        for i in range(n):
            mean[i] /= size


@kernel
def centre_rows(documents: Documents, first: int, means: Floats, begin: int, end: int, out: Floats) -> None:
    """The centred rows of documents begin … end − 1; query ``first`` has its mean in means[0]."""
    x, rows, offsets = documents
    n = x.shape[1]
    q = first
    for d in range(begin, end):
        while offsets[q + 1] <= d:
            q += 1
        row, mean, centred = x[rows[d]], means[q - first], out[d - begin]
        for i in range(n):
            centred[i] = row[i] - mean[i]


@summing_kernel
def query_sums(
    documents: Documents, target: Floats, first: int, last: int, out_means: Floats, squares: Floats, products: Floats
) -> None:
    """For each query x̄_q, the diagonal of X̂_qᵀX̂_q, and X̂_qᵀŷ_q; a query is in the cache when it is read again."""
    x, rows, offsets = documents
    n = x.shape[1]
    square, product = np.empty(n), np.empty(n)
    for q in range(first, last):
        means(documents, q, q + 1, out_means[q : q + 1])
        mean = out_means[q]
        square[:] = 0
        product[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row, y = x[rows[d]], target[d]
            for i in range(n):
                centred = row[i] - mean[i]
                square[i] += centred * centred
                product[i] += centred * y
        squares[q] = square
        products[q] = product


@summing_kernel
def column_products(
    documents: Documents, means: Floats, columns: Indices, slots: Indices, first: int, last: int, out: Floats
) -> None:
    """out[slots[j], q] = X̂_qᵀ x̂_b for some columns b = columns[j] and each query: rows b of the query's Gram matrix."""
    x, rows, offsets = documents
    n = x.shape[1]
    centred, products = np.empty((_TOGETHER, n)), np.empty((len(columns), n))
    for q in range(first, last):
        products[:] = 0
        for d in range(offsets[q], offsets[q + 1], _TOGETHER):
            _centre_together(x, rows, d, offsets[q + 1], means[q], centred)
            for j in range(len(columns)):
                b = columns[j]
                f0, f1, f2, f3 = centred[0, b], centred[1, b], centred[2, b], centred[3, b]
                for i in range(n):
                    products[j, i] += f0 * centred[0, i] + f1 * centred[1, i] + f2 * centred[2, i] + f3 * centred[3, i]
        for j in range(len(columns)):
            out[slots[j], q] = products[j]


@kernel
def _centre_together(x: Floats, rows: Indices, begin: int, end: int, mean: Floats, out: Floats) -> None:
    """The centred rows of documents begin, begin + 1, …, as many as ``out`` has; from ``end`` on, zeros."""
    for place in range(_TOGETHER):
        if begin + place < end:
            row = x[rows[begin + place]]
            for i in range(len(row)):
                out[place, i] = row[i] - mean[i]
        else:
            out[place] = 0


@kernel
def scores(documents: Documents, columns: Indices, weights: Floats, first: int, last: int, out: Floats) -> None:
    """Σ_j x_{d,columns[j]} weights[q, j]: each query scored with weights of its own."""
    x, rows, offsets = documents
    for q in range(first, last):
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            score = 0.0
            for j in range(len(columns)):
                score += row[columns[j]] * weights[q, j]
            out[d] = score


@kernel
def block_products(
    documents: Documents,
    target: Floats,
    selected: Indices,
    columns: Indices,
    first: int,
    last: int,
    products: Floats,
    squares: Floats,
    target_products: Floats,
) -> None:
    """For each query x̂_sᵀx̂_c of selected columns s and other columns c, and x̂_cᵀx̂_c and x̂_cᵀŷ."""
    x, rows, offsets = documents
    both = np.concatenate((selected, columns))
    k = len(selected)
    mean, centred = np.empty(len(both)), np.empty(len(both))
    for q in range(first, last):
        mean[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            for c in range(len(both)):
                mean[c] += x[rows[d], both[c]]
        mean /= offsets[q + 1] - offsets[q]
        products[q] = 0
        squares[q] = 0
        target_products[q] = 0
        for d in range(offsets[q], offsets[q + 1]):
            for c in range(len(both)):
                centred[c] = x[rows[d], both[c]] - mean[c]
            for j in range(k):
                factor = centred[j]
                for c in range(len(columns)):
                    products[q, j, c] += factor * centred[k + c]
            for c in range(len(columns)):
                squares[q, c] += centred[k + c] * centred[k + c]
                target_products[q, c] += centred[k + c] * target[d]


@kernel
def back_fitting_errors(
    documents: Documents, residual: Floats, fitted: Fitted, alpha: float, first: int, last: int, out: Floats
) -> None:
    """out_i += Σ_q t(t x̂_iᵀx̂_i − 2 x̂_iᵀr_q), t the weight of candidate i fitted to what the selected ones leave.

    ``fitted`` are weights of the selected ones for each query, their rows of X̂ᵀX̂, its diagonal, and X̂ᵀŷ.
    """
    x, rows, offsets = documents
    weights, total_rows, total_squares, total_products = fitted
    n = x.shape[1]
    mean, product, square, explained = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    for q in range(first, last):
        mean[:] = 0
        product[:] = 0
        square[:] = 0
        explained[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            for i in range(n):
                mean[i] += row[i]
        mean /= offsets[q + 1] - offsets[q]
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            for i in range(n):
                centred = row[i] - mean[i]
                product[i] += centred * residual[d]
                square[i] += centred * centred
        for j in range(len(total_rows)):
            for i in range(n):
                explained[i] += total_rows[j, i] * weights[q, j]
        for i in range(n):
            t = (total_products[i] - explained[i] - product[i]) / max(total_squares[i] - square[i] + alpha, alpha)
            out[i] += t * (t * square[i] - 2 * product[i])
