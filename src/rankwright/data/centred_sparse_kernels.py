"""Compiled loops over CSR features that are centred query by query while they are read: X̂_q = X_q − 1 x̄_qᵀ.

``documents`` are data, indices and indptr of CSR, the rows of documents in it, and the offsets of queries: those of a
query are ``rows[offsets[q]:offsets[q + 1]]``. Features may be float32; every sum is in float64.
For any centred v, Σ_d v_d x̂_di = Σ_d v_d x_di, so that only stored entries are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]
Documents = tuple[Floats, Indices, Indices, Indices, Indices]
Places = tuple[Indices, int]
Fitted = tuple[Floats, Floats, Floats, Floats]


@kernel
def query_sums(documents: Documents, target: Floats, first: int, last: int, squares: Floats, products: Floats) -> None:
    """For each query the diagonal of X̂_qᵀX̂_q, and X̂_qᵀŷ_q; documents without an entry add x̄² each to the diagonal."""
    data, indices, indptr, rows, offsets = documents
    mean, missing = np.empty(squares.shape[1]), np.empty(squares.shape[1])
    for q in range(first, last):
        square, product = squares[q], products[q]
        size = offsets[q + 1] - offsets[q]
        mean[:] = 0
        product[:] = 0
        missing[:] = size
        for d in range(offsets[q], offsets[q + 1]):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                mean[indices[e]] += data[e]
                product[indices[e]] += data[e] * target[d]
                missing[indices[e]] -= 1
        for i in range(len(mean)):
            mean[i] /= size
            square[i] = missing[i] * mean[i] * mean[i]
        for d in range(offsets[q], offsets[q + 1]):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                centred = data[e] - mean[indices[e]]
                square[indices[e]] += centred * centred


@kernel
def centred_column(documents: Documents, begin: int, end: int, column: int, out: Floats) -> float:
    """Write x̂_{d,column} for documents begin … end − 1, a whole query; returns the mean that was taken off."""
    data, indices, indptr, rows, _ = documents
    mean = 0.0
    for d in range(begin, end):
        start, stop = indptr[rows[d]], indptr[rows[d] + 1]
        position, bound = start, stop
        while position < bound:
            middle = (position + bound) // 2
            if indices[middle] < column:
                position = middle + 1
            else:
                bound = middle
        out[d - begin] = data[position] if position < stop and indices[position] == column else 0.0
        mean += out[d - begin]
    mean /= end - begin
    for d in range(end - begin):
        out[d] -= mean
    return mean


@kernel
def column_products(documents: Documents, columns: Indices, slots: Indices, first: int, last: int, out: Floats) -> None:
    """out[slots[j], q] = X̂_qᵀ x̂_b for some columns b = columns[j] and each query: rows b of the query's Gram matrix."""
    data, indices, indptr, rows, offsets = documents
    largest = 0
    for q in range(first, last):
        largest = max(largest, offsets[q + 1] - offsets[q])
    factors = np.empty(largest)
    for q in range(first, last):
        for j in range(len(columns)):
            products = out[slots[j], q]
            products[:] = 0
            centred_column(documents, offsets[q], offsets[q + 1], columns[j], factors)
            for d in range(offsets[q], offsets[q + 1]):
                factor = factors[d - offsets[q]]
                if factor != 0:
                    for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                        products[indices[e]] += factor * data[e]


@kernel
def scores(documents: Documents, place_of_column: Indices, weights: Floats, first: int, last: int, out: Floats) -> None:
    """Each query scored with weights of its own.

    place_of_column[i] is where column i has its weight, or −1.
    """
    data, indices, indptr, rows, offsets = documents
    for q in range(first, last):
        for d in range(offsets[q], offsets[q + 1]):
            score = 0.0
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                place = place_of_column[indices[e]]
                if place >= 0:
                    score += data[e] * weights[q, place]
            out[d] = score


@kernel
def densify_query(documents: Documents, begin: int, end: int, out: Floats) -> None:
    """The documents begin … end − 1 as a dense block, not centred."""
    data, indices, indptr, rows, _ = documents
    for d in range(begin, end):
        dense = out[d - begin]
        dense[:] = 0
        for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
            dense[indices[e]] = data[e]


@kernel
def block_products(
    documents: Documents,
    target: Floats,
    selected: Places,
    columns: Places,
    first: int,
    last: int,
    products: Floats,
    squares: Floats,
    target_products: Floats,
) -> None:
    """For each query x̂_sᵀx̂_c of selected columns s and other columns c, and x̂_cᵀx̂_c and x̂_cᵀŷ.

    Places are positions in the block, or −1, and how many there are.
    """
    data, indices, indptr, rows, offsets = documents
    place_of_selected, n_selected = selected
    place_of_column, n_columns = columns
    means, missing = np.empty(n_columns), np.empty(n_columns)
    for q in range(first, last):
        begin, end = offsets[q], offsets[q + 1]
        chosen = np.zeros((end - begin, n_selected))
        for d in range(begin, end):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                place = place_of_selected[indices[e]]
                if place >= 0:
                    chosen[d - begin, place] = data[e]
        for j in range(n_selected):
            chosen[:, j] -= chosen[:, j].mean()
        products[q] = 0
        target_products[q] = 0
        means[:] = 0
        missing[:] = end - begin
        for d in range(begin, end):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                place = place_of_column[indices[e]]
                if place >= 0:
                    means[place] += data[e] / (end - begin)
                    missing[place] -= 1
                    target_products[q, place] += target[d] * data[e]
                    for j in range(n_selected):
                        products[q, j, place] += chosen[d - begin, j] * data[e]
        for c in range(n_columns):
            squares[q, c] = missing[c] * means[c] * means[c]
        for d in range(begin, end):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                place = place_of_column[indices[e]]
                if place >= 0:
                    squares[q, place] += (data[e] - means[place]) ** 2


@kernel
def touch(documents: Documents, begin: int, end: int, touched: Indices, mean: Floats, square: Floats) -> int:
    """Mean and centred square of every column that documents begin … end − 1, a whole query, have entries of.

    Returns how many there are and writes them to ``touched``; ``mean`` and ``square`` must come as zeros there, and
    ``square`` must come and is left as 0 elsewhere.
    """
    data, indices, indptr, rows, _ = documents
    n_touched = 0
    for d in range(begin, end):
        for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
            i = indices[e]
            if square[i] == 0:
                touched[n_touched] = i
                n_touched += 1
            square[i] += 1  # counts entries for now
            mean[i] += data[e] / (end - begin)
    for position in range(n_touched):
        i = touched[position]
        square[i] = (end - begin - square[i]) * mean[i] * mean[i]
    for d in range(begin, end):
        for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
            i = indices[e]
            square[i] += (data[e] - mean[i]) ** 2
    return n_touched


@kernel
def add_squares(documents: Documents, first: int, last: int, out: Floats) -> None:
    """out_i += x̂_iᵀx̂_i over queries first … last − 1."""
    offsets = documents[4]
    mean, square, touched = np.zeros(len(out)), np.zeros(len(out)), np.empty(len(out), np.int64)
    for q in range(first, last):
        n_touched = touch(documents, offsets[q], offsets[q + 1], touched, mean, square)
        for position in range(n_touched):
            i = touched[position]
            out[i] += square[i]
            mean[i] = square[i] = 0


@kernel
def back_fitting_errors(
    documents: Documents, residual: Floats, fitted: Fitted, alpha: float, first: int, last: int, out: Floats
) -> None:
    """out_i += Σ_q t(t x̂_iᵀx̂_i − 2 x̂_iᵀr_q), t the weight of candidate i fitted to what the selected ones leave.

    ``fitted`` are weights of the selected ones for each query, their rows of X̂ᵀX̂, its diagonal, and X̂ᵀŷ. A feature
    that no document of a query has changes nothing there.
    """
    data, indices, indptr, rows, offsets = documents
    weights, total_rows, total_squares, total_products = fitted
    n = len(out)
    mean, square, product, touched = np.zeros(n), np.zeros(n), np.zeros(n), np.empty(n, np.int64)
    for q in range(first, last):
        n_touched = touch(documents, offsets[q], offsets[q + 1], touched, mean, square)
        for d in range(offsets[q], offsets[q + 1]):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                product[indices[e]] += data[e] * residual[d]
        for position in range(n_touched):
            i = touched[position]
            explained = 0.0
            for j in range(len(total_rows)):
                explained += total_rows[j, i] * weights[q, j]
            t = (total_products[i] - explained - product[i]) / max(total_squares[i] - square[i] + alpha, alpha)
            out[i] += t * (t * square[i] - 2 * product[i])
            mean[i] = product[i] = square[i] = 0
