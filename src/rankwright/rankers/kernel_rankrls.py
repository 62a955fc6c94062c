"""RankRLS with a kernel (paper G, eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, in_memory
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.models.kernel_model import KernelScorer
from rankwright.models.kernels import Kernel, plain
from rankwright.rankers.closed_form import ClosedForm, ClosedFormRanker
from rankwright.rankers.kernel_space import checked_kernels, not_positive
from rankwright.selection.judging import Judge
from rankwright.selection.search import Rule, Search
from rankwright.solvers.leave_out import doubly_centred, leave_out_kernel_scores
from rankwright.solvers.ridge import NotPositiveDefinite, ShiftedSystems
from rankwright.types import Array

# Who refuses queries that are read part by part, and what it says to use instead.
_IN_MEMORY = ("KernelRankRLS", "RankRLS")


class KernelRankRLS(KernelScorer, ClosedFormRanker):
    r"""RankRLS in the feature space of a kernel: f(x) = Σ_i a_i k(x_i, x) over the training documents (paper G, eq. 6).

        a = (L K L + λI)⁻¹ L y

    with the kernel matrix K of the training documents and L, which centres query by query. It takes memory for K, the
    square of the number of documents, and time for its third power.

    Parameters
    ----------
    alpha, measures, convention, rule
        As in `RankRLS`.
    kernel : "rbf", "poly", "linear", "laplacian", "cosine", or a function of two rows
        It must be positive semidefinite.
    gamma, degree, coef0 : the kernel's own parameters; gamma None is 1 / number of features

    Attributes
    ----------
    dual_coef_ : a, one weight for each row of the training data
    X_fit_ : the training data, which predictions need
    alpha_, path_
        As in `RankRLS`; the weights of the path are dual.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, documents=10, seed=0).queries
    >>> rw.KernelRankRLS(alpha=1.0, kernel="rbf").fit(queries).predict(queries.X).shape
    (200,)
    """

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        kernel: str | Callable[[Any, Any], float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.measures = measures
        self.convention = convention
        self.rule = rule

    def _kernel(self) -> Kernel:
        return Kernel.given(self.kernel, self.gamma, self.degree, self.coef0, self.X_fit_.shape[1])

    def _given_queries(self, X: Any, y: Any, qid: Any, group: Any, *, reset: bool) -> Queries:
        return in_memory(super()._given_queries(X, y, qid, group, reset=reset), *_IN_MEMORY)

    def _validation_queries(self, valid: Any) -> AnyQueries | None:
        return super()._validation_queries(in_memory(valid, *_IN_MEMORY))

    def _closed_form(self, queries: AnyQueries) -> _Solution:
        """The kernel matrix of the training documents, each query's documents together, makes it."""
        queries = in_memory(queries, *_IN_MEMORY)
        self.X_fit_ = plain(queries.X).copy()  # what the caller does to X later changes no prediction
        kernel, order = self._kernel(), queries.grouping.order
        matrix = checked_kernels(kernel, queries)
        return _Solution(queries, matrix if order is None else matrix[np.ix_(order, order)], kernel)

    def _values(self, queries: AnyQueries, weights: Array, judge: Judge) -> Array:
        valid = in_memory(queries, *_IN_MEMORY)
        return judge.values_of_scores(weights @ self._kernel().matrix(plain(valid.X), self.X_fit_).T, valid.judgments)

    def _keep(self, weights: Array, solution: _Solution) -> None:
        self.dual_coef_ = weights


class _Solution(ClosedForm):
    """A system as large as there are documents."""

    queries: Queries

    def __init__(self, queries: Queries, matrix: Array, kernel: Kernel) -> None:
        super().__init__(queries)
        self._data, self._matrix, self._kernel = CentredSums(engine_of(queries)), matrix, kernel

    def weights(self, alphas: Array) -> Array:
        """Dual weights, one for each row of the data."""
        data, centred_matrix = self._data, doubly_centred(self._matrix, self._data.centre)
        try:
            systems = ShiftedSystems(centred_matrix, alphas)
            dual = systems.solve(data.target)
        except NotPositiveDefinite:
            raise not_positive(self._kernel) from None
        dual += systems.solve(data.target[:, None] - centred_matrix @ dual - dual * alphas)
        return np.stack([self.queries.grouping.scatter(row) for row in data.centre(dual).T])

    def held_out_scores(self, alphas: Array) -> Array:
        """In the dual."""
        data = self._data
        return leave_out_kernel_scores(self._matrix, data.target, data.offsets, data.centre, alphas)
