"""`Laboratory`: a distribution of supervision over a few items, where consistency can be looked at exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.html import Block, notebook_html
from rankwright.judgments.supervision import Supervision
from rankwright.losses.loss import Loss
from rankwright.losses.standardise import standardised
from rankwright.machine.blas import one_thread_per_call
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, one_measure
from rankwright.theory.consistency.orders import (
    Number,
    Order,
    OrderTable,
    SupervisionSet,
    distribution_of,
    orders_of_scores,
)
from rankwright.theory.consistency.standardisation import number_text
from rankwright.theory.consistency.surrogates import ExpectedLoss, Minimum
from rankwright.types import Array

# A gap up to this counts as none: it is a hundred times what minima are certified to.
SMALLEST_GAP = 1e-6


@dataclass(frozen=True, eq=False)
class SurrogateGap:
    """inf E Ψ over scores that are not optimal − inf E Ψ over all (paper O, definition 2).

    Attributes
    ----------
    loss, measure : Ψ and what it should be consistent with
    value : the gap; infinite if every order is optimal
    lower : what it is at least, by the certificates of both minima
    minimum : scores with the least expected loss
    wrong : scores with the least expected loss among those that are not optimal; None if all are
    regret : what the order of ``minimum`` loses, in terms of the measure
    """

    loss: Loss
    measure: Measure
    value: float
    lower: float
    minimum: Minimum
    wrong: Minimum | None
    regret: Number

    @property
    def is_consistent(self) -> bool:
        """Whether the gap is above 0 for certain: then whoever comes near the least expected loss ranks best."""
        return self.lower > SMALLEST_GAP

    def _repr_html_(self) -> str:
        rows = [
            ("surrogate gap", f"{self.value:.6g}"),
            ("at least, by its certificate", f"{self.lower:.6g}"),
            (f"what the minimiser loses in {self.measure}", number_text(self.regret)),
            ("consistent here", "yes" if self.is_consistent else "not shown"),
        ]
        return notebook_html(Block(f"{type(self.loss).__name__} and {self.measure}", ("what", "value"), rows))


class Laboratory:
    """n ≤ 6 items, and a finite distribution of what is said about them.

    Orders are tuples of items, best first, and items count from 0 as rows do; texts number them from 1.

    Parameters
    ----------
    supervisions : grade vectors, or FullRankings, or PreferenceGraphs, all of the same items
    probabilities : one each, adding up to 1; decimals such as 0.1 are taken for fractions. Equal by default.
    convention : how measures are computed

    Examples
    --------
    >>> import rankwright as rw
    >>> from rankwright.theory.consistency import Laboratory
    >>> laboratory = Laboratory([[1, 1, 0, 0], [0, 0, 1, 1]])
    >>> laboratory.expected(rw.ERR, [4, 2, 3, 1]) - laboratory.expected(rw.ERR, [4, 3, 2, 1])
    Fraction(1, 48)
    """

    def __init__(
        self,
        supervisions: Iterable[npt.ArrayLike | Supervision] | SupervisionSet,
        probabilities: Iterable[Any] | None = None,
        *,
        convention: str | Convention = "default",
    ) -> None:
        self.supervisions = supervisions if isinstance(supervisions, SupervisionSet) else SupervisionSet(supervisions)
        self.probabilities = distribution_of(probabilities, len(self.supervisions))
        self.convention = convention_of(convention)
        self._tables: dict[Measure, OrderTable] = {}

    @property
    def n_items(self) -> int:
        """How many items there are."""
        return self.supervisions.n_items

    def __repr__(self) -> str:
        told = (f"{share} {self.supervisions.text(k)}" for k, share in enumerate(self.probabilities) if share)
        return f"Laboratory({' + '.join(told)})"

    def _repr_html_(self) -> str:
        rows = [(self.supervisions.text(k), str(share)) for k, share in enumerate(self.probabilities) if share]
        title = f"Laboratory: {self.n_items} items, {len(rows):,} supervisions ({self.supervisions.kind})"
        return notebook_html(Block(title, ("supervision", "probability"), rows))

    # Measures

    def table(self, measure: str | Measure) -> OrderTable:
        """The value of every order under every supervision."""
        chosen = one_measure(measure)
        if chosen not in self._tables:
            self._tables[chosen] = OrderTable(chosen, self.supervisions, self.convention)
        return self._tables[chosen]

    def expected_by_order(self, measure: str | Measure) -> dict[Order, Number]:
        """E[measure] of every order; fractions where the measure has such values."""
        table = self.table(measure)
        return dict(zip(map(tuple, table.orders.tolist()), table.expected(self.probabilities), strict=True))

    def optimal_orders(self, measure: str | Measure) -> list[Order]:
        """The orders that are best in expectation: exactly so for fractions, else up to 10⁻¹² of the largest value."""
        table = self.table(measure)
        return [tuple(order) for order in table.orders[table.optimal(self.probabilities)].tolist()]

    def expected(self, measure: str | Measure, scores: npt.ArrayLike) -> Number:
        """E[measure] of the ranking by scores, tied items standing in any order alike (paper O, definition 1)."""
        table = self.table(measure)
        follows = orders_of_scores(table.orders, self._scores(scores))
        values = [value for value, kept in zip(table.expected(self.probabilities), follows, strict=True) if kept]
        return sum(values, Fraction(0) if table.is_exact else 0.0) / len(values)

    def regret(self, measure: str | Measure, scores: npt.ArrayLike) -> Number:
        """How far E[measure] of the ranking by scores is from the best; at least 0, for errors too."""
        table, reached = self.table(measure), self.expected(measure, scores)
        if table.optimal(self.probabilities)[orders_of_scores(table.orders, self._scores(scores))].all():
            return reached - reached  # an exact zero, of the same type
        best = (min if table.measure.lower_is_better else max)(table.expected(self.probabilities))
        return abs(best - reached)

    def _scores(self, scores: npt.ArrayLike) -> Array:
        given = np.asarray(scores, dtype=np.float64)
        if given.shape != (self.n_items,) or np.isnan(given).any():
            raise ParameterError(f"scores must be {self.n_items} numbers, one for each item")
        return given

    # Losses

    def expected_standardised(self, standardize: str, cutoff: int | None = None) -> Array:
        """E[r(Y)], r the standardisation function "dcg", "ndcg", "zero-one" or "wpd" (paper O, section 5)."""
        weights = standardised(self.supervisions.queries(1).judgments, standardize, cutoff, self.convention)
        mean: Array = np.array(self.probabilities, dtype=np.float64) @ weights.reshape(len(self.supervisions), -1)
        return mean

    def minimiser(self, loss: Loss) -> Minimum:
        """Scores with the least expected loss, and a lower bound that proves it. The loss must be convex."""
        with one_thread_per_call():  # the solver's matrices are tiny
            return ExpectedLoss(loss, self.supervisions, self.probabilities).minimum()

    def surrogate_gap(self, loss: Loss, measure: str | Measure) -> SurrogateGap:
        """Whether the loss is consistent with the measure here: the gap of definition 2 of paper O.

        Scores that are not optimal are those that follow an order that is not: a union of closed cones, on each of
        which the expected loss is minimised.
        """
        table, expected = self.table(measure), ExpectedLoss(loss, self.supervisions, self.probabilities)
        orders = table.orders[~table.optimal(self.probabilities)]
        with one_thread_per_call():
            minimum = expected.minimum()
            wrong, lower = _least_wrong(expected, orders, minimum)
        value = np.inf if wrong is None else max(0.0, wrong.value - minimum.value)
        regret = self.regret(measure, minimum.scores)
        return SurrogateGap(loss, table.measure, value, lower - minimum.value, minimum, wrong, regret)


def _least_wrong(
    expected: ExpectedLoss, orders: npt.NDArray[np.intp], minimum: Minimum
) -> tuple[Minimum | None, float]:
    """Scores along one of these orders with the least expected loss, and what that is at least."""
    wrong, lower = None, np.inf
    # Orders that the minimiser follows, if any, come first: they show at once that there is no gap.
    for order in orders[np.argsort(~orders_of_scores(orders, minimum.scores), kind="stable")].tolist():
        found = expected.minimum(order, unless_above=np.inf if wrong is None else wrong.value)
        lower = min(lower, found.lower)
        if wrong is None or found.value < wrong.value:
            wrong = found
        if wrong.value - minimum.lower <= SMALLEST_GAP / 10:
            break
    return wrong, lower
