"""Measures that count pairs of documents, in O(m log m) for each query."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel
from rankwright.measures.sorting import along_ranking, room_along

# The columns that `count_pairs` fills.
AGREEING, OPPOSED, TIED, SAME_SCORE, DISAGREEMENT = range(5)
PAIR_COLUMNS = 5

_FEW = 64  # grades that are whole numbers below this are their own numbers


@kernel
def _add(tree: Any, code: int, amount: float) -> None:
    """Fenwick tree: add at a code."""
    i = code + 1
    while i < len(tree):
        tree[i] += amount
        i += i & -i


@kernel
def _wipe(tree: Any, code: int) -> None:
    """Fenwick tree: set back to zero whatever adding at a code has touched."""
    i = code + 1
    while i < len(tree):
        tree[i] = 0.0
        i += i & -i


@kernel
def _sum_below(tree: Any, code: int) -> float:
    """Fenwick tree: the sum over all smaller codes."""
    total = 0.0
    i = code
    while i > 0:
        total += tree[i]
        i -= i & -i
    return total


@kernel
def _number_by_worth(worth: Any, n: int, codes: Any, levels: Any) -> int:
    """Number n documents by their worth, from 0 on; returns how many numbers there are. ``levels`` has their worth."""
    n_levels = 0
    for i in range(n):
        whole = np.int64(worth[i])
        if not 0 <= whole < _FEW or whole != worth[i]:
            return _number_by_sorting(worth, n, codes, levels)
        codes[i] = whole
        n_levels = max(n_levels, whole + 1)
    for level in range(n_levels):
        levels[level] = level
    return n_levels


@kernel
def _number_by_sorting(worth: Any, n: int, codes: Any, levels: Any) -> int:
    """The same where the worth of documents is no small whole number."""
    ascending = np.sort(worth[:n])
    n_levels = 0
    for i in range(n):
        if i == 0 or ascending[i] != ascending[i - 1]:
            levels[n_levels] = ascending[i]
            n_levels += 1
    for i in range(n):
        codes[i] = np.searchsorted(levels[:n_levels], worth[i])
    return n_levels


@kernel
def count_pairs(queries: Any, out: Any) -> None:
    """Of the pairs of documents with different grades: how many the ranking agrees with, opposes and ties.

    Queries are as `along_ranking` takes them, with their grades, or numbers that order the documents alike. SAME_SCORE
    counts all pairs with one score, and DISAGREEMENT adds up the differences of the grades over opposed pairs, and half
    of them over tied ones.
    """
    ranked_worth, tie_ends = room_along(queries)
    ranked, most = np.empty_like(tie_ends), max(len(tie_ends), _FEW)
    levels, all_counts, all_sums = np.empty(most), np.zeros(most + 1), np.zeros(most + 1)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked_worth, tie_ends)
        n_levels = _number_by_worth(ranked_worth, n, ranked, levels)
        counts, sums = all_counts[: n_levels + 1], all_sums[: n_levels + 1]
        agreeing = opposed = tied = same_score = disagreement = 0.0
        place = 0
        while place < n:
            end = tie_ends[place]
            for i in range(place, end):
                code = ranked[i]
                lower = _sum_below(counts, code)
                agreeing += place - _sum_below(counts, code + 1)
                opposed += lower
                disagreement += lower * levels[code] - _sum_below(sums, code)
            t = end - place
            if t > 1:
                ascending = np.sort(ranked[place:end])
                equal = 0
                for i in range(t):
                    equal = equal + 1 if i > 0 and ascending[i] == ascending[i - 1] else 0
                    tied += i - equal
                    disagreement += 0.5 * levels[ascending[i]] * (2 * i - t + 1)
                same_score += 0.5 * t * (t - 1)
            for i in range(place, end):
                _add(counts, ranked[i], 1.0)
                _add(sums, ranked[i], levels[ranked[i]])
            place = end
        for i in range(n):
            _wipe(counts, ranked[i])
            _wipe(sums, ranked[i])
        out[q, AGREEING], out[q, OPPOSED], out[q, TIED] = agreeing, opposed, tied
        out[q, SAME_SCORE], out[q, DISAGREEMENT] = same_score, disagreement


@kernel
def chance_of_perfect_order(queries: Any, out: Any) -> None:
    """The chance that breaking ties at random puts no document below one of smaller worth."""
    ranked, tie_ends = room_along(queries)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked, tie_ends)
        chance = 1.0
        place = 0
        least_above = np.inf
        while place < n and chance > 0.0:
            end = tie_ends[place]
            ascending = np.sort(ranked[place:end])
            equal = 0
            for i in range(len(ascending)):  # orders that are perfect / all orders = Π c_g! / t!
                equal = equal + 1 if i > 0 and ascending[i] == ascending[i - 1] else 1
                chance *= equal / (i + 1)
            if ascending[-1] > least_above:
                chance = 0.0
            least_above = ascending[0]
            place = end
        out[q] = chance
