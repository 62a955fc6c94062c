"""Compiled loops of greedy selection; `rankwright.selection.greedy` has the mathematics.

The first index of every array is a problem: the training set without query q, for each q, and at the end without
nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.compile import kernel

Floats = npt.NDArray[Any]
Indices = npt.NDArray[Any]

# The numbers that tell all about a candidate: d and r in training, v and f on the held-out query.
PIVOT, COVARIANCE, NORM, RESIDUAL = range(4)


@kernel
def sum_over_others(products: Floats, slot: int, out: Floats) -> None:
    """out[q] = Σ_{p≠q} products[p, slot], by sums from both ends: a query that outweighs all others is not subtracted.

    The last problem, which leaves out nothing, has products of 0, and so gets the sum of all.
    """
    n_problems, n = out.shape
    running = np.zeros(n)
    for q in range(n_problems):
        for i in range(n):
            out[q, i] = running[i]
            running[i] += products[q, slot, i]
    running[:] = 0
    for q in range(n_problems - 1, -1, -1):
        for i in range(n):
            out[q, i] += running[i]
            running[i] += products[q, slot, i]


@kernel
def sweep(
    products: Floats,
    slot: int,
    others: Floats,
    step: int,
    place: int,
    history_b: Floats,
    moments_b: Floats,
    least_pivot: float,
    columns: Indices,
    history: Floats,
    moments: Floats,
    first: int,
    last: int,
    changes: Floats,
) -> None:
    """Take the feature b that was selected at ``step`` out of all candidates, in problems first … last − 1.

    The inner products of b with all columns are products[q, slot] on the held-out query, and others[q] in training.
    Adds to changes[c] what candidate c then changes in the held-out squared error. ``history`` has β and ρ of every
    candidate with the features of the steps before, ``moments`` its d, r, v, f, and ``columns`` its column of X;
    ``history_b`` and ``moments_b`` are those of b. If b is a candidate, at ``place``, its history is noted here, where
    reading it costs nothing: the same memory is needed next.
    """
    width = len(columns)
    joint, held = np.empty(width), np.empty(width)
    for q in range(first, last):
        for c in range(width):
            held[c] = products[q, slot, columns[c]]
            joint[c] = others[q, columns[c]]
        if place >= 0:
            for l in range(step):
                history_b[q, 0, l] = history[q, l, 0, place]
                history_b[q, 1, l] = history[q, l, 1, place]
        for l in range(step):
            coefficient = history_b[q, 0, l]
            by_joint = coefficient * moments_b[q, PIVOT, l]
            by_coefficient = history_b[q, 1, l] - coefficient * moments_b[q, NORM, l]
            for c in range(width):
                joint[c] -= by_joint * history[q, l, 0, c]
                held[c] -= coefficient * history[q, l, 1, c] + by_coefficient * history[q, l, 0, c]
        _update(moments_b[q, :, step], least_pivot, joint, held, history[q, step], moments[q], changes)


@kernel
def _update(
    moments_b: Floats, least_pivot: float, joint: Floats, held: Floats, row: Floats, moments: Floats, changes: Floats
) -> None:
    """Bring d, r, v, f of one problem up to date, given d_b β and ρ; note β and ρ; add to the changes."""
    per_pivot, norm_b = 1 / moments_b[PIVOT], moments_b[NORM]
    covariance_b, residual_b = moments_b[COVARIANCE], moments_b[RESIDUAL]
    gain_b = covariance_b * per_pivot
    for c in range(len(joint)):
        coefficient = joint[c] * per_pivot
        row[0, c] = coefficient
        row[1, c] = held[c]
        pivot = max(moments[PIVOT, c] - coefficient * joint[c], least_pivot)
        covariance = moments[COVARIANCE, c] - coefficient * covariance_b
        norm = max(moments[NORM, c] - coefficient * (2 * held[c] - coefficient * norm_b), 0.0)
        residual = moments[RESIDUAL, c] - coefficient * residual_b - gain_b * (held[c] - coefficient * norm_b)
        moments[PIVOT, c] = pivot
        moments[COVARIANCE, c] = covariance
        moments[NORM, c] = norm
        moments[RESIDUAL, c] = residual
        gain = covariance / pivot
        changes[c] += gain * (gain * norm - 2 * residual)


@kernel
def add_changes(moments: Floats, first: int, last: int, changes: Floats) -> None:
    """changes[c] += Σ_q g(gv − 2f) with g = r/d, over problems first … last − 1, nothing being selected yet."""
    for q in range(first, last):
        for c in range(len(changes)):
            gain = moments[q, COVARIANCE, c] / moments[q, PIVOT, c]
            changes[c] += gain * (gain * moments[q, NORM, c] - 2 * moments[q, RESIDUAL, c])


@kernel
def keep_places(values: Floats, n_runs: int, n_kept: int, n_skipped: int, width: int, places: Indices) -> None:
    """Narrow rows of ``width`` numbers to those at ``places``, moving them together at the front of the same memory.

    ``values`` has n_runs runs of n_kept rows that matter and n_skipped that do not.
    """
    row = 0
    for _ in range(n_runs):
        for _ in range(n_kept):
            for c in range(len(places)):
                values[row * len(places) + c] = values[row * width + places[c]]
            row += 1
        row += n_skipped


@kernel
def back_substitute(factors: Floats, size: int, columns: Floats, first: int, last: int) -> None:
    """Solve x_j + Σ_{l>j} factors[q, l, j] x_l = columns[q, j] in place, for problems first … last − 1."""
    for q in range(first, last):
        for l in range(size - 1, 0, -1):
            x = columns[q, l]
            for j in range(l):
                columns[q, j] -= factors[q, l, j] * x
