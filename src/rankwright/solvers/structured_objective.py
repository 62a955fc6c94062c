"""½ λ‖w − w₀‖² + Σ_q ξ_q(X_q w) with structured losses ξ, and the plane of each query that touches its loss."""

from __future__ import annotations

import numpy as np

from rankwright.data.part import Part
from rankwright.engines.engine import Engine
from rankwright.errors import DataError
from rankwright.losses.loss import Point
from rankwright.losses.structured import StructuredLosses
from rankwright.machine.runs import split_by_size
from rankwright.machine.threads import for_query_ranges, sum_over_query_ranges
from rankwright.types import Array

_MOST_PARTS, _LEAST_DOCUMENTS = 64, 256
# With more, planes take less memory as numbers for documents, and Newton's method too long.
_MOST_FEATURES = 1024


class StructuredObjective:
    """What structured solvers minimise. ``argmax_calls`` counts rankings found, ``engine.passes`` readings of X.

    Attributes
    ----------
    scores, point : Xw, and the losses there, of the queries seen last
    vectors : Xᵀ of each query's gradient there: point.pulls + vectorsᵀw are planes that touch the losses. Of wide data
        only the gradients are kept
    """

    def __init__(self, engine: Engine, part: Part, losses: StructuredLosses, alpha: float, center: Array) -> None:
        features = part.products
        self.engine, self.part, self.features = engine, part, features
        self.losses, self.alpha, self.center = losses, alpha, center
        self.n_queries, self.n_features = features.n_queries, features.n_features
        self.scores, self.point = np.empty(features.n_documents), losses.point()
        self.is_wide = features.n_features > _MOST_FEATURES
        self.vectors = np.empty((0 if self.is_wide else features.n_queries, features.n_features))
        self._calls = {"argmax": 0}

    def with_losses(self, losses: StructuredLosses) -> StructuredObjective:
        """The same with other losses of the same queries; both count in one."""
        other = StructuredObjective(self.engine, self.part, losses, self.alpha, self.center)
        other._calls = self._calls
        return other

    @property
    def argmax_calls(self) -> int:
        """How many rankings have been found."""
        return self._calls["argmax"]

    def groups(self) -> list[tuple[int, int]]:
        """The queries in runs, after each of which a solver may change the weights: few if there is little to read."""
        parts = min(max(self.features.n_documents // _LEAST_DOCUMENTS, 1), _MOST_PARTS)
        return split_by_size(self.features.offsets, parts)

    def look(self, weights: Array, first: int = 0, last: int | None = None) -> None:
        """Find the planes that touch the losses of queries first … last − 1 at these weights."""
        last = self.n_queries if last is None else last
        offsets = self.features.offsets
        part = offsets[first : last + 1] - offsets[first]
        for_query_ranges(lambda begin, end: self._look(weights, first + begin, first + end), part)
        self._calls["argmax"] += last - first
        if last == self.n_queries:
            self.engine.passes += 1

    def _look(self, weights: Array, first: int, last: int) -> None:
        features = self.features
        for begin, end in features.blocks(first, last):
            features.scores(begin, end, weights, self.scores)
            self.check_finite(float(self.scores[features.offsets[begin] : features.offsets[end]].sum()))
            self.losses.evaluate(begin, end, self.scores, self.point)
            if not self.is_wide:
                features.query_products(begin, end, self.point.gradient, self.vectors)

    def check_finite(self, number: float) -> None:
        """Refuse numbers that are not, and say which feature is the cause if one is."""
        if not np.isfinite(number):
            self.part.check_features()
            raise DataError("the numbers overflow: scale the features, or sample_weight, down")

    def penalty(self, weights: Array) -> float:
        """½ λ‖w − w₀‖²."""
        away = weights - self.center
        return 0.5 * self.alpha * float(away @ away)

    def value(self, weights: Array) -> float:
        """The objective at the weights that all queries were looked at with."""
        return self.penalty(weights) + float(self.point.values.sum())

    def value_of(self, weights: Array, scores: Array) -> float:
        """The objective at weights whose scores are known."""
        return self.penalty(weights) + self.losses_at(scores, self.point)

    def value_at_center(self) -> float:
        """The objective at w₀, where there is no penalty."""
        zeros = np.zeros(self.features.n_documents)
        scores = self.scores_of(self.center) if self.center.any() else zeros
        return self.losses_at(scores, self.losses.point())

    # Along a line, scores are known without another reading of X

    def scores_of(self, weights: Array) -> Array:
        """Xw."""
        self.engine.passes += 1
        scores = np.empty(self.features.n_documents)
        offsets = self.features.offsets
        for_query_ranges(lambda first, last: self.features.scores(first, last, weights, scores), offsets)
        self.check_finite(float(scores.sum()))
        return scores

    def losses_at(self, scores: Array, point: Point) -> float:
        """Σ_q ξ_q at these scores; fills in the point."""
        self._calls["argmax"] += self.n_queries
        for_query_ranges(lambda first, last: self.losses.evaluate(first, last, scores, point), self.features.offsets)
        return float(point.values.sum())

    def plane_of(self, point: Point) -> tuple[float, Array]:
        """b and v of the plane b + vᵀw below the sum of all losses that touches it at the point."""
        self.engine.passes += 1
        vector = sum_over_query_ranges(
            lambda first, last, out: self.features.add_transposed(first, last, point.gradient, out),
            self.features.offsets,
            (self.n_features,),
        )
        return float(point.pulls.sum()), vector
