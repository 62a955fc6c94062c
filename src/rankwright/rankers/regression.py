"""Regression of grades on features: the pointwise baseline of the papers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.centred import Moments
from rankwright.data.finite import check_features, check_magnitude
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.errors import DataError
from rankwright.rankers.closed_form import LinearClosedFormRanker
from rankwright.solvers.leave_out import Block, leave_out_scores
from rankwright.solvers.ridge import ridge_path, warn_if_not_converged
from rankwright.types import Array

_MOST_FEATURES_OF_SPARSE = 4096


class RegressionRanker(LinearClosedFormRanker):
    r"""Ridge regression of grades on features, queries ignored (paper L, section 5: the baseline "regression").

        min_{w, c}  Σ_i (y_i − wᵀx_i − c)² + λ‖w‖²

    The intercept c is not regularised. It is RankRLS with all documents in one query.

    Parameters
    ----------
    alpha, measures, convention, rule, missing
        As in `RankRLS`.

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

    def _solve(self, queries: Queries, alphas: Array) -> Array:
        check_features(queries)  # here, where the queries still have their names
        check_magnitude(queries)
        self._means = _mean(queries.X), float(queries.y.mean()) if queries.n_documents else 0.0
        solved = ridge_path(_as_one(queries), alphas)
        warn_if_not_converged(solved, alphas)
        return solved.weights

    def _keep(self, weights: Array) -> None:
        super()._keep(weights)
        self.intercept_ = float(self._means[1] - self._means[0] @ weights)
        del self._means

    def _leave_out(self, queries: Queries, alphas: Array) -> Array:
        """Without query q the rest is centred elsewhere: that takes one more row off the sums.

        With d the mean of q minus the mean of all, Σ over the others of their centred squares is that of all minus
        that of q, both around the mean of all, minus m_q²/(m − m_q) ddᵀ.
        """
        if sp.issparse(queries.X) and queries.n_features > _MOST_FEATURES_OF_SPARSE:
            raise DataError(
                f"leave-query-out of RegressionRanker takes the square of {queries.n_features:,} numbers of memory: "
                "give validation queries instead"
            )
        mean, m, grade = _mean(queries.X), queries.n_documents, float(queries.y.mean())

        def block(part: Part, q: int) -> Block:
            own, own_mean = part.centred.block(q)
            grades = part.judgments.y[part.offsets[q] : part.offsets[q + 1]]
            target = grades - grade
            away, above, share = own_mean - mean, float(target.mean()), len(own) / (m - len(own))
            factor = np.sqrt(len(own) * share)
            rows, targets = np.vstack([own + away, factor * away]), np.append(target, factor * above)
            return Block(rows, targets, share * away, len(own), grade - share * above)

        def without(q: int) -> Moments:
            others = queries[np.delete(np.arange(queries.n_queries), q)]
            return _as_one(others).moments()

        return leave_out_scores(engine_of(queries), _as_one(queries).moments(), block, without, alphas)


def _as_one(queries: Queries) -> CentredSums:
    """All documents as one query, with features that may be shifted: the intercept makes up for it."""
    x = _with_full_columns_centred(queries.X) if sp.issparse(queries.X) else queries.X
    return CentredSums(engine_of(Queries(x, queries.y)))


def _with_full_columns_centred(x: sp.csr_array) -> sp.csr_array:
    """CSR is centred by differences of sums, in which a feature loses its digits that is large beside its spread.

    Such a feature, a time for instance, is one that every document has: its mean can be subtracted at once.
    """
    is_full = np.bincount(x.indices, minlength=x.shape[1]) == x.shape[0]
    if not is_full.any():
        return x
    values = x.data - np.where(is_full, _mean(x), 0.0)[x.indices]
    return sp.csr_array((values, x.indices, x.indptr), shape=x.shape)


def _mean(x: Any) -> Array:
    mean: Array = np.asarray(x.mean(axis=0, dtype=np.float64)).ravel()
    return mean if not sp.issparse(x) else mean.astype(np.float64)
