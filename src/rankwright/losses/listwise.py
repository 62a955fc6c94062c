"""The listwise hinge: a sum, a maximum or a soft-maximum over rankings (paper P, definition 3)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import comb
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_positive
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judged, Judgments, judgments_of
from rankwright.losses import listwise_kernels
from rankwright.losses.loss import Loss, Point, QueryLosses
from rankwright.losses.structured import NDCGLosses, StructuredHinge, StructuredLosses, ranking_by_scores
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.measures.sorting import KEEP_ORDER, rank_documents
from rankwright.types import Array

Reduce = Literal["sum", "max", "softmax"]
REDUCES = ("sum", "max", "softmax")
_LONGEST_SUM = 8
_MOST_STATES = 2_000_000
_NO_KEYS = np.zeros(0)


class ListwiseLosses(QueryLosses):
    """A convex function of Δ(y) + c(y)ᵀs − tᵀs of all rankings y at once.

    A `Point` has values, gradient, and as ``pulls`` what the value has beside gradientᵀs: pulls + gradientᵀs is a plane
    that touches the loss, and is nowhere above it.
    """

    def __init__(self, judgments: Judgments, hinge: StructuredLosses) -> None:
        super().__init__(judgments)
        self._weights, self._levels = hinge.weights, hinge.levels
        self._known = (self.offsets, self._levels, hinge.targets, self._weights)
        self._ranks: tuple[Array | None, Array | None] = (None, None)
        if isinstance(hinge, NDCGLosses):
            self._ranks = (hinge.position_weights, hinge.discounts)

    @abstractmethod
    def reduce(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Fill in values and gradient for queries first … last − 1."""

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """The values, and the planes that touch them."""
        self.reduce(first, last, scores, point)
        run, starts = slice(int(self.offsets[first]), int(self.offsets[last])), self.offsets[first:last]
        # Differences alone count: gradients of a query add up to 0.
        moved = scores[run] - np.repeat(scores[starts], np.diff(self.offsets[first : last + 1]))
        slopes = np.add.reduceat(point.gradient[run] * moved, starts - starts[0])
        point.pulls[first:last] = point.values[first:last] - slopes

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """No method that needs it can minimise this loss."""
        raise ParameterError("the listwise hinge has no Hessian-vector product: reduce by 'max', or take its gradient")


class HingeSums(ListwiseLosses):
    """Σ_y (Δ(y) + c(y)ᵀs − tᵀs)_+ over all rankings but the ideal ones."""

    def __init__(self, judgments: Judgments, hinge: StructuredLosses) -> None:
        super().__init__(judgments, hinge)
        too_long = (judgments.sizes > _LONGEST_SUM) & (self._weights > 0)
        if too_long.any():
            q = int(np.argmax(too_long))
            raise DataError(
                f"query {self.grouping.query_id(q)!r} has {judgments.sizes[q]} documents: the sum over all their "
                f"orders is computed for at most {_LONGEST_SUM}; take reduce='softmax' or 'max'"
            )

    def reduce(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Order by order."""
        out = (point.values, point.gradient)
        listwise_kernels.sum_of_hinges(first, last, scores, self._known, *self._ranks, out)


class SoftMaxima(ListwiseLosses):
    """T log Σ_y exp((Δ(y) + c(y)ᵀs − tᵀs) / T) over rankings y that differ by more than the order within a level.

    Documents of one level stand by descending score. So each term is the maximum over the orders within levels, and
    convex; and the logarithm of a sum of exponentials of convex functions is convex.
    """

    def __init__(self, judgments: Judgments, hinge: StructuredLosses, temperature: float) -> None:
        super().__init__(judgments, hinge)
        self.temperature = temperature
        self._level_of, n_levels = _numbered_levels(self._levels, self.offsets)
        for q in np.flatnonzero(self._weights > 0):
            states = self._n_states(int(judgments.sizes[q]), int(n_levels[q]))
            if states > _MOST_STATES:
                raise DataError(
                    f"query {self.grouping.query_id(int(q))!r} has {judgments.sizes[q]} documents of {n_levels[q]} "
                    f"levels: its soft-maximum would take more than {_MOST_STATES:,} states; lower the cutoff"
                )

    def _n_states(self, size: int, n_levels: int) -> int:
        discounts = self._ranks[1]
        if discounts is None:  # at most (m/2 + 1)² of two classes
            return (size // 2 + 1) ** 2
        return comb(min(size, len(discounts)) + n_levels, n_levels)

    def point(self) -> Point:
        """Also keeps the ranking by scores."""
        point = super().point()
        point.kept["order"] = np.empty(self.n_documents, np.int32)
        return point

    def reduce(self, first: int, last: int, scores: Array, point: Point) -> None:
        """By dynamic programming over how many documents of each level have been placed."""
        order, out = point.kept["order"], (point.values, point.gradient)
        rank_documents(scores, _NO_KEYS, KEEP_ORDER, self.offsets, first, last, order)
        soft = (order, self._level_of, self.temperature)
        listwise_kernels.soft_maximum(first, last, scores, self._known, *self._ranks, out, soft)


def _numbered_levels(
    levels: Array, offsets: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """The levels of each query numbered from 0 on, ascending, for each document; and how many each query has."""
    order = ranking_by_scores(-levels, offsets)
    along = levels[order]
    is_new = np.zeros(len(along), np.int64)
    is_new[1:] = along[1:] != along[:-1]
    is_new[offsets[:-1]] = 0
    numbers = np.cumsum(is_new)
    numbers -= np.repeat(numbers[offsets[:-1]], np.diff(offsets))
    level_of = np.empty(len(along), np.int32)
    level_of[order] = numbers
    return level_of, numbers[offsets[1:] - 1] + 1


@dataclass(frozen=True, eq=False)
class ListwiseHinge(Loss):
    r"""Σ_y (Δ(y) − wᵀΨ(x, t) + wᵀΨ(x, y))_+ (paper P, definition 3), or the maximum, or a soft-maximum over rankings y.

    Measure, Ψ, position weights and the ideal ranking t are those of `StructuredHinge`. ``reduce`` is

    - "sum": over all rankings that are not ideal; queries may have 8 documents at most, as there are 8! orders;
    - "max": `StructuredHinge` itself;
    - "softmax": T log Σ exp(… / T) with ``temperature`` T, at least the maximum and the nearer to it the smaller T is.
      Rankings count once for all orders of documents that the measure cannot tell apart, and for NDCG up to the cutoff.

    Paper P's Ψ over all pairs is that of linear A over all ranks: A(r) = (m − r) · 4 / m(m − 1) for a list of m.

    >>> import rankwright as rw
    >>> queries = rw.Queries(None, [1, 0])
    >>> rw.losses.ListwiseHinge("ndcg@1", reduce="sum").on(queries).at([0.5, 0.0]).value
    0.5
    """

    measure: str | Measure = "ndcg@10"
    reduce: Reduce = "max"
    temperature: float = 1.0
    position_weights: Any = "linear"
    convention: str | Convention = "default"

    def __post_init__(self) -> None:
        self._hinge()
        check_choice("reduce", self.reduce, REDUCES)
        check_positive("temperature", self.temperature)

    def _hinge(self) -> StructuredHinge:
        return StructuredHinge(self.measure, self.position_weights, "convex", self.convention)

    @property
    def is_smooth(self) -> bool:
        """Its curvature is not computed."""
        return False

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> QueryLosses:
        """The hinge on these queries."""
        judgments = judgments_of(queries)
        hinge = self._hinge().on(judgments, sample_weight)
        if self.reduce == "max":
            return hinge
        if self.reduce == "sum":
            return HingeSums(judgments, hinge)
        return SoftMaxima(judgments, hinge, float(self.temperature))
