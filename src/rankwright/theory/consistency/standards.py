"""Proofs that a table r is a standardisation function: by swaps of neighbours, or order by order (see `search`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from rankwright.theory.consistency.elimination import solution
from rankwright.theory.consistency.orders import Distribution, Number, OrderTable
from rankwright.theory.consistency.programmes import MARGIN, exact_distribution, near, sparse
from rankwright.types import Array

_ORDERS_AT_ONCE = 24

Table = list[list[Number]]  # r: a row of n numbers for each supervision


def scaled(r: Table) -> Table:
    """The same function with 0 as the least value under each supervision, and 1 as the greatest of all."""
    above = [[value - min(row) for value in row] for row in r]
    largest = max(value for row in above for value in row)
    return [[value / largest for value in row] for row in above] if largest > 0 else above


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


# Order by order


class _Beside(NamedTuple):
    """An order σ beside others σ' that are ahead of it under some supervision, and what a linear programme found."""

    rises: Table  # r_{σ(k)} − r_{σ(k+1)} under each supervision
    ahead: Table  # value of σ − value of σ'
    steps: Array  # μ ≥ 0 and t ≥ 0, the least with Σ_k μ_k rise_k ≤ ahead + t under every supervision
    shares: Array  # the dual variables: p ≥ 0, where R p follows σ, and σ' is ahead of it by t


def is_proved(r: Table, table: OrderTable) -> bool:
    """Whether every order is at least as good as all others wherever R p follows it, by steps μ for each two."""
    return all(
        _exact_steps(row[:-1], beside.rises, margin, table) is not None
        for beside in _all_beside(r, table)
        for row, margin in zip(beside.steps, beside.ahead, strict=True)
    )


def violations(r: Table, table: OrderTable) -> Iterator[Distribution]:
    """Distributions at which R p follows an order that is not optimal; one for each such order."""
    for beside in _all_beside(r, table):
        worst = int(np.argmax(beside.steps[:, -1]))
        if beside.steps[worst, -1] > MARGIN:
            yield _exact_share(beside.shares[worst], beside.rises, table)


def _all_beside(r: Table, table: OrderTable) -> Iterator[_Beside]:
    gains = [table.gains(k) for k in range(len(table.orders))]
    best = undominated(gains)
    waiting: list[tuple[Table, Table]] = []
    for items, own in zip(table.orders.tolist(), gains, strict=True):
        margins = [[one - two for one, two in zip(own, other, strict=True)] for other in best]
        ahead = [margin for margin in margins if min(margin) < 0]
        if ahead:
            waiting.append(([[row[upper] - row[lower] for row in r] for upper, lower in pairwise(items)], ahead))
        if len(waiting) == _ORDERS_AT_ONCE:
            yield from _beside(waiting)
            waiting = []
    if waiting:
        yield from _beside(waiting)


def undominated(gains: Table) -> Table:
    """The different rows that no other row is at least as good as everywhere."""
    distinct = np.array(list(dict.fromkeys(map(tuple, gains))), dtype=object)
    better = [(distinct >= row).all(axis=1).sum() > 1 for row in distinct]
    return [row.tolist() for row, is_dominated in zip(distinct, better, strict=True) if not is_dominated]


def _beside(orders: list[tuple[Table, Table]]) -> Iterator[_Beside]:
    """One programme for some orders, as many small ones take longer: a block of it for each σ and σ'."""
    n_steps, count = len(orders[0][0]), len(orders[0][1][0])
    blocks = np.concatenate(
        [
            np.repeat(np.vstack([np.array(rises, dtype=np.float64), -np.ones(count)]).T[None], len(ahead), axis=0)
            for rises, ahead in orders
        ]
    )
    b, row, column = np.indices(blocks.shape)
    places = ((b * count + row).ravel(), (b * (n_steps + 1) + column).ravel())
    solved = linprog(
        np.tile(np.append(np.zeros(n_steps), 1.0), len(blocks)),
        A_ub=coo_array((blocks.ravel(), places)).tocsr(),
        b_ub=np.concatenate([np.array(ahead, dtype=np.float64).ravel() for _, ahead in orders]),
        bounds=(0, None),
        method="highs-ds",
    )
    ends = np.cumsum([len(ahead) for _, ahead in orders])[:-1]
    steps = np.split(solved.x.reshape(-1, n_steps + 1), ends)
    shares = np.split(-solved.ineqlin.marginals.reshape(-1, count), ends)
    for (rises, ahead), own_steps, own_shares in zip(orders, steps, shares, strict=True):
        yield _Beside(rises, ahead, own_steps, own_shares)


def _exact_steps(found: Array, rises: Table, margin: list[Number], table: OrderTable) -> list[Number] | None:
    """μ without rounding: simple fractions near it, or the solution of the equations that hold at it."""
    if not table.is_exact:
        steps: list[Number] = found.tolist()
        return steps if _is_within(steps, rises, margin, table) else None
    simple: list[Number] = [near(step) for step in found]
    if _is_within(simple, rises, margin, table):
        return simple
    used = [k for k, step in enumerate(found) if step > MARGIN]
    needed = found @ np.array(rises, dtype=np.float64)
    tight = [k for k, gain in enumerate(margin) if abs(needed[k] - float(gain)) < MARGIN]
    values = solution([[rises[step][k] for step in used] for k in tight], [margin[k] for k in tight])
    if values is None:
        return None
    exact: list[Number] = [dict(zip(used, values, strict=True)).get(k, Fraction(0)) for k in range(len(rises))]
    return exact if min(exact) >= 0 and _is_within(exact, rises, margin, table) else None


def _is_within(steps: list[Number], rises: Table, margin: list[Number], table: OrderTable) -> bool:
    for k, gain in enumerate(margin):
        needed = sum(step * rise[k] for step, rise in zip(steps, rises, strict=True))
        if needed > gain and not table.is_equal(needed, gain):
            return False
    return True


def _exact_share(found: Array, rises: Table, table: OrderTable) -> Distribution:
    """p without rounding: the solution of the equations that hold at it."""
    p = found / found.sum()
    slacks = np.array(rises, dtype=np.float64) @ p
    tight = [rise for rise, slack in zip(rises, slacks, strict=True) if abs(slack) < MARGIN]
    return exact_distribution(p, tight, is_exact=table.is_exact)
