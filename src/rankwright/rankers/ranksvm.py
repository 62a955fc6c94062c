"""RankSVM, with unit or position-sensitive margins."""

from __future__ import annotations

from typing import Any

from rankwright.errors import ParameterError
from rankwright.losses.loss import Loss
from rankwright.losses.pairwise import Margin, PreorderLoss, Weights
from rankwright.losses.phi import Phi
from rankwright.preparation.missing import MissingName
from rankwright.rankers.loss_ranker import LossRanker, Solver
from rankwright.selection.search import Rule, Search


class RankSVM(LossRanker):
    r"""Pairs of documents in the right order, with a margin (Herbrich et al. 2000; Joachims 2002).

        min_w  λ/2 ‖w − w₀‖² + Σ_q Σ_{y_i > y_j} w_ij φ(wᵀx_i − wᵀx_j)

    No pair is ever stored: loss, gradient and curvature take O(m log m) for a query of m documents. The answer comes
    with a certificate, ``gap_``: the objective is at most so far above the least there is. λ is 1/C of SVM-rank's and
    liblinear's programs with C per pair. Supervision may be grades, full rankings or preference graphs, whose edges
    are then the pairs.

    Parameters
    ----------
    alpha : float or search()
        λ. `search(0.1, 1, 10)` chooses from these, `search()` from 25 powers of two that fit the scale of the data, by
        the first of ``measures``: on the validation queries given to ``fit``, else by cross-validation, for which the
        other parts of X are copied.
    loss : "squared-hinge", "hinge", "huber-hinge", "logistic", or a loss of your own
        φ: max(0, 1 − t)², max(0, 1 − t), the hinge with its corner rounded between ½ and 1½, or log(1 + e^−t); or a
        `losses.Loss`, which then has its own weights and margins.
    weights : "unit", "per-query" or "gain-per-query"
        Of pairs: 1, one over the number of pairs in the query, or (2^{y_i} − 2^{y_j}) over that number.
    margin : "unit" or "position"
        With "position" a pair must be c/ρ_i − c/ρ_j apart instead of 1, where ρ = 1, …, c are the ranks of the grades
        in the query, best first: places at the top count most (Riezler & De Bona, definition 1).
    center : array, optional
        w₀, the weights to stay near; 0 by default.
    solver : "newton" or "sgd"
        Newton's method, or averaged stochastic gradient descent over queries, which ends after ``max_iter`` epochs if
        the gap is not met before. (With the plain hinge its gap is far from tight.)
    tol : float
        The gap to reach, as a part of the objective.
    max_iter : int, optional
        Steps of Newton's method at most (500), or epochs of gradient descent (50).
    early_stopping : bool
        End where the first of ``measures`` on the validation queries has not risen for three steps, and keep the best.
    folds : int
        Parts for cross-validation.
    measures : such as "ndcg@10, map"
        What to tell of every λ in ``path_``; the first one decides.
    convention : name of a Convention
    rule : "best" or "one-standard-error"
        Take the best λ (the smallest of equals), or the largest that is as good: whose mean difference from the best,
        query by query, is within one standard error of that difference.
    random_state : int, optional
        For the order of queries in gradient descent.
    missing : "mean" or "query-mean"
        What stands for a missing value (NaN): the mean of the feature over all training documents that have it, or
        over those of the same query. A column of its own tells besides where a feature was missing.

    Attributes
    ----------
    coef_ : the weights of the features
    preparation_ : how missing values became columns; None if there were none
    alpha_ : the λ used
    objective_, gap_ : the objective, and how far above the least it can be at most
    converged_ : whether the gap is within ``tol``
    n_iter_, passes_ : steps for the λ used, and how often the whole of X was read for all λ
        (The preconditioner reads a part of it besides, and cross-validation is not counted.)
    path_ : AlphaPath, the weights and measures of every λ tried
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.RankSVM(alpha=1.0).fit(queries)
    >>> bool(ranker.gap_ <= 1e-4 * ranker.objective_)
    True
    """

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        loss: str | Phi | Loss = "squared-hinge",
        weights: Weights = "unit",
        margin: Margin = "unit",
        center: Any = None,
        solver: Solver = "newton",
        tol: float = 1e-4,
        max_iter: int | None = None,
        early_stopping: bool = False,
        folds: int = 5,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
        random_state: Any = None,
        missing: MissingName = "mean",
    ) -> None:
        self.alpha = alpha
        self.loss = loss
        self.weights = weights
        self.margin = margin
        self.center = center
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.folds = folds
        self.measures = measures
        self.convention = convention
        self.rule = rule
        self.random_state = random_state
        self.missing = missing

    def _loss(self) -> Loss:
        if isinstance(self.loss, Loss):
            if (self.weights, self.margin) != ("unit", "unit"):
                raise ParameterError("weights and margin are for losses that are named: this one has its own")
            return self.loss
        return PreorderLoss(self.loss, self.weights, self.margin)
