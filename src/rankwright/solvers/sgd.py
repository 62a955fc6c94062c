"""Averaged stochastic gradient descent, a query at a time.

Paper O (section 6) trains by stochastic gradient descent (Bottou 2004); averaging is Polyak's and Juditsky's (1992).
Each step takes time in all features, also where X is sparse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.data.products import FeatureProducts
from rankwright.losses.loss import Point, QueryLosses
from rankwright.types import Array

Order = npt.NDArray[np.intp]

# Steps η₀ (1 + λη₀t)^−¾ and averaging go together (Xu 2011).
_DECAY = 0.75
# The first step length is tried out on so many queries; neighbours differ by this factor.
_TRIAL_QUERIES, _FACTOR = 256, 4.0
# A step changes no score of its query by more than this, twice the margin: so it cannot diverge, whatever comes.
_MOST_CHANGE = 2.0


@dataclass(eq=False)
class Stream:
    """Weights that follow a stream of queries, and their mean since averaging began.

    Each query adds (λ/N)(w − w₀) + ∇loss_q to the gradient, where N is how many queries there are, or have been so far.
    """

    weights: Array
    center: Array
    alpha: float
    mean: Array
    first_step: float = 0.0
    steps: int = 0
    averaged: int = 0

    @classmethod
    def start(cls, start: Array, center: Array, alpha: float) -> Stream:
        """A stream that has not seen a query yet."""
        return cls(start.copy(), center, alpha, start.copy())

    def follow(
        self, features: FeatureProducts, losses: QueryLosses, order: Order, n_queries: int, *, average: bool = True
    ) -> None:
        """Take a step for each query of ``order``: one pass over X."""
        decay = self.alpha / n_queries
        if self.first_step == 0:
            self.first_step = self._try_first_step(features, losses, order[:_TRIAL_QUERIES])
        self._go_through(features, losses, order, decay, average)

    def _go_through(
        self, features: FeatureProducts, losses: QueryLosses, order: Order, decay: float, average: bool
    ) -> None:
        scores, point, gradient = np.empty(features.n_documents), losses.point(), np.empty_like(self.weights)
        for q in order.tolist():
            length = self.first_step * (1 + decay * self.first_step * self.steps) ** -_DECAY
            length = min(length, 1 / decay) if decay > 0 else length  # or the penalty would throw w beyond w₀
            change = _own_change(features, losses, q, self.weights, scores, point, gradient)
            if change * length > _MOST_CHANGE:
                length = _MOST_CHANGE / change
            gradient += decay * (self.weights - self.center)
            gradient *= length
            self.weights -= gradient
            self.steps += 1
            if average:
                self.averaged += 1
                self.mean += (self.weights - self.mean) / self.averaged
        if not average:
            self.mean = self.weights.copy()

    def _try_first_step(self, features: FeatureProducts, losses: QueryLosses, sample: Order) -> float:
        """The step length that brings the loss of a few queries down the most when they are gone through once."""
        length = self._own_scale(features, losses, sample)
        if length == 0:
            return 0.0
        value = self._loss_after(features, losses, sample, length)
        for factor in (_FACTOR, 1 / _FACTOR):
            while (other := self._loss_after(features, losses, sample, factor * length)) < value:
                length, value = factor * length, other
        return length

    def _own_scale(self, features: FeatureProducts, losses: QueryLosses, sample: Order) -> float:
        """The length at which a step for a query changes its scores by about 1, the margin; 0 if there is none."""
        scores, point, gradient = np.empty(features.n_documents), losses.point(), np.empty_like(self.weights)
        known = (self.weights, scores, point, gradient)
        changes = [_own_change(features, losses, q, *known) for q in sample.tolist()]
        some = [change for change in changes if change > 0]
        return 1 / float(np.median(some)) if some else 0.0

    def _loss_after(self, features: FeatureProducts, losses: QueryLosses, sample: Order, length: float) -> float:
        trial = Stream(self.weights.copy(), self.center, self.alpha, self.mean.copy(), length)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is much too long
            trial._go_through(features, losses, sample, 0.0, average=False)
            scores, point = np.empty(features.n_documents), losses.point()
            for q in sample.tolist():
                features.scores(q, q + 1, trial.weights, scores)
                losses.evaluate(q, q + 1, scores, point)
        value = float(point.values[sample].sum())
        return value if np.isfinite(value) else np.inf


def _own_change(
    features: FeatureProducts,
    losses: QueryLosses,
    q: int,
    weights: Array,
    scores: Array,
    point: Point,
    gradient: Array,
) -> float:
    """Write the loss's gradient for query q; by how much a step of length 1 down it changes a score of q at most."""
    features.scores(q, q + 1, weights, scores)
    losses.evaluate(q, q + 1, scores, point)
    gradient[:] = 0
    features.add_transposed(q, q + 1, point.gradient, gradient)
    features.scores(q, q + 1, gradient, scores)
    return float(np.abs(scores[features.offsets[q] : features.offsets[q + 1]]).max())
