"""Sums over all rankings of a query: hinges over permutations of short lists, soft-maxima over orders of grades.

Documents that a measure cannot tell apart stand by descending score among themselves in a soft-maximum. So a ranking is
a sequence of levels, and what the next document adds depends only on how many of each level have been placed: sums over
all sequences go through these counts, the states, once forwards and once backwards, with logarithms of sums.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

_NONE = -1


@kernel
def log_add(a: float, b: float) -> float:
    """log(eᵃ + eᵇ)."""
    high, low = max(a, b), min(a, b)
    return high if low == -np.inf else high + np.log1p(np.exp(low - high))


# Hinges over permutations


@kernel
def next_permutation(order: Any, n: int) -> bool:
    """The next of all orders of 0, …, n − 1, ascending as words; False after the last."""
    i = n - 2
    while i >= 0 and order[i] > order[i + 1]:
        i -= 1
    if i < 0:
        return False
    j = n - 1
    while order[j] < order[i]:
        j -= 1
    order[i], order[j] = order[j], order[i]
    low, high = i + 1, n - 1
    while low < high:
        order[low], order[high] = order[high], order[low]
        low += 1
        high -= 1
    return True


@kernel
def ndcg_outcome(order: Any, n: int, levels: Any, position_weights: Any, discounts: Any, coefficients: Any) -> float:
    """1 − NDCG of an order, levels being gains over the ideal DCG; c(y) into ``coefficients``."""
    reached = 0.0
    for rank in range(n):
        document = order[rank]
        counts = rank < len(discounts)
        coefficients[document] = position_weights[rank] if counts else 0.0
        reached += discounts[rank] * levels[document] if counts else 0.0
    return 1.0 - reached


@kernel
def precision_outcome(order: Any, n: int, levels: Any, coefficients: Any) -> float:
    """1 − AP of an order; c(y) into ``coefficients``."""
    n_relevant = 0
    for i in range(n):
        n_relevant += levels[i] > 0.0
    n_others = n - n_relevant
    share = 1.0 / (n_relevant * n_others)
    loss, above, others_above = 0.0, 0, 0
    for rank in range(n):
        document = order[rank]
        if levels[document] > 0.0:
            above += 1
            loss += others_above / (above + others_above)
            coefficients[document] = share * (n_others - 2 * others_above)
        else:
            others_above += 1
            coefficients[document] = share * (n_relevant - 2 * above)
    return loss / n_relevant


@kernel
def sum_of_hinges(
    first: int, last: int, scores: Any, known: Any, position_weights: Any, discounts: Any, out: Any
) -> None:
    """Σ_y (Δ(y) + c(y)ᵀs − tᵀs)_+ over all orders but the ideal ones (paper P, definition 3).

    ``known`` is where queries begin, levels and targets of documents, and weights of queries. Without ``discounts``,
    levels above 0 are relevant, and Δ = 1 − AP; with them, levels are gains over the ideal DCG.
    """
    (offsets, levels, targets, weights), (values, gradient) = known, out
    for q in range(first, last):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        values[q] = 0.0
        for i in range(n):
            gradient[start + i] = 0.0
        if weights[q] == 0.0:
            continue
        own, level = scores[start : start + n], levels[start : start + n]
        order, coefficients = np.arange(n), np.zeros(n)
        goes_on = True
        while goes_on:
            is_ideal = True
            for rank in range(1, n):
                is_ideal &= level[order[rank - 1]] >= level[order[rank]]
            if not is_ideal:
                if discounts is None:
                    margin = precision_outcome(order, n, level, coefficients)
                else:
                    margin = ndcg_outcome(order, n, level, position_weights, discounts, coefficients)
                for i in range(n):
                    margin += (coefficients[i] - targets[start + i]) * (own[i] - own[0])
                if margin > 0.0:
                    values[q] += weights[q] * margin
                    for i in range(n):
                        gradient[start + i] += weights[q] * (coefficients[i] - targets[start + i])
            goes_on = next_permutation(order, n)


# Soft-maxima


@kernel
def soft_average_precision(relevant: Any, others: Any, temperature: float, of_relevant: Any, of_others: Any) -> float:
    """T log Σ_y exp((1 − AP(y) + c(y)ᵀs) / T) over orders of the two classes, both by descending score.

    Derivatives are added to ``of_relevant`` and ``of_others``. States are how many of either class have been placed.
    """
    n_relevant, n_others = len(relevant), len(others)
    share = 1.0 / (n_relevant * n_others)
    before = np.full((n_relevant + 1, n_others + 1), -np.inf)
    after = np.full((n_relevant + 1, n_others + 1), -np.inf)
    before[0, 0], after[n_relevant, n_others] = 0.0, 0.0
    for i in range(n_relevant + 1):
        for j in range(n_others + 1):
            if i > 0:
                worth = j / (i + j) / n_relevant + share * (n_others - 2 * j) * relevant[i - 1]
                before[i, j] = log_add(before[i, j], before[i - 1, j] + worth / temperature)
            if j > 0:
                worth = share * (n_relevant - 2 * i) * others[j - 1]
                before[i, j] = log_add(before[i, j], before[i, j - 1] + worth / temperature)
    total = before[n_relevant, n_others]
    for i in range(n_relevant, -1, -1):
        for j in range(n_others, -1, -1):
            here = before[i, j] - total
            if i < n_relevant:
                coefficient = share * (n_others - 2 * j)
                worth = j / (i + 1 + j) / n_relevant + coefficient * relevant[i]
                onwards = after[i + 1, j] + worth / temperature
                after[i, j] = log_add(after[i, j], onwards)
                of_relevant[i] += coefficient * np.exp(here + onwards)
            if j < n_others:
                coefficient = share * (n_relevant - 2 * i)
                onwards = after[i, j + 1] + coefficient * others[j] / temperature
                after[i, j] = log_add(after[i, j], onwards)
                of_others[j] += coefficient * np.exp(here + onwards)
    return temperature * total


@kernel
def ways(n_ranks: int, n_levels: int) -> Any:
    """ways[g, b]: in how many ways levels g, g + 1, … may take at most b documents, b = 0, …, n + 1."""
    table = np.ones((n_levels + 1, n_ranks + 2), np.int64)
    for g in range(n_levels - 1, -1, -1):
        for b in range(1, n_ranks + 2):
            table[g, b] = table[g, b - 1] + table[g + 1, b]
    return table


@kernel
def all_counts(n_ranks: int, n_levels: int, size: int) -> Any:
    """Every way to take at most n documents of so many levels, a row of counts for each, ascending as words."""
    table = np.empty((size, n_levels), np.int32)
    counts = np.zeros(n_levels, np.int32)
    taken = 0
    for state in range(size):
        for g in range(n_levels):
            table[state, g] = counts[g]
        g = n_levels - 1
        while g > 0 and taken == n_ranks:
            taken -= counts[g]
            counts[g] = 0
            g -= 1
        counts[g] += 1
        taken += 1
    return table


@kernel
def predecessors(state: int, counts: Any, n_ranks: int, table: Any, out: Any) -> int:
    """For each level the state with one document less of it, or −1; returns how many documents the state has.

    Words that are equal before level g, leave b documents to levels g, …, and have less than v at g are
    ways[g, b] − ways[g, b − v] in number. The sum of these over g is the number of the state.
    """
    n_levels = len(counts)
    taken = 0
    for g in range(n_levels):
        taken += counts[g]
    left, later = n_ranks - taken, 0
    for g in range(n_levels - 1, -1, -1):
        out[g] = state - (table[g + 1, left + 1] - later) if counts[g] > 0 else _NONE
        later += table[g + 1, left + counts[g] + 1] - table[g + 1, left + 1]
        left += counts[g]
    return taken


@kernel
def soft_ndcg(scores: Any, levels: Any, ranks: Any, n_ranks: int, temperature: float, gradient: Any) -> float:
    """T log Σ_y exp((Σ_r A_r s − D_r g) / T) over the sequences of levels at ranks 1, …, n.

    ``levels`` are where each begins and its gain, ``ranks`` A and D. The documents of level g are those from firsts[g]
    to firsts[g + 1], by descending score; derivatives are added to ``gradient``. States are counts of placed documents
    of each level.
    """
    (firsts, level_gains), (position_weights, discounts) = levels, ranks
    n_levels = len(level_gains)
    table = ways(n_ranks, n_levels)
    size = table[0, n_ranks]
    counts_of = all_counts(n_ranks, n_levels, size)
    before, after = np.full(size, -np.inf), np.full(size, -np.inf)
    came_from = np.empty(n_levels, np.int64)
    before[0] = 0.0
    total = -np.inf
    for state in range(size):
        taken = predecessors(state, counts_of[state], n_ranks, table, came_from)
        for g in range(n_levels):
            document = firsts[g] + counts_of[state, g] - 1
            if came_from[g] != _NONE and document < firsts[g + 1]:
                worth = position_weights[taken - 1] * scores[document] - discounts[taken - 1] * level_gains[g]
                before[state] = log_add(before[state], before[came_from[g]] + worth / temperature)
        if taken == n_ranks:
            total = log_add(total, before[state])
            after[state] = 0.0
    for state in range(size - 1, 0, -1):
        taken = predecessors(state, counts_of[state], n_ranks, table, came_from)
        for g in range(n_levels):
            document = firsts[g] + counts_of[state, g] - 1
            if came_from[g] != _NONE and document < firsts[g + 1]:
                weight = position_weights[taken - 1]
                worth = weight * scores[document] - discounts[taken - 1] * level_gains[g]
                onwards = after[state] + worth / temperature
                after[came_from[g]] = log_add(after[came_from[g]], onwards)
                gradient[document] += weight * np.exp(before[came_from[g]] + onwards - total)
    return temperature * total


@kernel
def soft_maximum(
    first: int, last: int, scores: Any, known: Any, position_weights: Any, discounts: Any, out: Any, soft: Any
) -> None:
    """T log Σ_y exp((Δ(y) + c(y)ᵀs − tᵀs) / T), and its gradient, times the weight of q.

    ``soft`` is the order by score, the numbers of levels within queries, and T; the others are as in `sum_of_hinges`.
    """
    (offsets, levels, targets, weights), (values, gradient) = known, out
    order, level_of, temperature = soft
    for q in range(first, last):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        values[q] = 0.0
        for i in range(start, start + n):
            gradient[i] = 0.0
        if weights[q] == 0.0:
            continue
        n_levels = 0
        for i in range(start, start + n):
            n_levels = max(n_levels, level_of[i] + 1)
        firsts, level_gains = np.zeros(n_levels + 1, np.int64), np.empty(n_levels)
        for i in range(start, start + n):
            firsts[level_of[i] + 1] += 1
            level_gains[level_of[i]] = levels[i]
        for g in range(n_levels):
            firsts[g + 1] += firsts[g]
        filled, arranged = firsts.copy(), np.empty(n, np.int64)
        own, slopes, middle = np.empty(n), np.zeros(n), scores[order[start + n // 2]]
        for place in range(start, start + n):
            into = filled[level_of[order[place]]]
            filled[level_of[order[place]]] += 1
            arranged[into], own[into] = order[place], scores[order[place]] - middle
        if discounts is None:
            m = firsts[1]  # documents that are not relevant
            value = soft_average_precision(own[m:], own[:m], temperature, slopes[m:], slopes[:m])
        else:
            ranks, n_ranks = (position_weights, discounts), min(n, len(discounts))
            value = 1.0 + soft_ndcg(own, (firsts, level_gains), ranks, n_ranks, temperature, slopes)
        for i in range(n):
            document = arranged[i]
            value -= targets[document] * own[i]
            gradient[document] = weights[q] * (slopes[i] - targets[document])
        values[q] = weights[q] * value
