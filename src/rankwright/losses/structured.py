"""Structured hinges: bounds of a measure's loss by the ranking that violates its margin most (paper L, eq. 12, 14)."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice
from rankwright.errors import ParameterError
from rankwright.judgments.judgments import Judged, Judgments, judgments_of
from rankwright.losses import ndcg_kernels, precision_kernels
from rankwright.losses.loss import Loss, LossAtScores, Point, QueryLosses, query_weights
from rankwright.losses.standardise import gains
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, measures_of
from rankwright.measures.sorting import BY_SECOND_KEY, KEEP_ORDER, rank_documents
from rankwright.types import Array

Bound = Literal["convex", "tight"]
Rescale = Literal["margin", "slack"]
BOUNDS = ("convex", "tight")
RESCALES = ("margin", "slack")
POSITION_WEIGHTS = ("linear", "inverse-sqrt", "discount")
_NAMES = f"one of {', '.join(map(repr, POSITION_WEIGHTS))} (of StructuredRanker also 'learned')"
_NO_KEYS = np.zeros(0)


class StructuredLosses(QueryLosses):
    """ξ_q(s) = max_y Δ_q(y) + c(y)ᵀs − tᵀs: a maximum over rankings y, each linear in the scores.

    A `Point` has ξ as ``values``, c(ŷ) − t as ``gradient`` and Δ(ŷ) as ``pulls``, for the ranking ŷ found: so ξ is
    pulls + gradientᵀs there, and at least that much for all other scores. ``targets`` is t, for each document, or None:
    then it is c of the ranking by scores, and ξ is no longer convex.

    With rescaled slacks ξ_q = max_y Δ_q(y)(1 + c(y)ᵀs − tᵀs), and the gradient has the factor Δ(ŷ), too. ŷ is then the
    best ranking that a search finds, which need not be the best of all; ``kept["bounds"]`` has what ξ cannot exceed.
    """

    targets: Array | None

    def __init__(self, judgments: Judgments, weights: Array, rescale: Rescale) -> None:
        super().__init__(judgments)
        self.weights, self.rescale = weights, rescale

    @property
    @abstractmethod
    def levels(self) -> Array:
        """Of each document, what of its grade the measure sees."""

    @abstractmethod
    def predicted_targets(self, scores: Array) -> Array:
        """c of the ranking by scores."""

    def with_targets(self, targets: Array | None) -> Self:
        """The same loss with other targets."""
        other = copy(self)
        other.targets = targets
        return other

    def point(self) -> Point:
        """Also keeps bounds, if slacks are rescaled."""
        point = super().point()
        if self.rescale == "slack":
            point.kept["bounds"] = np.zeros(self.n_queries)
        return point

    def at(self, scores: npt.ArrayLike) -> HingeAtScores:
        """The loss at these scores, one for each row."""
        return HingeAtScores(self, super().at(scores)._point)

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """There is no curvature but at corners."""
        out[self.offsets[first] : self.offsets[last]] = 0.0


class HingeAtScores(LossAtScores):
    """A structured hinge at some scores, in the order of the caller's rows."""

    @property
    def bounds(self) -> Array:
        """What the exact loss of each query cannot exceed: the loss itself, unless slacks are rescaled."""
        bounds: Array = self._point.kept.get("bounds", self._point.values)
        return bounds


class NDCGLosses(StructuredLosses):
    """Δ = 1 − NDCG@k, and c(y)_i = A(y_i) (paper L, eq. 1 and 3)."""

    def __init__(self, judgments: Judgments, weights: Array, hinge: StructuredHinge, gains: Array) -> None:
        super().__init__(judgments, weights, hinge.rescale)
        self.discounts, position_weights = hinge.ranks(judgments.whole.longest_query)
        self._is_convex = hinge.is_convex
        codes = np.repeat(np.arange(self.n_queries), np.diff(self.offsets))
        self._by_gain = np.lexsort((gains, codes)).astype(np.int32)
        ideal = self._ideal_dcg(gains)
        self.weights = np.where(ideal > 0, weights, 0.0)
        self._gains = gains / np.where(ideal > 0, ideal, 1.0)[codes]
        self._ideal = self._ideal_dcg(self._gains)  # 1, as exactly as the loss is computed
        self._set_position_weights(position_weights)

    def _set_position_weights(self, position_weights: Array) -> None:
        self.position_weights = position_weights
        slope = np.arctan2(self.discounts, position_weights)
        counts = (position_weights > 0) | (self.discounts > 0)  # where both are 0, no document is better than another
        ends = [int(np.where(counts, slope, np.inf).argmin()), int(np.where(counts, slope, -np.inf).argmax())]
        self._rows = np.zeros((2, max(len(slope), int(np.diff(self.offsets).max(initial=1)))))
        self._rows[:, : len(slope)] = position_weights, self.discounts
        # The flattest and the steepest pair (A_r, D_r), and the mean of all: `assignment_kernels` says what for.
        self._cone = np.append(self._rows[:, ends].T.ravel(), self._rows[:, : len(slope)].mean(axis=1))
        self.targets = self._ideal_targets() if self._is_convex else None

    def with_position_weights(self, position_weights: npt.ArrayLike) -> Self:
        """The same loss with other A(1), A(2), …, as many as now."""
        weights = checked_position_weights(position_weights)
        if len(weights) != len(self.position_weights):
            raise ParameterError(f"position_weights must be {len(self.position_weights)} numbers, not {len(weights)}")
        other = copy(self)
        other._set_position_weights(weights)
        return other

    @property
    def levels(self) -> Array:
        """Gains over the ideal DCG of the query."""
        return self._gains

    def weights_by_place(self) -> Array:
        """A at each place of each query's ranking, one query after the other."""
        rank = np.arange(self.n_documents) - np.repeat(self.offsets[:-1], np.diff(self.offsets))
        by_place: Array = np.append(self.position_weights, 0.0)[np.minimum(rank, len(self.position_weights))]
        return by_place

    def _ideal_ranking(self) -> npt.NDArray[np.int32]:
        """The documents of each query by descending gain."""
        sizes = np.diff(self.offsets)
        return self._by_gain[np.repeat(self.offsets[1:] + self.offsets[:-1] - 1, sizes) - np.arange(self.n_documents)]

    def _ideal_dcg(self, gains: Array) -> Array:
        ideal = np.empty(self.n_queries)
        ndcg_kernels.ideal_dcg(gains, self._by_gain, self.offsets, self.discounts, ideal)
        return ideal

    def _ideal_targets(self) -> Array:
        """A of the ideal ranking; documents of equal gains share their ranks, so they have the mean of A there.

        Paper L takes one of the ideal rankings at random. The mean over all of them gives the expectation of ξ.
        """
        order, targets = self._ideal_ranking(), np.empty(self.n_documents)
        targets[order] = _means_of_ties(self.weights_by_place(), self._gains[order], self.offsets)
        return targets

    def target_scores(self, scores: Array) -> Array:
        """The score at each rank, query by query, of the ranking that the targets are from: tᵀs = Σ_r A_r of these."""
        if self.targets is None:
            return scores[ranking_by_scores(scores, self.offsets)]
        order = self._ideal_ranking()
        return _means_of_ties(scores[order], self._gains[order], self.offsets)

    def _known(self) -> tuple[Any, ...]:
        """What `ndcg_kernels` calls so."""
        of_documents = (self.offsets, self._by_gain, self._gains, self._ideal)
        return (*of_documents, len(self.position_weights), self._rows, self._cone, self.weights)

    def plane(self, scores: Array, target_scores: Array) -> Array:
        """Σ_q ξ_q as a function of A: the slopes, then the offset."""
        plane = np.zeros(len(self.position_weights) + 1)
        ndcg_kernels.add_plane(scores, target_scores, self._known(), plane)
        return plane

    def predicted_targets(self, scores: Array) -> Array:
        """A of the ranking by scores; of tied documents the better comes first, so that less is asked of scores."""
        targets = np.empty(self.n_documents)
        targets[ranking_by_scores(scores, self.offsets, -self._gains)] = self.weights_by_place()
        return targets

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """By assignment."""
        out = (point.values, point.pulls, point.gradient)
        ndcg_kernels.evaluate(first, last, scores, self._known(), self.targets, out, point.kept.get("bounds"))


class APLosses(StructuredLosses):
    """Δ = 1 − AP, and c(y)ᵀs = Σ ±(s_i − s_j) / RM over pairs of a relevant i and another j (Yue et al. 2007).

    The sign is + where i stands above j. R and M are the numbers of relevant and of other documents; a query that lacks
    either has no loss.
    """

    def __init__(
        self, judgments: Judgments, weights: Array, hinge: StructuredHinge, is_relevant: npt.NDArray[np.bool_]
    ) -> None:
        n_relevant = np.add.reduceat(is_relevant, judgments.grouping.offsets[:-1], dtype=np.int64)
        n_others = judgments.sizes - n_relevant
        super().__init__(judgments, np.where((n_relevant > 0) & (n_others > 0), weights, 0.0), hinge.rescale)
        self._is_relevant = is_relevant
        self._harmonic = np.append(0.0, np.cumsum(1 / np.arange(1.0, judgments.sizes.max(initial=1) + 1)))
        per_document = [np.repeat(np.maximum(count, 1), judgments.sizes) for count in (n_relevant, n_others)]
        self.targets = np.where(is_relevant, 1 / per_document[0], -1 / per_document[1]) if hinge.is_convex else None

    @property
    def levels(self) -> Array:
        """1 for relevant documents, 0 for others."""
        return self._is_relevant.astype(np.float64)

    def point(self) -> Point:
        """Also keeps the ranking by scores."""
        point = super().point()
        point.kept["order"] = np.empty(self.n_documents, np.int32)
        return point

    def predicted_targets(self, scores: Array) -> Array:
        """c of the ranking by scores; of tied documents the relevant ones come first."""
        targets = np.zeros(self.n_documents)
        order = ranking_by_scores(scores, self.offsets, -self._is_relevant.astype(np.float64))
        precision_kernels.add_predicted(scores, order, self.offsets, self._is_relevant, self.weights, targets)
        return targets

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Sort, then find the place of each document that is not relevant."""
        order, bounds = point.kept["order"], point.kept.get("bounds")
        rank_documents(scores, _NO_KEYS, KEEP_ORDER, self.offsets, first, last, order)
        known, out = (self.offsets, self._is_relevant, self._harmonic, self.weights), (point.values, point.pulls)
        precision_kernels.evaluate(first, last, scores, order, known, self.targets, (*out, point.gradient), bounds)


def _means_of_ties(values: Array, keys: Array, offsets: npt.NDArray[np.int64]) -> Array:
    """Each value replaced by the mean over its neighbours with the same key in the same query."""
    is_first = np.ones(len(keys), np.bool_)
    is_first[1:] = keys[1:] != keys[:-1]
    is_first[offsets[:-1]] = True
    firsts = np.flatnonzero(is_first)
    sizes = np.diff(np.append(firsts, len(keys)))
    means: Array = np.repeat(np.add.reduceat(values, firsts) / sizes, sizes)
    return means


def ranking_by_scores(scores: Array, offsets: npt.NDArray[np.int64], keys: Array = _NO_KEYS) -> npt.NDArray[np.int32]:
    """The documents of each query by descending score; tied ones by ascending key, or else in their order."""
    order = np.empty(len(scores), np.int32)
    ties = BY_SECOND_KEY if len(keys) else KEEP_ORDER
    rank_documents(scores, keys, ties, offsets, 0, len(offsets) - 1, order)
    return order


@dataclass(frozen=True, eq=False)
class StructuredHinge(Loss):
    r"""max_y Δ(y) + wᵀΨ(x, y) − wᵀΨ(x, t): at least the loss Δ = 1 − measure of the ranking by scores.

    With ``bound="convex"`` t is the ideal ranking (paper L, eq. 12), with "tight" the ranking by scores (eq. 14), which
    gives less but is not convex. A query without a relevant document has no loss.

    For ``measure`` NDCG, Ψ(x, y) = Σ_i x_i A(y_i), where A is "linear" (max(k + 1 − r, 0)), "inverse-sqrt" (1/√r),
    "discount" (that of the measure) or numbers for ranks 1, 2, …, which must not rise. For AP, without a cutoff, Ψ is
    the mean of ±(x_i − x_j) over pairs of a relevant i and another j, + if i stands above j (Yue et al. 2007), and
    there is no A to choose.

    With ``rescale="slack"`` it is max_y Δ(y)(1 + wᵀΨ(x, y) − wᵀΨ(x, t)) instead (paper L, section 6): a quadratic
    assignment. The value is then that of the best ranking found, first among those that maximise wᵀΨ(x, y) + μΔ(y) for
    some μ ≥ 0, then by exchanges of documents: at most the exact one, at least Δ of the ranking by scores; ``bounds``
    tells what the exact one may be.

    >>> import rankwright as rw
    >>> queries = rw.Queries(None, [1, 0])
    >>> rw.losses.StructuredHinge("ndcg@1").on(queries).at([0.5, 0.0]).values
    array([0.5])
    >>> rw.losses.StructuredHinge("map", rescale="slack").on(queries).at([0.25, 0.0]).bounds
    array([0.25])
    """

    measure: str | Measure = "ndcg@10"
    position_weights: Any = "linear"
    bound: Bound = "convex"
    convention: str | Convention = "default"
    rescale: Rescale = "margin"

    def __post_init__(self) -> None:
        measure = checked_measure(self.measure)
        convention_of(self.convention)
        check_choice("bound", self.bound, BOUNDS)
        check_choice("rescale", self.rescale, RESCALES)
        position_weights_of(self.position_weights, measure, 1, np.ones(1))

    @property
    def is_smooth(self) -> bool:
        """It has corners where another ranking becomes the most violating one."""
        return False

    @property
    def is_convex(self) -> bool:
        """The tight bound is not."""
        return self.bound == "convex"

    @property
    def is_exact(self) -> bool:
        """With rescaled slacks, rankings are searched for along a line only."""
        return self.rescale == "margin"

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> StructuredLosses:
        """The bound on these queries."""
        judgments, measure = judgments_of(queries), checked_measure(self.measure)
        of_query = query_weights(judgments, sample_weight)
        convention = convention_of(self.convention).but(**dict(measure.options))
        if measure.name == "AP":
            is_relevant = judgments.grouping.gather(judgments.y) >= convention.relevant_from
            return APLosses(judgments, of_query, self, is_relevant)
        return NDCGLosses(judgments, of_query, self, gains(judgments, convention))

    def ranks(self, longest_query: int) -> tuple[Array, Array]:
        """D and A of as many ranks as either of them counts, where the longest of all queries has so many documents."""
        measure = checked_measure(self.measure)
        convention = convention_of(self.convention).but(**dict(measure.options))
        discounts = convention.discounts(measure.cutoff or max(longest_query, 1))
        weights = position_weights_of(self.position_weights, measure, len(discounts), discounts)
        longest = max(np.flatnonzero(weights)[-1] + 1, len(discounts))
        padded = [np.pad(numbers[:longest], (0, max(longest - len(numbers), 0))) for numbers in (discounts, weights)]
        return padded[0], padded[1]


def checked_measure(given: Any) -> Measure:
    """NDCG, or AP without a cutoff."""
    measures = measures_of(given)
    if len(measures) != 1 or measures[0].name not in ("nDCG", "AP"):
        raise ParameterError(f"measure must be nDCG or AP, such as 'ndcg@10' or 'map', not {given!r}")
    if measures[0].name == "AP" and measures[0].cutoff is not None:
        raise ParameterError(f"measure {measures[0]}: a structured hinge of AP takes no cutoff")
    return measures[0]


def position_weights_of(given: Any, measure: Measure, depth: int, discounts: Array) -> Array:
    """A(1), A(2), …: by name for so many ranks, or as given."""
    rank = np.arange(1.0, depth + 1)
    if measure.name == "AP" and not (isinstance(given, str) and given == "linear"):
        raise ParameterError("position_weights: there are none for AP, leave them out")
    if isinstance(given, str):
        if given not in POSITION_WEIGHTS:
            raise ParameterError(f"position_weights must be {_NAMES}, or numbers, not {given!r}")
        by_name: dict[str, Array] = {
            "linear": depth + 1 - rank,
            "inverse-sqrt": 1 / np.sqrt(rank),
            "discount": discounts,
        }
        return by_name[given]
    return checked_position_weights(given)


def checked_position_weights(given: Any) -> Array:
    """Numbers that do not rise."""
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        weights = np.array(np.nan)
    if weights.ndim != 1 or len(weights) == 0 or not np.isfinite(weights).all():
        raise ParameterError(f"position_weights must be finite numbers, one for each rank, or {_NAMES}, not {given!r}")
    if (np.diff(weights) > 0).any() or weights[-1] < 0 or weights[0] == 0:
        raise ParameterError("position_weights must not rise with the rank, nor be negative, and begin above 0")
    return weights
