"""Forward and floating search over features, on top of a selector that rates candidates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankwright.evaluation.per_query import measure_values
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.selection.selectors import KeepingSelector, Selector
from rankwright.selection.worth import worth
from rankwright.types import Array

# Candidates whose ratings differ by less than this share of the error before count as equal, and the first is taken.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class SquaredError:
    """Rates a set of features by its squared leave-query-out error (paper G, eq. 7)."""

    def now(self, selector: Selector) -> float:
        """Of the features selected."""
        return selector.selected.error

    def with_each(self, selector: Selector, columns: npt.NDArray[np.intp]) -> Array:
        """Of the features selected and one of the columns."""
        return selector.errors_with(columns)

    def bounds(self, selector: Selector, columns: npt.NDArray[np.intp]) -> Array | None:
        """What ``with_each`` is not below, if that is known."""
        return selector.error_bounds(columns)

    def without_each(self, selector: Selector) -> Array:
        """Of the features selected but one."""
        return selector.selected.errors_without_each()


@dataclass(frozen=True)
class HeldOutMeasure:
    """Rates a set of features by the leave-query-out mean of a measure; negated if more is better."""

    measure: Measure
    convention: Convention

    def now(self, selector: KeepingSelector) -> float:
        """Of the features selected."""
        columns = np.array(selector.selected.features, np.intp)
        return self._rating(selector, selector.data.scores(columns, selector.selected.held_out_weights()))

    def with_each(self, selector: KeepingSelector, columns: npt.NDArray[np.intp]) -> Array:
        """Of the features selected and one of the columns."""
        selector.bring_up(columns)
        weights = selector.selected.weights()
        return np.array([self._rating(selector, selector.scores_with(int(column), weights)) for column in columns])

    def bounds(self, selector: KeepingSelector, columns: npt.NDArray[np.intp]) -> None:
        """None is known."""

    def without_each(self, selector: KeepingSelector) -> Array:
        """Of the features selected but one."""
        features = np.array(selector.selected.features, np.intp)
        weights = selector.selected.weights_without_each()
        left_out = range(len(features))
        return np.array(
            [
                self._rating(selector, selector.data.scores(features, np.ascontiguousarray(weights[:, :, j])))
                for j in left_out
            ]
        )

    def _rating(self, selector: Selector, scores: Array) -> float:
        values = measure_values(scores, selector.data.judgments, [self.measure], self.convention)[self.measure]
        mean = float(np.nanmean(values)) if not np.isnan(values).all() else 0.0
        return mean if self.measure.lower_is_better else -mean


Criterion = SquaredError | HeldOutMeasure


@dataclass(frozen=True)
class SearchPlan:
    """How to search: by what, how far, and among which candidates."""

    criterion: Criterion
    n_features: int
    costs: Array
    floating: bool = False
    n_candidates: int | None = None


def search_features(
    selector: Selector, plan: SearchPlan, rng: np.random.Generator
) -> Iterator[tuple[Literal["add", "drop"], int, float]]:
    """Yield each step as it is done: what happened, the feature, and the criterion of the set that it left."""
    best_of_size: dict[int, float] = {}
    rating = plan.criterion.now(selector)  # type: ignore[arg-type]
    while selector.selected.size < plan.n_features:
        feature, rating = _best_addition(selector, plan, rating, rng)
        selector.add(feature)
        rating = _exact(plan.criterion, selector, rating)
        best_of_size[selector.selected.size] = min(rating, best_of_size.get(selector.selected.size, np.inf))
        yield "add", feature, rating
        while plan.floating and selector.selected.size > 2:
            position, without = _best_removal(selector, plan.criterion)
            size = selector.selected.size - 1
            if not without < best_of_size[size] - _ROUNDING * abs(best_of_size[size]):
                break
            feature = selector.selected.features[position]
            selector.drop(position)
            rating = _exact(plan.criterion, selector, without)
            best_of_size[size] = rating
            yield "drop", feature, rating


def _exact(criterion: Criterion, selector: Selector, rating: float) -> float:
    """Ratings of candidates may be approximate (back-fitting); that of a selection never is."""
    return criterion.now(selector) if isinstance(criterion, SquaredError) else rating


def _best_addition(selector: Selector, plan: SearchPlan, before: float, rng: np.random.Generator) -> tuple[int, float]:
    """The candidate with the best rating; with costs, with the most improvement for its cost."""
    taken = np.zeros(selector.data.n_features, bool)
    taken[selector.selected.features] = True
    candidates = np.flatnonzero(~taken)
    if plan.n_candidates is not None and plan.n_candidates < len(candidates):
        candidates = np.sort(rng.choice(candidates, plan.n_candidates, replace=False))
    costs = plan.costs.min() / plan.costs[candidates]
    ratings, rated = _first_ratings(selector, plan, candidates)
    while True:
        worths = worth(before - ratings, costs)
        best = float(worths[rated].max() if rated.any() else worths.max())
        close = worths >= best - _ROUNDING * max(abs(before), abs(best))
        contenders = close & ~rated
        if not contenders.any():
            first = int(np.argmax(close))
            return int(candidates[first]), float(ratings[first])
        ratings[contenders] = plan.criterion.with_each(selector, candidates[contenders])  # type: ignore[arg-type]
        rated |= contenders


def _first_ratings(
    selector: Selector, plan: SearchPlan, candidates: npt.NDArray[np.intp]
) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Bounds of the ratings of candidates, or the ratings if none are known; and which of them are ratings."""
    bounds = plan.criterion.bounds(selector, candidates)  # type: ignore[arg-type]
    if bounds is not None:
        return bounds, np.zeros(len(candidates), bool)
    return plan.criterion.with_each(selector, candidates), np.ones(len(candidates), bool)  # type: ignore[arg-type]


def _best_removal(selector: Selector, criterion: Criterion) -> tuple[int, float]:
    """The feature whose removal leaves the best set. The last one added is no candidate."""
    ratings = criterion.without_each(selector)[:-1]  # type: ignore[arg-type]
    best = int(np.argmin(ratings))
    return best, float(ratings[best])
