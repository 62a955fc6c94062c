"""Gradient and curvature of a loss with respect to scores, as gradient boosting asks for them in every round."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.driver import share_by_size
from rankwright.judgments.judgments import Judgments
from rankwright.losses.loss import Loss, Point, QueryLosses, query_weights
from rankwright.losses.pairwise import MarginLosses
from rankwright.losses.phi import PHIS
from rankwright.types import Array

Numbers32 = npt.NDArray[np.float32]
Curvature = Callable[[int, int, Point], Array]

# The curvature of a document is at least this part of what it is where all scores are equal.
_LEAST_PART = 0.01
# …and this part of the mean of all documents, for those that have no counterparts at all.
_LEAST = 1e-6
# By how much of 1 − measure rankings are as good as equal: the temperature at which a maximum over them is softened.
_TEMPERATURE = 0.1


class Derivatives:
    """A loss on queries whose rows stand together: gradient and positive curvature of each row at some scores.

    Both are divided by the mean curvature at equal scores, so that a document weighs 1 to begin with, whatever the
    loss: the least weight of a leaf, and what is added to it (λ), then count documents. Steps do not depend on this.
    """

    def __init__(self, loss: Loss, judgments: Judgments, sample_weight: npt.ArrayLike | None = None) -> None:
        weights = np.repeat(query_weights(judgments, sample_weight), judgments.sizes)
        self._losses = loss.on(judgments, sample_weight)
        self._scores = np.zeros(self._losses.n_documents)
        self._point = _evaluated(self._losses, self._scores)
        self._curvature, at_equal = _curvature_of(loss, self._losses, self._point, weights)
        total = float(at_equal.sum())
        self._factor = float(weights.sum()) / total if total > 0 else 1.0
        self._least = np.maximum(_LEAST_PART * at_equal * self._factor, _LEAST)

    @property
    def value(self) -> float:
        """The loss at the scores that were asked for last, summed over queries."""
        return float(self._point.values.sum())

    def at(self, scores: npt.NDArray[Any]) -> tuple[Numbers32, Numbers32]:
        """Gradient and curvature at these scores, one for each row; libraries compute with them in float32."""
        gradient, curvature = np.empty((2, len(self._scores)), np.float32)

        def work(first: int, last: int) -> None:
            run = _rows(self._losses, first, last)
            self._scores[run] = scores[run]
            self._losses.evaluate(first, last, self._scores, self._point)
            np.multiply(self._point.gradient[run], self._factor, out=gradient[run], casting="same_kind")
            curved = self._curvature(first, last, self._point) * self._factor
            np.maximum(curved, self._least[run], out=curvature[run], casting="same_kind")

        share_by_size(work, self._losses.offsets)
        return gradient, curvature


def _curvature_of(loss: Loss, losses: QueryLosses, at_equal: Point, weights: Array) -> tuple[Curvature, Array]:
    """How the curvature of the documents of a run of queries is told, and what it is where all scores are equal.

    - A smooth loss has a second derivative: the diagonal of its Hessian.
    - A hinge of pairs that is a straight line somewhere has none there, also if its corner is rounded. Every pair
      counts as if it stood in a corner rounded over a margin of 1: this bound does not change, and costs nothing.
    - A maximum over rankings is softened: with temperature T its curvature is the variance of a document's weight over
      rankings, divided by T, for which the square of the gradient stands; a document that does not move now may move in
      the next round, and so counts as one in the mean.
    """
    if isinstance(losses, MarginLosses) and losses.phi.width < inf:
        bound = _pairs_of_each(losses)
        return lambda first, last, point: bound[_rows(losses, first, last)], bound
    if loss.is_smooth:
        return lambda first, last, point: point.diagonal[_rows(losses, first, last)], at_equal.diagonal.copy()
    return _softened(losses, at_equal, weights)


def _softened(losses: QueryLosses, at_equal: Point, weights: Array) -> tuple[Curvature, Array]:
    """The squared gradient, and its mean where all scores are equal; a query that weighs w counts as w queries."""
    per_weight = np.divide(1.0, _TEMPERATURE * weights, out=np.zeros_like(weights), where=weights > 0)
    squares = at_equal.gradient**2 * per_weight
    least = weights * (squares.sum() / max(float(weights.sum()), 1e-300))

    def curvature(first: int, last: int, point: Point) -> Array:
        run = _rows(losses, first, last)
        of_run: Array = point.gradient[run] ** 2 * per_weight[run] + least[run]
        return of_run

    return curvature, squares + least


def _pairs_of_each(losses: MarginLosses) -> Array:
    """The weights of the pairs that a document is in, which is half the curvature of the squared hinge at 0."""
    at_equal = _evaluated(losses.with_phi(PHIS["squared-hinge"]), np.zeros(losses.n_documents))
    of_each: Array = at_equal.diagonal / 2
    return of_each


def _evaluated(losses: QueryLosses, scores: Array) -> Point:
    point = losses.point()
    share_by_size(lambda first, last: losses.evaluate(first, last, scores, point), losses.offsets)
    return point


def _rows(losses: QueryLosses, first: int, last: int) -> slice:
    return slice(int(losses.offsets[first]), int(losses.offsets[last]))
