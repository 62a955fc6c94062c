"""The ranking that violates a margin most, for all of 3,000 queries × 120 documents at once, NDCG@10 and AP."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment

import rankwright as rw
from benchmarks.pair_fits import collection, timed_beside_passes
from benchmarks.timing import Row, alternate
from rankwright.losses.loss import Point
from rankwright.losses.structured import StructuredLosses
from rankwright.machine.threads import for_query_ranges

_CUTOFF = 10
_PASSES = 3
# Scores of RankRLS are of the size of grades. The margins ask for much less, so a hinge's own weights are smaller.
_SCALES = (1.0, 0.1)
_ALPHA = 3e4
_MOST_REPEATS = 15


def run(repeats: int) -> list[Row]:
    """At a fitted ranker's scores, and at smaller ones, beside passes over X and beside SciPy query by query."""
    queries, few = collection(), min(repeats, _MOST_REPEATS)
    fitted = rw.RankRLS(alpha=1.0).fit(queries)
    ndcg = rw.losses.StructuredHinge(f"ndcg@{_CUTOFF}", bound="tight").on(queries)
    scores = ndcg.grouped(fitted.predict(queries.X), "score")
    trained = rw.StructuredRanker(f"ndcg@{_CUTOFF}", alpha=_ALPHA).fit(queries)
    tried = {f"RankRLS × {scale:g}": scale * scores for scale in _SCALES}
    tried["own"] = ndcg.grouped(trained.predict(queries.X), "score")
    rows: list[Row] = []
    for which, at in tried.items():
        name = f"arg-max, NDCG@{_CUTOFF}, {which} scores"
        rows += [_beside_passes(name, queries, ndcg, at, few), _beside_scipy(name, queries, ndcg, at, few)]
    average_precision = rw.losses.StructuredHinge("map", bound="tight").on(queries)
    return [*rows, _beside_passes("arg-max, AP", queries, average_precision, 0.1 * scores, few)]


def _beside_passes(
    name: str, queries: rw.Queries, losses: StructuredLosses, scores: npt.NDArray[np.float64], repeats: int
) -> Row:
    point = losses.point()
    ours, one_pass = timed_beside_passes(queries, lambda: _evaluate(losses, scores, point), repeats)
    return Row(name, f"{_PASSES} passes of X·w", ours, _PASSES * one_pass, 1, "NumPy in float32, all threads")


def _beside_scipy(
    name: str, queries: rw.Queries, losses: StructuredLosses, scores: npt.NDArray[np.float64], repeats: int
) -> Row:
    point = losses.point()
    np.testing.assert_allclose(_evaluate(losses, scores, point), by_scipy(queries, scores), rtol=1e-9, atol=1e-9)
    sides: dict[str, Callable[[], object]] = {
        "ours": lambda: _evaluate(losses, scores, point),
        "peer": lambda: by_scipy(queries, scores),
    }
    taken = alternate(sides, repeats)
    note = "linear_sum_assignment of all documents; equal losses"
    return Row(name, "SciPy, query by query", taken["ours"], taken["peer"], 10, note)


def _evaluate(losses: StructuredLosses, scores: npt.NDArray[np.float64], point: Point) -> npt.NDArray[np.float64]:
    """The loss of every query and its gradient, on all threads."""
    for_query_ranges(lambda first, last: losses.evaluate(first, last, scores, point), losses.offsets)
    return point.values


def by_scipy(queries: rw.Queries, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """max_y Δ(y) + Σ A(y_i) s_i − max_y Σ A(y_i) s_i from the full matrix of ranks × documents, A = k + 1 − r."""
    offsets, gains = queries.grouping.offsets, np.exp2(queries.grouping.gather(queries.y)) - 1
    rank = np.arange(1, _CUTOFF + 1)
    losses = np.zeros(queries.n_queries)
    for q in range(queries.n_queries):
        own, gain = (values[offsets[q] : offsets[q + 1]] for values in (scores, gains))
        n = min(_CUTOFF, len(own))
        weights, discounts = (_CUTOFF + 1.0 - rank)[:n], 1 / np.log2(rank + 1)[:n]
        ideal = discounts @ np.sort(gain)[::-1][:n]
        if ideal > 0:
            worth = np.outer(weights, own) - np.outer(discounts, gain / ideal)
            losses[q] = 1 + worth[linear_sum_assignment(worth, maximize=True)].sum() - weights @ np.sort(own)[::-1][:n]
    return losses
