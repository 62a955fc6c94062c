"""Trees grown one by one and judged on the way, by whichever library: what `BoostedRanker` keeps of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rankwright.boosting.derivatives import Derivatives
from rankwright.boosting.drawn import DrawnDerivatives
from rankwright.boosting.growing import Growth, OwnObjective, Rounds, errors_of
from rankwright.boosting.lightgbm_rounds import LightGBMRounds
from rankwright.boosting.named_losses import Library
from rankwright.boosting.xgboost_rounds import XGBoostRounds
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.losses.loss import Loss
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.progress import Progress, Tell
from rankwright.rankers.judged_rounds import JudgedRounds, held_out_queries, rounds_frame
from rankwright.selection.search import Estimate
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.data.frames import Backend

_ROUNDS: dict[Library, type[Rounds]] = {"lightgbm": LightGBMRounds, "xgboost": XGBoostRounds}


@dataclass(frozen=True, eq=False)
class TreePath:
    """What measures said after each tree that was tried, on queries that it was not grown on.

    Attributes
    ----------
    n_tried : trees that were grown while watching, or all if nothing was watched
    valid : of each measure, an Estimate after each tree
    """

    n_tried: int
    valid: dict[Measure, list[Estimate]] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.n_tried

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each tree: trees, ``valid nDCG @ 10``, its standard error, and so on for each measure."""
        return rounds_frame({"trees": np.arange(1, self.n_tried + 1)}, self.valid, backend)


class Grown(NamedTuple):
    """Trees in the format of their library, how many there are, and what was told on the way."""

    text: str
    n_trees: int
    path: TreePath


@dataclass(frozen=True, eq=False)
class TreeBoosting:
    """How trees are grown and judged, for any queries; ``loss`` is ours, or the name of one of the library's."""

    loss: Loss | str
    library: Library
    growth: Growth
    measures: tuple[Measure, ...]
    convention: Convention
    patience: int | None
    progress: Tell | None

    def grown(self, queries: Queries, weights: Array | None, watched: Queries | None, n_trees: int) -> Grown:
        """As many trees as rank the watched queries best, or all; ``weights`` are those of queries."""
        with errors_of(self.library):
            return self._grown(queries, weights, watched, n_trees)

    def _grown(self, queries: Queries, weights: Array | None, watched: Queries | None, n_trees: int) -> Grown:
        rounds = self._rounds(queries, weights, watched)
        judge = None if watched is None else _judge_of(watched, self.measures, self.convention)
        added = 0
        while added < n_trees and not (judge and judge.has_waited(self.patience)):
            has_grown = rounds.add()
            if not has_grown and added > 0:
                break
            added += 1
            if judge is not None:
                judge.hear(rounds.watched_scores())
            if self.progress is not None:
                self.progress(Progress("boosting", added, n_trees))
            if not has_grown:
                break
        kept = added if judge is None else judge.best
        return Grown(rounds.text(kept), kept, TreePath(added, {} if judge is None else judge.told))

    def grown_by_share(self, queries: Queries, weights: Array | None, share: float, n_trees: int) -> Grown:
        """The same number of trees on all queries as was best on a part of them, when grown on the others."""
        is_watched = held_out_queries(queries.n_queries, weights, share, self.growth.seed)
        if is_watched is None:
            if self.patience is not None:
                raise ParameterError("patience needs validation queries, and validation_share holds out fewer than 10")
            return self.grown(queries, weights, None, n_trees)
        of_others = None if weights is None else weights[~is_watched]
        tried = self.grown(queries[~is_watched], of_others, queries[is_watched], n_trees)
        return self.grown(queries, weights, None, tried.n_trees)._replace(path=tried.path)

    def _rounds(self, queries: Queries, weights: Array | None, watched: Queries | None) -> Rounds:
        return _ROUNDS[self.library](queries, self._objective(queries, weights), weights, self.growth, watched)

    def _objective(self, queries: Queries, weights: Array | None) -> OwnObjective | str:
        if isinstance(self.loss, str):
            return self.loss
        derivatives = Derivatives(self.loss, _judgments(queries), weights)
        if self.growth.query_share == 1:
            return derivatives
        return DrawnDerivatives(derivatives, queries.sizes, self.growth.query_share, self.growth.seed)


def _judgments(queries: Queries) -> Judgments:
    """Those of the rows with each query's rows together, as trees are grown on them."""
    return queries.judgments.run(0, queries.n_queries)


def _judge_of(watched: Queries, measures: tuple[Measure, ...], convention: Convention) -> JudgedRounds:
    return JudgedRounds(_judgments(watched), measures, convention)
