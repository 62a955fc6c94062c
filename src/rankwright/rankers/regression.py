"""Regression of grades on features: the pointwise baseline of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.centred import centred
from rankwright.data.queries import Queries
from rankwright.rankers.base import LinearRanker, linear_scores
from rankwright.rankers.closed_form import ClosedFormRanker
from rankwright.selection.search import Rule, Search
from rankwright.solvers.leave_out import Block, leave_out_scores
from rankwright.solvers.ridge import ridge_path

Array = npt.NDArray[np.float64]


class RegressionRanker(ClosedFormRanker, LinearRanker):
    r"""Ridge regression of grades on features, queries ignored (paper L, section 5: the baseline "regression").

    .. math:: \min_{w, c} \sum_i (y_i - w^\top x_i - c)^2 + λ \|w\|^2

    The intercept c is not regularised. It is RankRLS with all documents in one query.

    Parameters
    ----------
    alpha, measures, convention, rule
        As in `RankRLS`.

    Attributes
    ----------
    coef_, intercept_ : w and c
    alpha_, path_
        As in `RankRLS`.

    Examples
    --------
    >>> import rankwright as rw
    >>> rw.RegressionRanker(alpha=1e-9).fit([[0.0], [1.0], [2.0]], [1, 2, 3]).predict([[3.0]]).round(6)
    array([4.])
    """

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
    ) -> None:
        self.alpha = alpha
        self.measures = measures
        self.convention = convention
        self.rule = rule

    def predict(self, X: Any) -> Array:
        """x · coef_ + intercept_ for each row of X: the higher, the better its place."""
        return super().predict(X) + self.intercept_

    def _solve(self, queries: Queries, alphas: Array) -> Array:
        self._means = _mean(queries.X), float(queries.y.mean()) if queries.n_documents else 0.0
        return ridge_path(centred(_as_one(queries)), alphas).weights

    def _score_path(self, x: Any, weights: Array) -> Array:
        return linear_scores(x, weights.T).T

    def _keep(self, weights: Array) -> None:
        self.coef_ = weights
        self.intercept_ = float(self._means[1] - self._means[0] @ weights)
        del self._means

    def _leave_out(self, queries: Queries, alphas: Array) -> Array:
        """Without query q the rest is centred elsewhere: that takes one more row off the sums.

        With d the mean of q minus the mean of all, Σ over the others of their centred squares is that of all minus
        that of q, both around the mean of all, minus m_q²/(m − m_q) ddᵀ.
        """
        data, mean, m = centred(queries), _mean(queries.X), queries.n_documents
        grades = queries.grouping.gather(queries.y)
        grade = float(grades.mean())

        def block(q: int) -> Block:
            own, own_mean = data.block(q)
            target = grades[data.offsets[q] : data.offsets[q + 1]] - grade
            away, above, share = own_mean - mean, float(target.mean()), len(own) / (m - len(own))
            factor = np.sqrt(len(own) * share)
            rows, targets = np.vstack([own + away, factor * away]), np.append(target, factor * above)
            return Block(rows, targets, share * away, len(own), grade - share * above)

        return leave_out_scores(centred(_as_one(queries)).moments(), block, data.offsets, alphas)


def _as_one(queries: Queries) -> Queries:
    return Queries(queries.X, queries.y)


def _mean(x: Any) -> Array:
    mean: Array = np.asarray(x.mean(axis=0, dtype=np.float64)).ravel()
    return mean if not sp.issparse(x) else mean.astype(np.float64)
