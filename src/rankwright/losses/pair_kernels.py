"""Compiled sums over pairs of documents, without a loop over the pairs.

Pairs come in groups ("nodes"): every document of one side, the better ones, with every document of the other. Both
sides are sorted by descending z, the score minus what the margin asks of the document. With u = z_j − (z_i − top),

    φ = 0 for u ≤ 0;   curvature · u² for u ≤ width;   slope · (u − width) + curvature · width² beyond.

Along the better documents the others with u > 0 are a growing prefix; those in the quadratic part are a window at its
end. The weight of a pair is a sum of one or two terms left_i · right_j, so a group takes O(documents) time.

The table of groups has a row for each: where the sorted documents to split come from (−1: all documents of the query)
and how many they are, the level from which a document belongs to the better side (−1: both sides are all documents),
and where the better and the other side are kept in ``members``, and how many they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.engines.compile import kernel
from rankwright.losses.logistic_kernels import CURVATURE, SLOPE, TERMS, VALUE, logistic_sums
from rankwright.measures.sorting import longest_query

SOURCE, SIZE, LEVEL, BETTER, N_BETTER, WORSE, N_WORSE = range(7)
GROUP_FIELDS = 7


@kernel
def dense_levels(order: Any, offsets: Any, first: int, last: int, levels: Any, counts: Any) -> None:
    """Each document's level within its query, 0 = worst, from a ranking that marks ties; and how many there are."""
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        level = 0
        for k in range(stop - 1, start - 1, -1):
            position = order[k]
            if k < stop - 1 and position >= 0:
                level += 1
            levels[max(position, ~position)] = level
        counts[q] = level + 1


@kernel
def count_groups(counts: Any, first_level: Any, groups: Any, places: Any) -> None:
    """How many groups each query needs, one less than it has levels, and how many members these have."""
    stack = np.empty((128, 2), np.int64)
    for q in range(len(first_level) - 1):
        begin, end = first_level[q], first_level[q + 1]
        groups[q] = max(end - begin - 1, 0)
        places[q] = 0
        top = 0
        stack[0, 0], stack[0, 1] = begin, end
        while top >= 0:
            low, high = stack[top]
            top -= 1
            if high - low < 2:
                continue
            middle = _middle(counts, low, high)
            for level in range(low, high):
                places[q] += counts[level]
            # The side with more levels is left for later, so that the stack stays short.
            left_is_larger = middle - low > high - middle
            stack[top + 1, 0], stack[top + 1, 1] = (low, middle) if left_is_larger else (middle, high)
            stack[top + 2, 0], stack[top + 2, 1] = (middle, high) if left_is_larger else (low, middle)
            top += 2


@kernel
def _middle(counts: Any, low: int, high: int) -> int:
    """The level at which the documents of levels low … high − 1 fall into the most even halves."""
    total = 0
    for level in range(low, high):
        total += counts[level]
    below = 0
    best, best_size = low + 1, total
    for level in range(low, high - 1):
        below += counts[level]
        larger = max(below, total - below)
        if larger < best_size:
            best, best_size = level + 1, larger
    return best


@kernel
def split_levels(counts: Any, first_level: Any, first_group: Any, first_member: Any, groups: Any) -> None:
    """Write the table of groups: all pairs of documents of different levels, by splitting the levels in two."""
    stack = np.empty((128, 4), np.int64)  # levels low … high − 1, where their sorted documents are, how many
    for q in range(len(first_level) - 1):
        begin = first_level[q]
        total = 0
        for level in range(begin, first_level[q + 1]):
            total += counts[level]
        group, member = first_group[q], first_member[q]
        top = 0
        stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = begin, first_level[q + 1], -1, total
        while top >= 0:
            low, high, source, size = stack[top]
            top -= 1
            if high - low < 2:
                continue
            middle = _middle(counts, low, high)
            worse = 0
            for level in range(low, middle):
                worse += counts[level]
            better = size - worse
            groups[group, 0], groups[group, 1], groups[group, 2] = source, size, middle - begin
            groups[group, 3], groups[group, 4] = member, better
            groups[group, 5], groups[group, 6] = member + better, worse
            left_is_larger = middle - low > high - middle
            for turn in range(2):
                top += 1
                if (turn == 0) == left_is_larger:
                    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = low, middle, member + better, worse
                else:
                    stack[top, 0], stack[top, 1], stack[top, 2], stack[top, 3] = middle, high, member, better
            group += 1
            member += size


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
def split_members(group: Any, order: Any, start: int, levels: Any, members: Any) -> None:
    """Copy the sorted documents of a group into its better and its other side, both still sorted."""
    source, size, level = group[SOURCE], group[SIZE], group[LEVEL]
    better, worse = group[BETTER], group[WORSE]
    for k in range(size):
        document = order[start + k] if source < 0 else members[source + k]
        if level < 0:
            members[better + k] = document
            members[worse + k] = document
        elif levels[document] >= level:
            members[better] = document
            better += 1
        else:
            members[worse] = document
            worse += 1


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
def sweep(targets: Any, sources: Any, weights: Any, low: Any, high: Any, phi: Any, out: Any) -> None:
    """Σ over sources of weight · φ, −φ' and φ'' at each target, both sides descending; u is source − target.

    The sums over the window of u and u² are carried from one target to the next, where u grows by δ ≥ 0: all terms
    are positive, so that nothing cancels, however large scores are.
    """
    curvature, slope, offset = phi[2], phi[3], phi[4]
    window = window_u = window_uu = 0.0  # sums in the quadratic part of weight, weight · u, weight · u²
    beyond = beyond_u = 0.0  # and in the linear part
    begin = end = 0
    before = 0.0
    for k in range(len(targets)):
        target = targets[k]
        if k == 0:
            before = target
        while begin < low[k] and begin < end:
            u, weight = sources[begin] - before, weights[begin]
            window -= weight
            window_u -= weight * u
            window_uu -= weight * u * u
            beyond += weight
            beyond_u += weight * u
            begin += 1
        if begin == end:
            window = window_u = window_uu = 0.0
        delta = before - target
        window_uu += delta * (2 * window_u + delta * window)
        window_u += delta * window
        beyond_u += delta * beyond
        while end < high[k]:
            u, weight = sources[end] - target, weights[end]
            if end < low[k]:
                beyond += weight
                beyond_u += weight * u
                begin = end + 1
            else:
                window += weight
                window_u += weight * u
                window_uu += weight * u * u
            end += 1
        before = target
        out[VALUE, k] = curvature * window_uu + slope * beyond_u + offset * beyond
        out[SLOPE, k] = 2 * curvature * window_u + slope * beyond
        out[CURVATURE, k] = 2 * curvature * window


@kernel
def evaluate(
    z: Any,
    order: Any,
    levels: Any,
    left: Any,
    right: Any,
    offsets: Any,
    first_group: Any,
    groups: Any,
    phi: Any,
    table: Any,
    first: int,
    last: int,
    members: Any,
    low: Any,
    high: Any,
    values: Any,
    pulls: Any,
    gradient: Any,
    diagonal: Any,
) -> None:
    """Value, gradient and diagonal of the Hessian of queries first … last − 1; keeps the windows for `curve`.

    ``pulls`` is Σ −w_ij φ'(…) over the pairs of each query. With a ``table``, φ is the logistic function: no windows.
    """
    longest = longest_query(offsets, first, last)
    piecewise = len(table) == 0
    space = np.empty((5, 1 if piecewise else longest + 1, TERMS))
    box_starts = np.empty((2, longest + 1), np.int64)
    kinds = np.array([VALUE, SLOPE, CURVATURE])
    better, worse = np.empty(longest), np.empty(longest)
    backward_better, backward_worse = np.empty(longest), np.empty(longest)
    backward_low, backward_high = np.empty(longest, np.int32), np.empty(longest, np.int32)
    weights, sums = np.empty(longest), np.empty((3, longest))
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        values[q] = pulls[q] = 0
        gradient[start:stop] = 0
        diagonal[start:stop] = 0
        for g in range(first_group[q], first_group[q + 1]):
            group = groups[g]
            b, n_better, w, n_worse = group[BETTER], group[N_BETTER], group[WORSE], group[N_WORSE]
            split_members(group, order, start, levels, members)
            for i in range(n_better):
                better[i] = z[members[b + i]] - phi[0]  # once for both sides, so that both see the same u
                backward_better[n_better - 1 - i] = -better[i]
            for j in range(n_worse):
                worse[j] = z[members[w + j]]
                backward_worse[n_worse - 1 - j] = -worse[j]
            if piecewise:
                find_windows(better[:n_better], worse[:n_worse], phi[1], low, high, group)
                for j in range(n_worse):
                    backward_low[j] = n_better - high[w + n_worse - 1 - j]
                    backward_high[j] = n_better - low[w + n_worse - 1 - j]
            for term in range(len(left)):
                for j in range(n_worse):
                    weights[j] = right[term, members[w + j]]
                targets, sources = better[:n_better], worse[:n_worse]
                if piecewise:
                    sweep(targets, sources, weights, low[b : b + n_better], high[b : b + n_better], phi, sums)
                else:
                    logistic_sums(targets, sources, weights, table, kinds, space, box_starts, sums)
                for i in range(n_better):
                    document = members[b + i]
                    weight = left[term, document]
                    values[q] += weight * sums[VALUE, i]
                    pulls[q] += weight * sums[SLOPE, i]
                    gradient[document] -= weight * sums[SLOPE, i]
                    diagonal[document] += weight * sums[CURVATURE, i]
                for i in range(n_better):
                    weights[n_better - 1 - i] = left[term, members[b + i]]
                targets, sources = backward_worse[:n_worse], backward_better[:n_better]
                if piecewise:
                    sweep(targets, sources, weights, backward_low, backward_high, phi, sums)
                else:
                    logistic_sums(targets, sources, weights, table, kinds, space, box_starts, sums)
                for j in range(n_worse):
                    document = members[w + j]
                    weight = right[term, document]
                    gradient[document] += weight * sums[SLOPE, n_worse - 1 - j]
                    diagonal[document] += weight * sums[CURVATURE, n_worse - 1 - j]


@kernel
def curve(
    direction: Any,
    first: int,
    last: int,
    base: int,
    out: Any,
    z: Any,
    left: Any,
    right: Any,
    offsets: Any,
    first_group: Any,
    groups: Any,
    phi: Any,
    table: Any,
    members: Any,
    low: Any,
    high: Any,
    diagonal: Any,
) -> None:
    """The Hessian of queries first … last − 1 times ``direction``: diagonal · v minus sums of φ'' · v over pairs.

    v is taken minus its mean in each query, to which the Hessian is blind, so that large offsets do not cancel.
    ``direction`` and ``out`` begin with document ``base``.
    """
    longest = longest_query(offsets, first, last)
    piecewise = len(table) == 0
    centred, sums = np.empty(longest), np.empty(longest + 1)
    size = 1 if piecewise else longest + 1
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
                    if piecewise:
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
    columns: Any,
    first: int,
    last: int,
    out: Any,
    z: Any,
    left: Any,
    right: Any,
    offsets: Any,
    first_group: Any,
    groups: Any,
    phi: Any,
    table: Any,
    members: Any,
    low: Any,
    high: Any,
    diagonal: Any,
) -> None:
    """The Hessian of queries first … last − 1 times each row of ``columns``, which begin with their documents."""
    known = (z, left, right, offsets, first_group, groups, phi, table, members, low, high, diagonal)
    for i in range(len(columns)):
        curve(columns[i], first, last, offsets[first], out[i], *known)
