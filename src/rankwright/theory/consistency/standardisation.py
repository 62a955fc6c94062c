"""`has_standardization`: whether a measure has a standardisation function, and why (paper O, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import numpy as np

from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.theory.consistency.branching import MOST_TABLES
from rankwright.theory.consistency.cases import Refutation, is_refuted
from rankwright.theory.consistency.contradictions import Comparison
from rankwright.theory.consistency.orders import (
    Distribution,
    Number,
    Order,
    OrderTable,
    SupervisionSet,
    all_grades,
    order_text,
)
from rankwright.theory.consistency.refutation_text import refutation_data, refutation_lines
from rankwright.theory.consistency.search import search
from rankwright.theory.consistency.standards import Table, follows_swaps, is_proved, scaled
from rankwright.theory.consistency.weak_orders import Levels, Place, allowed_at, best_at, weak_orders

_LONGEST_TABLE = 16


@dataclass(frozen=True, eq=False)
class Standardization:
    """Whether there is an r with E[r(Y)] optimal for every distribution of Y, and why.

    Attributes
    ----------
    r : if there is one, a row of n numbers for each supervision, scaled so that the largest is 1
    comparisons : if there is none, what any r would have to satisfy at one p, but cannot; empty if no p alone tells so
    refutation : then, why there is none: a distinction of cases, each of them with a sum that is 0 but cannot be
    places : the distributions of the refutation, and those that a little of is mixed in
    """

    measure: Measure
    supervisions: SupervisionSet
    convention: Convention
    r: Table | None
    comparisons: tuple[Comparison, ...]
    refutation: Refutation | None
    places: tuple[Place, ...]

    @property
    def exists(self) -> bool | None:
        """True, False, or None if the search did not decide."""
        if self.r is not None:
            return True
        return False if self.comparisons or self.refutation is not None else None

    def __bool__(self) -> bool:
        return bool(self.exists)

    def verify(self) -> bool:
        """Check the proof anew, from the measure's values; False if nothing was decided."""
        table = OrderTable(self.measure, self.supervisions, self.convention)
        if self.r is not None:
            return self._has_its_shape(self.r) and (follows_swaps(self.r, table) or is_proved(self.r, table))
        if not all(self._is_distribution(p) for p in self._distributions()):
            return False
        if self.refutation is not None:
            return is_refuted(self.refutation, self.places, table)
        return bool(self.comparisons) and _is_contradiction(self.comparisons, table)

    def _has_its_shape(self, r: Table) -> bool:
        """A row of finite numbers of at least 0 for each supervision."""
        sizes = {len(row) for row in r}
        is_whole = len(r) == len(self.supervisions) and sizes == {self.supervisions.n_items}
        return is_whole and all(0 <= value < inf for row in r for value in row)

    def _distributions(self) -> Iterator[Distribution]:
        for one in self.comparisons:
            yield one.p
            if one.towards is not None:
                yield one.towards
        for place in self.places:
            yield place.p
            yield from place.towards

    def _is_distribution(self, p: Distribution) -> bool:
        return len(p) == len(self.supervisions) and all(share >= 0 for share in p) and sum(p) == 1

    # Telling

    def to_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON; fractions as text."""
        told: dict[str, Any] = {
            "measure": str(self.measure),
            "items": self.supervisions.n_items,
            "supervisions": len(self.supervisions),
            "exists": self.exists,
        }
        if self.r is not None:
            texts = map(self.supervisions.text, range(len(self.supervisions)))
            told["r"] = {text: [plain(value) for value in row] for text, row in zip(texts, self.r, strict=True)}
        if self.comparisons:
            told["comparisons"] = [
                {
                    "distribution": self._shares(one.p),
                    "towards": None if one.towards is None else self._shares(one.towards),
                    "upper": one.upper + 1,
                    "lower": one.lower + 1,
                }
                for one in self.comparisons
            ]
        if self.refutation is not None:
            told["places"] = [
                {"distribution": self._shares(place.p), "towards": [self._shares(q) for q in place.towards]}
                for place in self.places
            ]
            numbers = {place.p: k + 1 for k, place in enumerate(self.places)}
            told["refutation"] = refutation_data(self.refutation, numbers)
        return told

    def _shares(self, p: Distribution) -> dict[str, str]:
        return {self.supervisions.text(k): str(share) for k, share in enumerate(p) if share}

    def __str__(self) -> str:
        about = (
            f"on {len(self.supervisions)} supervisions of {self.supervisions.n_items} items ({self.supervisions.kind})"
        )
        if self.r is not None:
            return f"{self.measure} has a standardisation function {about}.\n{self._table_text()}"
        if self.comparisons:
            return f"{self.measure} has no standardisation function {about}.\n{self._contradiction_text()}"
        if self.refutation is not None:
            return f"{self.measure} has no standardisation function {about}.\n{self._refutation_text()}"
        return (
            f"Whether {self.measure} has a standardisation function {about} is undecided: the search ended after "
            f"{MOST_TABLES} tables, or where numbers were too near to each other."
        )

    __repr__ = __str__

    def _table_text(self) -> str:
        assert self.r is not None
        lines = ["Sorting by E[r(Y)] is optimal for every distribution of Y:"]
        for k, row in enumerate(self.r[:_LONGEST_TABLE]):
            lines.append(f"  r{self.supervisions.text(k)} = ({', '.join(map(number_text, row))})")
        if len(self.r) > _LONGEST_TABLE:
            lines.append(f"  … and {len(self.r) - _LONGEST_TABLE} more")
        return "\n".join([*lines, "A constant added to all of r(y), or a factor of all r, would change nothing."])

    def _contradiction_text(self) -> str:
        lines = []
        told: Distribution | None = None
        for one in self.comparisons:
            if one.p != told:
                lines.append(
                    f"{'Suppose r were one. ' if told is None else ''}Let Y be {self._distribution_text(one.p)}."
                )
                told = one.p
            upper, lower = one.upper + 1, one.lower + 1
            if one.towards is None:
                lines.append(f"  Every optimal order has {upper} above {lower}, so E r_{upper} ≥ E r_{lower}.")
            else:
                lines.append(
                    f"  With a little of {self._distribution_text(one.towards)} mixed in, every optimal order has "
                    f"{upper} above {lower}: in the limit, E r_{upper} ≥ E r_{lower}."
                )
        return "\n".join([*lines, *self._end_text(self.comparisons[-1].p)])

    def _refutation_text(self) -> str:
        assert self.refutation is not None
        table = OrderTable(self.measure, self.supervisions, self.convention)
        return "\n".join(refutation_lines(self.refutation, self.places, table, self._distribution_text))

    def _distribution_text(self, p: Distribution) -> str:
        shares = [(k, share) for k, share in enumerate(p) if share]
        if len(shares) == 1:
            return self.supervisions.text(shares[0][0])
        return " or ".join(f"{self.supervisions.text(k)} with probability {share}" for k, share in shares)

    def _end_text(self, p: Distribution) -> list[str]:
        table = OrderTable(self.measure, self.supervisions, self.convention)
        expected, best = table.expected(p), table.optimal(p)
        n = self.supervisions.n_items
        if _all_tie(self.comparisons, n):
            good, bad = int(np.argmax(best)), int(np.argmin(best))
            values = [f"{number_text(expected[k])} for {order_text(table.orders[k].tolist())}" for k in (good, bad)]
            return [
                "So all items have the same E r, and every order would have to be optimal.",
                f"But E[{self.measure}] is {values[0]}, and {values[1]}.",
            ]
        orders = ", ".join(order_text(order) for order in table.orders[best].tolist())
        return [
            f"The optimal orders are {orders}.",
            "No ranking with ties that satisfies the above has only these as its arrangements.",
        ]


def has_standardization(
    measure: str | Measure,
    labels: Iterable[Any] | SupervisionSet,
    n: int | None = None,
    *,
    convention: str | Convention = "default",
) -> Standardization:
    """Whether a measure has a standardisation function (paper O, definition 4) on a set of supervisions.

    The answer carries its proof, which ``verify()`` checks. Measures with logarithms are compared in floating point:
    orders up to 10⁻¹² of the largest value, what r gains up to 10⁻⁹ of it; all others exactly. After 200 tables r
    that were tried, or where linear programmes have numbers too near to each other, the search ends: ``exists`` is None
    then.

    Parameters
    ----------
    measure : such as ``AP`` or ``"ndcg@3"``
    labels : with ``n``, the labels: the set is all vectors of them; without, the supervisions themselves
    n : number of items, at most 6

    Examples
    --------
    >>> from rankwright.theory.consistency import has_standardization
    >>> has_standardization("ndcg@2", [0, 1], 3).exists, has_standardization("ap", [0, 1], 3).exists
    (True, False)
    """
    supervisions = _supervisions(labels, n)
    table = OrderTable(measure, supervisions, convention)
    answer = search(table)
    r = None if answer.r is None else scaled(answer.r)
    proof = (answer.comparisons, answer.refutation, answer.places)
    return Standardization(table.measure, supervisions, convention_of(convention), r, *proof)


def _supervisions(labels: Iterable[Any] | SupervisionSet, n: int | None) -> SupervisionSet:
    if isinstance(labels, SupervisionSet):
        return labels
    return SupervisionSet(labels) if n is None else all_grades(labels, n)


# Checking a contradiction with nothing but sums and enumeration


def _is_contradiction(comparisons: Sequence[Comparison], table: OrderTable) -> bool:
    last = comparisons[-1].p
    if not all(one.p == last and _is_forced(one, table) for one in comparisons):
        return False
    return not any(all(_agrees(one, levels) for one in comparisons) for levels in allowed_at(Place(last), table))


def _is_forced(one: Comparison, table: OrderTable) -> bool:
    best = best_at(one.p, range(len(table.orders)), table)
    if one.towards is not None:
        best = best_at(one.towards, best, table)
    orders: list[Order] = [tuple(table.orders[k].tolist()) for k in best]
    return all(order.index(one.upper) < order.index(one.lower) for order in orders)


def _agrees(one: Comparison, levels: Levels) -> bool:
    return levels[one.upper] >= levels[one.lower]


def _all_tie(comparisons: Sequence[Comparison], n: int) -> bool:
    follows = [w for w in weak_orders(n) if all(_agrees(one, w) for one in comparisons)]
    return follows == [(0,) * n]


def number_text(value: Number) -> str:
    """A fraction as it is, other numbers with six digits."""
    return str(value) if isinstance(value, Fraction | int) else f"{value:.6g}"


def plain(value: Number) -> str | float:
    """A number for JSON: fractions as text."""
    return str(value) if isinstance(value, Fraction) else float(value)
