"""Compiled sums over pairs of documents, without a loop over the pairs.

Pairs come in groups ("nodes"): every document of one side, the better ones, with every document of the other. Both
sides are sorted by descending z, the score minus what the margin asks of the document. With u = z_j − (z_i − top),

    φ = 0 for u ≤ 0;   curvature · u² for u ≤ width;   slope · (u − width) + curvature · width² beyond.

Along the better documents the others with u > 0 are a growing prefix; those in the quadratic part are a window at its
end. The weight of a pair is a sum of one or two terms left_i · right_j, so a group takes O(documents) time.

`group_kernels` makes the table of groups. Kernels take ``pairs``: z and the two weights of documents, where queries and
their groups begin, the table, the members of groups, and for each of these low and high, the ends of its window.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.losses.group_kernels import BETTER, LEVEL, N_BETTER, N_WORSE, SIZE, SOURCE, WORSE
from rankwright.losses.logistic_kernels import CURVATURE, SLOPE, TERMS, VALUE, logistic_sums
from rankwright.machine.compile import kernel
from rankwright.measures.sorting import longest_query


@kernel
def centre(z: Any, offsets: Any, first: int, last: int) -> None:
    """Subtract from z its mean in each query: differences are what counts, and they keep more digits so."""
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        mean = 0.0
        for d in range(start, stop):
            mean += z[d]
        mean /= stop - start
        for d in range(start, stop):
            z[d] -= mean


@kernel
def split_members(group: Any, order: Any, start: int, levels: Any, members: Any, sides: Any) -> None:
    """Copy the sorted documents of a group into its better and its other side, both still sorted.

    Which side a document goes to cannot be foretold, so that it is written to both, and only one of them moves on.
    """
    source, size, level = group[SOURCE], group[SIZE], group[LEVEL]
    n_better = n_worse = 0
    for k in range(size):
        document = order[start + k] if source < 0 else members[source + k]
        sides[0, n_better] = sides[1, n_worse] = document
        is_better = level < 0 or levels[document] >= level
        n_better += is_better
        n_worse += level < 0 or not is_better
    for k in range(n_better):  # assignments of slices would take seconds to compile
        members[group[BETTER] + k] = sides[0, k]
    for k in range(n_worse):
        members[group[WORSE] + k] = sides[1, k]


@kernel
def find_windows(better: Any, worse: Any, width: float, low: Any, high: Any, group: Any) -> None:
    """For each better document the others low … high − 1 in the quadratic part; then the same from the other side.

    The second is derived from the first, so that both sides see the same pairs however the scores were rounded.
    """
    b, n_better, w, n_worse = group[BETTER], group[N_BETTER], group[WORSE], group[N_WORSE]
    begin = end = 0
    for i in range(n_better):
        while end < n_worse and worse[end] > better[i]:
            end += 1
        while begin < end and worse[begin] - better[i] > width:
            begin += 1
        low[b + i], high[b + i] = begin, end
    begin = end = 0
    for j in range(n_worse):
        while begin < n_better and high[b + begin] <= j:
            begin += 1
        while end < n_better and low[b + end] <= j:
            end += 1
        low[w + j], high[w + j] = begin, end


@kernel
def sweep(targets: Any, sources: Any, weights: Any, leave: Any, enter: Any, step: int, phi: Any, out: Any) -> None:
    """Σ over sources of weight · φ, −φ' and φ'' at each target, where u = step · (source − target).

    Targets are gone through from the first (step 1) or from the last (step −1), so that u grows from one to the next,
    by δ ≥ 0. Sources enter the window at one end and leave it for the linear part at the other. Sums of u and u² are
    carried along, so that nothing of the size of scores is ever subtracted, however large they are.
    """
    curvature, slope, offset = phi[2], phi[3], phi[4]
    n = len(targets)
    window = window_u = window_uu = 0.0  # sums in the quadratic part of weight, weight · u, weight · u²
    beyond = beyond_u = 0.0  # and in the linear part
    k, behind = (0, 0) if step > 0 else (n - 1, -1)  # a source is entered at place + behind
    left_at = entered_at = 0 if step > 0 else len(sources)
    before = targets[k]
    for _ in range(n):
        target = targets[k]
        while left_at != leave[k] and left_at != entered_at:
            u, weight = step * (sources[left_at + behind] - before), weights[left_at + behind]
            window -= weight
            window_u -= weight * u
            window_uu -= weight * u * u
            beyond += weight
            beyond_u += weight * u
            left_at += step
        if left_at == entered_at:
            window = window_u = window_uu = 0.0
        delta = step * (before - target)
        window_uu += delta * (2 * window_u + delta * window)
        window_u += delta * window
        beyond_u += delta * beyond
        while entered_at != enter[k]:
            u, weight = step * (sources[entered_at + behind] - target), weights[entered_at + behind]
            entered_at += step
            if step * (leave[k] - entered_at) >= 0:  # beyond the window at once
                beyond += weight
                beyond_u += weight * u
                left_at = entered_at
            else:
                window += weight
                window_u += weight * u
                window_uu += weight * u * u
        before = target
        out[VALUE, k] = curvature * window_uu + slope * beyond_u + offset * beyond
        out[SLOPE, k] = 2 * curvature * window_u + slope * beyond
        out[CURVATURE, k] = 2 * curvature * window
        k += step


@kernel
def _logistic_worse_side(
    worse: Any, better: Any, weights: Any, table: Any, kinds: Any, space: Any, box_starts: Any, mirror: Any, out: Any
) -> None:
    """The same sums at the worse documents, of u = worse − better: everything turned round."""
    n_worse, n_better = len(worse), len(better)
    for j in range(n_worse):
        mirror[0, j] = -worse[n_worse - 1 - j]
    for i in range(n_better):
        mirror[1, i] = -better[n_better - 1 - i]
        mirror[2, i] = weights[n_better - 1 - i]
    targets, sources = mirror[0, :n_worse], mirror[1, :n_better]
    logistic_sums(targets, sources, mirror[2], table, kinds, space, box_starts, out)
    for kind in range(3):
        for j in range(n_worse // 2):
            k = n_worse - 1 - j
            out[kind, j], out[kind, k] = out[kind, k], out[kind, j]


@kernel
def evaluate(first: int, last: int, pairs: Any, phi: Any, table: Any, order: Any, levels: Any, point: Any) -> None:
    """Value, gradient and diagonal of the Hessian of queries first … last − 1; keeps the windows for `curve`.

    ``pulls`` is Σ −w_ij φ'(…) over the pairs of each query. With a ``table``, φ is the logistic function: no windows.
    Without one, Numba leaves out what is only for it.
    """
    z, left, right, offsets, first_group, groups, members, low, high = pairs
    values, pulls, gradient, diagonal = point
    longest = longest_query(offsets, first, last)
    space, mirror = (
        np.empty((5, 1 if table is None else longest + 1, TERMS)),
        np.empty((3, 1 if table is None else longest)),
    )
    box_starts, kinds = np.empty((2, longest + 1), np.int64), np.array([VALUE, SLOPE, CURVATURE])
    sides, places, weights = np.empty((2, longest + 1), np.int32), np.empty((2, longest)), np.empty((2, longest))
    at_better, at_worse = np.empty((3, longest)), np.empty((3, longest))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        values[q] = pulls[q] = 0
        gradient[start:stop] = 0
        diagonal[start:stop] = 0
        for g in range(first_group[q], first_group[q + 1]):
            group = groups[g]
            b, n_better, w, n_worse = group[BETTER], group[N_BETTER], group[WORSE], group[N_WORSE]
            split_members(group, order, start, levels, members, sides)
            better, worse = places[0, :n_better], places[1, :n_worse]
            for i in range(n_better):
                better[i] = z[members[b + i]] - phi[0]  # once for both sides, so that both see the same u
            for j in range(n_worse):
                worse[j] = z[members[w + j]]
            if table is None:
                find_windows(better, worse, phi[1], low, high, group)
            for term in range(len(left)):
                for i in range(n_better):
                    weights[0, i] = left[term, members[b + i]]
                for j in range(n_worse):
                    weights[1, j] = right[term, members[w + j]]
                if table is None:
                    sweep(better, worse, weights[1], low[b:], high[b:], 1, phi, at_better)
                    sweep(worse, better, weights[0], high[w:], low[w:], -1, phi, at_worse)
                else:
                    logistic_sums(better, worse, weights[1], table, kinds, space, box_starts, at_better)
                    known = (worse, better, weights[0], table, kinds, space, box_starts)
                    _logistic_worse_side(*known, mirror, at_worse)
                for i in range(n_better):
                    document, weight = members[b + i], weights[0, i]
                    values[q] += weight * at_better[VALUE, i]
                    pulls[q] += weight * at_better[SLOPE, i]
                    gradient[document] -= weight * at_better[SLOPE, i]
                    diagonal[document] += weight * at_better[CURVATURE, i]
                for j in range(n_worse):
                    document, weight = members[w + j], weights[1, j]
                    gradient[document] += weight * at_worse[SLOPE, j]
                    diagonal[document] += weight * at_worse[CURVATURE, j]


@kernel
def curve(
    direction: Any, first: int, last: int, base: int, out: Any, pairs: Any, phi: Any, table: Any, diagonal: Any
) -> None:
    """The Hessian of queries first … last − 1 times ``direction``: diagonal · v minus sums of φ'' · v over pairs.

    v is taken minus its mean in each query, to which the Hessian is blind, so that large offsets do not cancel.
    ``direction`` and ``out`` begin with document ``base``.
    """
    z, left, right, offsets, first_group, groups, members, low, high = pairs
    longest = longest_query(offsets, first, last)
    centred, sums = np.empty(longest), np.empty(longest + 1)
    size = 1 if table is None else longest + 1
    space, box_starts = np.empty((5, size, TERMS)), np.empty((2, size), np.int64)
    targets, sources, weights, bent = np.empty(size), np.empty(size), np.empty(size), np.empty((3, size))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        mean = 0.0
        for d in range(start, stop):
            mean += direction[d - base]
        mean /= max(stop - start, 1)
        for d in range(start, stop):
            centred[d - start] = direction[d - base] - mean
            out[d - base] = diagonal[d] * centred[d - start]
        for g in range(first_group[q], first_group[q + 1]):
            b, n_better, w, n_worse = groups[g, BETTER], groups[g, N_BETTER], groups[g, WORSE], groups[g, N_WORSE]
            for term in range(len(left)):
                for side in range(2):
                    target, n_targets, of_targets = (b, n_better, left) if side == 0 else (w, n_worse, right)
                    source, n_sources, of_sources = (w, n_worse, right) if side == 0 else (b, n_better, left)
                    if table is None:
                        total = 0.0
                        sums[0] = 0
                        for k in range(n_sources):
                            document = members[source + k]
                            total += of_sources[term, document] * centred[document - start]
                            sums[k + 1] = total
                        for k in range(n_targets):
                            document = members[target + k]
                            within = sums[high[target + k]] - sums[low[target + k]]
                            out[document - base] -= 2 * phi[2] * of_targets[term, document] * within
                    else:
                        for k in range(n_sources):
                            document = members[source + k]
                            sources[k] = z[document]
                            weights[k] = of_sources[term, document] * centred[document - start]
                        for k in range(n_targets):
                            targets[k] = z[members[target + k]]
                        curvature = np.array([CURVATURE])
                        known = (targets[:n_targets], sources[:n_sources], weights, table, curvature)
                        logistic_sums(*known, space, box_starts, bent)
                        for k in range(n_targets):
                            document = members[target + k]
                            out[document - base] -= of_targets[term, document] * bent[CURVATURE, k]


@kernel
def curve_columns(
    columns: Any, first: int, last: int, out: Any, pairs: Any, phi: Any, table: Any, diagonal: Any
) -> None:
    """The Hessian of queries first … last − 1 times each row of ``columns``, which begin with their documents."""
    begin = pairs[3][first]
    for i in range(len(columns)):
        curve(columns[i], first, last, begin, out[i], pairs, phi, table, diagonal)
