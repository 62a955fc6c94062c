"""`leave_query_out`: scores of every query by the ranker trained without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries, in_memory
from rankwright.errors import ParameterError
from rankwright.evaluation.evaluation import Evaluation, evaluate
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure, measures_of
from rankwright.rankers.alpha_path import ALPHAS
from rankwright.rankers.closed_form import ClosedForm, ClosedFormRanker, check_can_be_left_out
from rankwright.rankers.first_look import any_missing
from rankwright.selection.judging import Judge
from rankwright.selection.search import checked_alphas, given_alphas
from rankwright.types import Array


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What becomes of each query with the ranker trained without it, for every λ of ``alphas``."""

    alphas: Array
    queries: AnyQueries
    solution: ClosedForm

    @cached_property
    def scores(self) -> Array:
        """The scores of documents, λ × rows; only for queries in memory."""
        queries = in_memory(self.queries, "held-out scores: HeldOut.scores", "HeldOut.evaluate")
        return np.stack([queries.grouping.scatter(row) for row in self.solution.held_out_scores(self.alphas)])

    def evaluate(
        self,
        measures: str | Measure | Iterable[str | Measure] = "ndcg@10, map",
        convention: str | Convention = "default",
    ) -> list[Evaluation]:
        """What measures say of the held-out scores, for every λ; of queries in files in one more reading of them."""
        if isinstance(self.queries, Queries):
            return [evaluate(row, self.queries, measures, convention) for row in self.scores]
        judge = Judge(measures_of(measures), convention_of(convention))
        values = self.solution.held_out_values(self.alphas, judge)
        return [
            Evaluation(self.queries.query_ids, dict(zip(judge.measures, of_alpha.T, strict=True)), judge.convention)
            for of_alpha in np.moveaxis(values, 1, 0)
        ]


def leave_query_out(
    ranker: ClosedFormRanker, queries: AnyQueries, alphas: Sequence[float] | npt.ArrayLike | None = None
) -> HeldOut:
    """Score each query by the ranker trained on all others, for every λ, without training again (paper G, theorem 3.1).

    Parameters
    ----------
    ranker : RankRLS, KernelRankRLS or RegressionRanker
        It need not be fitted, and is not changed.
    queries : Queries, or queries that are read from files
        At least two. Of queries in memory all scores are computed now. Those of queries in files, a number for each
        document and λ, may be more than memory holds: measures are computed part by part when ``evaluate`` is called.
    alphas : numbers above 0, optional
        The values of λ, one row of scores for each; by default the ``alpha`` of the ranker, or all it searches.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=30, seed=0).queries
    >>> held_out = rw.leave_query_out(rw.RankRLS(), queries, alphas=[0.1, 10.0])
    >>> held_out.scores.shape
    (2, 1200)
    >>> len(held_out.evaluate("map"))
    2
    """
    from sklearn.base import clone

    if not isinstance(ranker, ClosedFormRanker):
        raise ParameterError(
            f"ranker must be RankRLS, KernelRankRLS or RegressionRanker, which have a closed form, not {ranker!r}"
        )
    if not isinstance(queries, Queries | StreamedQueries):
        raise ParameterError(f"queries must be Queries, not {type(queries).__name__}")
    check_can_be_left_out(queries)
    values = checked_alphas(ranker.alpha, ALPHAS) if alphas is None else given_alphas(alphas)
    untrained = clone(ranker)
    untrained._note_preparation(queries, has_missing=any_missing(queries))
    held_out = HeldOut(values, queries, untrained._closed_form(untrained._prepared(queries)))
    if isinstance(queries, Queries):
        _ = held_out.scores
    return held_out
