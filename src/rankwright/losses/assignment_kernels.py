"""The ranking that violates a margin most, for NDCG: a linear assignment of documents to ranks (paper L, eq. 8).

Rank r of n and document i of gain g_i and score s_i are worth A_r s_i − μ D_r g_i together. A document is not needed if
n others are worth as much at every rank: one of them is free wherever it stands. All pairs (A_r, D_r) lie between two
of them, the flattest (a, d) and the steepest (α, δ), so a s − μ d g and α s − μ δ g decide for every rank. Few
documents are left, n if A is a multiple of D, and are assigned by shortest augmenting paths.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

_NONE = -1
_ROUNDING = 1e-13


@kernel
def best_along_gains(query: Any, walk: Any, pair: Any, n_ranks: int, top: Any, top_worth: Any, found: Any) -> int:
    """Of members sorted by gain, those that are among the n_ranks best of their own gain and those before.

    ``walk`` is the members, where to begin, which way to go, and how many there are. Best is by weight · s − discount ·
    g, which are the ``pair``. ``found`` has them, gain by gain; their number is returned. ``top`` has the best of all
    members in the end, best first, and of equal ones those that came first.
    """
    scores, gains, _, _, _, _ = query
    members, begin, step, n_members = walk
    weight, discount = pair
    n_found = n_top = k = 0
    while k < n_members:
        document = members[begin + step * k]
        gain = gains[document]
        offset = discount * gain
        while gains[document] == gain:
            worth = weight * scores[document] - offset
            if n_top < n_ranks or worth > top_worth[n_top - 1]:
                n_top = min(n_top + 1, n_ranks)
                into = n_top - 1
                while into > 0 and top_worth[into - 1] < worth:
                    top_worth[into], top[into] = top_worth[into - 1], top[into - 1]
                    into -= 1
                top_worth[into], top[into] = worth, document
            k += 1
            if k == n_members:
                break
            document = members[begin + step * k]
        for i in range(n_top):
            if gains[top[i]] == gain:
                found[n_found] = top[i]
                n_found += 1
    return n_found


@kernel
def candidates(query: Any, n_ranks: int, cone: Any, multiplier: float, room: Any) -> int:
    """The documents that may be needed, into the room's columns; returns their number.

    A query is its scores, gains, documents by gain, the first and last place of these, and what counts as a score of 0.
    Against documents of lower gains the flattest pair decides, against those of higher gains the steepest.
    """
    _, _, by_gain, start, stop, _ = query
    top, top_worth, found, columns = room
    flat, steep = (cone[0], multiplier * cone[1]), (cone[2], multiplier * cone[3])
    n_found = best_along_gains(query, (by_gain, start, 1, stop - start), flat, n_ranks, top, top_worth, found)
    return best_along_gains(query, (found, n_found - 1, -1, n_found), steep, n_ranks, top, top_worth, columns)


@kernel
def _arrange(
    n_ranks: int, n_columns: int, columns: Any, scores: Any, gains: Any, rows: Any, cone: Any, worth: Any
) -> None:
    """Sort the columns as if every rank had the same mix of A and D, then exchange neighbours while that helps."""
    for j in range(n_columns):
        column, score, gain = columns[j], scores[j], gains[j]
        own = cone[4] * score - cone[5] * gain
        into = j
        while into > 0 and worth[into - 1] < own:
            columns[into], scores[into], gains[into] = columns[into - 1], scores[into - 1], gains[into - 1]
            worth[into] = worth[into - 1]
            into -= 1
        columns[into], scores[into], gains[into], worth[into] = column, score, gain, own
    r, last = 0, min(n_ranks, n_columns - 1)
    for _ in range(4 * n_ranks):  # enough to begin with: paths do the rest
        if r >= last:
            break
        better = (rows[0, r] - rows[0, r + 1]) * (scores[r + 1] - scores[r])
        if better > (rows[1, r] - rows[1, r + 1]) * (gains[r + 1] - gains[r]):
            columns[r], columns[r + 1] = columns[r + 1], columns[r]
            scores[r], scores[r + 1] = scores[r + 1], scores[r]
            gains[r], gains[r + 1] = gains[r + 1], gains[r]
            r = max(r - 1, 0)
        else:
            r += 1


@kernel
def _price(
    n_ranks: int, n_columns: int, scores: Any, gains: Any, rows: Any, rank_of: Any, prices: Any, waiting: Any
) -> int:
    """Prices at which every rank likes its column as it likes its neighbours'.

    Ranks that like another column best give theirs up, and wait; their number is returned.
    """
    for j in range(n_columns):
        prices[j] = 0.0
        rank_of[j] = j
    for r in range(min(n_ranks, n_columns - 1) - 1, -1, -1):
        score, gain = scores[r] - scores[r + 1], gains[r] - gains[r + 1]
        weight, discount = rows[0, r] + rows[0, r + 1], rows[1, r] + rows[1, r + 1]
        prices[r] = max(prices[r + 1] + (weight * score - discount * gain) / 2, 0.0)
    n_waiting = 0
    for r in range(n_ranks):
        weight, discount = rows[0, r], rows[1, r]
        own = discount * gains[r] - weight * scores[r] + prices[r]
        least = own
        for j in range(n_columns):
            least = min(least, discount * gains[j] - weight * scores[j] + prices[j])
        if own - least > _ROUNDING * abs(own):
            rank_of[r] = _NONE
            waiting[n_waiting] = r
            n_waiting += 1
    return n_waiting


@kernel
def assign(
    n_ranks: int, n_columns: int, columns: Any, scores: Any, gains: Any, rows: Any, cone: Any, room: Any
) -> None:
    """max Σ_r A_r s − D_r g over different columns for ranks 1, …, n: the columns' ranks into ``rank_of``.

    ``rows`` has A and D, with zeros after the n-th rank: ranks for columns that are left over. The columns, at least n,
    are first brought near the best order, where most ranks can stay. For each of the others a shortest augmenting path
    leads over columns whose ranks must move to one that is free. A column costs its price besides.
    """
    rank_of, prices, shortest, before, waiting, is_open = room
    _arrange(n_ranks, n_columns, columns, scores, gains, rows, cone, shortest)
    n_waiting = _price(n_ranks, n_columns, scores, gains, rows, rank_of, prices, waiting)
    for w in range(n_waiting):
        for j in range(n_columns):
            shortest[j] = np.inf
            is_open[j] = True
        rank, last, reached = waiting[w], _NONE, 0.0
        while rank != _NONE:
            weight, discount = rows[0, rank], rows[1, rank]
            # What the rank's own column costs is the zero of its reduced costs; the first rank has no column.
            base = reached
            if last != _NONE:
                base -= discount * gains[last] - weight * scores[last] + prices[last]
                is_open[last] = False
            nearest, least = _NONE, np.inf
            for j in range(n_columns):
                if is_open[j]:
                    length = base + discount * gains[j] - weight * scores[j] + prices[j]
                    if length < shortest[j]:
                        shortest[j] = length
                        before[j] = last
                    if shortest[j] < least or (shortest[j] == least and rank_of[j] == _NONE):
                        nearest, least = j, shortest[j]
            last, reached = nearest, least
            rank = rank_of[last]
        for j in range(n_columns):
            if not is_open[j]:
                prices[j] += reached - shortest[j]
        while last != _NONE:  # each column of the path takes the rank of the one before
            previous = before[last]
            rank_of[last] = waiting[w] if previous == _NONE else rank_of[previous]
            last = previous


@kernel
def room_to_assign(longest: int, depth: int) -> Any:
    """Arrays for `best_ranking` to work in, for queries of so many documents and so many ranks."""
    top, waiting = np.empty(depth, np.int64), np.empty(depth, np.int64)
    found, columns = np.empty(longest, np.int64), np.empty(longest, np.int64)
    rank_of, before = np.empty(longest, np.int64), np.empty(longest, np.int64)
    numbers = (np.empty(depth), np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest))
    return (top, found, columns, waiting, rank_of, before), numbers, np.empty(longest, np.bool_)


@kernel
def best_ranking(query: Any, n_ranks: int, rows: Any, cone: Any, multiplier: float, room: Any, ranking: Any) -> None:
    """The documents of ranks 1, …, n that maximise Σ A_r s − μ D_r g, into ``ranking``."""
    scores, gains, _, _, _, middle = query
    (top, found, columns, waiting, rank_of, before), numbers, is_open = room
    top_worth, column_scores, column_gains, prices, shortest = numbers
    n_columns = candidates(query, n_ranks, cone, multiplier, (top, top_worth, found, columns))
    for j in range(n_columns):
        column_scores[j] = scores[columns[j]] - middle
        column_gains[j] = multiplier * gains[columns[j]]
    room_for_paths = (rank_of, prices, shortest, before, waiting, is_open)
    assign(n_ranks, n_columns, columns, column_scores, column_gains, rows, cone, room_for_paths)
    for j in range(n_columns):
        if rank_of[j] < n_ranks:
            ranking[rank_of[j]] = columns[j]
