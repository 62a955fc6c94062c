"""The ranker whose loss is consistent with the measure it is made for (paper O)."""

from __future__ import annotations

from typing import Any, Literal

from rankwright.checks import check_bool, check_whole
from rankwright.losses.loss import Loss
from rankwright.losses.pairwise import OrderPreservingLoss
from rankwright.losses.pointwise import SquaredLoss
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.preparation.missing import MissingName
from rankwright.rankers.loss_ranker import LossRanker, Solver
from rankwright.selection.search import Rule, Search


class OrderPreservingRanker(LossRanker):
    r"""A pairwise loss that is consistent with DCG or nDCG (Buffoni et al. 2011).

        min_w  λ/2 ‖w − w₀‖² + Σ_q Σ_i r_i(y) Σ_j φ(wᵀx_i − wᵀx_j)

    where r is the standardised supervision: the gain 2^{y_i} − 1 for DCG, the same over the query's largest DCG for
    nDCG. Every document is compared with every other, but weighs by its own worth; so the scores that are best in
    expectation over noisy grades stand in the order of the expected r, which is the order that the measure wants. The
    preorder loss of RankSVM does not have this property. Value, gradient and curvature take O(m log m) for a query of m
    documents.

    Parameters
    ----------
    alpha : float or search()
        λ, as for `RankSVM`.
    standardize : "ndcg", "dcg", "zero-one" or "wpd"
        The measure: nDCG or DCG for grades, the 0/1 error for full rankings, the weighted pairwise disagreement for
        preference graphs. For AP and ERR there is none, and asking for one is an error that says why.
        Gain and discount are those of the measure that judges: of ``convention`` and of the first of ``measures``.
    cutoff : "measure", int or None
        K of nDCG@K: by default that of the first of ``measures``, whichever measure it is; None for no cutoff. (The
        standardised supervision for DCG@K is the same for every K.)
    loss : "squared-hinge", "huber-hinge" or "squared"
        φ: max(0, 1 − t)², or the hinge with its corner rounded between ½ and 1½ (the paper's choice). "squared" is
        Σ (s_i − r_i)² instead of a sum over pairs. A φ outside the paper's theorem 1 is an error that says why.
    normalize : bool
        Divide each query's loss by m(m − 1), the number of its ordered pairs ("squared": by m).
    center, solver, tol, max_iter, early_stopping, folds, measures, convention, rule, random_state, missing
        As for `RankSVM`.

    Attributes
    ----------
    coef_, alpha_, objective_, gap_, converged_, n_iter_, passes_, path_, n_features_in_, feature_names_in_
        As for `RankSVM`.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.OrderPreservingRanker(alpha=0.1, standardize="ndcg", cutoff=10).fit(queries)
    >>> ranker.score(queries) > 0.7
    True
    """

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        standardize: str = "ndcg",
        cutoff: int | Literal["measure"] | None = "measure",
        loss: str = "squared-hinge",
        normalize: bool = False,
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
        self.standardize = standardize
        self.cutoff = cutoff
        self.loss = loss
        self.normalize = normalize
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
        check_bool("normalize", self.normalize)
        target = (self.standardize, self._cutoff(), self.normalize, self._judging_convention())
        return SquaredLoss(*target) if self.loss == "squared" else OrderPreservingLoss(self.loss, *target)

    def _cutoff(self) -> int | None:
        """K as given, or that of the measure that judges, where the standardisation has one."""
        if self.cutoff != "measure":
            if self.cutoff is not None:
                check_whole("cutoff", self.cutoff, 1, or_else="'measure' or None")
            return self.cutoff
        judge = self._judge()
        return judge.cutoff if judge is not None and self.standardize in ("dcg", "ndcg") else None

    def _judging_convention(self) -> Convention:
        """How the measure that judges is computed: the convention, and what the measure itself says otherwise."""
        judge, convention = self._judge(), convention_of(self.convention)
        same = judge is not None and judge.name.lower() == self.standardize
        return convention.but(**dict(judge.options)) if judge is not None and same else convention

    def _judge(self) -> Measure | None:
        """The first of the measures: it chooses λ, and is what ``score`` tells."""
        return next(iter(self._told_measures()), None)
