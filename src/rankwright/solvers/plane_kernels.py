"""Compiled loops over the planes of queries (see `planes`): what they say of some weights, and dual ascent on them.

``known`` is what is known of planes: their vectors, margins, dual variables, products of their vectors, and numbers.
``uses`` are for how many calls each has been idle, without a dual variable, and how many a query has room for.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.doubled_sums import add_doubled, add_row_doubled
from rankwright.machine.compile import kernel, summing_kernel

# Dual variables of a smoothed maximum that are smaller than this, as a part of the largest, count as 0.
_NEGLIGIBLE = 1e-9
# A plane that is higher than others by less than this part of its height may be one of them, but for rounding.
ROUNDING = 1e-12
NONE, NO_ROOM = -1, -2


@summing_kernel
def dot(a: Any, b: Any) -> float:
    """aᵀb."""
    total = 0.0
    for f in range(len(a)):
        total += a[f] * b[f]
    return total


@summing_kernel
def add_scaled(scale: float, a: Any, out: Any) -> None:
    """Add scale · a."""
    for f in range(len(a)):
        out[f] += scale * a[f]


@kernel
def heights(weights: Any, vectors: Any, margins: Any, counts: Any, first: int, last: int, out: Any) -> None:
    """b_i + v_iᵀw of each plane; plane 0 of every query is 0."""
    for q in range(first, last):
        out[q, 0] = 0.0
        for i in range(1, counts[q]):
            out[q, i] = margins[q, i] + dot(weights, vectors[q, i])


@kernel
def slopes(direction: Any, vectors: Any, counts: Any, first: int, last: int, out: Any) -> None:
    """v_iᵀd of each plane."""
    for q in range(first, last):
        out[q, 0] = 0.0
        for i in range(1, counts[q]):
            out[q, i] = dot(direction, vectors[q, i])


@kernel
def _idlest(duals: Any, idle: Any, count: int) -> int:
    """The plane of a query that has been idle for longest, or NONE if all have dual variables."""
    place, longest = NONE, -1
    for i in range(1, count):
        if duals[i] == 0.0 and idle[i] > longest:
            place, longest = i, idle[i]
    return place


@kernel
def claim_place(q: int, is_new: bool, places: int, duals: Any, counts: Any, uses: Any) -> int:
    """Where a query's new plane goes, NONE if there is none, or NO_ROOM if there must be more ``places`` first.

    It goes behind the others, or where there is no room in place of an idle one; if none is, there will be more room.
    """
    idle, rooms = uses
    count = place = counts[q]
    if is_new and count >= rooms[q]:
        place = _idlest(duals[q], idle[q], count)
        if place == NONE:
            place = count
            rooms[q] += rooms[q] // 2
    if rooms[q] > places:
        return NO_ROOM
    for i in range(1, count):
        idle[q, i] = 0 if duals[q, i] > 0.0 else idle[q, i] + 1
    if not is_new:
        return NONE
    counts[q] = max(count, place + 1)
    duals[q, place], idle[q, place] = 0.0, 0
    return place


@kernel
def add_planes(first: int, last: int, weights: Any, new: Any, least: float, known: Any, uses: Any) -> int:
    """Add the new plane of each query that is higher than all it has by more than ``least``.

    ``new`` are vectors, margins and heights. A query that has as many as it has room for gives up an idle one, or gets
    more room if none is. Returns the query to go on with when the arrays have been made larger, or ``last``.
    """
    new_vectors, new_margins, new_heights = new
    vectors, margins, duals, gram, counts = known
    for q in range(first, last):
        highest = 0.0
        for i in range(1, counts[q]):
            highest = max(highest, margins[q, i] + dot(weights, vectors[q, i]))
        is_new = new_heights[q] - highest > max(least, ROUNDING * new_heights[q])
        place = claim_place(q, is_new, vectors.shape[1], duals, counts, uses)
        if place == NO_ROOM:
            return q
        if place == NONE:
            continue
        for f in range(len(weights)):
            vectors[q, place, f] = new_vectors[q, f]
        margins[q, place] = new_margins[q]
        gram[q, place, 0], gram[q, 0, place] = 0.0, 0.0
        for i in range(1, counts[q]):
            gram[q, place, i] = dot(vectors[q, place], vectors[q, i])
            gram[q, i, place] = gram[q, place, i]
    return last


@kernel
def keep_active(most: int, margins: Any, duals: Any, gram: Any, count: int, idle: Any, kept: Any) -> int:
    """Move the planes of a query together that have not been idle for more than ``most`` rounds; returns their number.

    ``kept`` has the place where each of them was: their vectors are the caller's to move.
    """
    n_kept = 1
    for i in range(1, count):
        if duals[i] == 0.0 and idle[i] > most:
            continue
        kept[n_kept] = i
        if i != n_kept:
            margins[n_kept], duals[n_kept], idle[n_kept] = margins[i], duals[i], idle[i]
            for j in range(count):
                gram[n_kept, j] = gram[i, j]
            for j in range(count):
                gram[j, n_kept] = gram[j, i]
        n_kept += 1
    for i in range(n_kept, count):
        duals[i] = 0.0
    return n_kept


@kernel
def drop_idle(most: int, known: Any, idle: Any) -> None:
    """Forget the planes that have been idle for more than ``most`` rounds, and move the others together."""
    vectors, margins, duals, gram, counts = known
    kept = np.empty(vectors.shape[1], np.int64)
    for q in range(len(counts)):
        counts[q] = keep_active(most, margins[q], duals[q], gram[q], counts[q], idle[q], kept)
        for i in range(1, counts[q]):
            if kept[i] != i:
                for f in range(vectors.shape[2]):
                    vectors[q, i, f] = vectors[q, kept[i], f]


@kernel
def ascend_query(
    count: int, alpha: float, least: float, most_steps: int, height: Any, duals: Any, gram: Any, moved: Any
) -> None:
    """max Σ d_i b_i − ‖Σ d_i v_i‖²/2λ over one query's dual variables: each step takes from the lowest plane.

    ``height`` is b + Vw and is kept up to date; ``moved`` adds up by how much each dual variable grows.
    """
    for _ in range(most_steps):
        high, low = 0, -1
        for i in range(count):
            if height[i] > height[high]:
                high = i
            if duals[i] > 0.0 and (low < 0 or height[i] < height[low]):
                low = i
        rise = height[high] - height[low]
        if rise <= least:
            return
        bend = (gram[high, high] + gram[low, low] - 2.0 * gram[high, low]) / alpha
        step = duals[low]
        if bend * step > rise:
            step = rise / bend
            duals[low] -= step
        else:
            duals[low] = 0.0
        duals[high] += step
        moved[high] += step
        moved[low] -= step
        for i in range(count):
            height[i] -= step / alpha * (gram[high, i] - gram[low, i])


@kernel
def ascend(order: Any, alpha: float, least: float, most_steps: int, weights: Any, gap: float, known: Any) -> float:
    """Dual ascent on these queries, one after the other; ``weights`` follow. Adds their gaps before to ``gap``."""
    vectors, margins, duals, gram, counts = known
    capacity = vectors.shape[1]
    height, moved = np.empty(capacity), np.empty(capacity)
    for q in order:
        count = counts[q]
        height[0], moved[0] = 0.0, 0.0
        highest, mean = 0.0, 0.0
        for i in range(1, count):
            height[i] = margins[q, i] + dot(weights, vectors[q, i])
            moved[i] = 0.0
            highest = max(highest, height[i])
            mean += duals[q, i] * height[i]
        gap += highest - mean
        if highest - mean <= least:
            continue
        ascend_query(count, alpha, least, most_steps, height, duals[q], gram[q], moved)
        for i in range(1, count):
            if moved[i] != 0.0:
                add_scaled(-moved[i] / alpha, vectors[q, i], weights)
    return gap


@kernel
def combine(vectors: Any, duals: Any, counts: Any, first: int, last: int, total: Any) -> None:
    """Add Σ d_i v_i over the planes of queries first … last − 1 to doubled sums: of each query, then of all."""
    sums, lost, own = total[0].copy(), total[1].copy(), np.empty(total.shape[1])
    for q in range(first, last):
        own[:] = 0.0
        for i in range(1, counts[q]):
            if duals[q, i] != 0.0:
                add_scaled(duals[q, i], vectors[q, i], own)
        add_row_doubled(own, sums, lost)
    total[0], total[1] = sums, lost


@kernel
def add_soft_maxima(line: Any, counts: Any, first: int, last: int, duals: Any, total: Any) -> None:
    """Add Σ_q T log Σ_i exp(h_i/T) over a query's planes to a doubled sum; its derivatives are the duals.

    The line is height, slope, step and T: h = height + step · slope.
    """
    height, slope, step, temperature = line
    sums, lost = total[0], total[1]
    for q in range(first, last):
        highest = 0.0
        for i in range(1, counts[q]):
            duals[q, i] = height[q, i] + step * slope[q, i]
            highest = max(highest, duals[q, i])
        duals[q, 0] = 0.0
        weight = 0.0
        for i in range(counts[q]):
            below = (duals[q, i] - highest) / temperature
            duals[q, i] = np.exp(below) if below > -40.0 else 0.0
            weight += duals[q, i]
        for i in range(counts[q]):
            duals[q, i] /= weight
        add_doubled(highest + temperature * np.log(weight), 0, sums, lost)


@kernel
def hessian_rows(
    vectors: Any, duals: Any, counts: Any, first: int, last: int, rounding: Any, mean: Any, rows: Any
) -> Any:
    """√d_i (v_i − Σ d_j v_j) of each plane: the Hessian of the soft maximum is the sum of their squares, over T.

    Fills ``rows`` as far as whole queries fit; returns how many there are, and the query to go on with. Adding and
    taking off ``rounding``, which is large, leaves multiples of a power of two.
    """
    used = 0
    for q in range(first, last):
        if used + counts[q] > len(rows):
            return used, q
        largest = 0.0
        for i in range(counts[q]):
            largest = max(largest, duals[q, i])
        if 1.0 - largest <= _NEGLIGIBLE:
            continue
        for f in range(len(mean)):
            mean[f] = 0.0
        for i in range(1, counts[q]):
            if duals[q, i] > _NEGLIGIBLE:
                add_scaled(duals[q, i], vectors[q, i], mean)
        for i in range(counts[q]):
            if duals[q, i] > _NEGLIGIBLE:
                root = np.sqrt(duals[q, i])
                for f in range(len(mean)):
                    number = root * ((vectors[q, i, f] if i > 0 else 0.0) - mean[f])
                    rows[used, f] = (number + rounding[f]) - rounding[f]
                used += 1
    return used, last
