"""Measures that are a plain function of one query's grades in the order of its ranking."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.measures.conventions import Convention
from rankwright.measures.ranked import RankedQueries

Values = npt.NDArray[np.float64]
OfRankedGrades = Callable[[Values, int | None], float]

MOST_ORDERS = 120  # of tied documents that the function is asked about, for one query


@dataclass(frozen=True)
class OfFunction:
    """Computes a measure from a function of the grades from the first place to the last, and the cutoff."""

    name: str
    function: OfRankedGrades

    def __call__(self, ranked: RankedQueries, cutoff: int | None, convention: Convention) -> Values:
        """One value per query: where documents are tied, the mean over their orders."""
        order, grades, offsets = ranked.order(convention), ranked.grades, ranked.offsets
        along = grades[np.where(order < 0, ~order, order)]
        values = np.empty(len(offsets) - 1)
        for q, (start, stop) in enumerate(pairwise(offsets.tolist())):
            orders = _orders(along[start:stop], order[start:stop] < 0)
            values[q] = np.mean([self._value(one, cutoff, ranked, q) for one in orders])
        return values

    def _value(self, grades: Values, cutoff: int | None, ranked: RankedQueries, q: int) -> float:
        value = self.function(grades, cutoff)
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.inf
        if math.isinf(number):
            raise ParameterError(
                f"measure {self.name}: its function must give a finite number, or NaN to leave a query out, "
                f"but gave {value!r} for query {ranked.query_id(q)!r}"
            )
        return number


def _orders(along: Values, tied_with_next: npt.NDArray[np.bool_]) -> Iterator[Values]:
    """The grades in every order that the ties leave open, or if these are many, in some drawn at random."""
    ties = _open_ties(along, tied_with_next)
    choices: Iterable[Iterable[Values]]
    if math.prod(_n_orders(along[tie]) for tie in ties) <= MOST_ORDERS:
        choices = product(*(_distinct_orders(along[tie]) for tie in ties))
    else:
        rng = np.random.default_rng(0)  # the same for every query, so that a value does not depend on the others
        choices = ([rng.permutation(along[tie]) for tie in ties] for _ in range(MOST_ORDERS))
    for choice in choices:
        order = along.copy()
        for tie, grades in zip(ties, choice, strict=True):
            order[tie] = grades
        yield order


def _open_ties(along: Values, tied_with_next: npt.NDArray[np.bool_]) -> list[slice]:
    """Where documents of different grades are tied."""
    if not tied_with_next.any():
        return []
    stops = np.flatnonzero(~tied_with_next) + 1
    ties = map(slice, np.append(0, stops[:-1]), stops)
    return [tie for tie in ties if np.ptp(along[tie]) > 0]


def _n_orders(tie: Values) -> int:
    """How many orders of these grades differ, or some number above MOST_ORDERS."""
    counts = sorted(Counter(tie.tolist()).values())
    orders, length = 1, counts.pop()
    for count in counts:
        for taken in range(1, count + 1):
            length += 1
            orders = orders * length // taken
            if orders > MOST_ORDERS:
                return orders
    return orders


def _distinct_orders(tie: Values) -> Iterator[Values]:
    """Every order of these grades once: the next in the dictionary, until there is none."""
    order = np.sort(tie)
    while True:
        yield order.copy()
        rises = np.flatnonzero(order[:-1] < order[1:])
        if len(rises) == 0:
            return
        last = rises[-1]
        other = np.flatnonzero(order > order[last])[-1]
        order[last], order[other] = order[other], order[last]
        order[last + 1 :] = order[last + 1 :][::-1].copy()
