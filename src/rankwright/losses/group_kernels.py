"""Compiled preparation of pairwise losses: which documents pair with which, by splitting the levels of a query in two.

The table of groups has a row for each group of pairs, better documents × other documents: where the sorted documents
to split come from (−1: all documents of the query) and how many they are, the level from which a document belongs to
the better side (−1: both sides are all documents), and where the better and the other side are kept in ``members``, and
how many they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

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
