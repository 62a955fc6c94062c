"""RankRLS (paper G, section 2): ridge regression on query-wise centred data, which is a pairwise squared loss."""

from __future__ import annotations

import numpy as np

from rankwright.data.queries import Queries
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.rankers.closed_form import LinearClosedFormRanker
from rankwright.solvers.leave_out import leave_out_kernel_scores, leave_out_scores, query_block
from rankwright.solvers.ridge import ridge_path, warn_if_not_converged
from rankwright.types import Array

# Leave-query-out of sparse data with more features than this uses the kernel matrix of the documents, up to as many.
_LARGEST_MATRIX = 4096


class RankRLS(LinearClosedFormRanker):
    r"""Regularised least squares on pairs of documents (paper G, eq. 3 and 5).

        min_w  Σ_q 1/(2m_q) Σ_{i,j ∈ q} (y_i − y_j − wᵀx_i + wᵀx_j)² + λ‖w‖²

    which is ridge regression of the grades on the features, both centred query by query. Dense X with more documents
    than features is read twice, however many λ there are; wide CSR is read once or twice per iteration of a solver that
    also serves all λ at once.

    Parameters
    ----------
    alpha : float or search()
        λ. `search()` chooses it from 2^-15 … 2^15, `search(0.1, 1, 10)` from these, by the first of ``measures``:
        on the validation queries given to ``fit``, else by leave-query-out.
    measures : such as "ndcg@10, map"
        What to tell of every λ in ``path_``; the first one decides.
    convention : name of a Convention
    rule : "best" or "one-standard-error"
        Take the best λ (the smallest of equals), or the largest that is within one standard error of it.
    missing : "mean" or "query-mean"
        What stands for a missing value (NaN): the mean of the feature over all training documents that have it, or
        over those of the same query. A column of its own tells besides where a feature was missing.

    Attributes
    ----------
    coef_ : the weights of the features
    preparation_ : how missing values became columns; None if there were none
    alpha_ : the λ used
    path_ : AlphaPath, the weights and measures of every λ tried
    solver_ : "primal", "dual" or "cg"
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.RankRLS(alpha=rw.search(), measures="map").fit(queries.X, queries.y, qid=queries.qid)
    >>> ranker.score(queries.X, queries.y, qid=queries.qid) > 0.7
    True
    """

    def _solve(self, queries: Queries, alphas: Array) -> Array:
        solved = ridge_path(CentredSums(engine_of(queries)), alphas)
        self.solver_ = solved.solver
        warn_if_not_converged(solved, alphas)
        return solved.weights

    def _leave_out(self, queries: Queries, alphas: Array) -> Array:
        data = CentredSums(engine_of(queries))
        if data.n_features <= (_LARGEST_MATRIX if data.is_sparse else data.n_documents):
            return leave_out_scores(data.engine, data.moments(), query_block, data.moments_without, alphas)
        if data.is_sparse and data.n_documents > _LARGEST_MATRIX:
            return _retrained_scores(queries, alphas)
        return leave_out_kernel_scores(data.inner_products(), data.target, data.offsets, data.centre, alphas)


def _retrained_scores(queries: Queries, alphas: Array) -> Array:
    """Sparse data both wide and long: no matrix fits, so every query is left out in earnest."""
    every, scores = np.arange(queries.n_queries), []
    for q in every:
        weights = ridge_path(CentredSums(engine_of(queries[every != q])), alphas).weights
        scores.append((queries[int(q)].X @ weights.T).T)
    return np.concatenate(scores, axis=1)
