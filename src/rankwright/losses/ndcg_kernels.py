"""The structured hinge of NDCG, query by query: with rescaled margins, with rescaled slacks, and as a function of A.

``rows`` has A and D of every rank, ``cone`` the ends and the mean of these pairs: see `assignment_kernels`. A query
goes to other kernels as its scores, gains, documents by gain, the first and last place of these, and a score from which
others are counted: differences alone matter, and they must not drown. ``known`` is what all scores share: where queries
begin, documents by gain, gains, ideal DCG, the number of ranks with weights, rows, cone, and weights of queries.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.losses import rescaling_kernels
from rankwright.losses.assignment_kernels import best_ranking, room_to_assign
from rankwright.losses.rescaling_kernels import BOUND, MULTIPLIER, N_KNOWN
from rankwright.machine.compile import kernel
from rankwright.measures.sorting import longest_query

_NONE = -1


@kernel
def ideal_dcg(gains: Any, by_gain: Any, offsets: Any, discounts: Any, out: Any) -> None:
    """Σ_r D_r g of the documents by descending gain, for each query."""
    for q in range(len(offsets) - 1):
        last = offsets[q + 1] - 1
        total = 0.0
        for rank in range(min(len(discounts), last + 1 - offsets[q])):
            total += discounts[rank] * gains[by_gain[last - rank]]
        out[q] = total


@kernel
def top_by_score(scores: Any, gains: Any, start: int, stop: int, n_ranks: int, top: Any, top_scores: Any) -> None:
    """The n_ranks best-scored documents of a query, best first; of equal scores the lower gain comes first."""
    n_top = 0
    for i in range(start, stop):
        score, gain = scores[i], gains[i]
        if n_top < n_ranks:
            n_top += 1
        elif score < top_scores[n_top - 1] or (score == top_scores[n_top - 1] and gain >= gains[top[n_top - 1]]):
            continue
        into = n_top - 1
        while into > 0 and (
            top_scores[into - 1] < score or (top_scores[into - 1] == score and gains[top[into - 1]] > gain)
        ):
            top_scores[into], top[into] = top_scores[into - 1], top[into - 1]
            into -= 1
        top_scores[into], top[into] = score, i


@kernel
def _loss(ideal: float, gains: Any, rows: Any, ranking: Any, n_ranks: int) -> float:
    """1 − NDCG: the ideal DCG minus this one, both summed from the first rank on, so that a perfect ranking has 0."""
    reached = 0.0
    for rank in range(n_ranks):
        reached += rows[1, rank] * gains[ranking[rank]]
    return max(ideal - reached, 0.0)


@kernel
def _product(scores: Any, middle: float, rows: Any, ranking: Any, n_ranks: int) -> float:
    """c(y)ᵀs."""
    total = 0.0
    for rank in range(n_ranks):
        total += rows[0, rank] * (scores[ranking[rank]] - middle)
    return total


@kernel
def _exchange(query: Any, n_ranks: int, rows: Any, ranking: Any, loss: float, height: float, is_ranked: Any) -> bool:
    """The exchange of two documents, at least one of them ranked, that raises Δ·H most; returns whether any does."""
    scores, gains, _, start, stop, _ = query
    for i in range(start, stop):
        is_ranked[i - start] = False
    for rank in range(n_ranks):
        is_ranked[ranking[rank] - start] = True
    most, place, other_place, newcomer = loss * height * (1 + rescaling_kernels.ROUNDING), _NONE, _NONE, _NONE
    for a in range(n_ranks):
        score, gain, weight, discount = scores[ranking[a]], gains[ranking[a]], rows[0, a], rows[1, a]
        for b in range(a + 1, n_ranks):
            up, steeper = ranking[b], loss - (discount - rows[1, b]) * (gains[ranking[b]] - gain)
            product = steeper * (height + (weight - rows[0, b]) * (scores[up] - score))
            if product > most:
                most, place, other_place, newcomer = product, a, b, _NONE
        for i in range(start, stop):
            if not is_ranked[i - start]:
                product = (loss - discount * (gains[i] - gain)) * (height + weight * (scores[i] - score))
                if product > most:
                    most, place, other_place, newcomer = product, a, _NONE, i
    if other_place != _NONE:
        ranking[place], ranking[other_place] = ranking[other_place], ranking[place]
    elif newcomer != _NONE:
        ranking[place] = newcomer
    return place != _NONE


@kernel
def _search(
    query: Any, ideal: float, height: float, n_ranks: int, rows: Any, cone: Any, room: Any, ranking: Any, best: Any
) -> tuple[float, float]:
    """The best Δ(y)(height + c(y)ᵀs) that is found, from the ranking by scores on: its Δ, and a bound of all products.

    ``ranking`` is the one by scores; the one found goes into ``best``.
    """
    scores, gains, _, _, _, middle = query
    known = np.empty(N_KNOWN)
    rescaling_kernels.begin(known)
    margin, most, is_searching = 0.0, -1.0, True
    while is_searching:
        if known[MULTIPLIER] > 0.0:
            best_ranking(query, n_ranks, rows, cone, known[MULTIPLIER], room, ranking)
        loss = _loss(ideal, gains, rows, ranking, n_ranks)
        reached = height + _product(scores, middle, rows, ranking, n_ranks)
        if loss * reached > most:
            margin, most = loss, loss * reached
            for rank in range(n_ranks):
                best[rank] = ranking[rank]
        is_searching = rescaling_kernels.tell(known, loss, reached)
    for _ in range(rescaling_kernels.MOST_EXCHANGES):
        reached = height + _product(scores, middle, rows, best, n_ranks)
        if not _exchange(query, n_ranks, rows, best, margin, reached, room[2]):
            break
        margin = _loss(ideal, gains, rows, best, n_ranks)
    return margin, known[BOUND]


@kernel
def evaluate(first: int, last: int, scores: Any, known: Any, targets: Any, out: Any, bounds: Any) -> None:
    """ξ_q = max_y Δ(y) + Σ_i A(y_i) s_i − Σ_i t_i s_i, its Δ and its gradient (paper L, eq. 7), times the weight of q.

    t, the targets, are A of the ideal ranking; without any (``targets`` is None) A of the ranking by scores (eq. 14).
    With ``bounds``, the best Δ(y)(1 + Σ_i A(y_i) s_i − Σ_i t_i s_i) that the search finds, and a bound of it.
    """
    offsets, by_gain, gains, ideal, n_weights, rows, cone, weights = known
    values, margins, gradient = out
    longest = longest_query(offsets, first, last)
    depth = min(n_weights, longest)
    room, top_scores = room_to_assign(longest, depth), np.empty(depth)
    ranking, best = np.empty(depth, np.int64), np.empty(depth, np.int64)
    for q in range(first, last):
        start, stop, weight = offsets[q], offsets[q + 1], weights[q]
        values[q], margins[q] = 0.0, 0.0
        for i in range(start, stop):
            gradient[i] = 0.0 if targets is None else -weight * targets[i]
        if bounds is not None:
            bounds[q] = 0.0
        if weight == 0.0:
            continue
        n_ranks, middle = min(depth, stop - start), scores[by_gain[(start + stop) // 2]]
        query = (scores, gains, by_gain, start, stop, middle)
        if targets is None or bounds is not None:
            top_by_score(scores, gains, start, stop, n_ranks, ranking, top_scores)
        if targets is None:
            for rank in range(n_ranks):
                gradient[ranking[rank]] -= weight * rows[0, rank]
        if bounds is None:
            best_ranking(query, n_ranks, rows, cone, 1.0, room, best)
            margin, factor = _loss(ideal[q], gains, rows, best, n_ranks), 1.0
        else:
            height = 1.0
            for i in range(start, stop):
                height += gradient[i] / weight * (scores[i] - middle)
            margin, bound = _search(query, ideal[q], height, n_ranks, rows, cone, room, ranking, best)
            bounds[q], factor = weight * bound, margin
        for rank in range(n_ranks):
            gradient[best[rank]] += weight * rows[0, rank]
        slope = 0.0
        for i in range(start, stop):
            gradient[i] *= factor
            slope += gradient[i] * (scores[i] - middle)
        margins[q] = weight * margin
        values[q] = margins[q] + slope


@kernel
def add_plane(scores: Any, target_scores: Any, known: Any, out: Any) -> None:
    """Σ_q ξ_q as a function of A, at the rankings that are best for this A: slopes for each rank, then the offset.

    ``target_scores`` has, query by query, what the target ranking has at each rank.
    """
    offsets, by_gain, gains, ideal, n_weights, rows, cone, weights = known
    longest = longest_query(offsets, 0, len(weights))
    depth = min(n_weights, longest)
    room, ranking = room_to_assign(longest, depth), np.empty(depth, np.int64)
    for q in range(len(weights)):
        start, stop, weight = offsets[q], offsets[q + 1], weights[q]
        if weight == 0.0:
            continue
        n_ranks = min(depth, stop - start)
        query = (scores, gains, by_gain, start, stop, scores[by_gain[(start + stop) // 2]])
        best_ranking(query, n_ranks, rows, cone, 1.0, room, ranking)
        out[n_weights] += weight * _loss(ideal[q], gains, rows, ranking, n_ranks)
        for rank in range(n_ranks):
            out[rank] += weight * (scores[ranking[rank]] - target_scores[start + rank])
