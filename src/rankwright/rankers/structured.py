"""`StructuredRanker`: NDCG or average precision optimised directly, through a bound of their loss."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankwright.checks import check_choice
from rankwright.engines.engine import Engine
from rankwright.errors import DataError, ParameterError
from rankwright.evaluation.tables import regularisation
from rankwright.losses.position_weights import PositionPlanes, lowest_position_weights
from rankwright.losses.structured import Bound, NDCGLosses, Rescale, StructuredHinge
from rankwright.machine.blas import one_thread_per_call
from rankwright.measures.measure import Measure, measures_of
from rankwright.preparation.missing import MissingName
from rankwright.progress import Tell, part_of
from rankwright.rankers.closed_form import LinearClosedFormRanker
from rankwright.rankers.first_look import FirstLook
from rankwright.rankers.path_ranker import PathRanker, Task, Watch
from rankwright.rankers.rankrls import RankRLS, folds_worth
from rankwright.rankers.regression import RegressionRanker
from rankwright.selection.search import Rule, Search, optional_measures, search
from rankwright.solvers.cutting_plane import TRICKS, Trick
from rankwright.solvers.descent import ROUNDING
from rankwright.solvers.solved import Solved
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.solvers.structured_solvers import STRUCTURED_SOLVERS, Known
from rankwright.types import Array

Solver = Literal["bundle", "cutting-plane", "frank-wolfe", "subgradient", "conjugate-subgradient"]

# Learning A and the weights in turn ends after so many rounds.
_MOST_ROUNDS = 20


class _Details(NamedTuple):
    """What a solver knows in the end, and what is told besides; all λ have found so many rankings."""

    solver: Known
    position_weights: Array | None
    argmax_calls: int = 0


class StructuredRanker(PathRanker):
    r"""NDCG@k or average precision, by the ranking that violates its margin most (Chapelle, Le & Smola 2007).

        min_w  λ/2 ‖w − w₀‖² + Σ_q max_y (Δ_q(y) + wᵀΨ(x_q, y) − wᵀΨ(x_q, t_q))

    Δ is 1 − NDCG@k or 1 − AP of a ranking y, so each term is at least the loss of the ranking by scores. With the
    convex bound t is the ideal ranking, with the tight one the ranking by scores. Ψ(x, y) = Σ_i A(y_i) x_i for NDCG;
    for AP it is the mean of x_i − x_j over pairs of a relevant and another document, with a sign that says which y puts
    first. The most violating ranking is found exactly: by assignment, or as Yue et al. (2007) do.

    Parameters
    ----------
    measure : such as "ndcg@10", or "map"
        What to optimise.
    alpha : float or search()
        λ. `search(0.1, 1, 10)` chooses from these, `search()` from 25 powers of two that fit the scale of the data, by
        the first of ``measures``: on the validation queries given to ``fit``, else by cross-validation.
    solver : "bundle", "cutting-plane", "frank-wolfe", "subgradient" or "conjugate-subgradient"
        All minimise the same objective. The bundle takes the fewest readings of X, whatever λ; cutting planes and
        Frank–Wolfe slow down as λ falls; the two subgradient methods take the least memory.
    bound : "convex" or "tight"
        The convex one has a certificate, but with noisy data it may be least at w = w₀, which is told. The tight one is
        not convex: it is descended from w₀, by subgradients as in the paper and then (or, with the other solvers, at
        once) by a sequence of convex problems. It never rises.
    position_weights : "linear", "inverse-sqrt", "discount", numbers, or "learned"
        A(1), A(2), …: max(k + 1 − r, 0), 1/√r, the discount of the measure, or these; "learned" begins with "linear",
        then lowers the objective by A and by w in turn, A(1) staying as it is. For NDCG only.
    rescale : "margin" or "slack"
        Slack rescaling asks for a margin of 1 from every ranking and multiplies the violation by Δ. The most violating
        ranking is then found by a search that need not find the best one; ``argmax_gap_`` tells how far off it can be.
    center : array or "rankrls", optional
        w₀, the weights to stay near: numbers, or those that `RankRLS` learns from the same queries. By default 0, or
        for the tight bound those of a regression on the grades.
    tricks : names of what the cutting-plane solver does to be fast
        "hot-start", "drop-inactive", "inexact" and "single-update" (section 3.2 of the paper); all by default.
    tol : float
        The gap to reach, as a part of the objective, and of what can be gained over w₀ if that is less: most of the
        objective may be a constant. With the tight bound, what the last step may have gained of the objective.
    max_iter : int, optional
        Steps of the solver at most (1000).
    early_stopping, folds, rule, convention, missing
        As in `RankSVM`.
    measures : such as "ndcg@10, map", optional
        What to tell of every λ in ``path_``; the first one decides. By default ``measure``.

    Attributes
    ----------
    coef_ : the weights of the features
    alpha_ : the λ used
    objective_, lower_bound_, gap_ : the objective, what it cannot be below, and the difference
        With the tight bound only 0 is known not to be above it.
    gain_ : by how much the objective is below that at w₀
    converged_ : whether the gap, ``argmax_gap_`` aside, is within ``tol``
        With the tight bound, whether descent has come to an end.
    n_iter_, passes_, argmax_calls_ : steps for the λ used; readings of X and most violating rankings found for all λ
        (Cross-validation, the regression for w₀ and the search for A are not counted.)
    position_weights_ : A, for NDCG
    argmax_gap_ : by how much the objective can be above ``objective_``, as the search found no better rankings; 0 with
        margin rescaling, which finds the best
    stays_at_center_ : whether it is certain that no weights have a lower convex bound than w₀, which are then ``coef_``
        (lower by more than 10⁻⁹ of it: sums of losses are hardly more exact)
    path_ : AlphaPath, the weights and measures of every λ tried
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.make_queries(n_queries=50, seed=0).queries
    >>> ranker = rw.StructuredRanker("ndcg@5", alpha=10.0).fit(queries)
    >>> bool(ranker.gap_ <= 1e-3 * ranker.objective_)
    True
    """

    _solvers = STRUCTURED_SOLVERS

    def __init__(
        self,
        measure: Any = "ndcg@10",
        alpha: float | Search = 1.0,
        *,
        solver: Solver = "bundle",
        bound: Bound = "convex",
        position_weights: Any = "linear",
        rescale: Rescale = "margin",
        center: Any = None,
        tricks: Collection[Trick] = TRICKS,
        tol: float = 1e-3,
        max_iter: int | None = None,
        early_stopping: bool = False,
        folds: int = 5,
        measures: Any = None,
        convention: Any = "default",
        rule: Rule = "best",
        missing: MissingName = "mean",
    ) -> None:
        self.measure = measure
        self.alpha = alpha
        self.solver = solver
        self.bound = bound
        self.position_weights = position_weights
        self.rescale = rescale
        self.center = center
        self.tricks = tricks
        self.tol = tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.folds = folds
        self.measures = measures
        self.convention = convention
        self.rule = rule
        self.missing = missing

    def _told_measures(self) -> tuple[Measure, ...]:
        return optional_measures(self.measures) or measures_of(self.measure)

    def _loss(self) -> StructuredHinge:
        weights = "linear" if self._learns_positions() else self.position_weights
        return StructuredHinge(self.measure, weights, self.bound, self.convention, self.rescale)

    def _learns_positions(self) -> bool:
        learns = isinstance(self.position_weights, str) and self.position_weights == "learned"
        if learns and measures_of(self.measure)[0].name == "AP":
            raise ParameterError("position_weights='learned' is for NDCG: AP compares pairs, not positions")
        if learns and self.rescale == "slack":
            raise ParameterError("position_weights='learned' needs rescale='margin'")
        if learns and self.early_stopping:
            raise ParameterError("position_weights='learned' takes several fits, so early_stopping must be False")
        return learns

    def _needs_memory(self) -> tuple[str, str] | None:
        if self.solver != "bundle":
            return f"solver={self.solver!r}", "solver='bundle'"
        if self.bound == "tight":
            return "bound='tight'", "bound='convex'"
        return ("position_weights='learned'", "position_weights='linear'") if self._learns_positions() else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        is_several = isinstance(self.tricks, Collection) and not isinstance(self.tricks, str)
        if self._is_near_rankrls:
            check_choice("center", self.center, ("rankrls",), or_else="numbers")
        if not is_several or not all(trick in TRICKS for trick in self.tricks):
            raise ParameterError(f"tricks must be some of {', '.join(map(repr, TRICKS))}, not {self.tricks!r}")

    # The λ path

    def _own_grid(self, task: Task, engine: Engine) -> Array:
        return super()._own_grid(self._centred(task), engine)

    def _centred(self, task: Task) -> Task:
        """The task with w₀ of its own queries: a part of them must not know the grades of the others."""
        if self._is_near_rankrls:
            return replace(task, center=_rankrls(task))
        if self.bound == "convex" or self.center is not None:
            return task
        return replace(task, center=_regression(task))

    @property
    def _is_near_rankrls(self) -> bool:
        return isinstance(self.center, str)

    def _center(self, n_columns: int) -> Array:
        return np.zeros(n_columns) if self._is_near_rankrls else super()._center(n_columns)

    def _path(self, task: Task, engine: Engine, alphas: Array, progress: Tell | None) -> list[Solved]:
        """The solution for each λ, from the largest to the smallest; planes found for one serve for the next."""
        task = self._centred(task)
        objective = StructuredObjective(engine, task.sent_loss(), 1.0, task.center)
        solutions: list[Solved] = []
        with one_thread_per_call():  # products of vectors are over before other threads have woken
            objective.value_at_center()
            for done, alpha in enumerate(alphas[::-1].tolist()):
                own = objective.with_alpha(alpha)
                tell = part_of(progress, f"λ = {regularisation(alpha)}", done, len(alphas))
                watch = Watch(self, task, own, tell)
                solutions.append(self._solve(own, solutions[-1] if solutions else None, watch))
        calls = objective.argmax_calls
        return [one._replace(known=one.known._replace(argmax_calls=calls)) for one in reversed(solutions)]

    def _solve(self, objective: StructuredObjective, previous: Solved | None, watch: Watch) -> Solved:
        start = objective.center if previous is None or not objective.is_convex else previous.weights
        if not self._learns_positions():
            known = None if previous is None else previous.known.solver
            solution = self._minimise(objective, start, known, watch)
            return solution._replace(known=_Details(solution.known, self._positions(objective.engine)))
        solution, losses = self._minimise(objective, start, None, watch), objective.losses
        for _ in range(_MOST_ROUNDS):
            assert isinstance(losses, NDCGLosses)
            at = PositionPlanes(losses, objective.scores_of(solution.weights)).at
            learned = losses.with_position_weights(lowest_position_weights(at, losses.position_weights))
            following = self._minimise(objective.with_losses(learned), solution.weights, None, watch)
            if following.value >= solution.value:
                break
            gained, solution, losses = solution.value - following.value, following, learned
            if gained <= self.tol * following.value:
                break
        assert isinstance(losses, NDCGLosses)
        return solution._replace(known=_Details(solution.known, losses.position_weights))

    def _minimise(self, objective: StructuredObjective, start: Array, known: Known | None, watch: Watch) -> Solved:
        """The weights for one λ and one A: where the solver ended, or the step that early stopping has kept."""
        solve = STRUCTURED_SOLVERS[self.solver]
        options = {"tricks": frozenset(self.tricks)} if self.solver == "cutting-plane" else {}
        solved, kept = solve(objective, start, self._goal(watch), known, **options), watch.best
        if kept is not None:
            is_near = solved.known.progress.is_near(kept.value)
            solved = solved._replace(weights=kept.weights, value=kept.value, steps=kept.steps, converged=is_near)
        value, bound = solved.value, solved.bound
        unsure = 0.0 if self._loss().is_exact else objective.argmax_gap(solved.weights)
        if value < bound:  # what the search has missed here it has found elsewhere, or sums are rounded
            value, unsure = bound, max(value + unsure - bound, 0.0)
        return solved._replace(value=value, unsure=unsure)

    # What is told

    def _positions(self, engine: Engine) -> Array | None:
        """A, as far as it is not learned; AP has none."""
        if measures_of(self.measure)[0].name == "AP":
            return None
        return self._loss().ranks(int(np.diff(engine.offsets).max()))[1]

    def _keep(self, solution: Solved, alpha: float, passes: int) -> None:
        super()._keep(solution, alpha, passes)
        details: _Details = solution.known
        self.lower_bound_ = self.objective_ - (self.gap_ - solution.unsure)
        self.argmax_calls_, self.argmax_gap_ = details.argmax_calls, solution.unsure
        self.__dict__.pop("position_weights_", None)
        if details.position_weights is not None:
            self.position_weights_ = details.position_weights
        progress = details.solver.progress
        at_center, is_exact = progress.value_at_start, self.argmax_gap_ <= ROUNDING * self.objective_
        self.gain_ = max(at_center - self.objective_, 0.0)
        self.stays_at_center_ = bool(self.bound == "convex" and progress.nothing_to_gain and is_exact and at_center > 0)

    def _tell_of_gap(self) -> None:
        where = "w = 0" if self.center is None else "the center"
        if not (self.converged_ or self._ends_as_told()):
            warnings.warn(f"alpha = {self.alpha_:g}: {self._how_far(where)}", ConvergenceWarning, stacklevel=3)
        if self.stays_at_center_:
            warnings.warn(
                f"alpha = {self.alpha_:g}: no weights have a lower convex bound than {where} (none by more than "
                f"{ROUNDING:g} of it), so nothing is learned. Unless this alpha is huge, no other one helps: the bound "
                "underfits, as paper L tells of OHSUMED. Use bound='tight'",
                stacklevel=3,
            )

    def _how_far(self, where: str) -> str:
        """How far training has come that ended too early."""
        if self.bound == "tight":
            return f"descent has not ended after {self.n_iter_} steps: raise max_iter or tol"
        gap = self.objective_ - self.lower_bound_
        return (
            f"after {self.n_iter_} steps the objective may still be {gap:.2g} above its least, which is "
            f"{gap / self.objective_:.1e} of it and {gap / (self.gain_ + gap):.1e} of what can be gained over {where}; "
            f"tol = {self.tol:g} asks for less: raise max_iter, tol or alpha, or scale the features"
        )


def _regression(task: Task) -> Array:
    """The weights of a regression on the grades, its λ chosen by the first of the measures; queries weigh alike."""
    return _fitted_center(RegressionRanker(search()), task)


def _rankrls(task: Task) -> Array:
    """Those of RankRLS, rounded: their last digits depend on how the data are cut into parts."""
    return (
        _fitted_center(RankRLS(search(), folds=folds_worth(task.queries)), task).astype(np.float32).astype(np.float64)
    )


def _fitted_center(ranker: LinearClosedFormRanker, task: Task) -> Array:
    if task.valid is None and task.queries.n_queries < 2:
        raise DataError("center: the λ of its regression is chosen by leaving queries out, but there is only one")
    ranker.set_params(measures=task.measures[:1], convention=task.judge.convention)
    ranker._known_look = FirstLook(np.zeros(0, np.uint64), None, has_missing=False)  # who asks has looked
    return ranker.fit(task.queries, valid=task.valid).coef_
