"""The ranking that violates a margin most, for average precision (Yue et al. 2007), in O(m log m).

Of R relevant and M other documents, both by descending score, let p_j relevant ones stand above the other document j.
With c(y)ᵀs = Σ ±(s_i − s_j) / RM over all pairs of a relevant i and another j, + where i stands above j, the objective
c(y)ᵀs + μ(1 − AP) is a constant plus the sum, over all pairs with j above i, of

    g_ij = μ/R · (i/(i + j − 1) − i/(i + j)) − 2(s_i − s_j)/RM,

as the j-th other document above i takes the precision at i from i/(i + j − 1) to i/(i + j). So each j has a sum of its
own to maximise, Σ_{i > p_j} g_ij. Since g_ij falls with j, the best p_j do not fall: they make a ranking, and the best
one. That the first of the best p_j do not fall also means that a few of them tell where to look for those between.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.losses import rescaling_kernels
from rankwright.losses.rescaling_kernels import BOUND, MULTIPLIER, N_KNOWN
from rankwright.machine.compile import kernel
from rankwright.measures.sorting import longest_query


@kernel
def places(
    multiplier: float, n_relevant: int, n_others: int, sums: Any, others: Any, harmonic: Any, above: Any
) -> None:
    """p_j into ``above[j]``, j = 1, …, M. ``sums[p]`` adds the scores of p relevant documents, ``harmonic`` 1/i.

    Every second p_j lies between its neighbours, so a round over all relevant documents doubles how many are known.
    """
    slope = 2.0 / n_others
    step = 1
    while 2 * step <= n_others:
        step *= 2
    above[0] = 0
    while step >= 1:
        for j in range(step, n_others + 1, 2 * step):
            low = above[j - step]
            high = above[j + step] if j + step <= n_others else n_relevant
            best, most = low, -np.inf
            for p in range(low, high + 1):
                worth = slope * (sums[p] - p * others[j]) - multiplier * (harmonic[p + j - 1] + j / (p + j))
                if worth > most:
                    best, most = p, worth
            above[j] = best
        step //= 2


@kernel
def average_precision_loss(n_relevant: int, n_others: int, above: Any) -> float:
    """1 − AP = Σ_i n_i/(i + n_i) / R, where n_i others stand above the relevant document i."""
    loss = 0.0
    n_above = 0
    for i in range(1, n_relevant + 1):
        while n_above < n_others and above[n_above + 1] < i:
            n_above += 1
        loss += n_above / (i + n_above)
    return loss / n_relevant


@kernel
def add_coefficients(
    factor: float, n_relevant: int, n_others: int, above: Any, relevant_of: Any, other_of: Any, out: Any
) -> None:
    """Add factor · c(y) to ``out``: (M − 2n_i)/RM for a relevant document, (R − 2p_j)/RM for another."""
    share = factor / (n_relevant * n_others)
    n_above = 0
    for i in range(1, n_relevant + 1):
        while n_above < n_others and above[n_above + 1] < i:
            n_above += 1
        out[relevant_of[i]] += share * (n_others - 2 * n_above)
    for j in range(1, n_others + 1):
        out[other_of[j]] += share * (n_relevant - 2 * above[j])


@kernel
def _room_to_split(longest: int) -> Any:
    """Of relevant documents which they are and sums of scores, of others which they are, scores and p_j; from 1 on."""
    relevant_of, other_of = np.empty(longest + 1, np.int64), np.empty(longest + 1, np.int64)
    return relevant_of, np.empty(longest + 1), other_of, np.empty(longest + 1), np.empty(longest + 1, np.int64)


@kernel
def _split(scores: Any, order: Any, start: int, stop: int, is_relevant: Any, middle: float, room: Any) -> int:
    """The documents of a query along its ranking, apart, and the p_j of that ranking. Returns R."""
    relevant_of, sums, other_of, others, above = room
    n_relevant = n_others = 0
    sums[0] = 0.0
    for place in range(start, stop):
        document = order[place]
        if is_relevant[document]:
            n_relevant += 1
            relevant_of[n_relevant] = document
            sums[n_relevant] = sums[n_relevant - 1] + (scores[document] - middle)
        else:
            n_others += 1
            other_of[n_others] = document
            others[n_others] = scores[document] - middle
            above[n_others] = n_relevant
    return n_relevant


@kernel
def _product(n_relevant: int, n_others: int, above: Any, sums: Any, others: Any) -> float:
    """c(y)ᵀs."""
    total = 0.0
    for j in range(1, n_others + 1):
        p = above[j]
        total += 2 * sums[p] - sums[n_relevant] + (n_relevant - 2 * p) * others[j]
    return total / (n_relevant * n_others)


@kernel
def _exchange(n_relevant: int, n_others: int, above: Any, sums: Any, others: Any, loss: float, height: float) -> bool:
    """The exchange of neighbours, one of them relevant, that raises Δ·H most; returns whether any does."""
    most, mover, change = loss * height * (1 + rescaling_kernels.ROUNDING), 0, 0
    n_above = 0
    for i in range(1, n_relevant + 1):
        while n_above < n_others and above[n_above + 1] < i:
            n_above += 1
        score, precision = sums[i] - sums[i - 1], i / (i + n_above)
        for j, step in ((n_above + 1, -1), (n_above, 1)):  # the other just below i goes up, the one just above down
            if 1 <= j <= n_others and above[j] == (i if step < 0 else i - 1):
                worse = (precision - i / (i + n_above - step)) / n_relevant
                product = (loss + worse) * (height + 2 * step * (score - others[j]) / (n_relevant * n_others))
                if product > most:
                    most, mover, change = product, j, step
    above[mover] += change
    return mover > 0


@kernel
def _search(
    height: float, n_relevant: int, n_others: int, sums: Any, others: Any, harmonic: Any, above: Any, best: Any
) -> tuple[float, float]:
    """The best Δ(y)(height + c(y)ᵀs) that is found: its Δ, and a bound of all products; its p_j into ``best``."""
    known = np.empty(N_KNOWN)
    rescaling_kernels.begin(known)
    margin, most, is_searching = 0.0, -1.0, True
    while is_searching:
        places(known[MULTIPLIER], n_relevant, n_others, sums, others, harmonic, above)
        loss = average_precision_loss(n_relevant, n_others, above)
        reached = height + _product(n_relevant, n_others, above, sums, others)
        if loss * reached > most:
            margin, most = loss, loss * reached
            for j in range(n_others + 1):
                best[j] = above[j]
        is_searching = rescaling_kernels.tell(known, loss, reached)
    for _ in range(rescaling_kernels.MOST_EXCHANGES):
        reached = height + _product(n_relevant, n_others, best, sums, others)
        if not _exchange(n_relevant, n_others, best, sums, others, margin, reached):
            break
        margin = average_precision_loss(n_relevant, n_others, best)
    return margin, known[BOUND]


@kernel
def add_predicted(scores: Any, order: Any, offsets: Any, is_relevant: Any, weights: Any, out: Any) -> None:
    """Add c of the ranking by scores to ``out``, for queries with a weight."""
    room = _room_to_split(longest_query(offsets, 0, len(weights)))
    relevant_of, _, other_of, _, above = room
    for q in range(len(weights)):
        start, stop = offsets[q], offsets[q + 1]
        if weights[q] > 0.0:
            n_relevant = _split(scores, order, start, stop, is_relevant, 0.0, room)
            add_coefficients(1.0, n_relevant, stop - start - n_relevant, above, relevant_of, other_of, out)


@kernel
def evaluate(first: int, last: int, scores: Any, order: Any, known: Any, targets: Any, out: Any, bounds: Any) -> None:
    """ξ_q = max_y Δ(y) + c(y)ᵀs − tᵀs, its Δ and its gradient, times the weight of q; ``order`` is by score.

    With ``bounds``, the best Δ(y)(1 + c(y)ᵀs − tᵀs) that the search finds, and a bound of it. Without targets, t is c
    of the ranking by scores. ``known`` is where queries begin, which documents are relevant, Σ 1/i, and weights.
    """
    offsets, is_relevant, harmonic, weights = known
    values, margins, gradient = out
    room = _room_to_split(longest_query(offsets, first, last))
    relevant_of, sums, other_of, others, above = room
    best = np.empty_like(above)
    for q in range(first, last):
        start, stop = offsets[q], offsets[q + 1]
        values[q], margins[q] = 0.0, 0.0
        for i in range(start, stop):
            gradient[i] = 0.0
        if bounds is not None:
            bounds[q] = 0.0
        weight = weights[q]
        if weight == 0.0:
            continue
        middle = scores[order[(start + stop) // 2]]  # differences alone count, and they must not drown
        n_relevant = _split(scores, order, start, stop, is_relevant, middle, room)
        n_others = stop - start - n_relevant
        if targets is None:
            add_coefficients(-weight, n_relevant, n_others, above, relevant_of, other_of, gradient)
        else:
            for i in range(start, stop):
                gradient[i] = -weight * targets[i]
        if bounds is None:
            places(1.0, n_relevant, n_others, sums, others, harmonic, best)
            margin, factor = average_precision_loss(n_relevant, n_others, best), 1.0
        else:
            height = 1.0
            for i in range(start, stop):
                height += gradient[i] / weight * (scores[i] - middle)
            margin, bound = _search(height, n_relevant, n_others, sums, others, harmonic, above, best)
            bounds[q], factor = weight * bound, margin
        add_coefficients(weight, n_relevant, n_others, best, relevant_of, other_of, gradient)
        slope = 0.0
        for i in range(start, stop):
            gradient[i] *= factor
            slope += gradient[i] * (scores[i] - middle)
        margins[q] = weight * margin
        values[q] = margins[q] + slope
