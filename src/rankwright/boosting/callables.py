"""`Objective` and `Evaluation`: what libraries of trees call in every round, with their own data sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rankwright.boosting.derivatives import Derivatives, Numbers32
from rankwright.boosting.named_losses import own_loss
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.judgments import Judgments
from rankwright.losses.loss import Loss, counting_weights
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, one_measure

T = TypeVar("T")

# Training data and a few validation sets take turns in every round.
_MOST_KEPT = 8
# What XGBoost knows to be the better the higher, by these names.
_PLAIN_NAMES = {"AP": "map", "P": "pre"}


class Given(NamedTuple):
    """A data set as a library has it: grades, rows of each query, and weights of queries or rows if there are any."""

    grades: npt.NDArray[Any]
    group: npt.NDArray[Any] | None
    weight: npt.NDArray[Any] | None

    def judgments(self) -> Judgments:
        """The same as judgments."""
        if self.group is None or len(self.group) == 0:
            raise ParameterError(
                "the data set does not tell which rows belong to which query: give it group (how many rows each query "
                "has) or qid, or give group to the objective or the evaluation where an interface hands none on"
            )
        return Queries(None, self.grades, group=self.group).judgments

    def equals(self, other: Given) -> bool:
        """Whether these are the same numbers."""
        return all(
            (one is None and two is None) or (one is not None and two is not None and np.array_equal(one, two))
            for one, two in zip(self, other, strict=True)
        )


class Prepared(Generic[T]):
    """What was made of the latest data sets, which are known again by their grades, groups and weights.

    So it does not matter whether a library hands out the same arrays in every round, and what is done to them between
    two rounds is noticed. Looking takes a tenth of a millisecond for a hundred thousand rows.
    """

    def __init__(self, make: Callable[[Given], T]) -> None:
        self._make = make
        self._kept: list[tuple[Given, T]] = []

    def __call__(self, given: Given) -> T:
        """What was made of this data set, or is made now."""
        for place, (known, made) in enumerate(self._kept):
            if known.equals(given):
                self._kept.insert(0, self._kept.pop(place))
                return made
        own = Given(*(None if array is None else np.array(array) for array in given))  # type: ignore[arg-type]
        made = self._make(own)
        self._kept = [(own, made), *self._kept[: _MOST_KEPT - 1]]
        return made


class Objective:
    """Gradient and curvature of a loss, for a library to call; data sets that come again are prepared once."""

    def __init__(self, loss: str | Loss, group: npt.ArrayLike | None = None) -> None:
        self.loss = own_loss(loss)
        self.group = None if group is None else np.asarray(group)
        self._prepared = Prepared(self._derivatives)

    def _derivatives(self, given: Given) -> Derivatives:
        judgments = given.judgments()
        return Derivatives(self.loss, judgments, counting_weights(judgments, given.weight))

    def derivatives(self, scores: Any, given: Given) -> tuple[Numbers32, Numbers32]:
        """Gradient and curvature of each row."""
        prepared = self._prepared(given if given.group is not None else given._replace(group=self.group))
        return prepared.at(np.asarray(scores))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.loss, self.group)  # without what was prepared

    def __repr__(self) -> str:
        return f"objective({self.loss!r})"


class Evaluation:
    """The mean of a measure over queries, for a library to call; data sets that come again are prepared once."""

    def __init__(
        self, measure: str | Measure, convention: str | Convention = "default", group: npt.ArrayLike | None = None
    ) -> None:
        self.measure, self.convention = one_measure(measure), convention_of(convention)
        self.group = None if group is None else np.asarray(group)
        self._prepared = Prepared(Given.judgments)
        self.__name__ = plain_name(self.measure)  # what a library calls it in its logs

    def mean(self, scores: Any, given: Given) -> float:
        """Over the queries that count, by their weights."""
        given = given if given.group is not None else given._replace(group=self.group)
        return self.mean_on(self._prepared(given), scores, given.weight)

    def mean_on(self, judgments: Judgments, scores: Any, weight: npt.ArrayLike | None) -> float:
        """The same on judgments."""
        values = measure_values(np.asarray(scores, np.float64), judgments, [self.measure], self.convention)
        of_queries = values[self.measure]
        weights = counting_weights(judgments, weight)
        counts = ~np.isnan(of_queries) & (weights > 0)
        return float(np.average(of_queries[counts], weights=weights[counts])) if counts.any() else float("nan")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.measure, self.convention, self.group)

    def __repr__(self) -> str:
        return f"evaluation({str(self.measure)!r})"


def plain_name(measure: Measure) -> str:
    """A measure as libraries write it: "ndcg@10"."""
    beside_name = str(measure)[len(measure.name) :].replace(" ", "")
    return _PLAIN_NAMES.get(measure.name, measure.name.lower()) + beside_name
