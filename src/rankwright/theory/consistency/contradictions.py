"""Proofs that no r is a standardisation function: comparisons that contradict each other (see `search`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from math import factorial, prod

import numpy as np
import numpy.typing as npt

from rankwright.theory.consistency.orders import Distribution, Mask, Order, OrderTable, point_mass


@dataclass(frozen=True)
class Comparison:
    """(R p)_upper ≥ (R p)_lower, as all orders optimal at p, and then towards q (if there is one), have it so."""

    p: Distribution
    towards: Distribution | None
    upper: int
    lower: int


def comparisons_at(p: Distribution, table: OrderTable) -> dict[tuple[int, int], Comparison]:
    """What every r must satisfy at p, by p alone or on the way from p towards one supervision."""
    best = table.optimal(p)
    remain, above = table.remaining(best), table.above[best]
    n, count = table.supervisions.n_items, len(table.supervisions)
    against = (remain.T.astype(np.int64) @ (~above).reshape(len(above), -1).astype(np.int64)).reshape(count, n, n)
    always: Mask = np.all(above, axis=0)
    found = {}
    for upper in range(n):
        for lower in range(n):
            towards = np.flatnonzero(against[:, upper, lower] == 0)
            if upper != lower and (always[upper, lower] or len(towards)):
                way = None if always[upper, lower] else point_mass(_nicest(towards, table), count)
                found[upper, lower] = Comparison(p, way, upper, lower)
    return found


def _nicest(towards: npt.NDArray[np.intp], table: OrderTable) -> int:
    """The supervision that sets fewest other items apart, as yʲ of lemma 4 does."""
    spread = np.abs(table.values[:, towards] - table.values[:, towards].mean(axis=0)).sum(axis=0)
    members = [table.supervisions.members[k] for k in towards]
    size = [float(np.sum(getattr(member, "values", getattr(member, "weights", 0.0)))) for member in members]
    return int(towards[min(range(len(towards)), key=lambda k: (size[k], spread[k]))])


def allowed_order(best: Iterable[Order], at_least: Iterable[tuple[int, int]], n: int) -> list[set[int]] | None:
    """A weak order that has j ≥ i for the given (j, i), and whose arrangements of ties are all among the best."""
    reach = np.eye(n, dtype=bool)
    for upper, lower in at_least:
        reach[upper, lower] = True
    for middle in range(n):
        reach |= np.outer(reach[:, middle], reach[middle])
    tied = [min(other for other in range(n) if reach[item, other] and reach[other, item]) for item in range(n)]
    arrangements = prod(factorial(size) for size in Counter(tied).values())
    counts: Counter[tuple[int, ...]] = Counter()
    for order in best:
        runs = tuple(tied[item] for k, item in enumerate(order) if k == 0 or tied[item] != tied[order[k - 1]])
        follows = not any(reach[lower, upper] and not reach[upper, lower] for upper, lower in combinations(order, 2))
        if follows and len(runs) == len(set(runs)):
            counts[runs] += 1
            if counts[runs] == arrangements:
                return [{item for item in range(n) if tied[item] == run} for run in runs]
    return None


def contradiction_at(p: Distribution, table: OrderTable) -> list[Comparison] | None:
    """Comparisons at p that no weak order with only optimal arrangements can follow, few of them; None if one can."""
    n = table.supervisions.n_items
    best = [tuple(order) for order in table.orders[table.optimal(p)].tolist()]
    found = comparisons_at(p, table)
    if allowed_order(best, found, n) is not None:
        return None
    around = [(item, (item + 1) % n) for item in range(n)]
    if all(pair in found for pair in around) and len(best) < factorial(n):
        return [found[pair] for pair in around]  # all items tie: as in the proof of theorem 3
    kept = list(found)
    for pair in list(found):
        without = [other for other in kept if other != pair]
        if allowed_order(best, without, n) is None:
            kept = without
    return [found[pair] for pair in kept]
