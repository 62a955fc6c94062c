"""Compiled loops that centre features query by query while they read them: X̂_q = X_q − 1 x̄_qᵀ is never stored.

A query's documents are ``rows[offsets[q]:offsets[q + 1]]``. Features may be float32; every sum is in float64.
Dense features are centred before they are multiplied, so that large offsets cancel exactly where they should; for
CSR, Σ_d v_d x̂_di = Σ_d v_d x_di for any centred v, so that only stored entries are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.compile import kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]

# Dense features


@kernel
def dense_means(x: Floats, rows: Indices, offsets: Indices, first: int, last: int, means: Floats) -> None:
    """x̄_q of queries first … last − 1, written to means[0], means[1], …"""
    n = x.shape[1]
    for q in range(first, last):
        mean = means[q - first]
        mean[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            for i in range(n):
                mean[i] += row[i]
        size = offsets[q + 1] - offsets[q]
        for i in range(n):
            mean[i] /= size


@kernel
def centre_rows(
    x: Floats, rows: Indices, offsets: Indices, first: int, means: Floats, begin: int, end: int, out: Floats
) -> None:
    """The centred rows of documents begin … end − 1; query ``first`` has its mean in means[0]."""
    n = x.shape[1]
    q = first
    for d in range(begin, end):
        while offsets[q + 1] <= d:
            q += 1
        row, mean, centred = x[rows[d]], means[q - first], out[d - begin]
        for i in range(n):
            centred[i] = row[i] - mean[i]


@kernel
def dense_query_sums(
    x: Floats,
    rows: Indices,
    offsets: Indices,
    target: Floats,
    first: int,
    last: int,
    means: Floats,
    squares: Floats,
    products: Floats,
) -> None:
    """For each query x̄_q, the diagonal of X̂_qᵀX̂_q, and X̂_qᵀŷ_q."""
    n = x.shape[1]
    dense_means(x, rows, offsets, first, last, means[first:last])
    for q in range(first, last):
        mean, square, product = means[q], squares[q], products[q]
        square[:] = 0
        product[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row, y = x[rows[d]], target[d]
            for i in range(n):
                centred = row[i] - mean[i]
                square[i] += centred * centred
                product[i] += centred * y


@kernel
def dense_column_products(
    x: Floats, rows: Indices, offsets: Indices, means: Floats, column: int, first: int, last: int, out: Floats
) -> None:
    """X̂_qᵀ x̂_b for one column b and each query: row b of the query's Gram matrix."""
    n = x.shape[1]
    for q in range(first, last):
        mean, products = means[q], out[q]
        products[:] = 0
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            factor = row[column] - mean[column]
            if factor != 0:
                for i in range(n):
                    products[i] += factor * (row[i] - mean[i])


@kernel
def dense_scores(
    x: Floats, rows: Indices, offsets: Indices, columns: Indices, weights: Floats, first: int, last: int, out: Floats
) -> None:
    """Σ_j x_{d,columns[j]} weights[q, j]: each query scored with weights of its own, in row order."""
    for q in range(first, last):
        for d in range(offsets[q], offsets[q + 1]):
            row = x[rows[d]]
            score = 0.0
            for j in range(len(columns)):
                score += row[columns[j]] * weights[q, j]
            out[rows[d]] = score


@kernel
def dense_block_products(
    x: Floats,
    rows: Indices,
    offsets: Indices,
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
def dense_back_fitting_errors(
    x: Floats,
    rows: Indices,
    offsets: Indices,
    residual: Floats,
    weights: Floats,
    total_rows: Floats,
    total_squares: Floats,
    total_products: Floats,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """out_i += Σ_q t(t x̂_iᵀx̂_i − 2 x̂_iᵀr_q), t the weight of candidate i fitted to what the selected ones leave."""
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
            t = (total_products[i] - explained[i] - product[i]) / (total_squares[i] - square[i])
            out[i] += t * (t * square[i] - 2 * product[i])


# CSR features


@kernel
def sparse_query_sums(
    data: Floats,
    indices: Indices,
    indptr: Indices,
    rows: Indices,
    offsets: Indices,
    target: Floats,
    first: int,
    last: int,
    means: Floats,
    squares: Floats,
    products: Floats,
) -> None:
    """As `dense_query_sums`; documents without an entry add x̄² each to the diagonal."""
    missing = np.empty(means.shape[1])
    for q in range(first, last):
        mean, square, product = means[q], squares[q], products[q]
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
def centred_column(
    data: Floats, indices: Indices, indptr: Indices, rows: Indices, begin: int, end: int, column: int, out: Floats
) -> float:
    """Write x̂_{d,column} for documents begin … end − 1, a whole query; returns the mean that was taken off."""
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
def sparse_column_products(
    data: Floats,
    indices: Indices,
    indptr: Indices,
    rows: Indices,
    offsets: Indices,
    column: int,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """As `dense_column_products`."""
    largest = 0
    for q in range(first, last):
        largest = max(largest, offsets[q + 1] - offsets[q])
    factors = np.empty(largest)
    for q in range(first, last):
        products = out[q]
        products[:] = 0
        centred_column(data, indices, indptr, rows, offsets[q], offsets[q + 1], column, factors)
        for d in range(offsets[q], offsets[q + 1]):
            factor = factors[d - offsets[q]]
            if factor != 0:
                for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                    products[indices[e]] += factor * data[e]


@kernel
def sparse_scores(
    data: Floats,
    indices: Indices,
    indptr: Indices,
    rows: Indices,
    offsets: Indices,
    place_of_column: Indices,
    weights: Floats,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """As `dense_scores`; place_of_column[i] is where column i has its weight, or −1."""
    for q in range(first, last):
        for d in range(offsets[q], offsets[q + 1]):
            score = 0.0
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                place = place_of_column[indices[e]]
                if place >= 0:
                    score += data[e] * weights[q, place]
            out[rows[d]] = score


@kernel
def densify_query(
    data: Floats, indices: Indices, indptr: Indices, rows: Indices, begin: int, end: int, out: Floats
) -> None:
    """The documents begin … end − 1 as a dense block, not centred."""
    for d in range(begin, end):
        dense = out[d - begin]
        dense[:] = 0
        for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
            dense[indices[e]] = data[e]


@kernel
def sparse_block_products(
    data: Floats,
    indices: Indices,
    indptr: Indices,
    rows: Indices,
    offsets: Indices,
    target: Floats,
    place_of_selected: Indices,
    n_selected: int,
    place_of_column: Indices,
    n_columns: int,
    first: int,
    last: int,
    products: Floats,
    squares: Floats,
    target_products: Floats,
) -> None:
    """As `dense_block_products`, from stored entries alone; places are positions in the block, or −1."""
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
def sparse_back_fitting_errors(
    data: Floats,
    indices: Indices,
    indptr: Indices,
    rows: Indices,
    offsets: Indices,
    residual: Floats,
    weights: Floats,
    total_rows: Floats,
    total_squares: Floats,
    total_products: Floats,
    first: int,
    last: int,
    out: Floats,
) -> None:
    """As `dense_back_fitting_errors`; a feature that no document of a query has changes nothing there."""
    n = len(out)
    mean, product, square, missing = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
    touched = np.empty(n, np.int64)
    for q in range(first, last):
        begin, end = offsets[q], offsets[q + 1]
        n_touched = 0
        for d in range(begin, end):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                i = indices[e]
                if missing[i] == 0:
                    touched[n_touched] = i
                    n_touched += 1
                    missing[i] = end - begin + 1  # one more than there are, so that 0 means "not seen yet"
                missing[i] -= 1
                mean[i] += data[e] / (end - begin)
                product[i] += data[e] * residual[d]
        for d in range(begin, end):
            for e in range(indptr[rows[d]], indptr[rows[d] + 1]):
                square[indices[e]] += (data[e] - mean[indices[e]]) ** 2
        for position in range(n_touched):
            i = touched[position]
            squares = square[i] + (missing[i] - 1) * mean[i] * mean[i]
            explained = 0.0
            for j in range(len(total_rows)):
                explained += total_rows[j, i] * weights[q, j]
            t = (total_products[i] - explained - product[i]) / (total_squares[i] - squares)
            out[i] += t * (t * squares - 2 * product[i])
            mean[i] = product[i] = square[i] = missing[i] = 0
