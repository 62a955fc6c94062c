"""Proofs that a table r is a standardisation function: by swaps of neighbours, or order by order (see `search`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
from scipy.optimize import linprog

from rankwright.theory.consistency.orders import Array, Number, OrderTable
from rankwright.theory.consistency.programmes import MARGIN, near, sparse

Table = list[list[Number]]  # r: a row of n numbers for each supervision


def by_swaps(table: OrderTable) -> Table | None:
    """An r such that every gain by a swap of neighbours i, j is c·(r_i − r_j) with c ≥ 0; None if there is none."""
    ways = swap_gains(table)
    directions = {}
    for pair, gains in ways.items():
        direction = max(gains, key=lambda gain: sum(abs(part) for part in gain))
        if any(multiple_of(gain, direction, table) is None for gain in gains):
            return None
        directions[pair] = direction
    return _potential(directions, table)


def swap_gains(table: OrderTable) -> dict[tuple[int, int], list[tuple[Number, ...]]]:
    """For each pair i < j, what i directly above j gains over j above i, under each supervision; all that occur."""
    gains: dict[tuple[int, int], dict[tuple[Number, ...], None]] = {}
    place = {tuple(order): k for k, order in enumerate(table.orders.tolist())}
    for order, k in place.items():
        for at, (i, j) in enumerate(pairwise(order)):
            if i < j:
                swapped = (*order[:at], j, i, *order[at + 2 :])
                pairs = zip(table.gains(k), table.gains(place[swapped]), strict=True)
                gains.setdefault((i, j), {})[tuple(upper - lower for upper, lower in pairs)] = None
    return {pair: list(found) for pair, found in gains.items()}


def multiple_of(vector: Sequence[Number], of: Sequence[Number], table: OrderTable) -> Number | None:
    """c ≥ 0 with vector = c · of, or None."""
    largest = max(range(len(of)), key=lambda k: abs(of[k]))
    factor: Number = vector[largest] / of[largest] if of[largest] else Fraction(0)
    fits = all(table.is_equal(part, factor * base) for part, base in zip(vector, of, strict=True))
    return factor if fits and factor >= 0 else None


def _potential(directions: dict[tuple[int, int], tuple[Number, ...]], table: OrderTable) -> Table | None:
    """r with r_i − r_j = a_ij · direction_ij and a_ij ≥ 1: a linear programme."""
    n, count = table.supervisions.n_items, len(table.supervisions)
    steps = {pair: step for pair, step in directions.items() if any(not table.is_equal(part, 0) for part in step)}
    rows: list[tuple[int, int, float]] = []
    for e, ((i, j), step) in enumerate(steps.items()):
        for k in range(count):
            row = e * count + k
            rows += [(row, k * n + i, 1.0), (row, k * n + j, -1.0), (row, n * count + e, -float(step[k]))]
    size = n * count + len(steps)
    if not steps:
        return [[Fraction(0)] * n for _ in range(count)]
    solved = linprog(
        np.ones(size),
        A_eq=sparse(rows, len(steps) * count, size),
        b_eq=np.zeros(len(steps) * count),
        bounds=[(0, None)] * (n * count) + [(1, None)] * len(steps),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    # The programme works with 10⁻⁷; from its factors a_ij the table follows as exactly as the directions are known.
    factors = {pair: near(a) for pair, a in zip(steps, solved.x[n * count :], strict=True)}
    return _along_steps(factors, steps, table)


def _along_steps(
    factors: dict[tuple[int, int], Fraction], steps: dict[tuple[int, int], tuple[Number, ...]], table: OrderTable
) -> Table | None:
    """r from its differences, as exactly as they are known; None if they do not fit together."""
    exact: Table = []
    for k in range(len(table.supervisions)):
        row: list[Number] = [None] * table.supervisions.n_items
        while None in row:
            row[row.index(None)] = Fraction(0)
            while any(_follow(row, *pair, factors[pair] * step[k]) for pair, step in steps.items()):
                pass
        exact.append([value - min(row) for value in row])
    return exact if follows_swaps(exact, table) else None


def _follow(row: list[Number], i: int, j: int, rise: Number) -> bool:
    """Fill in r_i from r_j or the other way round; whether there was something to fill in."""
    if (row[i] is None) == (row[j] is None):
        return False
    if row[i] is None:
        row[i] = row[j] + rise
    else:
        row[j] = row[i] - rise
    return True


def follows_swaps(r: Table, table: OrderTable) -> bool:
    """Whether every gain by a swap of neighbours is c·(r_i − r_j) with c ≥ 0."""
    for (i, j), gains in swap_gains(table).items():
        rise = [row[i] - row[j] for row in r]
        if any(multiple_of(gain, rise, table) is None for gain in gains):
            return False
    return True


def stepsbetween(r: Table, table: OrderTable, order: int, other: int) -> list[Number] | None:
    """μ ≥ 0 with value of order − value of other ≥ Σ μ_k (r_{σ(k)} − r_{σ(k+1)}); None if there is none."""
    items = table.orders[order].tolist()
    rises = [[row[upper] - row[lower] for row in r] for upper, lower in pairwise(items)]
    ahead = [one - two for one, two in zip(table.gains(order), table.gains(other), strict=True)]
    solved = linprog(
        np.ones(len(rises)),
        A_ub=np.array([[float(part) for part in rise] for rise in rises]).T,
        b_ub=np.array([float(part) for part in ahead]),
        bounds=(0, None),
        method="highs-ds",
    )
    if solved.status != 0:
        return None
    steps: list[Number] = [near(step) if table.is_exact else float(step) for step in solved.x]
    for k, gain in enumerate(ahead):
        needed = sum(step * rise[k] for step, rise in zip(steps, rises, strict=True))
        if needed > gain and not table.is_equal(needed, gain):
            return None
    return steps


def unproved_orders(r: Table, table: OrderTable) -> Iterator[tuple[int, int]]:
    """Orders σ, and others σ', for which no steps prove that σ is at least as good wherever R p follows it."""
    for one, two in permutations(range(len(table.orders)), 2):
        if stepsbetween(r, table, one, two) is None:
            yield one, two


def violation(r: Array, table: OrderTable, order: int, other: int) -> Array | None:
    """A distribution at which R p follows an order that is worse than the other."""
    items, gains = table.orders[order], [np.array(table.gains(k), dtype=np.float64) for k in (order, other)]
    solved = linprog(
        gains[0] - gains[1],
        A_ub=(r[:, items[1:]] - r[:, items[:-1]]).T,
        b_ub=np.zeros(len(items) - 1),
        A_eq=np.ones((1, len(r))),
        b_eq=[1.0],
        bounds=(0, None),
        method="highs-ds",
    )
    return solved.x if solved.status == 0 and solved.fun < -MARGIN else None
