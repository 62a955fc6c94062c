"""½ λ‖w − w₀‖² + Σ_q ξ_q(X_q w) with structured losses ξ, and the plane of each query that touches its loss."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rankwright.data.doubled_sums import DoubledSums, doubled_sum
from rankwright.data.part import Part
from rankwright.data.state import changes_state
from rankwright.engines.engine import Engine
from rankwright.errors import DataError
from rankwright.losses.loss import Point, QueryLosses
from rankwright.losses.structured import StructuredLosses
from rankwright.machine.runs import split_by_size
from rankwright.types import Array

_MOST_GROUPS, _LEAST_DOCUMENTS = 64, 256
# With more, planes take less memory as numbers for documents, and Newton's method too long.
_MOST_FEATURES = 1024


class LossOfParts(Protocol):
    """What is sent to parts to have their losses, such as a `SentLoss`."""

    @property
    def is_convex(self) -> bool:
        """Whether a least value that was found is the least there is."""

    def on(self, part: Part) -> QueryLosses:
        """The losses of the queries of a part."""


@dataclass(frozen=True, eq=False)
class HeldLosses:
    """Losses of data in memory, which are one part."""

    losses: StructuredLosses

    @property
    def is_convex(self) -> bool:
        """With targets that do not depend on scores."""
        return self.losses.targets is not None

    def on(self, part: Part) -> StructuredLosses:
        """As they are."""
        return self.losses


@dataclass(eq=False)
class _Shared:
    """What objectives on the same data have in common; the loss that was looked at last, if that was at w₀."""

    argmax_calls: int = 0
    loss_at_center: LossOfParts | None = None


class StructuredObjective:
    """What structured solvers minimise. ``argmax_calls`` counts rankings found, ``engine.passes`` readings of X.

    What is found stays with the parts, in the arrays ``found.…`` of their states: ``values`` of the losses at the
    weights that the queries were looked at with, ``pulls``, and ``vectors``, Xᵀ of each query's gradient: pulls +
    vectorsᵀw are planes that touch the losses. Of wide data the ``scores`` and ``gradient`` of documents are kept
    instead of vectors.
    """

    def __init__(self, engine: Engine, loss: LossOfParts, alpha: float, center: Array) -> None:
        self.engine, self.loss, self.alpha, self.center = engine, loss, alpha, center
        self.n_queries, self.n_features = engine.n_queries, engine.n_features
        self.is_wide = engine.n_features > _MOST_FEATURES
        self._shared = _Shared()
        self._losses_seen = np.nan
        self._losses_at_center: float | None = None

    def with_alpha(self, alpha: float) -> StructuredObjective:
        """The same with another λ; both count in one."""
        other = copy(self)
        other.alpha = alpha
        return other

    def with_losses(self, losses: StructuredLosses) -> StructuredObjective:
        """The same with other losses of the same queries, in memory; both count in one."""
        other = StructuredObjective(self.engine, HeldLosses(losses), self.alpha, self.center)
        other._shared = self._shared
        return other

    @property
    def is_convex(self) -> bool:
        """Whether a least value that was found is the least there is."""
        return self.loss.is_convex

    @property
    def argmax_calls(self) -> int:
        """How many rankings have been found."""
        return self._shared.argmax_calls

    @property
    def sees_center(self) -> bool:
        """Whether w₀ is where the queries were looked at last."""
        return self._shared.loss_at_center is self.loss

    def groups(self) -> list[tuple[int, int]]:
        """The queries in runs, after each of which a solver may change the weights: few if there is little to read."""
        groups = min(max(self.engine.n_documents // _LEAST_DOCUMENTS, 1), _MOST_GROUPS)
        return split_by_size(self.engine.offsets, groups)

    # Looking at queries, which finds the planes that touch their losses

    def look(self, weights: Array, first: int = 0, last: int | None = None) -> None:
        """Find the planes that touch the losses of queries first … last − 1 at these weights."""
        last = self.n_queries if last is None else last
        run, is_all = (first, last), last == self.n_queries
        sent = (self.loss, weights, run, None if self.is_wide else run)
        self._losses_seen = self.engine.sum(_look, *sent, reads=is_all).total
        self.has_looked(last - first)

    def has_looked(self, n_queries: int) -> None:
        """Some queries have been looked at, at other weights than w₀."""
        self._shared.argmax_calls += n_queries
        self._shared.loss_at_center = None

    def value(self, weights: Array) -> float:
        """The objective at the weights that all queries were looked at with."""
        return self.penalty(weights) + self._losses_seen

    def value_at_center(self) -> float:
        """The objective at w₀, where there is no penalty. It is the same for every λ, so it is looked for once.

        Also finds the planes of the first group.
        """
        if self._losses_at_center is None:
            everything, first_group = (0, self.n_queries), self.groups()[0]
            reads = bool(self.center.any())
            vectors_of = None if self.is_wide else first_group
            sent = (self.loss, self.center if reads else None, everything, vectors_of)
            self._losses_at_center = self.engine.sum(_look, *sent, reads=reads).total
            self.has_looked(self.n_queries)
            self._shared.loss_at_center = self.loss
        return self._losses_at_center

    def argmax_gap(self, weights: Array) -> float:
        """By how much the losses can be above what a search that need not find the best rankings has found of them."""
        self._shared.argmax_calls += self.n_queries
        sums: tuple[DoubledSums, DoubledSums] = self.engine.sum(_bounds, self.loss, weights)
        return max(sums[0].total - sums[1].total, 0.0)

    def check_finite(self, number: float) -> None:
        """Refuse numbers that are not, and say which feature is the cause if one is."""
        if not np.isfinite(number):
            self.engine.sum(_check_finite, number)

    def penalty(self, weights: Array) -> float:
        """½ λ‖w − w₀‖²."""
        away = weights - self.center
        return 0.5 * self.alpha * float(away @ away)

    # Of data in memory. Along a line, scores are known without another reading of X

    @property
    def part(self) -> Part:
        """All queries, in memory."""
        return self.engine.whole("scores of all documents are needed at once: use solver='bundle' and bound='convex'")

    @property
    def losses(self) -> StructuredLosses:
        """The losses of all queries."""
        losses = self.loss.on(self.part)
        assert isinstance(losses, StructuredLosses)
        return losses

    def value_of(self, weights: Array, scores: Array) -> float:
        """The objective at weights whose scores are known."""
        return self.penalty(weights) + self.losses_at(scores, _room(self.part, self.losses)[1])

    def scores_of(self, weights: Array) -> Array:
        """Xw."""
        self.engine.passes += 1
        part, scores = self.part, np.empty(self.engine.n_documents)
        part.over_runs(lambda first, last: part.products.scores(first, last, weights, scores))
        self.check_finite(float(scores.sum()))
        return scores

    def losses_at(self, scores: Array, point: Point) -> float:
        """Σ_q ξ_q at these scores; fills in the point."""
        self._shared.argmax_calls += self.n_queries
        losses = self.losses
        self.part.over_runs(lambda first, last: losses.evaluate(first, last, scores, point))
        return float(point.values.sum())

    def plane_of(self, point: Point) -> tuple[float, Array]:
        """b and v of the plane b + vᵀw below the sum of all losses that touches it at the point."""
        self.engine.passes += 1
        features = self.part.products
        vector = self.part.sum_over_runs(
            lambda first, last, out: features.add_transposed(first, last, point.gradient, out), (self.n_features,)
        )
        return float(point.pulls.sum()), vector


def look_at(
    part: Part, losses: QueryLosses, weights: Array | None, run: tuple[int, int], vectors_of: tuple[int, int] | None
) -> None:
    """Find planes of a run of the part's own queries; vectors of some of them only.

    Without vectors scores and gradient are kept instead, of data in memory. Weights that are None are 0, and so are the
    scores, whatever the features.
    """
    features, state = part.products, part.state
    scores, point = _room(part, losses)
    if "found.values" not in state:
        state["found.values"], state["found.pulls"] = np.zeros((2, part.n_queries))
        if vectors_of is not None:
            state["found.vectors"] = np.empty((part.n_queries, part.n_features))
        else:
            state["found.scores"], state["found.gradient"] = scores, point.gradient
    vectors = state.get("found.vectors")

    def work(first: int, last: int) -> None:
        for begin, end in features.blocks(first, last):
            if weights is None:
                scores[part.offsets[begin] : part.offsets[end]] = 0.0
            else:
                features.scores(begin, end, weights, scores)
                _check_finite(part, float(scores[part.offsets[begin] : part.offsets[end]].sum()))
            losses.evaluate(begin, end, scores, point)
            if vectors is not None and vectors_of is not None:
                begin, end = max(begin, vectors_of[0]), min(end, vectors_of[1])
                if begin < end:
                    features.query_products(begin, end, point.gradient, vectors)

    part.over_runs(work, *run)
    first, last = run
    state["found.values"][first:last] = point.values[first:last]
    state["found.pulls"][first:last] = point.pulls[first:last]


def _room(part: Part, losses: QueryLosses) -> tuple[Array, Point]:
    """Room for scores, and for losses there."""
    return part.kept("room for looking", lambda: (np.empty(part.n_documents), losses.point()))


@changes_state
def _look(
    part: Part, loss: LossOfParts, weights: Array | None, run: tuple[int, int], vectors_of: tuple[int, int] | None
) -> DoubledSums:
    (first, last), own = part.run_of(*run), None if vectors_of is None else part.run_of(*vectors_of)
    look_at(part, loss.on(part), weights, (first, last), own)
    return doubled_sum(part.state["found.values"][first:last])


def _bounds(part: Part, loss: LossOfParts, weights: Array) -> tuple[DoubledSums, DoubledSums]:
    losses = loss.on(part)
    scores, point = _room(part, losses)

    def work(first: int, last: int) -> None:
        part.products.scores(first, last, weights, scores)
        losses.evaluate(first, last, scores, point)

    part.over_runs(work)
    return doubled_sum(point.kept["bounds"]), doubled_sum(point.values)


def _check_finite(part: Part, number: float) -> None:
    if not np.isfinite(number):
        part.check_features()
        raise DataError("the numbers overflow: scale the features, or sample_weight, down")
