"""`leave_query_out`: scores of every query by the ranker trained without it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.data.as_queries import checked_queries
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.evaluation.evaluation import Evaluation, evaluate
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.rankers.alpha_path import ALPHAS
from rankwright.rankers.closed_form import ClosedFormRanker
from rankwright.rankers.first_look import first_look
from rankwright.selection.search import checked_alphas, given_alphas


@dataclass(frozen=True, eq=False)
class HeldOut:
    """For every λ, the scores of each document by the ranker trained without its query (λ × rows)."""

    alphas: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    queries: Queries

    def evaluate(
        self,
        measures: str | Measure | Iterable[str | Measure] = "ndcg@10, map",
        convention: str | Convention = "default",
    ) -> list[Evaluation]:
        """What measures say of the held-out scores, for every λ."""
        return [evaluate(row, self.queries, measures, convention) for row in self.scores]


def leave_query_out(
    ranker: ClosedFormRanker, queries: Queries, alphas: Sequence[float] | npt.ArrayLike | None = None
) -> HeldOut:
    """Score each query by the ranker trained on all others, for every λ, without training again (paper G, theorem 3.1).

    Parameters
    ----------
    ranker : RankRLS, KernelRankRLS or RegressionRanker
        It need not be fitted, and is not changed.
    queries : Queries
        At least two.
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
    checked_queries(queries)
    values = checked_alphas(ranker.alpha, ALPHAS) if alphas is None else given_alphas(alphas)
    untrained = clone(ranker)
    untrained._note_preparation(queries, has_missing=first_look(queries, takes_powers=False).has_missing)
    return HeldOut(values, untrained._held_out_scores(untrained._prepared(queries), values), queries)
