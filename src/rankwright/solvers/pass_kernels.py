"""Compiled passes over dense features with a pairwise loss in between: a few queries at a time, in a core's cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.product_kernels import add_dense_transposed, dense_scores
from rankwright.losses import pair_kernels
from rankwright.machine.compile import kernel
from rankwright.measures.sorting import KEEP_ORDER, rank_documents


@kernel
def _block_end(offsets: Any, first: int, last: int, documents: int) -> int:
    """Where a run of queries from ``first`` on ends that has at most so many documents, or one query."""
    end = first + 1
    while end < last and offsets[end + 1] - offsets[first] <= documents:
        end += 1
    return end


@kernel
def gradient_pass(
    features: Any, first: int, last: int, weights: Any, shift: Any, place: Any, evaluated: Any, out: Any
) -> None:
    """Xw, the loss and its gradient g at these scores, and Xᵀg added to ``out``, for queries first … last − 1.

    ``features`` are X, the rows of documents, where queries begin, and how many documents to take at a time.
    """
    x, rows, offsets, documents = features
    scores, z, order, gradient = place
    no_second_keys = np.empty(0)
    while first < last:
        stop = _block_end(offsets, first, last, documents)
        begin, end = offsets[first], offsets[stop]
        dense_scores(x, rows, weights, begin, end, scores)
        for d in range(begin, end):
            z[d] = scores[d] - (shift[d] if len(shift) > 0 else 0.0)
        pair_kernels.centre(z, offsets, first, stop)
        rank_documents(z, no_second_keys, KEEP_ORDER, offsets, first, stop, order)
        pair_kernels.evaluate(first, stop, *evaluated)
        add_dense_transposed(x, rows, gradient, begin, end, out)
        first = stop


@kernel
def curvature_pass(
    features: Any, first: int, last: int, direction: Any, along: Any, bent: Any, curved: Any, out: Any
) -> None:
    """Xd, the loss's Hessian times that, and Xᵀ times that added to ``out``, for queries first … last − 1."""
    x, rows, offsets, documents = features
    while first < last:
        stop = _block_end(offsets, first, last, documents)
        begin, end = offsets[first], offsets[stop]
        dense_scores(x, rows, direction, begin, end, along)
        pair_kernels.curve(along, first, stop, 0, bent, *curved)
        add_dense_transposed(x, rows, bent, begin, end, out)
        first = stop
