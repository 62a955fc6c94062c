"""Compiled loops of greedy selection; `rankwright.selection.greedy` has the mathematics.

The first index of every array is a problem: the training set without query q, for each q, and at the end without
nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.compile import kernel, summing_kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]

# The numbers that tell all about a candidate: d and r in training, v and f on the held-out query.
PIVOT, COVARIANCE, NORM, RESIDUAL = range(4)


@summing_kernel
def sweep(
    products: Floats,
    slot: int,
    totals: Floats,
    step: int,
    history_b: Floats,
    place_b: int,
    moments_b: Floats,
    least_pivot: float,
    active: Indices,
    history: Floats,
    moments: Floats,
    first: int,
    last: int,
    changes: Floats,
) -> None:
    """Take the feature b that was selected at ``step`` out of the active candidates, in problems first … last − 1.

    Adds to changes[i] what candidate i then changes in the held-out squared error. ``history`` has β and ρ of every
    candidate with the features of the steps before, and ``moments`` its d, r, v, f; ``history_b``, where b stands at
    ``place_b``, and ``moments_b`` are those of the selected features.
    """
    by_joint, by_inner, by_coefficient = np.empty(step), np.empty(step), np.empty(step)
    for q in range(first, last):
        for l in range(step):
            coefficient = history_b[q, place_b, 0, l]
            by_joint[l] = coefficient * moments_b[q, PIVOT, l]
            by_inner[l] = coefficient
            by_coefficient[l] = history_b[q, place_b, 1, l] - coefficient * moments_b[q, NORM, l]
        per_pivot, norm_b = 1 / moments_b[q, PIVOT, step], moments_b[q, NORM, step]
        covariance_b, residual_b = moments_b[q, COVARIANCE, step], moments_b[q, RESIDUAL, step]
        gain_b = covariance_b * per_pivot
        for a in range(len(active)):
            i = active[a]
            explained, along, crossed = 0.0, 0.0, 0.0  # three sums, none of which waits for another
            for l in range(step):
                explained += by_joint[l] * history[q, i, 0, l]
                along += by_inner[l] * history[q, i, 1, l]
                crossed += by_coefficient[l] * history[q, i, 0, l]
            joint = totals[i] - products[q, slot, i] - explained
            held = products[q, slot, i] - along - crossed
            coefficient = joint * per_pivot
            history[q, i, 0, step] = coefficient
            history[q, i, 1, step] = held
            pivot = max(moments[q, i, PIVOT] - coefficient * joint, least_pivot)
            covariance = moments[q, i, COVARIANCE] - coefficient * covariance_b
            norm = max(moments[q, i, NORM] - coefficient * (2 * held - coefficient * norm_b), 0.0)
            residual = moments[q, i, RESIDUAL] - coefficient * residual_b - gain_b * (held - coefficient * norm_b)
            moments[q, i, PIVOT] = pivot
            moments[q, i, COVARIANCE] = covariance
            moments[q, i, NORM] = norm
            moments[q, i, RESIDUAL] = residual
            gain = covariance / pivot
            changes[i] += gain * (gain * norm - 2 * residual)


@kernel
def add_changes(moments: Floats, first: int, last: int, changes: Floats) -> None:
    """changes[i] += Σ_q g(gv − 2f) with g = r/d, over problems first … last − 1, nothing being selected yet."""
    for q in range(first, last):
        for i in range(len(changes)):
            gain = moments[q, i, COVARIANCE] / moments[q, i, PIVOT]
            changes[i] += gain * (gain * moments[q, i, NORM] - 2 * moments[q, i, RESIDUAL])


@kernel
def back_substitute(history: Floats, places: Indices, columns: Floats, first: int, last: int) -> None:
    """Solve x_j + Σ_{l>j} history[q, places[l], 0, j] x_l = columns[q, j] in place, for problems first … last − 1."""
    for q in range(first, last):
        for l in range(len(places) - 1, 0, -1):
            x, place = columns[q, l], places[l]
            for j in range(l):
                columns[q, j] -= history[q, place, 0, j] * x
