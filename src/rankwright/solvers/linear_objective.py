"""½ λ‖w − w₀‖² + Σ_q loss_q(X_q w): what linear rankers minimise, and its derivatives, each in one pass over X."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwright.data.centred import check_features
from rankwright.data.products import FeatureProducts
from rankwright.errors import DataError
from rankwright.losses.loss import Point, QueryLosses
from rankwright.losses.pairwise import MarginLosses
from rankwright.solvers.passes import passes_of
from rankwright.types import Array


@dataclass(eq=False)
class LinearPoint:
    """The objective at some weights.

    Attributes
    ----------
    weights, scores : w and Xw
    losses : the loss at these scores, with what Hessian-vector products need
    value, gradient : of the objective
    loss_gradient : its part that comes from the data, Xᵀ∇loss
    """

    weights: Array
    scores: Array
    losses: Point
    value: float
    gradient: Array
    loss_gradient: Array


class LinearObjective:
    """A loss on the scores of a linear ranker, with a quadratic penalty."""

    def __init__(self, features: FeatureProducts, losses: QueryLosses, alpha: float, center: Array) -> None:
        self.features, self.losses, self.alpha, self.center = features, losses, alpha, center
        self._passes = passes_of(features, losses)

    def at(self, weights: Array, room: LinearPoint | None = None) -> LinearPoint:
        """Value and gradient; writes over ``room``, a point that is no longer needed, if there is one."""
        features, losses = self.features, self.losses
        scores = np.empty(features.n_documents) if room is None else room.scores
        point = losses.point() if room is None else room.losses
        loss_gradient = self._passes.gradient(weights, scores, point)
        away = weights - self.center
        value = 0.5 * self.alpha * float(away @ away) + float(point.values.sum())
        if not features.are_finite:
            self._check_finite(value + float(scores.sum()))
        return LinearPoint(weights, scores, point, value, self.alpha * away + loss_gradient, loss_gradient)

    def _check_finite(self, number: float) -> None:
        """Features that are not finite make scores that are not, even with weights of 0; then they are looked for."""
        if not np.isfinite(number):
            check_features(self.features.queries)
            raise DataError("the loss overflows: scale the features down")
        self.features.are_finite = True

    def curve(self, point: LinearPoint, direction: Array) -> Array:
        """The Hessian at the point times a direction."""
        return self.alpha * direction + self._passes.curvature(point.losses, direction)

    def gap(self, point: LinearPoint) -> float:
        """How far the value can be above the minimum, by a dual point: −φ' of the pairs are dual variables.

        Of a smooth loss the difference is ‖∇F‖²/2λ, which is also what λ-strong convexity says.
        """
        losses = self.losses
        if isinstance(losses, MarginLosses) and not losses.phi.is_smooth:
            return point.value - self.hinge_bound(losses.margins_met(point.losses), point.loss_gradient)
        return float(point.gradient @ point.gradient) / (2 * self.alpha)

    def hinge_bound(self, margins_met: float, loss_gradient: Array) -> float:
        """Σ β_ij margin_ij + w₀ᵀv − ‖v‖²/2λ, v = −Σ β_ij (x_i − x_j): a lower bound of any hinge's objective."""
        squared = float(loss_gradient @ loss_gradient)
        return margins_met + float(loss_gradient @ self.center) - squared / (2 * self.alpha)
