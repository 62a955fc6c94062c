"""RankRLS (paper G, section 2): ridge regression on query-wise centred data, which is a pairwise squared loss."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwright.data.centred import Moments, sum_of_moments
from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries, in_memory
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.preparation.formula import linear_scores
from rankwright.rankers.closed_form import ClosedForm, LinearClosedFormRanker
from rankwright.selection.judging import Judge, fold_of_query
from rankwright.solvers.leave_out import LeaveOut, leave_out_kernel_scores, query_block
from rankwright.solvers.ridge import ridge_path, rough_solutions, warn_if_not_converged
from rankwright.types import Array

# Leave-query-out of sparse data with more features than this uses the kernel matrix of the documents, up to as many.
_LARGEST_MATRIX = 4096
# Leaving out one query after the other takes some times documents × columns² operations. Beyond so many, folds are
# worth what they are less exact.
_DEAR = 2e10
_FOLDS = 5


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
        Take the best λ (the smallest of equals), or the largest that is as good: whose mean difference from the best,
        query by query, is within one standard error of that difference.
    folds : int, optional
        Choose λ by cross-validation over so many folds of the queries instead of leave-query-out: with many hundreds of
        columns that takes far less time, as the sums of all folds come from one reading of the data.
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

    def _closed_form(self, queries: AnyQueries) -> _Solution:
        return _Solution(queries)

    def _keep(self, weights: Array, solution: _Solution) -> None:
        super()._keep(weights, solution)
        self.solver_ = solution.solver


def folds_worth(queries: AnyQueries) -> int | None:
    """How many folds to choose λ by where leave-query-out would take far longer than training; else None."""
    is_dear = float(queries.n_documents) * queries.n_features**2 > _DEAR
    return min(_FOLDS, queries.n_queries) if is_dear and queries.n_queries > 1 else None


class _Solution(ClosedForm):
    """Sums over queries, each centred."""

    def __init__(self, queries: AnyQueries) -> None:
        super().__init__(queries)
        self._data = CentredSums(engine_of(queries))

    def weights(self, alphas: Array) -> Array:
        """Notes the solver too."""
        solved = ridge_path(self._data, alphas)
        self.solver = solved.solver
        warn_if_not_converged(solved, alphas)
        return solved.weights

    def held_out_scores(self, alphas: Array) -> Array:
        """By the sums if X̂ᵀX̂ is of a size to be kept, else by the kernel matrix of the documents if that is."""
        data = self._data
        if self._has_small_gram:
            return self._leave_out(alphas).scores()
        if data.has_little_room and data.n_documents > _LARGEST_MATRIX:
            return _retrained_scores(self.queries, alphas)
        return leave_out_kernel_scores(data.inner_products(), data.target, data.offsets, data.centre, alphas)

    def held_out_values(self, alphas: Array, judge: Judge) -> Array:
        """By the sums, scores stay where the documents are."""
        if self._has_small_gram:
            return self._leave_out(alphas).values(judge.values_of_scores, len(judge.measures))
        return super().held_out_values(alphas, judge)

    def folded_values(self, alphas: Array, judge: Judge, n_folds: int) -> Array:
        """The sums of the queries outside a fold are those of all without those of the fold: X is read twice.

        They may be float32 products, as a choice does not need their last digits. These tell nothing about a λ below
        the rounding of X̂ᵀX̂, about 1e-7 of its largest eigenvalue: all such λ are judged about alike.
        """
        if not self._has_small_gram:
            return super().folded_values(alphas, judge, n_folds)
        fold_of = fold_of_query(self.queries.n_queries, n_folds)
        folds = self._data.rough_moments_of_folds(fold_of)
        total = sum_of_moments(*folds)
        weights = [
            rough_solutions(Moments(total.gram - gram, total.products - products), alphas).T for gram, products in folds
        ]
        values: Array = self._data.engine.per_query(_folded_values, fold_of, np.stack(weights), judge)
        return values

    @property
    def _has_small_gram(self) -> bool:
        return self._data.n_features <= (_LARGEST_MATRIX if self._data.has_little_room else self._data.n_documents)

    def _leave_out(self, alphas: Array) -> LeaveOut:
        data = self._data
        return LeaveOut(data.engine, data.moments(), query_block, data.moments_without, alphas)


def _folded_values(part: Part, fold_of: npt.NDArray[np.intp], weights: Array, judge: Judge) -> Array:
    """What measures say of each query by the weights of its fold, queries × λ × measures."""
    own = fold_of[part.first_query : part.first_query + part.n_queries]
    values = np.empty((part.n_queries, weights.shape[1], len(judge.measures)))
    for fold in np.unique(own).tolist():
        values[own == fold] = judge.values(part.queries[own == fold], weights[fold])
    return values


def _retrained_scores(given: AnyQueries, alphas: Array) -> Array:
    """Sparse data both wide and long: no matrix fits, so every query is left out in earnest."""
    queries = in_memory(given, "leave-query-out with so many features", "validation queries")
    every, scores = np.arange(queries.n_queries), []
    for q in every:
        weights = ridge_path(CentredSums(engine_of(queries[every != q])), alphas).weights
        scores.append(engine_of(queries[int(q)]).per_query(_scores, weights))
    return np.concatenate(scores).T


def _scores(part: Part, weights: Array) -> Array:
    return linear_scores(part.x, weights.T)
