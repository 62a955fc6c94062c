"""Losses that are sums over pairs of documents: preorder (paper O, eq. 5 and 14), order-preserving (eq. 6), and
position-sensitive (paper P, definition 1)."""

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
from rankwright.judgments.supervision import FullRanking, PreferenceGraph
from rankwright.losses import edge_kernels, group_kernels, logistic_kernels, pair_kernels
from rankwright.losses.loss import Loss, Point, QueryLosses, query_weights
from rankwright.losses.phi import Phi, check_order_preserving, phi_of
from rankwright.losses.standardise import check_standardisation, gains, standardised
from rankwright.measures.conventions import CONVENTIONS, Convention
from rankwright.measures.sorting import KEEP_ORDER, LEAVE_TIED, rank_documents
from rankwright.types import Array

Weights = Literal["unit", "per-query", "gain-per-query"]
Margin = Literal["unit", "position"]
WEIGHTS = ("unit", "per-query", "gain-per-query")
MARGINS = ("unit", "position")


# By what part sums over windows may be off.
_ROUNDINGS = 64 * np.finfo(np.float64).eps


class MarginLosses(QueryLosses):
    """Sums of φ of differences of scores, where a pair is asked to be ``margin`` apart."""

    margin: float
    phi: Phi

    def _set_phi(self, phi: Phi) -> None:
        self.phi = phi
        self._parameters = phi.parameters(self.margin)
        self._table = logistic_kernels.tables() if phi.is_logistic else None

    def with_phi(self, phi: Phi) -> Self:
        """The same pairs and weights with another φ."""
        other = copy(self)
        other._set_phi(phi)
        return other

    @abstractmethod
    def margins_met(self, point: Point) -> float:
        """Σ −w_ij φ' · margin_ij over all pairs, what the dual objective of a hinge asks for."""


Sides = tuple[Array, Array]  # left and right, a row for each term and a column for each document


class PairLosses(MarginLosses):
    """Σ w_ij φ(z_i − z_j) with z = s − shift, over groups of pairs whose weights are sums of left_i · right_j."""

    def __init__(
        self, judgments: Judgments, phi: Phi, groups: Groups, sides: Sides, margin: float, shift: Array | None = None
    ) -> None:
        super().__init__(judgments)
        self._groups, (self._left, self._right) = groups, sides
        self.margin, self.shift = margin, shift
        self._set_phi(phi)

    def point(self) -> Point:
        """Also keeps z, the ranking by it, and for each member of a group the window of its counterparts."""
        point = super().point()
        members, low, high = np.empty((3, self._groups.n_members), np.int32)
        order, z = np.empty(self.n_documents, np.int32), np.empty(self.n_documents)
        point.kept = {"members": members, "low": low, "high": high, "order": order, "z": z}
        return point

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Sort once, then go through the groups."""
        begin, end = self.offsets[first], self.offsets[last]
        z, order = point.kept["z"], point.kept["order"]
        z[begin:end] = scores[begin:end]
        if self.shift is not None:
            z[begin:end] -= self.shift[begin:end]
        pair_kernels.centre(z, self.offsets, first, last)
        rank_documents(z, np.zeros(0), KEEP_ORDER, self.offsets, first, last, order)
        pair_kernels.evaluate(first, last, *self.evaluated(point))

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """Sums over windows of the members; of the logistic function, sums over all."""
        pair_kernels.curve(direction, first, last, 0, out, *self.curved(point))

    def curve_columns(self, first: int, last: int, point: Point, columns: Array) -> Array:
        """All in one kernel."""
        out = np.empty_like(columns)
        pair_kernels.curve_columns(columns, first, last, out, *self.curved(point))
        return out

    def evaluated(self, point: Point) -> tuple[Any, ...]:
        """What `pair_kernels.evaluate` reads and writes."""
        out = (point.values, point.pulls, point.gradient, point.diagonal)
        return (*self._known(point), point.kept["order"], self._groups.levels, out)

    def curved(self, point: Point) -> tuple[Any, ...]:
        """What `pair_kernels.curve` reads."""
        return (*self._known(point), point.diagonal)

    def _known(self, point: Point) -> tuple[Any, ...]:
        """Pairs, φ and its table, as `pair_kernels` takes them."""
        kept, groups = point.kept, self._groups
        pairs = (kept["z"], self._left, self._right, self.offsets, groups.first, groups.table)
        return (*pairs, kept["members"], kept["low"], kept["high"]), self._parameters, self._table

    def margins_met(self, point: Point) -> float:
        """Σ −w_ij φ' · margin_ij over all pairs, less an allowance for rounding.

        Sums from the better and from the worse side are rounded differently: with the gradient, which has both, this
        must not make a bound that no dual point has. A few dozen roundings have been enough wherever it was tried.
        """
        met = self.margin * float(point.pulls.sum())
        if self.shift is not None:
            met -= float(point.gradient @ self.shift)
        size = float(np.abs(point.kept["z"]).max(initial=0.0)) + abs(self.phi.margin_top(self.margin))
        return met - _ROUNDINGS * size * float(point.pulls.sum())


class EdgeLosses(MarginLosses):
    """Σ a_ij φ(s_i − s_j) over the edges of preference graphs: linear in the edges."""

    margin = 1.0

    def __init__(self, judgments: Judgments, phi: Phi, weights: Array) -> None:
        super().__init__(judgments)
        graph = judgments.supervision
        assert isinstance(graph, PreferenceGraph)
        grouping = judgments.grouping
        place = np.empty(judgments.n_documents, np.int64)  # of a row, among the documents query by query
        place[np.arange(judgments.n_documents) if grouping.order is None else grouping.order] = np.arange(len(place))
        of_edge = grouping.codes[graph.preferred]
        by_query = np.argsort(of_edge, kind="stable")
        first = np.searchsorted(of_edge[by_query], np.arange(judgments.n_queries + 1)).astype(np.int64)
        ends = (place[graph.preferred][by_query], place[graph.other][by_query])
        self._edges = (*ends, self.offsets, first)
        self._weights = (graph.weights * weights[of_edge])[by_query]
        self._set_phi(phi)

    def point(self) -> Point:
        """Also keeps φ'' of each edge."""
        point = super().point()
        point.kept = {"curvatures": np.empty(len(self._weights))}
        return point

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Edge by edge."""
        known = (self._edges, self._weights, self._parameters)
        out = (point.values, point.pulls, point.gradient, point.diagonal)
        edge_kernels.evaluate(first, last, scores, *known, out, point.kept["curvatures"])

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """Edge by edge."""
        edge_kernels.curve(first, last, direction, self._edges, point.kept["curvatures"], out)

    def margins_met(self, point: Point) -> float:
        """Σ −a_ij φ' · 1 over all edges; both ends of an edge see the same φ', so nothing is to be rounded down."""
        return self.margin * float(point.pulls.sum())


# Which pairs there are


@dataclass(frozen=True, eq=False)
class Groups:
    """Every pair of documents that counts, in groups: better documents × other documents (see `group_kernels`).

    ``levels`` of documents tell which side of a group they are on; where all are on both, there are none.
    """

    levels: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    table: npt.NDArray[np.int64]
    n_members: int


@dataclass(frozen=True, eq=False)
class Levels:
    """The relevance levels of each query, 0 = its worst: of each document, and how many documents have each."""

    of_document: npt.NDArray[np.int32]
    first: npt.NDArray[np.int64]
    counts: npt.NDArray[np.int64]

    @property
    def per_query(self) -> npt.NDArray[np.int64]:
        """How many levels each query has."""
        return np.diff(self.first)

    def pairs(self) -> Array:
        """How many pairs of documents of different levels each query has."""
        size = np.add.reduceat(self.counts, self.first[:-1])
        same = np.add.reduceat(self.counts**2, self.first[:-1])
        count: Array = (size**2 - same) / 2.0
        return count

    def groups(self) -> Groups:
        """All pairs of documents of different levels."""
        n = len(self.first) - 1
        per_query, members = np.empty(n, np.int64), np.empty(n, np.int64)
        group_kernels.count_groups(self.counts, self.first, per_query, members)
        first_group, first_member = (np.concatenate([[0], np.cumsum(sizes)]) for sizes in (per_query, members))
        table = np.empty((first_group[-1], group_kernels.GROUP_FIELDS), np.int64)
        group_kernels.split_levels(self.counts, self.first, first_group, first_member, table)
        return Groups(self.of_document, first_group, table, int(first_member[-1]))


def levels_of(judgments: Judgments) -> Levels:
    """Dense ranks of grades or of a full ranking within each query."""
    supervision, grouping = judgments.supervision, judgments.grouping
    worth = -supervision.ranks.astype(np.float64) if isinstance(supervision, FullRanking) else judgments.y
    grouped, offsets = np.ascontiguousarray(grouping.gather(worth)), grouping.offsets
    n_queries, order = len(offsets) - 1, np.empty(len(grouped), np.int32)
    of_document, per_query = np.empty(len(grouped), np.int32), np.empty(n_queries, np.int64)
    rank_documents(grouped, np.zeros(0), LEAVE_TIED, offsets, 0, n_queries, order)
    group_kernels.dense_levels(order, offsets, 0, n_queries, of_document, per_query)
    first_level = np.concatenate([[0], np.cumsum(per_query)])
    place = of_document + np.repeat(first_level[:-1], np.diff(offsets))
    return Levels(of_document, first_level, np.bincount(place, minlength=first_level[-1]))


def all_pairs(judgments: Judgments, counts: npt.NDArray[np.bool_]) -> Groups:
    """Each document of a query with each; only of queries that count."""
    sizes, begin = judgments.sizes, 2 * judgments.grouping.offsets[:-1]
    fields: list[Any] = [np.full(len(sizes), -1), sizes, np.full(len(sizes), -1), begin, sizes, begin + sizes, sizes]
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    table = np.stack(fields, axis=1)[counts].astype(np.int64)
    return Groups(np.zeros(0, np.int32), first, table, 2 * judgments.n_documents)


# The losses


@dataclass(frozen=True)
class PreorderLoss(Loss):
    r"""Σ over pairs with y_i > y_j of w_ij φ(s_i − s_j) (paper O, eq. 5 and 14; paper P, definition 1).

    ``weights`` is "unit" (w = 1), "per-query" (w = 1/#pairs) or "gain-per-query" (w = (2^{y_i} − 2^{y_j})/#pairs).
    ``margin`` is "unit", or "position": a hinge then asks for a margin of c/ρ_i − c/ρ_j, where ρ = 1, …, c are the
    ranks of the query's grades, best first. A full ranking has ranks of its own. Of a preference graph, the pairs are
    its edges, and their weights come on top.

    >>> import rankwright as rw
    >>> queries = rw.Queries(None, [2, 0, 1])
    >>> rw.losses.PreorderLoss("squared-hinge").on(queries).at([1.0, 0.0, 0.0]).values
    array([1.])
    """

    phi: str | Phi = "squared-hinge"
    weights: Weights = "unit"
    margin: Margin = "unit"

    def __post_init__(self) -> None:
        phi_of(self.phi)
        check_choice("weights", self.weights, WEIGHTS)
        check_choice("margin", self.margin, MARGINS)

    @property
    def is_smooth(self) -> bool:
        """As its φ is."""
        return phi_of(self.phi).is_smooth

    @property
    def can_be_smoothed(self) -> bool:
        """Its pairs take any φ."""
        return True

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> PairLosses | EdgeLosses:
        """All pairs of documents with different grades, or all edges."""
        judgments = judgments_of(queries)
        of_query, phi = query_weights(judgments, sample_weight), phi_of(self.phi)
        if isinstance(judgments.supervision, PreferenceGraph):
            return self._on_edges(judgments, of_query, phi)
        levels = levels_of(judgments)
        if self.weights != "unit":
            of_query = np.divide(of_query, levels.pairs(), out=np.zeros_like(of_query), where=levels.pairs() > 0)
        of_document = np.repeat(of_query, judgments.sizes)
        ones = np.ones(judgments.n_documents)
        left, right = of_document[None], ones[None]
        if self.weights == "gain-per-query":
            if isinstance(judgments.supervision, FullRanking):
                raise ParameterError("weights='gain-per-query' needs grades, but the queries have a full ranking")
            gain = gains(judgments, CONVENTIONS["default"])  # 2^y − 1, as paper O has it
            left, right = np.stack([of_document * gain, of_document]), np.stack([ones, -gain])
        margin = 1.0 if self.margin == "unit" and not phi.is_logistic else 0.0
        shift = position_margins(levels, judgments) if self.margin == "position" else None
        return PairLosses(judgments, phi, levels.groups(), (left, right), margin, shift)

    def _on_edges(self, judgments: Judgments, of_query: Array, phi: Phi) -> EdgeLosses:
        graph = judgments.supervision
        assert isinstance(graph, PreferenceGraph)
        if self.margin == "position":
            raise ParameterError("margin='position' needs grades or a full ranking: a preference graph has no ranks")
        if self.weights == "gain-per-query":
            raise ParameterError("weights='gain-per-query' needs grades, but the queries have a preference graph")
        if self.weights == "per-query":
            edges = np.bincount(judgments.grouping.codes[graph.preferred], minlength=judgments.n_queries)
            of_query = of_query / np.maximum(edges, 1)
        return EdgeLosses(judgments, phi, of_query)


def position_margins(levels: Levels, judgments: Judgments) -> Array:
    """c/ρ of each document: ρ is its rank among the c levels of its query (paper P, definition 1)."""
    ranks = np.repeat(levels.per_query, judgments.sizes).astype(np.float64)
    margins: Array = ranks / (ranks - levels.of_document)
    return margins


@dataclass(frozen=True)
class OrderPreservingLoss(Loss):
    r"""Σ_i r_i Σ_j φ(s_i − s_j), r = standardised supervision (paper O, eq. 6 and 8).

    ``standardize`` is "dcg" or "ndcg" (at ``cutoff``, with the gain and the discount of ``convention``) for grades,
    "zero-one" for full rankings, "wpd" for preference graphs; ``normalize`` divides by m_q(m_q − 1). φ must satisfy
    theorem 1: "squared-hinge" or "huber-hinge".

    >>> import rankwright as rw
    >>> queries = rw.Queries(None, [1, 0])
    >>> rw.losses.OrderPreservingLoss(standardize="dcg").on(queries).at([1.0, 0.0]).gradient
    array([0., 0.])
    """

    phi: str | Phi = "squared-hinge"
    standardize: str = "ndcg"
    cutoff: int | None = None
    normalize: bool = False
    convention: str | Convention = "default"

    def __post_init__(self) -> None:
        check_order_preserving(phi_of(self.phi))
        check_standardisation(self.standardize, self.cutoff, self.convention)

    @property
    def is_smooth(self) -> bool:
        """As its φ is."""
        return phi_of(self.phi).is_smooth

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> PairLosses:
        """Each document with each, itself included: that adds r_i φ(0), a constant."""
        judgments = judgments_of(queries)
        of_query = query_weights(judgments, sample_weight)
        if self.normalize:
            of_query = of_query / np.maximum(judgments.sizes * (judgments.sizes - 1), 1)
        r = standardised(judgments, self.standardize, self.cutoff, self.convention)
        left = r * np.repeat(of_query, judgments.sizes)
        counts = np.maximum.reduceat(left, judgments.grouping.offsets[:-1]) > 0
        sides = (left[None], np.ones((1, judgments.n_documents)))
        return PairLosses(judgments, phi_of(self.phi), all_pairs(judgments, counts), sides, margin=1.0)
