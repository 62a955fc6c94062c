"""Sums of the logistic function over pairs of documents, in time linear in the documents, to rounding accuracy.

Targets and sources are put in boxes of width 1. Between two boxes, K(u) with u = source − target is a polynomial of
Chebyshev's in both places, K(u) ≈ Σ_kl C_kl T_k(x) T_l(y), whose coefficients depend only on how far apart they are.
So Σ_j weight_j K(u_ij) takes one sum per box of sources, one small product per pair of boxes, and one sum per target
(a fast multipole method in one dimension). K is analytic up to ±iπ, so 14 terms leave less than 10⁻¹⁵; boxes more than
40 apart see log(1 + e^u) as 0 or u.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel, summing_kernel

TERMS = 14
_REACH = 40
_FEW_PAIRS = 3  # of so few documents in two boxes, each pair by itself

VALUE, SLOPE, CURVATURE = range(3)


@lru_cache(maxsize=1)
def tables() -> npt.NDArray[np.float64]:
    """C_kl of log(1 + e^u), its derivative and its second derivative, for boxes −40 … 40 apart."""
    angles = np.pi * (np.arange(TERMS) + 0.5) / TERMS
    nodes = np.cos(angles)
    to_coefficients = np.cos(np.outer(np.arange(TERMS), angles)) * (2 / TERMS)
    to_coefficients[0] /= 2
    apart = np.arange(-_REACH, _REACH + 1)
    u = apart[:, None, None] + 0.5 * (nodes[None, None, :] - nodes[None, :, None])  # box, target, source
    sigmoid = np.where(u < 0, np.exp(-np.logaddexp(0, -u)), 1 / (1 + np.exp(-np.abs(u))))
    functions = np.stack([np.logaddexp(0, u), sigmoid, np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2])
    coefficients: npt.NDArray[np.float64] = to_coefficients @ functions @ to_coefficients.T
    return np.ascontiguousarray(coefficients)


@kernel
def _fill_boxes(places: Any, box: Any, starts: Any) -> int:
    """The boxes that hold something, descending: their lower ends, and where their places start; how many."""
    count = 0
    for k in range(len(places)):
        lower = np.floor(places[k])
        if count == 0 or lower != box[count - 1]:
            box[count], starts[count] = lower, k
            count += 1
    starts[count] = len(places)
    return count


@kernel
def _box_sums(places: Any, weights: Any, box: Any, starts: Any, count: int, sums: Any, totals: Any) -> None:
    """Σ weight · T_k of each box of sources; and in ``totals`` of all boxes before: Σ weight, Σ weight · place."""
    totals[0, 0] = totals[0, 1] = 0
    for b in range(count):
        sums[b] = 0
        totals[b + 1, 0], totals[b + 1, 1] = totals[b, 0], totals[b, 1]
        for j in range(starts[b], starts[b + 1]):
            x = 2 * (places[j] - box[b]) - 1
            previous, current = weights[j], weights[j] * x
            sums[b, 0] += previous
            totals[b + 1, 0] += previous
            totals[b + 1, 1] += previous * places[j]
            for k in range(1, TERMS):
                sums[b, k] += current
                previous, current = current, 2 * x * current - previous


@summing_kernel
def _add_product(matrix: Any, vector: Any, out: Any) -> None:
    for k in range(TERMS):
        term = 0.0
        for m in range(TERMS):
            term += matrix[k, m] * vector[m]
        out[k] += term


@kernel
def logistic(u: float, kind: int) -> float:
    """log(1 + e^u), its derivative or its second derivative."""
    small = np.exp(-abs(u))
    if kind == VALUE:
        return max(u, 0.0) + np.log1p(small)
    if kind == SLOPE:
        return (1.0 if u >= 0 else small) / (1 + small)
    return small / ((1 + small) * (1 + small))


@kernel
def logistic_sums(
    targets: Any, sources: Any, weights: Any, table: Any, kinds: Any, space: Any, starts: Any, out: Any
) -> None:
    """Σ over sources of weight · K(source − target) for each of the ``kinds`` of K, both sides descending.

    ``space`` (5 × longest + 1 × terms) and ``starts`` (2 × longest + 1) are scratch.
    """
    box, source_box = space[0, :, 0], space[1, :, 0]
    sums, totals, local = space[2], space[3], space[4]
    n_boxes = _fill_boxes(targets, box, starts[0])
    n_sources = _fill_boxes(sources, source_box, starts[1])
    _box_sums(sources, weights, source_box, starts[1], n_sources, sums, totals)
    for position in range(len(kinds)):
        kind = kinds[position]
        near = far = 0  # source boxes before ``near`` are far above the target, those from ``far`` on far below
        for b in range(n_boxes):
            while near < n_sources and source_box[near] - box[b] > _REACH:
                near += 1
            far = max(far, near)
            while far < n_sources and source_box[far] - box[b] >= -_REACH:
                far += 1
            local[0] = 0
            begin, end = starts[0, b], starts[0, b + 1]
            for i in range(begin, end):
                out[kind, i] = 0
            for c in range(near, far):
                source, stop = starts[1, c], starts[1, c + 1]
                if (end - begin) * (stop - source) <= _FEW_PAIRS:
                    for i in range(begin, end):
                        for j in range(source, stop):
                            out[kind, i] += weights[j] * logistic(sources[j] - targets[i], kind)
                else:
                    _add_product(table[kind, int(source_box[c] - box[b]) + _REACH], sums[c], local[0])
            for i in range(begin, end):
                x = 2 * (targets[i] - box[b]) - 1
                previous, current = 1.0, x
                value = local[0, 0]
                for k in range(1, TERMS):
                    value += local[0, k] * current
                    previous, current = current, 2 * x * current - previous
                if kind == VALUE:
                    value += totals[near, 1] - targets[i] * totals[near, 0]
                elif kind == SLOPE:
                    value += totals[near, 0]
                out[kind, i] += value
