"""Regression of grades on features: the pointwise baseline of the papers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.engines.pooled_sums import PooledSums
from rankwright.errors import DataError
from rankwright.rankers.closed_form import ClosedForm, LinearClosedFormRanker
from rankwright.selection.judging import Judge
from rankwright.solvers.leave_out import Block, LeaveOut
from rankwright.solvers.ridge import ridge_path, warn_if_not_converged
from rankwright.types import Array

_MOST_FEATURES_OF_MATRIX = 4096


class RegressionRanker(LinearClosedFormRanker):
    r"""Ridge regression of grades on features, queries ignored (paper L, section 5: the baseline "regression").

        min_{w, c}  Σ_i (y_i − wᵀx_i − c)² + λ‖w‖²

    The intercept c is not regularised. It is RankRLS with all documents in one query.

    Parameters
    ----------
    alpha, measures, convention, rule, folds, missing
        As in `RankRLS`; with ``folds`` it is trained again without each of them.

    Attributes
    ----------
    coef_, intercept_ : w and c
    alpha_, path_
        As in `RankRLS`.

    Examples
    --------
    >>> import rankwright as rw
    >>> rw.RegressionRanker(alpha=1e-9).fit([[0.0], [1.0], [2.0]], [1, 2, 3], group=[3]).predict([[3.0]]).round(6)
    array([4.])
    """

    def _closed_form(self, queries: AnyQueries) -> _Solution:
        return _Solution(queries)

    def _keep(self, weights: Array, solution: _Solution) -> None:
        super()._keep(weights, solution)
        self.intercept_ = solution.intercept(weights)


class _Solution(ClosedForm):
    """Sums over all documents."""

    def __init__(self, queries: AnyQueries) -> None:
        super().__init__(queries)
        self._data = PooledSums(engine_of(queries))

    def weights(self, alphas: Array) -> Array:
        """As those of RankRLS with all documents in one query."""
        solved = ridge_path(self._data, alphas)
        warn_if_not_converged(solved, alphas)
        return solved.weights

    def intercept(self, weights: Array) -> float:
        """What makes the mean of the scores that of the grades."""
        return float(self._data.mean_grade - self._data.feature_means @ weights)

    def held_out_scores(self, alphas: Array) -> Array:
        """By the sums."""
        return self._leave_out(alphas).scores()

    def held_out_values(self, alphas: Array, judge: Judge) -> Array:
        """Scores stay where the documents are."""
        return self._leave_out(alphas).values(judge.values_of_scores, len(judge.measures))

    def _leave_out(self, alphas: Array) -> LeaveOut:
        data = self._data
        if data.has_little_room and data.n_features > _MOST_FEATURES_OF_MATRIX:
            raise DataError(
                f"leave-query-out of RegressionRanker takes the square of {data.n_features:,} numbers of memory: "
                "give validation queries instead"
            )
        moments = data.moments()
        block_of = _BlockOf(data.feature_means, data.mean_grade, data.n_documents)
        return LeaveOut(data.engine, moments, block_of, data.moments_without, alphas)


@dataclass(frozen=True, eq=False)
class _BlockOf:
    """What leaving out a query takes off the sums over all documents, whose means are known.

    Without query q the rest is centred elsewhere: that takes one more row off the sums. With d the mean of q minus the
    mean of all, Σ over the others of their centred squares is that of all minus that of q, both around the mean of all,
    minus m_q²/(m − m_q) ddᵀ.
    """

    mean: Array
    grade: float
    n_documents: int

    def __call__(self, part: Part, q: int) -> Block:
        own, own_mean = part.centred.block(q)
        target = part.judgments.y[part.offsets[q] : part.offsets[q + 1]] - self.grade
        away, above, share = own_mean - self.mean, float(target.mean()), len(own) / (self.n_documents - len(own))
        factor = np.sqrt(len(own) * share)
        rows, targets = np.vstack([own + away, factor * away]), np.append(target, factor * above)
        return Block(rows, targets, share * away, len(own), self.grade - share * above)
