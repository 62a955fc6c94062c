"""Passes over X with a loss in between: scores, what the loss makes of them, and back to the features.

A run of queries whose features fit a core's cache is scored, evaluated or curved, and multiplied back while it is
there: X comes from memory once for both products.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwright.data.part import Part
from rankwright.losses.loss import Point, QueryLosses
from rankwright.losses.pairwise import PairLosses
from rankwright.solvers import pass_kernels
from rankwright.types import Array

_BYTES_PER_BLOCK = 1 << 18  # of compiled passes


@dataclass(eq=False)
class Place:
    """Room for the scores of a part at some weights, and the loss there. ``stamp`` tells which weights they are of."""

    scores: Array
    losses: Point
    stamp: int = -1


class Passes:
    """Any loss on the features of a part, block by block."""

    def __init__(self, part: Part, losses: QueryLosses) -> None:
        self._part, self._features, self.losses = part, part.products, losses
        self._along, self._bent = part.kept("room for curvature", lambda: np.empty((2, part.n_documents)))

    def place(self) -> Place:
        """Room for the loss at some weights."""
        return Place(np.empty(self._part.n_documents), self.losses.point())

    def gradient(self, weights: Array, place: Place) -> Array:
        """Xᵀg where g is the loss's gradient at Xw; fills in the place."""
        return self._part.sum_over_runs(
            lambda first, last, out: self._add_gradient(first, last, weights, place, out), weights.shape
        )

    def curvature(self, place: Place, direction: Array) -> Array:
        """XᵀHXd where H is the loss's Hessian at the place."""
        return self._part.sum_over_runs(
            lambda first, last, out: self._add_curvature(first, last, place.losses, direction, out), direction.shape
        )

    def score(self, weights: Array, scores: Array) -> None:
        """Write Xw."""
        self._part.over_runs(lambda first, last: self._features.scores(first, last, weights, scores))

    def evaluate(self, scores: Array, point: Point) -> None:
        """The loss at these scores."""
        self._part.over_runs(lambda first, last: self.losses.evaluate(first, last, scores, point))

    def _add_gradient(self, first: int, last: int, weights: Array, place: Place, out: Array) -> None:
        features, losses = self._features, self.losses
        for begin, end in features.blocks(first, last):
            features.scores(begin, end, weights, place.scores)
            losses.evaluate(begin, end, place.scores, place.losses)
            features.add_transposed(begin, end, place.losses.gradient, out)

    def _add_curvature(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        features, losses = self._features, self.losses
        for begin, end in features.blocks(first, last):
            features.scores(begin, end, direction, self._along)
            losses.curve(begin, end, point, self._along, self._bent)
            features.add_transposed(begin, end, self._bent, out)


class DensePairPasses(Passes):
    """Pairwise losses on dense features: the loop over blocks is compiled, so that blocks can be small."""

    def __init__(self, part: Part, losses: PairLosses) -> None:
        super().__init__(part, losses)
        self._pairs = losses
        at_a_time = max(1, _BYTES_PER_BLOCK // (part.x.itemsize * part.n_features))
        self._x = (part.x, part.rows, losses.offsets, at_a_time)
        self._shift = np.zeros(0) if losses.shift is None else losses.shift

    def _add_gradient(self, first: int, last: int, weights: Array, place: Place, out: Array) -> None:
        point = place.losses
        written = (place.scores, point.kept["z"], point.kept["order"], point.gradient)
        evaluated = self._pairs.evaluated(point)
        pass_kernels.gradient_pass(self._x, first, last, weights, self._shift, written, evaluated, out)

    def _add_curvature(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        curved = self._pairs.curved(point)
        pass_kernels.curvature_pass(self._x, first, last, direction, self._along, self._bent, curved, out)


def passes_of(part: Part, losses: QueryLosses) -> Passes:
    """The fastest way through these features with this loss."""
    if isinstance(losses, PairLosses) and not part.is_sparse:
        return DensePairPasses(part, losses)
    return Passes(part, losses)
