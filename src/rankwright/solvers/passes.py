"""Passes over X with a loss in between: scores, what the loss makes of them, and back to the features.

A run of queries whose features fit a core's cache is scored, evaluated or curved, and multiplied back while it is
there: X comes from memory once for both products.
"""

from __future__ import annotations

import numpy as np

from rankwright.data.products import FeatureProducts
from rankwright.losses.loss import Point, QueryLosses
from rankwright.losses.pairwise import PairLosses
from rankwright.machine.threads import sum_over_query_ranges
from rankwright.solvers import pass_kernels
from rankwright.types import Array

_BYTES_PER_BLOCK = 1 << 18  # of compiled passes


class Passes:
    """Any loss on any features, block by block."""

    def __init__(self, features: FeatureProducts, losses: QueryLosses) -> None:
        self._features, self._losses = features, losses
        self._along, self._bent = np.empty((2, features.n_documents))

    def gradient(self, weights: Array, scores: Array, point: Point) -> Array:
        """Xᵀg where g is the loss's gradient at Xw; fills in scores and point."""
        self._features.passes += 1
        return sum_over_query_ranges(
            lambda first, last, out: self._add_gradient(first, last, weights, scores, point, out),
            self._features.offsets,
            weights.shape,
        )

    def curvature(self, point: Point, direction: Array) -> Array:
        """XᵀHXd where H is the loss's Hessian at the point."""
        self._features.passes += 1
        return sum_over_query_ranges(
            lambda first, last, out: self._add_curvature(first, last, point, direction, out),
            self._features.offsets,
            direction.shape,
        )

    def _add_gradient(self, first: int, last: int, weights: Array, scores: Array, point: Point, out: Array) -> None:
        features, losses = self._features, self._losses
        for begin, end in features.blocks(first, last):
            features.scores(begin, end, weights, scores)
            losses.evaluate(begin, end, scores, point)
            features.add_transposed(begin, end, point.gradient, out)

    def _add_curvature(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        features, losses = self._features, self._losses
        for begin, end in features.blocks(first, last):
            features.scores(begin, end, direction, self._along)
            losses.curve(begin, end, point, self._along, self._bent)
            features.add_transposed(begin, end, self._bent, out)


class DensePairPasses(Passes):
    """Pairwise losses on dense features: the loop over blocks is compiled, so that blocks can be small."""

    def __init__(self, features: FeatureProducts, losses: PairLosses) -> None:
        super().__init__(features, losses)
        self._pairs = losses
        x, rows = features.dense()
        self._x = (x, rows, max(1, _BYTES_PER_BLOCK // (x.itemsize * x.shape[1])))
        self._shift = np.zeros(0) if losses.shift is None else losses.shift

    def _add_gradient(self, first: int, last: int, weights: Array, scores: Array, point: Point, out: Array) -> None:
        sorting = (self._pairs.offsets, point.kept["z"], point.kept["order"], point.gradient)
        evaluated = self._pairs.evaluated(point)
        pass_kernels.gradient_pass(*self._x, first, last, weights, self._shift, scores, *sorting, evaluated, out)

    def _add_curvature(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        curved, offsets = self._pairs.curved(point), self._pairs.offsets
        pass_kernels.curvature_pass(*self._x, first, last, direction, offsets, self._along, self._bent, curved, out)


def passes_of(features: FeatureProducts, losses: QueryLosses) -> Passes:
    """The fastest way through these features with this loss."""
    if isinstance(losses, PairLosses) and not features.is_sparse:
        return DensePairPasses(features, losses)
    return Passes(features, losses)
