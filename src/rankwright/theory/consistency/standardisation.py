"""`has_standardization`: whether a measure has a standardisation function, and why (paper O, section 4)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.theory.consistency.contradictions import Comparison, adds_up_to_zero
from rankwright.theory.consistency.orders import (
    Distribution,
    Number,
    Order,
    OrderTable,
    SupervisionSet,
    all_grades,
    order_text,
    orders_of_scores,
)
from rankwright.theory.consistency.search import search
from rankwright.theory.consistency.standards import Table, follows_swaps, unproved_orders

_LONGEST_TABLE = 16


@dataclass(frozen=True, eq=False)
class Standardization:
    """Whether there is an r with E[r(Y)] optimal for every distribution of Y, and why.

    Attributes
    ----------
    exists : True, False, or None if the search did not decide
    r : if there is one, a row of n numbers for each supervision, scaled so that the largest is 1
    comparisons : if there is none, what any r would have to satisfy; this cannot be at the p of the last one
    factors : numbers above 0 with which these comparisons add up to 0, so that all of them are equalities; empty if
        they are all at one p, and contradict each other there
    """

    measure: Measure
    supervisions: SupervisionSet
    convention: Convention
    exists: bool | None
    r: Table | None
    comparisons: tuple[Comparison, ...]
    factors: tuple[Fraction, ...]

    def __bool__(self) -> bool:
        return bool(self.exists)

    def verify(self) -> bool:
        """Check the proof anew, from the measure's values; False if nothing was decided."""
        table = OrderTable(self.measure, self.supervisions, self.convention)
        if self.r is not None:
            positive = min(value for row in self.r for value in row) >= 0
            return positive and (follows_swaps(self.r, table) or not any(unproved_orders(self.r, table)))
        return bool(self.comparisons) and _is_contradiction(self.comparisons, self.factors, table)

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
            told["factors"] = [str(factor) for factor in self.factors]
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
        return f"Whether {self.measure} has a standardisation function {about} is undecided: the search found no proof."

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
        if self.factors:
            lines.append(
                f"Weighted by {', '.join(map(str, self.factors))}, these differences add up to 0 for any r: "
                "all of them are 0."
            )
        return "\n".join([*lines, *self._end_text(self.comparisons[-1].p)])

    def _distribution_text(self, p: Distribution) -> str:
        shares = [(k, share) for k, share in enumerate(p) if share]
        if len(shares) == 1:
            return self.supervisions.text(shares[0][0])
        return " or ".join(f"{self.supervisions.text(k)} with probability {share}" for k, share in shares)

    def _end_text(self, p: Distribution) -> list[str]:
        table = OrderTable(self.measure, self.supervisions, self.convention)
        expected, best = table.expected(p), table.optimal(p)
        n = self.supervisions.n_items
        if not self.factors and _all_tie(self.comparisons, n):
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

    Parameters
    ----------
    measure : such as ``AP`` or ``"ndcg@3"``
    labels : with ``n``, the labels: the set is all vectors of them; without, the supervisions themselves
    n : number of items, at most 6

    The answer carries its proof, which ``verify()`` checks. Measures with logarithms are compared in floating point:
    orders up to 10⁻¹², and what r gains up to 10⁻⁹; all others exactly. Some sets are left undecided: ``exists`` is
    None then.

    >>> from rankwright.theory.consistency import has_standardization
    >>> has_standardization("ndcg@2", [0, 1], 3).exists, has_standardization("ap", [0, 1], 3).exists
    (True, False)
    """
    supervisions = _supervisions(labels, n)
    table = OrderTable(measure, supervisions, convention)
    answer = search(table)
    exists = True if answer.r is not None else False if answer.comparisons else None
    r = None if answer.r is None else _scaled(answer.r)
    return Standardization(
        table.measure, supervisions, convention_of(convention), exists, r, answer.comparisons, answer.factors
    )


def _supervisions(labels: Iterable[Any] | SupervisionSet, n: int | None) -> SupervisionSet:
    if isinstance(labels, SupervisionSet):
        return labels
    return SupervisionSet(labels) if n is None else all_grades(labels, n)


def _scaled(r: Table) -> Table:
    largest = max(value for row in r for value in row)
    return [[value / largest for value in row] for row in r] if largest > 0 else r


# Checking a contradiction with nothing but sums and enumeration


def _is_contradiction(comparisons: Sequence[Comparison], factors: Sequence[Fraction], table: OrderTable) -> bool:
    if not all(_is_forced(one, table) for one in comparisons):
        return False
    last = comparisons[-1].p
    if factors:
        if len(factors) != len(comparisons) or not adds_up_to_zero(dict(zip(comparisons, factors, strict=True))):
            return False
    elif any(one.p != last for one in comparisons):
        return False
    here = [one for one in comparisons if one.p == last]
    best = _best(last, range(len(table.orders)), table)
    return not any(
        all(_agrees(one, levels, is_equality=bool(factors)) for one in here)
        and set(np.flatnonzero(orders_of_scores(table.orders, np.array(levels, dtype=np.float64))).tolist()) <= best
        for levels in weak_orders(table.supervisions.n_items)
    )


def _is_forced(one: Comparison, table: OrderTable) -> bool:
    best = _best(one.p, range(len(table.orders)), table)
    if one.towards is not None:
        best = _best(one.towards, sorted(best), table)
    orders: list[Order] = [tuple(table.orders[k].tolist()) for k in best]
    return all(order.index(one.upper) < order.index(one.lower) for order in orders)


def _best(p: Distribution, among: Iterable[int], table: OrderTable) -> set[int]:
    totals = {}
    for k in among:
        terms = [share * gain for share, gain in zip(p, table.gains(k), strict=True) if share]
        totals[k] = sum(terms[1:], terms[0])
    greatest = max(totals.values())
    return {k for k, total in totals.items() if table.is_equal(total, greatest)}


def _agrees(one: Comparison, levels: Sequence[int], *, is_equality: bool) -> bool:
    upper, lower = levels[one.upper], levels[one.lower]
    return upper == lower if is_equality else upper >= lower


def weak_orders(n: int) -> Iterator[tuple[int, ...]]:
    """Every ranking of n items with ties: a level for each item, greater is better, no level left out."""
    return (levels for levels in product(range(n), repeat=n) if set(levels) == set(range(max(levels) + 1)))


def _all_tie(comparisons: Sequence[Comparison], n: int) -> bool:
    follows = [w for w in weak_orders(n) if all(_agrees(one, w, is_equality=False) for one in comparisons)]
    return follows == [(0,) * n]


def number_text(value: Number) -> str:
    """A fraction as it is, other numbers with six digits."""
    return str(value) if isinstance(value, Fraction | int) else f"{value:.6g}"


def plain(value: Number) -> str | float:
    """A number for JSON: fractions as text."""
    return str(value) if isinstance(value, Fraction) else float(value)
