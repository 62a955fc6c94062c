"""Is there an r with E[r(Y)] optimal for every distribution (paper O, definition 4)? The search for either answer.

Write R for the n × K table of r, a column for each supervision, so that E[r(Y)] = R p.

*For* an r: swaps. If moving i above its neighbour j gains c·(r_i − r_j) with some c ≥ 0, in whatever order they stand
and under whatever supervision, then sorting by R p, swap by swap, never loses, for any p. More generally r is one if
every order σ and every other σ' have steps μ ≥ 0 such that

    value of σ − value of σ' ≥ Σ_k μ_k (r_{σ(k)} − r_{σ(k+1)})   under every supervision,

as then σ is at least as good as σ' for every p whose R p follows σ (Farkas: if and only if).

*Against*: comparisons. If all orders that are optimal at p, and remain so when p moves towards q a little, put j above
i, then (R p)_j ≥ (R p)_i: r must put j first at every (1 − β) p + β q with small β > 0, and β → 0 is the limit (as in
lemma 4). Comparisons at one p may leave no weak order of the items all of whose arrangements of ties are optimal.

Where neither is that simple, `branching` decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from rankwright.theory.consistency.branching import decide
from rankwright.theory.consistency.cases import Refutation, moved
from rankwright.theory.consistency.contradictions import Comparison, contradiction_at
from rankwright.theory.consistency.orders import Distribution, OrderTable, point_mass
from rankwright.theory.consistency.standards import Table, by_swaps
from rankwright.theory.consistency.weak_orders import Place

_MOST_HALVES = 5000


@dataclass(frozen=True, eq=False)
class Answer:
    """What the search found: an r, comparisons that contradict each other at one p, or a refutation; or nothing."""

    r: Table | None = None
    comparisons: tuple[Comparison, ...] = ()
    refutation: Refutation | None = None
    places: tuple[Place, ...] = ()


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
    places = [Place(_lifted(one.p, stands), tuple(_lifted(q, stands) for q in one.towards)) for one in answer.places]
    refutation = answer.refutation and moved(answer.refutation, lambda p: _lifted(p, stands))
    return Answer(r, tuple(lifted), refutation, tuple(places))


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
    decided = decide(table)
    if decided.refutation is not None and len(decided.places) == 1:
        against = contradiction_at(decided.places[0].p, table)
        if against is not None:
            return Answer(comparisons=tuple(against))
    return Answer(decided.r, refutation=decided.refutation, places=decided.places)


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


def _between(one: Distribution, other: Distribution) -> Distribution:
    return tuple((left + right) / 2 for left, right in zip(one, other, strict=True))
