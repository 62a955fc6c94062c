"""Proofs that no r is a standardisation function, by cases: which weak order E[r(Y)] has at some distributions.

Write R for the n × K table of r, so that E[r(Y)] = R p. A *case* says which weak order R p has at some p. It is refuted
by a sum of what it says: λ > 0 with

    Σ λ (e_upper − e_lower) pᵀ = 0   (an n × K matrix)

over differences (R p)_upper − (R p)_lower that are all at least 0 in this case, and one of them above 0: for any R
these differences add up to 0 with the factors λ.

A case at p says something of other distributions too. Where the same orders are optimal at p and q, they are optimal
between p and q, and R cannot leave them on the way. So R q is among the weak orders that can be reached from that of
R p, by ties and strict orders in turn, all of whose arrangements are optimal. If more orders are optimal at q, some
arrangement of R q is among these: q is the end of a way on which the orders of p are optimal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from rankwright.theory.consistency.orders import Distribution, OrderTable
from rankwright.theory.consistency.weak_orders import Levels, Place, allowed_at, arrangements_of, best_at, component


@dataclass(frozen=True, eq=False)
class Situation:
    """The weak orders that R p can have, and which orders are optimal, at each p."""

    allowed: Mapping[Distribution, Sequence[Levels]]
    best: Mapping[Distribution, frozenset[int]]

    def case(self, p: Distribution, levels: Levels) -> Situation:
        """What is left if R p has this weak order."""
        best = self.best[p]
        reached = component(levels, best)
        allowed = {
            q: [one for one in rows if arrangements_of(one) & reached] if best <= self.best[q] else rows
            for q, rows in self.allowed.items()
        }
        allowed[p] = [one for one in self.allowed[p] if one == levels]
        return Situation(allowed, self.best)


@dataclass(frozen=True)
class Term:
    """factor · ((R p)_upper − (R p)_lower)."""

    p: Distribution
    upper: int
    lower: int
    factor: Fraction


@dataclass(frozen=True)
class Sum:
    """Differences that add up to 0 for any R, although none is below 0 and one is above."""

    terms: tuple[Term, ...]


@dataclass(frozen=True)
class Cases:
    """All weak orders that R p can have at one p, in groups, and why none of a group is possible."""

    p: Distribution
    groups: tuple[tuple[tuple[Levels, ...], Refutation], ...]


Refutation: TypeAlias = Sum | Cases


def is_refuted(refutation: Refutation, places: Sequence[Place], table: OrderTable) -> bool:
    """Whether a refutation holds with what can be enumerated at its places."""
    situation = Situation(
        {place.p: allowed_at(place, table) for place in places},
        {place.p: frozenset(best_at(place.p, range(len(table.orders)), table)) for place in places},
    )
    return (
        situation.allowed.keys() >= set(places_of(refutation))
        and all(is_zero(one.terms) for one in sums(refutation))
        and holds(refutation, situation)
    )


def holds(refutation: Refutation, situation: Situation) -> bool:
    """Whether no R has an allowed weak order at every p."""
    if isinstance(refutation, Sum):
        return _is_negative(refutation, situation)
    why = {levels: reason for group, reason in refutation.groups for levels in group}
    return all(
        levels in why and holds(why[levels], situation.case(refutation.p, levels))
        for levels in situation.allowed[refutation.p]
    )


def _is_negative(refutation: Sum, situation: Situation) -> bool:
    least = [
        min((levels[term.upper] - levels[term.lower] for levels in situation.allowed[term.p]), default=1)
        for term in refutation.terms
    ]
    return min(least, default=-1) >= 0 and max(least) > 0


def sums(refutation: Refutation) -> Iterator[Sum]:
    """All sums of a refutation."""
    if isinstance(refutation, Sum):
        yield refutation
    else:
        for _, reason in refutation.groups:
            yield from sums(reason)


def places_of(refutation: Refutation) -> list[Distribution]:
    """The distributions that a refutation speaks of, in its order."""
    if isinstance(refutation, Sum):
        return list(dict.fromkeys(term.p for term in refutation.terms))
    inner = [p for _, reason in refutation.groups for p in places_of(reason)]
    return list(dict.fromkeys([refutation.p, *inner]))


def moved(refutation: Refutation, way: Callable[[Distribution], Distribution]) -> Refutation:
    """The same refutation with other distributions in the places of its own."""
    if isinstance(refutation, Sum):
        return Sum(tuple(replace(term, p=way(term.p)) for term in refutation.terms))
    groups = tuple((group, moved(reason, way)) for group, reason in refutation.groups)
    return Cases(way(refutation.p), groups)


def is_zero(terms: Sequence[Term]) -> bool:
    """Whether Σ λ (e_upper − e_lower) pᵀ = 0 with all λ > 0."""
    total: Counter[tuple[int, int]] = Counter()
    for term in terms:
        for k, share in enumerate(term.p):
            total[term.upper, k] += term.factor * share  # type: ignore[assignment]
            total[term.lower, k] -= term.factor * share  # type: ignore[assignment]
    return all(term.factor > 0 for term in terms) and not any(total.values())
