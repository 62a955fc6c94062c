"""Is there an r with E[r(Y)] optimal for every distribution (paper O, definition 4)? The search for either answer.

Write R for the n × K table of r, a column for each supervision, so that E[r(Y)] = R p.

*For* an r: swaps. If moving i above its neighbour j gains c·(r_i − r_j) with some c ≥ 0, in whatever order they stand
and under whatever supervision, then sorting by R p, swap by swap, never loses, for any p. More generally r is one if
every order σ and every other σ' have steps μ ≥ 0 such that

    value of σ − value of σ' ≥ Σ_k μ_k (r_{σ(k)} − r_{σ(k+1)})   under every supervision,

as then σ is at least as good as σ' for every p whose R p follows σ (Farkas: if and only if).

*Against*: comparisons. If all orders that are optimal at p, and remain so when p moves towards q a little, put j above
i, then (R p)_j ≥ (R p)_i: r must put j first at every (1 − β) p + β q with small β > 0, and β → 0 is the limit (as in
lemma 4). Comparisons at one p, or a sum of them over several p that is 0 (so that all hold with equality), may leave no
weak order of the items all of whose arrangements of ties are optimal.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, islice

import numpy as np
from scipy.optimize import linprog

from rankwright.theory.consistency.contradictions import (
    Comparison,
    comparisons_at,
    contradiction_at,
    ties_are_impossible,
    zero_sum,
)
from rankwright.theory.consistency.orders import Array, Distribution, OrderTable, point_mass
from rankwright.theory.consistency.programmes import MARGIN, near, simplified, sparse
from rankwright.theory.consistency.standards import Table, by_swaps, unproved_orders, violation

_MOST_HALVES = 5000
_MOST_DIRECTIONS = 8
_ROUNDS = 8
_MOST_VIOLATIONS = 10


@dataclass(frozen=True, eq=False)
class Answer:
    """What the search found: an r, or comparisons that contradict each other at their last p; or neither."""

    r: Table | None = None
    comparisons: tuple[Comparison, ...] = ()
    factors: tuple[Fraction, ...] = ()


def search(table: OrderTable) -> Answer:
    """An answer for supervisions that the measure can tell apart is one for all."""
    small, stands = table.distinct()
    answer = _search(small)
    kept = sorted(set(stands))
    r = None if answer.r is None else [answer.r[kept.index(k)] for k in stands]
    lifted = [
        replace(one, p=_lifted(one.p, stands), towards=one.towards and _lifted(one.towards, stands))
        for one in answer.comparisons
    ]
    return Answer(r, tuple(lifted), answer.factors)


def _lifted(p: Distribution, stands: Sequence[int]) -> Distribution:
    shares = dict(zip(sorted(set(stands)), p, strict=True))
    return tuple(shares.get(k, Fraction(0)) for k in range(len(stands)))


def _search(table: OrderTable) -> Answer:
    """Swaps, then contradictions at simple distributions, then programmes for r and what contradicts them."""
    r = by_swaps(table)
    if r is not None:
        return Answer(r)
    for p in simple_distributions(table):
        against = contradiction_at(p, table)
        if against is not None:
            return Answer(comparisons=tuple(against))
    return _by_programmes(table)


def _by_programmes(table: OrderTable) -> Answer:
    """Tables r that fit all comparisons known so far, until one is proved or none fits."""
    known: dict[Comparison, bool] = {}  # and whether it must hold strictly
    waiting = list(simple_distributions(table))
    for round_ in range(_ROUNDS):
        for p in waiting:
            against = contradiction_at(p, table)
            if against is not None:
                return Answer(comparisons=tuple(against))
            known |= {one: ties_are_impossible(one, table) for one in comparisons_at(p, table).values()}
        r = margin_programme(known, table)
        if r is None:
            return _impossible(known, table)
        exact: Table = [[near(value) if table.is_exact else float(value) for value in row] for row in r]
        unproved = list(islice(unproved_orders(exact, table), _MOST_VIOLATIONS))
        if not unproved:
            return Answer(exact)
        found = (violation(r, table, order, other) for order, other in unproved)
        waiting = [simplified(p) for p in found if p is not None]
        if round_ == _ROUNDS // 2:
            waiting += wall_distributions(table)  # there are many of them
    return Answer()


def _impossible(known: Mapping[Comparison, bool], table: OrderTable) -> Answer:
    """Comparisons that hold with equality, and among them, as the last, one whose items cannot be tied."""
    if not table.is_exact:  # points of walls are only near them then, and what holds there need not add up
        return Answer()
    factors = zero_sum(known, table)
    if factors is None:
        return Answer()
    last = next(one for one in factors if known[one])
    ordered = [one for one in factors if one != last] + [last]
    return Answer(comparisons=tuple(ordered), factors=tuple(factors[one] for one in ordered))


def margin_programme(known: Mapping[Comparison, bool], table: OrderTable) -> Array | None:
    """Rᵀ that satisfies all comparisons, strict ones by the largest margin; None if that is 0."""
    n, count = table.supervisions.n_items, len(table.supervisions)
    rows: list[tuple[int, int, float]] = []
    for e, (one, is_strict) in enumerate(known.items()):
        for k, share in enumerate(one.p):
            if share:
                rows += [(e, k * n + one.upper, -float(share)), (e, k * n + one.lower, float(share))]
        if is_strict:
            rows.append((e, n * count, 1.0))
    solved = linprog(
        np.append(np.zeros(n * count), -1.0),
        A_ub=sparse(rows, len(known), n * count + 1),
        b_ub=np.zeros(len(known)),
        bounds=[(0, 1)] * (n * count) + [(0, 1)],
        method="highs",
    )
    return solved.x[:-1].reshape(count, n) if solved.status == 0 and -solved.fun > MARGIN else None


# Distributions to look at


def simple_distributions(table: OrderTable) -> Iterator[Distribution]:
    """Point masses, then halves of two supervisions: first of those that are alike but for the items' names."""
    count = len(table.supervisions)
    masses = [point_mass(k, count) for k in range(count)]
    yield from masses
    kinds = [tuple(np.sort(table.values[:, k])) for k in range(count)]
    pairs = sorted(combinations(range(count), 2), key=lambda pair: kinds[pair[0]] != kinds[pair[1]])
    for one, two in pairs[:_MOST_HALVES]:
        yield _between(masses[one], masses[two])


def wall_distributions(table: OrderTable) -> list[Distribution]:
    """Points of the walls between regions where one order is optimal and where another is, simple ones first.

    Corners of a wall, and points halfway between its middle and its corners: those span it, and lie within it.
    """
    gains = np.array([table.gains(k) for k in range(len(table.orders))], dtype=np.float64)
    kinds = np.unique(gains, axis=0)
    points: dict[Distribution, None] = {}
    for one, two in combinations(range(len(kinds)), 2):
        corners = _wall_corners(kinds, one, two)
        if corners:
            points |= dict.fromkeys(corners)
            points |= dict.fromkeys(_between(*pair) for pair in combinations(corners, 2))
            middle = tuple(sum(parts, Fraction(0)) / len(corners) for parts in zip(*corners, strict=True))
            points |= dict.fromkeys(_between(middle, corner) for corner in corners)
    return sorted(points, key=_complexity)


def _between(one: Distribution, other: Distribution) -> Distribution:
    return tuple((left + right) / 2 for left, right in zip(one, other, strict=True))


def _complexity(p: Distribution) -> tuple[int, int]:
    return sum(share > 0 for share in p), max(share.denominator for share in p)


def _wall_corners(kinds: Array, one: int, two: int) -> list[Distribution]:
    count = kinds.shape[1]
    corners: dict[Distribution, None] = {}
    for direction in range(2 * min(count, _MOST_DIRECTIONS)):
        solved = linprog(
            np.where(np.arange(count) == direction // 2, (-1.0) ** direction, 0.0),
            A_ub=kinds - kinds[one],
            b_ub=np.zeros(len(kinds)),
            A_eq=np.stack([kinds[one] - kinds[two], np.ones(count)]),
            b_eq=[0.0, 1.0],
            bounds=(0, None),
            method="highs-ds",
        )
        if solved.status != 0:
            break
        corners[simplified(solved.x)] = None
    return list(corners)
