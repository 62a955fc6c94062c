"""The capital of a gambler who bets that values in [0, 1] have a mean above m, and how far m can be raised.

Each bet is λ ∈ [0, 1/m] on x − m, chosen before x is seen: capital ← capital · (1 + λ (x − m)) is never negative, and
if the mean is at most m it does not grow in expectation. So E[capital] ≤ 1, however λ is chosen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

ROTATIONS = 8  # of the order of the values, each forwards and backwards
_REACHED = 0.999  # of the target: the rest would only cost time
_RUIN = 1e-300
_KEPT_OF_LEFT, _KEPT_OF_SEEN = 64, 4  # a bet is kept for 1/64 of the values left, and at first for 1/4 of those seen


@kernel
def capital(values: Any, start: int, step: int, mean: float, target: float) -> float:
    """What 1 has become once all values have been bet on, beginning at ``start`` and going round forwards or backwards.

    λ = ℓ √(2 / (1 + ℓ)) / √(r v), ℓ = ln(target / capital), r values to come, v the variance of those seen: the bet
    is chosen anew for what is still to be won in the rounds that are left (Voráček and Orabona, 2025). The first factor
    is within a few per cent of φ(d) / Φ(d) with Φ(d) = capital / target, the hedge of an option that pays the target
    or nothing: capital that ends at either leaves no slack in Markov's inequality.
    """
    n = len(values)
    held = 1.0
    total, squares = 0.5, 0.5  # as if one value had been seen, of mean 1/2 and variance 1/4
    seen, place = 0, start
    while seen < n and _RUIN < held < _REACHED * target:
        left = n - seen
        missing = np.log(target / held)
        variance = squares / (seen + 1) - (total / (seen + 1)) ** 2
        bet = missing * np.sqrt(2.0 / ((1.0 + missing) * left * variance))
        most = min((target / held - 1.0) / (1.0 - mean), 1.0 / mean)  # more than the target is of no use
        rounds = max(1, min(left // _KEPT_OF_LEFT, seen // _KEPT_OF_SEEN)) if bet < most else 1
        bet = most if left == 1 else min(bet, most)  # all that may be needed is put on the last value
        for _ in range(rounds):
            value = values[place]
            held *= max(1.0 + bet * (value - mean), 0.0)
            total += value
            squares += value * value
            place += step
            if place == n:
                place = 0
            elif place < 0:
                place = n - 1
            if held >= target:
                break
        seen += rounds
    return held


@kernel
def mean_capital_reaches(values: Any, mean: float, target: float, enough: float) -> bool:
    """Whether the mean of the capital over all orders is enough; it stops once that is settled."""
    n = len(values)
    orders = 2 * ROTATIONS
    total = 0.0
    for order in range(orders):
        total += capital(values, order // 2 * n // ROTATIONS, 1 - 2 * (order % 2), mean, target)
        if total >= orders * enough:
            return True
        if total + (orders - 1 - order) * target < orders * enough:  # more is rarely won
            return False
    return False


@kernel
def first_believable(values: Any, least: int, spacing: float, target: float, enough: float) -> int:
    """The first of the means spacing · least, spacing · (least + 1), … that is not rejected: its number."""
    number = least
    while number * spacing < 1.0 and mean_capital_reaches(values, number * spacing, target, enough):
        number += 1
    return number
