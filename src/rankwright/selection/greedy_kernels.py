"""Compiled loops of greedy selection; `rankwright.selection.greedy` has the mathematics.

The first index of every array is a problem: the training set without query q, for each q, and at the end without
nothing. Arrays of what is known of queries lack the last one, where it is 0. Problems are worked on in blocks: the j-th
one has the problems from j·block on.
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
def sums_around_blocks(products: Floats, slot: int, block: int, before: Floats, after: Floats) -> None:
    """before[j] = Σ products[q, slot] over all q before block j, and after[j] over those after it."""
    own = np.zeros_like(before)
    for q in range(len(products)):
        for i in range(products.shape[2]):
            own[q // block, i] += products[q, slot, i]
    before[0] = 0
    after[-1] = 0
    for j in range(1, len(own)):
        before[j] = before[j - 1] + own[j - 1]
        after[-1 - j] = after[-j] + own[-j]


@kernel
def sum_over_others(
    products: Floats, slot: int, before: Floats, after: Floats, begin: int, end: int, out: Floats
) -> None:
    """out[q − begin] = Σ_{p≠q} products[p, slot] for begin ≤ q < end, given the sums before and after these.

    They are sums from both ends: a query that outweighs all others is not subtracted.
    """
    running = before.copy()
    for q in range(begin, end):
        out[q - begin] = running
        if q < len(products):
            for i in range(len(running)):
                running[i] += products[q, slot, i]
    running[:] = after
    for q in range(end - 1, begin - 1, -1):
        for i in range(len(running)):
            out[q - begin, i] += running[i]
        if q < len(products):
            for i in range(len(running)):
                running[i] += products[q, slot, i]


@kernel
def start(
    squares: Floats,
    products: Floats,
    around_squares: Floats,
    around_products: Floats,
    block: int,
    alpha: float,
    moments: Floats,
    first: int,
    last: int,
    changes: Floats,
) -> None:
    """d = Σ H_ii + λ and r = Σ h_i over the other queries, v = H_ii and f = h_i, in blocks first … last − 1.

    ``squares`` and ``products`` have one slot. Adds to changes[c] what candidate c changes in the squared error.
    """
    n = len(changes)
    other_squares, other_products = np.empty((2, block, n))
    for j in range(first, last):
        begin, end = j * block, min((j + 1) * block, len(moments))
        sum_over_others(squares, 0, around_squares[0, j], around_squares[1, j], begin, end, other_squares)
        sum_over_others(products, 0, around_products[0, j], around_products[1, j], begin, end, other_products)
        for q in range(begin, end):
            of_q = moments[q].reshape(4, n)
            of_q[PIVOT] = other_squares[q - begin] + alpha
            of_q[COVARIANCE] = other_products[q - begin]
            of_q[NORM:] = 0
            if q < len(squares):
                of_q[NORM] = squares[q, 0]
                of_q[RESIDUAL] = products[q, 0]
            for c in range(n):
                gain = of_q[COVARIANCE, c] / of_q[PIVOT, c]
                changes[c] += gain * (gain * of_q[NORM, c] - 2 * of_q[RESIDUAL, c])


@kernel
def sweep(
    products: Floats,
    slot: int,
    around: Floats,
    block: int,
    step: int,
    place: int,
    history_b: Floats,
    moments_b: Floats,
    least_pivot: float,
    width: int,
    kept: Indices,
    columns: Indices,
    history: Floats,
    moments: Floats,
    first: int,
    last: int,
    changes: Floats,
) -> None:
    """Take the feature b that was selected at ``step`` out of all candidates, in blocks first … last − 1.

    The inner products of b with all columns are products[q, slot] on the held-out query; ``around`` has their sums
    before and after each block. Adds to changes[c] what candidate c then changes in the held-out squared error.
    ``history`` has rows of β and of ρ of every candidate with the features of the steps before, ``moments`` rows of d,
    r, v, f; ``history_b`` and ``moments_b`` are those of b. If b is a candidate, at ``place``, its history is noted
    here, and of the ``width`` candidates those at ``kept`` are moved together: reading costs nothing where the same
    memory is needed next. ``columns`` are the columns of X of the candidates kept.
    """
    n_kept = len(kept)
    joint, held = np.empty(n_kept), np.empty(n_kept)
    others = np.empty((block, products.shape[2]))
    for j in range(first, last):
        begin, end = j * block, min((j + 1) * block, len(history))
        sum_over_others(products, slot, around[0, j], around[1, j], begin, end, others)
        for q in range(begin, end):
            if place >= 0:
                for l in range(step):
                    history_b[q, 0, l] = history[q, 2 * l * width + place]
                    history_b[q, 1, l] = history[q, (2 * l + 1) * width + place]
            if n_kept < width:
                _keep_places(history[q], 2 * step, width, kept)
                _keep_places(moments[q], 4, width, kept)
            for c in range(n_kept):
                held[c] = products[q, slot, columns[c]] if q < len(products) else 0.0
                joint[c] = others[q - begin, columns[c]]
            rows = history[q, : 2 * (step + 1) * n_kept].reshape(step + 1, 2, n_kept)
            for l in range(step):
                coefficient = history_b[q, 0, l]
                by_joint = coefficient * moments_b[q, PIVOT, l]
                by_coefficient = history_b[q, 1, l] - coefficient * moments_b[q, NORM, l]
                for c in range(n_kept):
                    joint[c] -= by_joint * rows[l, 0, c]
                    held[c] -= coefficient * rows[l, 1, c] + by_coefficient * rows[l, 0, c]
            of_q = moments[q, : 4 * n_kept].reshape(4, n_kept)
            _update(moments_b[q, :, step], least_pivot, joint, held, rows[step], of_q, changes)


@kernel
def _keep_places(values: Floats, n_rows: int, width: int, places: Indices) -> None:
    """Narrow rows of ``width`` numbers to those at ``places``, moving them together at the front of the same memory."""
    for row in range(n_rows):
        for c in range(len(places)):
            values[row * len(places) + c] = values[row * width + places[c]]


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
def back_substitute(factors: Floats, size: int, columns: Floats, first: int, last: int) -> None:
    """Solve x_j + Σ_{l>j} factors[q, l, j] x_l = columns[q, j] in place, for problems first … last − 1."""
    for q in range(first, last):
        for l in range(size - 1, 0, -1):
            x = columns[q, l]
            for j in range(l):
                columns[q, j] -= factors[q, l, j] * x
