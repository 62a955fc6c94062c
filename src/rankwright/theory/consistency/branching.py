"""Is there a standardisation function? A search that decides, by cases (paper O, definition 4).

Write R for the n × K table of r, so that E[r(Y)] = R p. At each of some distributions p, R p has one of the weak orders
that `allowed_at` enumerates. Which ones, is guessed where it matters:

1. A linear programme has R, given what is known of R p at each p. If it has no solution, its dual variables are a
   `Sum` that refutes the case.
2. If R p has a weak order at some p that is not allowed, each weak order that is allowed there is a case of its own.
3. Else R is proved, or linear programmes find a p where R p follows an order that is not optimal. This p is added, and
   corners of the regions around it, where only more orders are optimal.

Either all cases are refuted, or R is proved, or so many tables have been tried that the search ends.

Between two regions whose only optimal orders put j above i, and i above j, (R p)_i = (R p)_j: finitely many
distributions alone would only tell that the two are near each other. That is why there are corners, and centres of the
regions to move to. Where the scores all of whose arrangements are optimal form convex sets, in every region and on
every face of one, it is enough to know R p up to its closure at all corners and strictly at one point of each face:
finitely many places. Where they do not, R may pass from one weak order to another within a face, where it chooses. Such
a place is found by trying, and nothing says that this ends; hence the limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations, islice, permutations
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog

from rankwright.theory.consistency.cases import (
    Cases,
    Refutation,
    Situation,
    Sum,
    Term,
    holds,
    is_refuted,
    is_zero,
    places_of,
)
from rankwright.theory.consistency.elimination import corrected, reduced
from rankwright.theory.consistency.orders import Distribution, Mask, Number, OrderTable, point_mass
from rankwright.theory.consistency.programmes import near, on_kernel, simplified, sparse
from rankwright.theory.consistency.regions import centres, corner, face_corners
from rankwright.theory.consistency.standards import Table, is_proved, scaled, violations
from rankwright.theory.consistency.weak_orders import Levels, Place, arrangements, arrangements_of, levels_of
from rankwright.types import Array

MOST_TABLES = 200
_MOST_VIOLATIONS = 6
_DENOMINATORS = (1, 2, 6, 60, 2520, 10**6)


class Decision(NamedTuple):
    """A proved r, or a refutation and the places that it speaks of; or neither."""

    r: Table | None = None
    refutation: Refutation | None = None
    places: tuple[Place, ...] = ()


class _Found(Exception):
    """An r that is proved."""

    def __init__(self, r: Table) -> None:
        self.r = r


class _Undecided(Exception):
    """Too much effort, or numbers too near to each other for floating point."""


def decide(table: OrderTable) -> Decision:
    """Search for r and for a refutation of all cases, whichever comes first."""
    search = _Search(table)
    try:
        refutation = search.refute({})
    except _Found as found:
        return Decision(r=found.r)
    except _Undecided:
        return Decision()
    places = search.places.described(refutation)
    # What counts as equal in floating point is not the same in sums written out.
    return Decision(refutation=refutation, places=places) if is_refuted(refutation, places, table) else Decision()


class _Places:
    """Distributions, and the weak orders that R p can have at each; all of them are directions too."""

    def __init__(self, table: OrderTable) -> None:
        self.table = table
        self.levels, self.becomes = arrangements(table.supervisions.n_items)
        self.optimal: dict[Distribution, Mask] = {}
        self.allowed: dict[Distribution, Mask] = {}
        count = len(table.supervisions)
        for p in [*(point_mass(k, count) for k in range(count)), *centres(table)]:
            self.add(p)

    def add(self, p: Distribution) -> None:
        """Look at p, and from all others towards it."""
        if p in self.optimal:
            return
        self.optimal[p] = self.table.optimal(p)
        mask = self._all_optimal(p)
        for q in self.optimal:
            mask &= self._remains(p, q)
            if q != p:
                self.allowed[q] &= self._remains(q, p)
        self.allowed[p] = mask

    def _all_optimal(self, p: Distribution) -> Mask:
        """Which weak orders have only arrangements that are optimal at p."""
        return np.asarray(np.all(self.optimal[p] | ~self.becomes, axis=1))

    def _remains(self, p: Distribution, q: Distribution) -> Mask:
        """Which weak orders have an arrangement that is optimal at p, and on the way to q."""
        return np.asarray(np.any(self.becomes[:, self.table.optimal_towards(self.optimal[p], q)], axis=1))

    def situation(self, chosen: Mapping[Distribution, Levels]) -> Situation:
        """What is known of R p everywhere, if it has the chosen weak orders at some p."""
        situation = Situation(
            {p: list(map(tuple, self.levels[mask].tolist())) for p, mask in self.allowed.items()},
            {p: frozenset(np.flatnonzero(mask).tolist()) for p, mask in self.optimal.items()},
        )
        for p, levels in chosen.items():
            situation = situation.case(p, levels)
        return situation

    def described(self, refutation: Refutation) -> tuple[Place, ...]:
        """Places with few directions that leave the same weak orders."""
        return tuple(Place(p, tuple(self._few_directions(p))) for p in places_of(refutation))

    def _few_directions(self, p: Distribution) -> Iterator[Distribution]:
        left = self._all_optimal(p)
        remains = {q: self._remains(p, q) for q in self.optimal}
        while (left & ~self.allowed[p]).any():
            q = min(remains, key=lambda q: int((left & remains[q]).sum()))
            left = left & remains[q]
            yield q


class _Constraint(NamedTuple):
    """(R p)_upper ≥ (R p)_lower, or > if it is strict."""

    p: Distribution
    upper: int
    lower: int
    is_strict: bool


def _constraints(situation: Situation) -> Iterator[_Constraint]:
    for p, orders in situation.allowed.items():
        for i, j in permutations(range(len(orders[0])), 2):
            least = min(levels[i] - levels[j] for levels in orders)
            if least >= 0:
                yield _Constraint(p, i, j, least > 0)


def _entries(constraints: list[_Constraint], n: int) -> Iterator[tuple[int, int, float]]:
    """(R p)_upper − (R p)_lower as numbers of constraints, places in R (row by row) and factors there."""
    for e, one in enumerate(constraints):
        for k, share in enumerate(one.p):
            if share:
                yield e, k * n + one.upper, float(share)
                yield e, k * n + one.lower, -float(share)


def _wrong_place(r: Table, situation: Situation) -> Distribution | None:
    """Where R p has a weak order that is not allowed; of such places one where few are."""
    wrong = [p for p, orders in situation.allowed.items() if levels_of(expectation(r, p)) not in orders]
    return min(wrong, key=lambda p: len(situation.allowed[p]), default=None)


def _distance(one: Levels, two: Levels) -> int:
    """In how many pairs of items two weak orders differ; twice if one is the reverse of the other."""
    pairs = combinations(range(len(one)), 2)
    return sum(abs(_sign(one[i] - one[j]) - _sign(two[i] - two[j])) for i, j in pairs)


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)


class _Search:
    def __init__(self, table: OrderTable) -> None:
        self.table, self.places = table, _Places(table)
        self.n_tables = 0
        self.known: list[Sum] = []

    def refute(self, chosen: Mapping[Distribution, Levels]) -> Refutation:
        """Why no R has the chosen weak orders; an exception if one has, or if that takes too long."""
        while True:
            situation = self.places.situation(chosen)
            reason = self._known_reason(situation)
            if reason is not None:
                return reason
            self.n_tables += 1
            if self.n_tables > MOST_TABLES:
                raise _Undecided
            constraints = list(_constraints(situation))
            r = self._solution(constraints)
            if r is None:
                self.known.append(self._sum(constraints))
                continue
            wrong = _wrong_place(r, situation)
            if wrong in chosen:  # floating point does not tell the two weak orders apart
                raise _Undecided
            if wrong is not None:
                return self._by_cases(wrong, levels_of(expectation(r, wrong)), chosen)
            self._add_violations(r)
            if _wrong_place(r, self.places.situation(chosen)) is None:
                raise _Undecided

    def _by_cases(self, p: Distribution, now: Levels, chosen: Mapping[Distribution, Levels]) -> Refutation:
        """One case after the other, those first that are most like the weak order that R p has now."""
        groups: list[tuple[list[Levels], Refutation]] = []
        for levels in sorted(self.places.situation(chosen).allowed[p], key=lambda levels: _distance(levels, now)):
            case = {**chosen, p: levels}
            situation = self.places.situation(case)
            same = next((group for group, reason in groups if holds(reason, situation)), None)
            if same is not None:
                same.append(levels)
                continue
            reason = self.refute(case)
            if holds(reason, self.places.situation(chosen)):
                return reason
            groups.append(([levels], reason))
        return Cases(p, tuple((tuple(group), reason) for group, reason in groups))

    def _known_reason(self, situation: Situation) -> Refutation | None:
        empty = next((p for p, orders in situation.allowed.items() if not orders), None)
        if empty is not None:
            return Cases(empty, ())
        return next((reason for reason in self.known if holds(reason, situation)), None)

    # What an R must satisfy

    def _solution(self, constraints: list[_Constraint]) -> Table | None:
        """R with slack at all constraints that can have some; None if there is none.

        With slack 1 at strict ones, and as much as possible up to 1 at the others: those without any are equalities.
        """
        n, count = self.table.supervisions.n_items, len(self.table.supervisions)
        loose = [e for e, one in enumerate(constraints) if not one.is_strict]
        entries = [(e, place, -factor) for e, place, factor in _entries(constraints, n)]
        entries += [(e, n * count + at, 1.0) for at, e in enumerate(loose)]
        solved = linprog(
            np.append(np.full(n * count, 1e-6), np.full(len(loose), -1.0)),
            A_ub=sparse(entries, len(constraints), n * count + len(loose)),
            b_ub=[-float(one.is_strict) for one in constraints],
            bounds=[(0, None)] * (n * count) + [(0, 1)] * len(loose),
            method="highs-ds",
        )
        if solved.status != 0:
            return None
        ties = [constraints[e] for e, slack in zip(loose, solved.x[n * count :], strict=True) if slack < 0.5]
        return self._exact(solved.x[: n * count], ties, constraints)

    def _exact(self, x: Array, ties: list[_Constraint], constraints: list[_Constraint]) -> Table:
        """Simple fractions near a solution, with which ties are ties and all constraints hold."""
        n, count = self.table.supervisions.n_items, len(self.table.supervisions)
        rows = [
            [one.p[k] * ((item == one.upper) - (item == one.lower)) for k in range(count) for item in range(n)]
            for one in ties
        ]
        if not self.table.is_exact:
            nearest = on_kernel(x, rows).reshape(count, n)
            return scaled(nearest.tolist())
        pivots = reduced(rows)
        for largest in _DENOMINATORS:
            flat = corrected([near(value, largest) for value in x], pivots)
            r: Table = [flat[k * n : (k + 1) * n] for k in range(count)]
            if all(_satisfies(r, one) for one in constraints):
                return scaled(r)
        raise _Undecided

    def _sum(self, constraints: list[_Constraint]) -> Sum:
        """Farkas: λ ≥ 0 with Σ λ (e_upper − e_lower) pᵀ = 0, not all 0 at strict constraints."""
        if not self.table.is_exact:  # points of walls are only near them then, and what holds there need not add up
            raise _Undecided
        n, count = self.table.supervisions.n_items, len(self.table.supervisions)
        entries = [(place, e, factor) for e, place, factor in _entries(constraints, n)]
        entries += [(n * count, e, 1.0) for e, one in enumerate(constraints) if one.is_strict]
        solved = linprog(
            np.ones(len(constraints)),
            A_eq=sparse(entries, n * count + 1, len(constraints)),
            b_eq=np.append(np.zeros(n * count), 1.0),
            bounds=(0, None),
            method="highs-ds",
        )
        if solved.status != 0:
            raise _Undecided
        used = [one for one, factor in zip(constraints, solved.x, strict=True) if factor > 1e-9]
        matrix = [
            [one.p[k] * ((item == one.upper) - (item == one.lower)) for one in used]
            for k in range(count)
            for item in range(n)
        ]
        factors = corrected([Fraction(1)] * len(used), reduced(matrix))
        terms = tuple(Term(one.p, one.upper, one.lower, factor) for one, factor in zip(used, factors, strict=True))
        if not is_zero(terms):
            raise _Undecided
        return Sum(terms)

    # What is wrong with an R

    def _add_violations(self, r: Table) -> None:
        """Distributions at which R p follows an order that is not optimal."""
        found = list(islice(violations(r, self.table), _MOST_VIOLATIONS))
        if not found and is_proved(r, self.table):
            raise _Found(r)
        for violation in found:
            p = self._simplest(r, violation)
            self.places.add(p)
            self._add_corners(r, p)

    def _simplest(self, r: Table, p: Distribution) -> Distribution:
        """The simplest distribution near p at which R is wrong too."""
        for largest in _DENOMINATORS[:-1]:
            simple = simplified(p, largest)
            if simple is not None and not self._is_optimal(r, simple):
                return simple
        return p

    def _is_optimal(self, r: Table, p: Distribution) -> bool:
        levels = np.array(levels_of(expectation(r, p)))
        row = int(np.flatnonzero((self.places.levels == levels).all(axis=1))[0])
        return not (self.places.becomes[row] & ~self.table.optimal(p)).any()

    def _add_corners(self, r: Table, p: Distribution) -> None:
        """The corner of a region around p where R has a pair of items most wrong; if that is known, others near p."""
        n_known = len(self.places.optimal)
        levels = self.places.levels[self.places.allowed[p]]
        means = expectation(r, p)
        pairs = [
            (means[i] - means[j], i, j)
            for i, j in permutations(range(len(means)), 2)
            if means[i] <= means[j] and np.all(levels[:, i] > levels[:, j])
        ]
        if pairs and len(levels):
            _, upper, lower = min(pairs)
            order = min(arrangements_of(tuple(levels[0].tolist())))
            wrong = corner(order, np.array([float(row[upper] - row[lower]) for row in r]), self.table)
            if wrong is not None:
                self.places.add(wrong)
        if len(self.places.optimal) == n_known:
            for found in face_corners(p, self.table):
                self.places.add(found)


def expectation(r: Table, p: Distribution) -> list[Number]:
    """R p."""
    n = len(r[0])
    return [
        sum((share * row[item] for share, row in zip(p, r, strict=True) if share), Fraction(0)) for item in range(n)
    ]


def _satisfies(r: Table, one: _Constraint) -> bool:
    rise = sum(
        (share * (row[one.upper] - row[one.lower]) for share, row in zip(one.p, r, strict=True) if share), Fraction(0)
    )
    return rise > 0 if one.is_strict else rise >= 0
