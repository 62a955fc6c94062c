"""Compiled loops over planes that are kept as numbers for documents (see `document_planes`).

Features are a matrix x, or data, indices and indptr of CSR, and the rows of documents; what there is not is None.
``known`` is where queries begin, and what `plane_kernels` knows of planes, with coefficients of documents for vectors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.product_kernels import (
    add_dense_transposed,
    add_sparse_transposed,
    dense_scores,
    sparse_scores,
)
from rankwright.machine.compile import kernel
from rankwright.solvers.plane_kernels import NO_ROOM, NONE, ROUNDING, ascend_query, claim_place, keep_active

Features = tuple[Any, Any, Any, Any, Any]


@kernel
def _scores(
    x: Any, data: Any, indices: Any, indptr: Any, rows: Any, weights: Any, begin: int, end: int, out: Any
) -> None:
    """Xw of documents begin … end − 1."""
    if x is not None:
        dense_scores(x, rows, weights, begin, end, out)
    if indptr is not None:
        sparse_scores(data, indices, indptr, rows, weights, begin, end, out)


@kernel
def _add_transposed(
    x: Any, data: Any, indices: Any, indptr: Any, rows: Any, values: Any, begin: int, end: int, out: Any
) -> None:
    """Add Xᵀv of documents begin … end − 1."""
    if x is not None:
        add_dense_transposed(x, rows, values, begin, end, out)
    if indptr is not None:
        add_sparse_transposed(data, indices, indptr, rows, values, begin, end, out)


@kernel
def _clear(x: Any, data: Any, indices: Any, indptr: Any, rows: Any, begin: int, end: int, vector: Any) -> None:
    """Zeros for the features that documents begin … end − 1 have."""
    if indptr is None:
        for f in range(len(vector)):
            vector[f] = 0.0
    if indptr is not None:
        for d in range(begin, end):
            for k in range(indptr[rows[d]], indptr[rows[d] + 1]):
                vector[indices[k]] = 0.0


@kernel
def _height(margin: float, coefficients: Any, scores: Any, begin: int, end: int) -> float:
    """b + cᵀs."""
    total = margin
    for d in range(begin, end):
        total += coefficients[d] * scores[d]
    return total


@kernel
def add_planes(
    first: int, last: int, features: Features, new: Any, least: float, known: Any, uses: Any, room: Any
) -> int:
    """As `plane_kernels.add_planes`, where ``new`` has scores besides.

    ``room`` has a zero for each feature, in the end again, and a number for each document.
    """
    scores, new_coefficients, new_margins, new_heights = new
    offsets, coefficients, margins, duals, gram, counts = known
    vector, products = room
    for q in range(first, last):
        begin, end = offsets[q], offsets[q + 1]
        highest = 0.0
        for i in range(1, counts[q]):
            highest = max(highest, _height(margins[q, i], coefficients[i], scores, begin, end))
        is_new = new_heights[q] - highest > max(least, ROUNDING * new_heights[q])
        place = claim_place(q, is_new, len(coefficients), duals, counts, uses)
        if place == NO_ROOM:
            return q
        if place == NONE:
            continue
        for d in range(begin, end):
            coefficients[place, d] = new_coefficients[d]
        margins[q, place] = new_margins[q]
        _add_transposed(*features, coefficients[place], begin, end, vector)
        _scores(*features, vector, begin, end, products)
        _clear(*features, begin, end, vector)
        gram[q, place, 0], gram[q, 0, place] = 0.0, 0.0
        for i in range(1, counts[q]):
            gram[q, place, i] = _height(0.0, coefficients[i], products, begin, end)
            gram[q, i, place] = gram[q, place, i]
    return last


@kernel
def drop_idle(most: int, known: Any, idle: Any) -> None:
    """As `plane_kernels.drop_idle`."""
    offsets, coefficients, margins, duals, gram, counts = known
    kept = np.empty(len(coefficients), np.int64)
    for q in range(len(counts)):
        counts[q] = keep_active(most, margins[q], duals[q], gram[q], counts[q], idle[q], kept)
        for i in range(1, counts[q]):
            if kept[i] != i:
                for d in range(offsets[q], offsets[q + 1]):
                    coefficients[i, d] = coefficients[kept[i], d]


@kernel
def ascend(
    order: Any, alpha: float, least: float, most_steps: int, weights: Any, features: Features, known: Any, room: Any
) -> float:
    """As `plane_kernels.ascend`; ``room`` has two numbers for each document."""
    offsets, coefficients, margins, duals, gram, counts = known
    scores, change = room
    capacity = len(coefficients)
    height, moved = np.empty(capacity), np.empty(capacity)
    gap = 0.0
    for q in order:
        begin, end, count = offsets[q], offsets[q + 1], counts[q]
        if count == 1:
            continue
        _scores(*features, weights, begin, end, scores)
        height[0], moved[0] = 0.0, 0.0
        highest, mean = 0.0, 0.0
        for i in range(1, count):
            height[i] = _height(margins[q, i], coefficients[i], scores, begin, end)
            moved[i] = 0.0
            highest = max(highest, height[i])
            mean += duals[q, i] * height[i]
        gap += highest - mean
        if highest - mean <= least:
            continue
        ascend_query(count, alpha, least, most_steps, height, duals[q], gram[q], moved)
        for d in range(begin, end):
            change[d] = 0.0
            for i in range(1, count):
                change[d] -= moved[i] / alpha * coefficients[i, d]
        _add_transposed(*features, change, begin, end, weights)
    return gap


@kernel
def mixed_coefficients(known: Any, first: int, last: int, out: Any) -> None:
    """Σ d_i c_i of each document of queries first … last − 1."""
    offsets, coefficients, _, duals, _, counts = known
    for q in range(first, last):
        for d in range(offsets[q], offsets[q + 1]):
            out[d] = 0.0
            for i in range(1, counts[q]):
                out[d] += duals[q, i] * coefficients[i, d]
