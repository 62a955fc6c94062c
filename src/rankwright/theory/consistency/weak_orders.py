"""Rankings with ties: which of them E[r(Y)] can have at a distribution (see `branching`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from rankwright.theory.consistency.orders import Distribution, Mask, Number, OrderTable, all_orders, orders_of_scores

_TIE = 1e-9

Levels = tuple[int, ...]  # of each item, from 0; greater is better


@dataclass(frozen=True)
class Place:
    """A distribution p, and others q to move to from it, a little of each by itself."""

    p: Distribution
    towards: tuple[Distribution, ...] = ()


def weak_orders(n: int) -> Iterator[Levels]:
    """Every ranking of n items with ties: a level for each item, greater is better, no level left out."""
    return (levels for levels in product(range(n), repeat=n) if set(levels) == set(range(max(levels) + 1)))


def levels_of(scores: Sequence[Number]) -> Levels:
    """The weak order that scores have; in floating point, with r up to 1, differences up to 10⁻⁹ count as none."""
    least = 0 if all(isinstance(score, Fraction) for score in scores) else _TIE
    ranked = sorted(range(len(scores)), key=lambda item: scores[item])
    levels = [0] * len(scores)
    for lower, upper in pairwise(ranked):
        levels[upper] = levels[lower] + int(scores[upper] - scores[lower] > least)
    return tuple(levels)


def levels_text(levels: Levels) -> str:
    """1 ≻ 2 = 3, with items numbered from 1."""
    groups = [[str(item + 1) for item, level in enumerate(levels) if level == at] for at in range(max(levels), -1, -1)]
    return " ≻ ".join(" = ".join(group) for group in groups)


@lru_cache(maxsize=8)
def arrangements(n: int) -> tuple[npt.NDArray[np.intp], Mask]:
    """All weak orders of n items, and which orders (columns) each can become (rows) when its ties are broken."""
    levels, orders = list(weak_orders(n)), all_orders(n)
    return np.array(levels), np.array([orders_of_scores(orders, np.array(row, dtype=np.float64)) for row in levels])


@lru_cache(maxsize=10_000)
def arrangements_of(levels: Levels) -> frozenset[int]:
    """The orders, by number, that a weak order can become when its ties are broken."""
    follow = orders_of_scores(all_orders(len(levels)), np.array(levels, dtype=np.float64))
    return frozenset(np.flatnonzero(follow).tolist())


@lru_cache(maxsize=1000)
def component(levels: Levels, best: frozenset[int]) -> frozenset[int]:
    """The orders that scores can come to without leaving those whose arrangements are all among the best."""
    reached, size = arrangements_of(levels), 0
    inside = [one for one in map(arrangements_of, weak_orders(len(levels))) if one <= best]
    while size < len(reached):
        size = len(reached)
        reached = reached.union(*(one for one in inside if one & reached))
    return reached


def allowed_at(place: Place, table: OrderTable) -> list[Levels]:
    """The weak orders that R p can have, for an R with R p optimal everywhere; by enumeration.

    All arrangements of ties are optimal at p. And on the way to each q, where R (p + β (q − p)) is R p with some ties
    broken for all small β > 0, one of them is optimal still.
    """
    best = best_at(place.p, range(len(table.orders)), table)
    remaining = [best_at(q, best, table) for q in place.towards]
    return [
        levels
        for levels in weak_orders(table.supervisions.n_items)
        if arrangements_of(levels) <= best and all(arrangements_of(levels) & remain for remain in remaining)
    ]


def best_at(p: Distribution, among: Iterable[int], table: OrderTable) -> set[int]:
    """Which of some orders are best in expectation, by sums written out."""
    totals = {}
    for k in sorted(among):
        terms = [share * gain for share, gain in zip(p, table.gains(k), strict=True) if share]
        totals[k] = sum(terms[1:], terms[0])
    greatest = max(totals.values())
    return {k for k, total in totals.items() if table.is_equal(total, greatest)}
