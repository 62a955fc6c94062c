"""`KernelStructuredRanker`: NDCG or average precision optimised directly, in the feature space of a kernel."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, in_memory
from rankwright.losses.structured import Bound, Rescale
from rankwright.measures.measure import Measure
from rankwright.models.kernel_model import KernelScorer
from rankwright.models.kernels import Kernel
from rankwright.progress import Tell
from rankwright.rankers.alpha_path import AlphaPath
from rankwright.rankers.base import Ranker
from rankwright.rankers.kernel_space import KernelSpace
from rankwright.rankers.structured import Solver, StructuredRanker
from rankwright.selection.search import Rule, Search
from rankwright.types import Array

# Who refuses queries that are read part by part, and what it says to use instead.
_IN_MEMORY = ("KernelStructuredRanker", "StructuredRanker")
# What is told of training, as of the linear ranker.
_TOLD = (
    "alpha_",
    "objective_",
    "lower_bound_",
    "gap_",
    "gain_",
    "converged_",
    "n_iter_",
    "passes_",
    "argmax_calls_",
    "argmax_gap_",
    "stays_at_center_",
)


class KernelStructuredRanker(KernelScorer, Ranker):
    r"""`StructuredRanker` in the feature space of a kernel: f(x) = Σ_i a_i k(x_i, x) (Chapelle, Le & Smola 2007, § 6).

        min_f  λ/2 ‖f‖² + Σ_q max_y (Δ_q(y) + ⟨f, Ψ(x_q, y)⟩ − ⟨f, Ψ(x_q, t_q)⟩)

    Ψ is a sum of documents, so a product of two of the planes that training finds (equation 10 of the paper) is a sum
    of kernels of their documents, and f a sum of kernels too. It is the same problem as the linear one with the rows of
    R in place of the documents, where RRᵀ is the kernel matrix: that is what is solved, to the same proven gap. It
    takes memory for a number for each pair of documents, so there can be 10,000 of them at most.

    Kernels compare features as they are: scale them before, so that they count alike.

    Parameters
    ----------
    measure, alpha, bound, position_weights, rescale, tol, max_iter, early_stopping, folds, measures, convention, rule
        As in `StructuredRanker`.
    solver : "cutting-plane" or another of `StructuredRanker`
        There are as many coordinates as documents, for which cutting planes are the fastest.
    kernel, gamma, degree, coef0
        As in `KernelRankRLS`.

    Attributes
    ----------
    dual_coef_, X_fit_ : documents that span the same space as all of the training data, and their weights
    path_ : AlphaPath, whose weights are those of the same documents for every λ
    alpha_, objective_, lower_bound_, gap_, gain_, converged_, n_iter_, passes_, argmax_calls_, argmax_gap_, \
stays_at_center_, position_weights_
        As in `StructuredRanker`; the objective has the norm of the feature space.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=20, documents=10, seed=0).queries
    >>> ranker = rw.KernelStructuredRanker("ndcg@5", alpha=1.0, kernel="rbf").fit(queries)
    >>> bool(ranker.gap_ <= 1e-3 * ranker.objective_)
    True
    """

    def __init__(
        self,
        measure: Any = "ndcg@10",
        alpha: float | Search = 1.0,
        *,
        kernel: str | Callable[[Any, Any], float] = "rbf",
        gamma: float | None = None,
        degree: float = 3,
        coef0: float = 1,
        solver: Solver = "cutting-plane",
        bound: Bound = "convex",
        position_weights: Any = "linear",
        rescale: Rescale = "margin",
        tol: float = 1e-3,
        max_iter: int | None = None,
        early_stopping: bool = False,
        folds: int = 5,
        measures: Any = None,
        convention: Any = "default",
        rule: Rule = "best",
    ) -> None:
        self.measure = measure
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.bound = bound
        self.position_weights = position_weights
        self.rescale = rescale
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.folds = folds
        self.measures = measures
        self.convention = convention
        self.rule = rule

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: AnyQueries | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Tell | None = None,
    ) -> Self:
        """Learn the weights of documents; all parameters are as in `StructuredRanker.fit`."""
        linear = self._linear()
        linear._loss()  # what is wrong with parameters is told before anything is computed
        queries = in_memory(self._training_queries(X, y, qid, group, are_all=False), *_IN_MEMORY)
        held_out = self._validation_queries(valid)
        space, coordinates = KernelSpace.of(self._kernel(), queries)
        linear.fit(
            _with_columns(queries, coordinates),
            valid=None if held_out is None else _with_columns(held_out, space.coordinates(held_out.X)),
            sample_weight=sample_weight,
            progress=progress,
        )
        self._keep(linear, space)
        return self

    def _kernel(self) -> Kernel:
        return Kernel.given(self.kernel, self.gamma, self.degree, self.coef0, self.n_features_in_)

    def _linear(self) -> StructuredRanker:
        """The ranker of coordinates."""
        names = StructuredRanker().get_params().keys() & self.get_params().keys()
        return StructuredRanker(**{name: getattr(self, name) for name in names})

    def _given_queries(self, X: Any, y: Any, qid: Any, group: Any, *, reset: bool) -> Queries:
        return in_memory(super()._given_queries(X, y, qid, group, reset=reset), *_IN_MEMORY)

    def _validation_queries(self, valid: Any) -> Queries | None:
        held_out = super()._validation_queries(in_memory(valid, *_IN_MEMORY))
        return None if held_out is None else in_memory(held_out, *_IN_MEMORY)

    def _told_measures(self) -> tuple[Measure, ...]:
        return self._linear()._told_measures()

    def _keep(self, linear: StructuredRanker, space: KernelSpace) -> None:
        self.X_fit_, self.dual_coef_ = space.documents, space.dual(linear.coef_)
        self.path_: AlphaPath = replace(linear.path_, weights=space.dual(linear.path_.weights))
        for name in _TOLD:
            setattr(self, name, getattr(linear, name))
        self.__dict__.pop("position_weights_", None)
        if hasattr(linear, "position_weights_"):
            self.position_weights_: Array = linear.position_weights_


def _with_columns(queries: Queries, columns: Array) -> Queries:
    """The same queries, with coordinates in the place of features."""
    return Queries.of_parts(columns, queries.supervision, queries.grouping, None, None)
