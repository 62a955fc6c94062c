"""½ λ‖w − w₀‖² + Σ_q loss_q(X_q w): what linear rankers minimise, and its derivatives, each in one pass over X.

Scores and losses stay with the parts of the data. A part that has forgotten them computes them again, while it is read
for something else anyway.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import NamedTuple

import numpy as np

from rankwright.data.part import Part
from rankwright.engines.engine import Engine
from rankwright.errors import DataError
from rankwright.losses.pairwise import MarginLosses
from rankwright.solvers.passes import Passes, Place, passes_of
from rankwright.solvers.sent_loss import SentLoss
from rankwright.types import Array

_stamps = count()
# So many points have their scores kept by the parts at a time; solvers look at two or three.
_PLACES = 3


@dataclass(frozen=True, eq=False)
class Whereabouts:
    """Some weights, and where the parts keep scores and losses of them, if they do."""

    weights: Array
    place: int
    stamp: int


@dataclass(frozen=True, eq=False)
class LinearPoint:
    """The objective at some weights.

    Attributes
    ----------
    at : the weights, and where scores and losses are
    value, gradient : of the objective
    loss_gradient : its part that comes from the data, Xᵀ∇loss
    margins_met : Σ −w_ij φ' · margin_ij over all pairs, of losses that have margins
    plain_value : of the objective with the other loss that was asked for besides
    """

    at: Whereabouts
    value: float
    gradient: Array
    loss_gradient: Array
    margins_met: float
    plain_value: float

    @property
    def weights(self) -> Array:
        """w."""
        return self.at.weights


class LinearObjective:
    """A loss on the scores of a linear ranker, with a quadratic penalty.

    ``plain`` is another loss to be evaluated at the same scores, of which nothing but the value is needed.
    """

    def __init__(
        self, engine: Engine, loss: SentLoss, alpha: float, center: Array, *, plain: SentLoss | None = None
    ) -> None:
        self.engine, self.loss, self.alpha, self.center, self.plain = engine, loss, alpha, center, plain
        self._next_place = 0

    def with_loss(self, loss: SentLoss, *, plain: SentLoss | None = None) -> LinearObjective:
        """The same with another loss on the same data."""
        return LinearObjective(self.engine, loss, self.alpha, self.center, plain=plain)

    def at(self, weights: Array, room: LinearPoint | None = None) -> LinearPoint:
        """Value and gradient; writes over what is kept of ``room``, a point that is no longer needed."""
        if room is None:
            self._next_place = (self._next_place + 1) % _PLACES
        at = Whereabouts(weights, self._next_place if room is None else room.at.place, next(_stamps))
        found: _Found = self.engine.sum(_gradient, self.loss, at, None if self.engine.keeps else self.plain)
        penalty = self.penalty(weights)
        gradient = self.alpha * (weights - self.center) + found.gradient
        plain = penalty + found.plain
        return LinearPoint(at, penalty + found.value, gradient, found.gradient, found.margins_met, plain)

    def penalty(self, weights: Array) -> float:
        """½ λ‖w − w₀‖²."""
        away = weights - self.center
        return 0.5 * self.alpha * float(away @ away)

    def curve(self, point: LinearPoint, direction: Array) -> Array:
        """The Hessian at the point times a direction."""
        curved: Array = self.engine.sum(_curvature, self.loss, point.at, direction)
        return self.alpha * direction + curved

    def on_line(self, start: LinearPoint, end: LinearPoint, t: float) -> tuple[float, float]:
        """Value and slope at w + t(w' − w). Where parts keep scores X is not read; the loss at the end is lost."""
        step, away = end.weights - start.weights, start.weights - self.center
        losses, slope = self.engine.sum(_on_line, self.loss, start.at, end.at, t, reads=not self.engine.keeps)
        slope_of_penalty, bend = self.alpha * float(away @ step), self.alpha * float(step @ step)
        penalty = self.penalty(start.weights) + t * (slope_of_penalty + 0.5 * t * bend)
        return penalty + losses, slope_of_penalty + t * bend + slope

    def value_of_plain(self, point: LinearPoint) -> float:
        """The objective with the plain loss, at the same scores: X is not read for it."""
        if not self.engine.keeps:
            return point.plain_value
        losses: float = self.engine.sum(_plain_value, self.loss, self.plain, point.at, reads=False)
        return self.penalty(point.weights) + losses

    def gap(self, point: LinearPoint) -> float:
        """How far the value can be above the minimum, by a dual point: −φ' of the pairs are dual variables.

        Of a smooth loss the difference is ‖∇F‖²/2λ, which is also what λ-strong convexity says.
        """
        if self.loss.is_smooth:
            return float(point.gradient @ point.gradient) / (2 * self.alpha)
        return point.value - self.hinge_bound(point)

    def hinge_bound(self, point: LinearPoint) -> float:
        """Σ β_ij margin_ij + w₀ᵀv − ‖v‖²/2λ, v = −Σ β_ij (x_i − x_j): a lower bound of any hinge's objective."""
        gradient = point.loss_gradient
        return point.margins_met + float(gradient @ self.center) - float(gradient @ gradient) / (2 * self.alpha)

    # What a preconditioner asks

    def sampled_hessian(self, point: LinearPoint, runs: list[tuple[int, int]]) -> Array:
        """Σ X_qᵀ H_q X_q over some runs of queries."""
        matrix: Array = self.engine.sum(_hessian, self.loss, point.at, runs, reads=not self.engine.keeps)
        return (matrix + matrix.T) / 2

    def diagonal(self, point: LinearPoint) -> Array:
        """Σ_d h_d x_d²: of the Hessian's own diagonal the part that the pairs' cross terms do not reach."""
        diagonal: Array = self.engine.sum(_diagonal, self.loss, point.at)
        return diagonal


class _Found(NamedTuple):
    """Sums over the queries of a part."""

    value: float
    gradient: Array
    margins_met: float
    plain: float


def _passes(part: Part, loss: SentLoss) -> Passes:
    return passes_of(part, loss.on(part))


def _place(part: Part, loss: SentLoss, at: Whereabouts) -> tuple[Passes, Place]:
    """The passes and the room for these weights, as it was left."""
    passes = _passes(part, loss)
    return passes, part.kept(("place", loss.number, at.place), passes.place)


def _evaluated(part: Part, loss: SentLoss, at: Whereabouts) -> tuple[Passes, Place]:
    """The same with the loss at these weights, computed again if it has been forgotten."""
    passes, place = _place(part, loss, at)
    if place.stamp != at.stamp:
        passes.score(at.weights, place.scores)
        passes.evaluate(place.scores, place.losses)
        place.stamp = at.stamp
    return passes, place


def _gradient(part: Part, loss: SentLoss, at: Whereabouts, plain: SentLoss | None) -> _Found:
    passes, place = _place(part, loss, at)
    gradient = passes.gradient(at.weights, place)
    place.stamp = at.stamp
    value = float(place.losses.values.sum())
    part.kept("finite features", lambda: _check_finite(part, value + float(place.scores.sum())))
    losses = passes.losses
    met = losses.margins_met(place.losses) if isinstance(losses, MarginLosses) else 0.0
    return _Found(value, gradient, met, 0.0 if plain is None else _value_at(part, plain, place.scores))


def _check_finite(part: Part, number: float) -> None:
    """Features that are not finite make scores that are not, even with weights of 0; then they are looked for."""
    if not np.isfinite(number):
        part.check_features()
        raise DataError("the loss overflows: scale the features down")


def _value_at(part: Part, loss: SentLoss, scores: Array) -> float:
    passes = _passes(part, loss)
    point = part.kept(("room for values", loss.number), passes.losses.point)
    passes.evaluate(scores, point)
    return float(point.values.sum())


def _plain_value(part: Part, loss: SentLoss, plain: SentLoss, at: Whereabouts) -> float:
    _, place = _evaluated(part, loss, at)
    return _value_at(part, plain, place.scores)


def _curvature(part: Part, loss: SentLoss, at: Whereabouts, direction: Array) -> Array:
    passes, place = _evaluated(part, loss, at)
    return passes.curvature(place, direction)


def _on_line(part: Part, loss: SentLoss, start: Whereabouts, end: Whereabouts, t: float) -> tuple[float, float]:
    (passes, first), (_, last) = _evaluated(part, loss, start), _evaluated(part, loss, end)
    scores, along = part.kept("room for lines", lambda: np.empty((2, part.n_documents)))
    np.subtract(last.scores, first.scores, out=along)
    np.multiply(along, t, out=scores)
    np.add(scores, first.scores, out=scores)
    point = part.kept(("room for values", loss.number), passes.losses.point)
    passes.evaluate(scores, point)
    return float(point.values.sum()), float(point.gradient @ along)


def _hessian(part: Part, loss: SentLoss, at: Whereabouts, runs: list[tuple[int, int]]) -> Array:
    passes, place = _evaluated(part, loss, at)

    def term(run: tuple[int, int]) -> Array:
        columns = np.ascontiguousarray(part.products.rows_of(*run).T)
        product: Array = columns @ passes.losses.curve_columns(*run, place.losses, columns).T
        return product

    matrix = np.zeros((part.n_features, part.n_features))
    own = [part.run_of(*run) for run in runs]
    for product in part.in_order(term, [run for run in own if run[0] < run[1]]):
        matrix += product
    return matrix


def _diagonal(part: Part, loss: SentLoss, at: Whereabouts) -> Array:
    _, place = _evaluated(part, loss, at)
    features = part.products

    def add(first: int, last: int, out: Array) -> None:
        for begin, end in features.blocks(first, last):
            features.add_squares(begin, end, place.losses.diagonal, out)

    return part.sum_over_runs(add, (part.n_features,))
