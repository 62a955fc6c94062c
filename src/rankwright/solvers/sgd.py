"""Averaged stochastic gradient descent, a query at a time.

Paper O (section 6) trains by stochastic gradient descent (Bottou 2004); averaging is Polyak's and Juditsky's (1992).
Each step takes time in all features, also where X is sparse.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.data.products import FeatureProducts
from rankwright.losses.loss import QueryLosses
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
        queries = _Queries(features, losses)
        if self.first_step == 0:
            self.first_step = self._try_first_step(queries, order[:_TRIAL_QUERIES])
        self._go_through(queries, order, self.alpha / n_queries, average)

    def _go_through(self, queries: _Queries, order: Order, decay: float, average: bool) -> None:
        gradient = np.empty_like(self.weights)
        for q in order.tolist():
            length = self.first_step * (1 + decay * self.first_step * self.steps) ** -_DECAY
            length = min(length, 1 / decay) if decay > 0 else length  # or the penalty would throw w beyond w₀
            change = queries.own_change(q, self.weights, gradient)
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

    def _try_first_step(self, queries: _Queries, sample: Order) -> float:
        """The step length that brings the loss of a few queries down the most when they are gone through once."""
        length = self._own_scale(queries, sample)
        if length == 0:
            return 0.0
        value = self._loss_after(queries, sample, length)
        for factor in (_FACTOR, 1 / _FACTOR):
            while (other := self._loss_after(queries, sample, factor * length)) < value:
                length, value = factor * length, other
        return length

    def _own_scale(self, queries: _Queries, sample: Order) -> float:
        """The length at which a step for a query changes its scores by about 1, the margin; 0 if there is none."""
        gradient = np.empty_like(self.weights)
        changes = [queries.own_change(q, self.weights, gradient) for q in sample.tolist()]
        some = [change for change in changes if change > 0]
        return 1 / float(np.median(some)) if some else 0.0

    def _loss_after(self, queries: _Queries, sample: Order, length: float) -> float:
        trial = Stream(self.weights.copy(), self.center, self.alpha, self.mean.copy(), length)
        with np.errstate(over="ignore", invalid="ignore"):  # a step that is much too long
            trial._go_through(queries, sample, 0.0, average=False)
            value = float(np.sum([queries.loss(q, trial.weights) for q in sample.tolist()]))
        return value if np.isfinite(value) else np.inf


class _Queries:
    """Features and losses of queries that are looked at one at a time."""

    def __init__(self, features: FeatureProducts, losses: QueryLosses) -> None:
        self._features, self._losses = features, losses
        self._scores, self._point = np.empty(features.n_documents), losses.point()

    def loss(self, q: int, weights: Array) -> float:
        """Of query q."""
        self._features.scores(q, q + 1, weights, self._scores)
        self._losses.evaluate(q, q + 1, self._scores, self._point)
        return float(self._point.values[q])

    def own_change(self, q: int, weights: Array, gradient: Array) -> float:
        """Write the loss's gradient for q; by how much a step of length 1 down it changes a score of q at most."""
        self.loss(q, weights)
        gradient[:] = 0
        self._features.add_transposed(q, q + 1, self._point.gradient, gradient)
        self._features.scores(q, q + 1, gradient, self._scores)
        return float(np.abs(self._scores[self._features.offsets[q] : self._features.offsets[q + 1]]).max())
