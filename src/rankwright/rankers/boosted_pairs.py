"""RankBoost's distribution over pairs (Freund et al. 2003, figure 1), of which only sums over documents are kept.

A stump that is 1 for some documents and 0 for the others has the agreement r = Σ_ij D_ij (h_i − h_j) = Σ_i h_i π_i,
where the potential π_i is the weight of i as the better document of pairs minus its weight as the worse one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice
from rankwright.data.queries import Queries
from rankwright.engines.driver import share_by_size
from rankwright.judgments.supervision import PreferenceGraph
from rankwright.losses.pairwise import levels_of
from rankwright.rankers import boosting_kernels as kernels
from rankwright.types import Array

PairWeights = Literal["unit", "per-query"]
PAIR_WEIGHTS = ("unit", "per-query")


class BoostedPairs(ABC):
    """D_ij ∝ w_ij e^{H_j − H_i} over pairs i better than j. Documents stand as ``rows`` lists them."""

    rows: npt.NDArray[np.intp]

    @abstractmethod
    def potentials(self, scores: Array) -> tuple[Array, float]:
        """π of each document at the scores H, and log Σ w_ij e^{H_j − H_i}: −∞, and zeros, if there are no pairs.

        The next call may overwrite π.
        """


class PairsOfLevels(BoostedPairs):
    """All pairs of documents of a query with different grades or ranks, in time linear in the documents."""

    def __init__(self, queries: Queries, weights: Array, *, per_query: bool) -> None:
        levels, grouping = levels_of(queries.judgments), queries.grouping
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        by_level = np.lexsort((levels.of_document, query))
        self.rows = by_level if grouping.order is None else grouping.order[by_level]
        self._offsets, self._first_level = grouping.offsets, levels.first
        self._runs = np.concatenate([[0], np.cumsum(levels.counts)])
        self._log_weights = _log(weights / np.maximum(levels.pairs(), 1) if per_query else weights)
        self._better, self._worse, self._potentials = np.zeros((3, queries.n_documents))
        self._log_better, self._log_worse = np.empty((2, len(levels.counts)))

    def potentials(self, scores: Array) -> tuple[Array, float]:
        """From sums over the levels below and above."""
        levels, factors = (
            (self._runs, self._first_level),
            (self._better, self._worse, self._log_better, self._log_worse),
        )
        log_losses = np.empty(len(self._offsets) - 1)

        def weigh(first: int, last: int) -> None:
            kernels.weigh_pairs(scores, *levels, self._log_weights, first, last, *factors, log_losses)

        def share(first: int, last: int) -> None:
            kernels.potentials_of_levels(*levels, *factors, log_loss, first, last, self._potentials)

        share_by_size(weigh, self._offsets)
        log_loss = _log_of_sum(log_losses)
        if log_loss > -np.inf:
            share_by_size(share, self._offsets)
        return self._potentials, log_loss


class PairsOfGraph(BoostedPairs):
    """The edges of preference graphs, in time linear in the edges."""

    def __init__(self, queries: Queries, weights: Array, *, per_query: bool) -> None:
        graph = queries.supervision
        assert isinstance(graph, PreferenceGraph)
        of_edge = queries.grouping.codes[graph.preferred]
        if per_query:
            weights = weights / np.maximum(np.bincount(of_edge, minlength=queries.n_queries), 1)
        self.rows = np.arange(queries.n_documents)
        self._better, self._worse = graph.preferred, graph.other
        self._log_weights = _log(graph.weights * weights[of_edge])

    def potentials(self, scores: Array) -> tuple[Array, float]:
        """Edge by edge."""
        logs = self._log_weights + scores[self._worse] - scores[self._better]
        log_loss = _log_of_sum(logs)
        if log_loss == -np.inf:
            return np.zeros(len(scores)), log_loss
        shares, potentials = np.exp(logs - log_loss), np.zeros(len(scores))
        potentials += np.bincount(self._better, shares, len(scores))
        potentials -= np.bincount(self._worse, shares, len(scores))
        return potentials, log_loss


def boosted_pairs(queries: Queries, weights: Array, pair_weights: PairWeights) -> BoostedPairs:
    """The pairs of these queries, where queries have weights; pairs weigh 1, or one over their number in the query."""
    check_choice("weights", pair_weights, PAIR_WEIGHTS)
    kind = PairsOfGraph if isinstance(queries.supervision, PreferenceGraph) else PairsOfLevels
    return kind(queries, weights, per_query=pair_weights == "per-query")


def _log(weights: Array) -> Array:
    with np.errstate(divide="ignore"):  # a weight of 0 has none
        return np.log(weights)


def _log_of_sum(logs: Array) -> float:
    """log Σ e^logs."""
    largest = float(logs.max(initial=-np.inf))
    return largest if largest == -np.inf else largest + float(np.log(np.exp(logs - largest).sum()))
