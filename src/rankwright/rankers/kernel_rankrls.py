"""RankRLS with a kernel (paper G, eq. 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from rankwright.data.centred import CentredQueries, centred
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.rankers.closed_form import ClosedFormRanker
from rankwright.selection.search import Rule, Search
from rankwright.solvers.leave_out import leave_out_kernel_scores
from rankwright.solvers.ridge import ShiftedSystems

Array = npt.NDArray[np.float64]


class KernelRankRLS(ClosedFormRanker):
    r"""RankRLS in the feature space of a kernel: f(x) = Σ_i a_i k(x_i, x) over the training documents (paper G, eq. 6).

    .. math:: a = (L K L + λ I)^{-1} L y

    with the kernel matrix K of the training documents and L, which centres query by query. It takes memory for K, the
    square of the number of documents, and time for its third power.

    Parameters
    ----------
    alpha, measures, convention, rule
        As in `RankRLS`.
    kernel : "rbf", "poly", "linear", another name that scikit-learn's ``pairwise_kernels`` knows, or a function
        Of two rows.
    gamma, degree, coef0 : the kernel's own parameters; gamma None is 1 / number of features

    Attributes
    ----------
    dual_coef_ : a, one weight per training document
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

    def predict(self, X: Any) -> Array:
        """Σ_i a_i k(x_i, x) for each row x of X: the higher, the better its place."""
        check_is_fitted(self)
        scores: Array = self._kernel(self._validated(X, reset=False)) @ self.dual_coef_
        return scores

    def _kernel(self, x: Any) -> Array:
        """k between the rows of x and the training documents."""
        parameters = {} if callable(self.kernel) else {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        try:
            matrix: Array = pairwise_kernels(
                _plain(x), self._documents, metric=self.kernel, filter_params=True, **parameters
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ParameterError(f"kernel {self.kernel!r}: {error}") from None
        return matrix.astype(np.float64, copy=False)

    def _training_matrix(self, queries: Queries) -> tuple[CentredQueries, Array]:
        """The kernel matrix of the training documents, each query's documents together, in order of the data."""
        data = centred(queries)
        data.check_finite(queries.X.data if sp.issparse(queries.X) else queries.X)
        self._documents = _plain(queries.X[data.rows])
        return data, self._kernel(self._documents)

    def _solve(self, queries: Queries, alphas: Array) -> Array:
        data, matrix = self._training_matrix(queries)
        centred_matrix = data.centre(np.ascontiguousarray(data.centre(matrix).T))
        systems, target = ShiftedSystems(centred_matrix, alphas), np.repeat(data.target[:, None], len(alphas), axis=1)
        dual = systems.solve(target)
        dual += systems.solve(target - centred_matrix @ dual - dual * alphas)
        return data.centre(dual).T

    def _score_path(self, x: Any, weights: Array) -> Array:
        scores: Array = weights @ self._kernel(x).T
        return scores

    def _keep(self, weights: Array) -> None:
        self.dual_coef_ = weights

    def _leave_out(self, queries: Queries, alphas: Array) -> Array:
        data, matrix = self._training_matrix(queries)
        return leave_out_kernel_scores(matrix, data.target, data.offsets, data.centre, alphas)


def _plain(x: Any) -> Any:
    """Features in float64, as scikit-learn's kernels take them."""
    return sp.csr_matrix(x, dtype=np.float64) if sp.issparse(x) else np.asarray(x, np.float64)
