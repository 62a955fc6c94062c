"""What linear rankers share that are trained for a whole path of λ: the grid, cross-validation, and the choice of λ."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from rankwright.arrays import finite_numbers
from rankwright.checks import check_bool, check_choice, check_positive, check_whole
from rankwright.data.centred import centred_by_query
from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries, in_memory
from rankwright.engines import engine_of
from rankwright.engines.engine import Engine
from rankwright.errors import DataError, ParameterError
from rankwright.losses.loss import Loss, counting_weights
from rankwright.measures.conventions import convention_of
from rankwright.measures.measure import Measure
from rankwright.progress import Iteration, Progress, Tell, part_of
from rankwright.rankers.alpha_path import ALPHAS, AlphaPath, choose_alpha
from rankwright.rankers.base import LinearRanker
from rankwright.selection.judging import Judge, Split, splits_of
from rankwright.selection.search import NONE_COUNTS, Rule, Search, checked_alphas, checked_rule, given_alphas
from rankwright.solvers.linear_objective import LinearObjective
from rankwright.solvers.sent_loss import SentLoss
from rankwright.solvers.solved import Goal, Solved
from rankwright.types import Array

# Early stopping gives up after so many steps without a better validation measure.
_PATIENCE = 3
# The grid of λ, as powers of two times the scale of the data.
_GRID = np.arange(-16.0, 9.0)


class PathRanker(LinearRanker):
    """½ λ‖w − w₀‖² + Σ_q loss_q(X_q w); subclasses say which loss, and how it is minimised."""

    alpha: float | Search
    rule: Rule
    center: Any
    solver: Any
    tol: float
    max_iter: int | None
    early_stopping: bool
    folds: int

    _solvers: Mapping[str, Any]
    _takes_powers = True

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss that the parameters describe, checked."""

    @abstractmethod
    def _path(self, task: Task, engine: Engine, alphas: Array, progress: Tell | None) -> list[Solved]:
        """The solution for each λ, in their order."""

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
        """Learn the weights. X may be `Queries`, which bring y and qid with them.

        ``group`` is how many rows each query has, instead of qid. An alpha that is searched for is chosen on ``valid``
        if given, else by cross-validation over ``folds`` parts of the queries. ``sample_weight`` weighs queries: a
        number for each of them, in the order of their first rows, or one for each row. ``progress`` is called with
        `Progress`, which holds an `Iteration`, after every step of the solver.
        """
        task = self._task(X, y, qid, valid, sample_weight, group)
        engine = engine_of(task.queries)
        is_free = isinstance(self.alpha, Search) and self.alpha.values is None
        alphas = checked_alphas(self.alpha, self._own_grid(task, engine) if is_free else ALPHAS)
        if len(alphas) > 1 and not task.measures:
            raise ParameterError("measures: name the one that alpha is to be chosen by")
        rule = checked_rule(self.rule)
        on_folds, on_valid = {}, {}
        if len(alphas) > 1 and task.valid is None:
            values = self._cross_validated(task, alphas, progress)
            on_folds = task.judge.estimates(values)
            n_folds = min(self.folds, task.queries.n_queries)
            progress = part_of(progress, "all queries", n_folds, n_folds + 1)
        solutions = self._path(task, engine, alphas, progress)
        weights = _weights(solutions)
        if task.valid is not None:
            values = task.judge.values(task.valid, weights)
            on_valid = task.judge.estimates(values)
        chosen = choose_alpha(alphas, values, on_valid or on_folds, rule) if len(alphas) > 1 else 0
        self.path_ = AlphaPath(
            alphas,
            weights,
            valid=on_valid,
            folds=on_folds,
            objectives=np.array([solution.value for solution in solutions]),
            gaps=np.array([max(solution.gap, 0.0) for solution in solutions]),
        )
        self._keep(solutions[chosen], float(alphas[chosen]), engine.passes)
        self._tell_of_gap()
        return self

    def path(
        self, queries: AnyQueries, alphas: Sequence[float] | npt.ArrayLike, *, progress: Tell | None = None
    ) -> Array:
        """The weights of training columns for each λ (λ × columns), in the order given; nothing is judged or chosen."""
        wanted = given_alphas(alphas)
        ascending, place = np.unique(wanted, return_inverse=True)
        task = self._task(queries, None, None, None, None)
        return _weights(self._path(task, engine_of(task.queries), ascending, progress))[place]

    def _keep(self, solution: Solved, alpha: float, passes: int) -> None:
        self.coef_, self.n_iter_ = solution.weights, solution.steps
        self.objective_, self.gap_ = float(solution.value), max(float(solution.gap), 0.0)  # below 0 only by rounding
        self.converged_ = bool(solution.converged)
        self.alpha_, self.passes_ = alpha, passes

    def _tell_of_gap(self) -> None:
        if not (self.converged_ or self._ends_as_told()):
            told = f"{self.gap_ / self.objective_:.1e}" if self.objective_ > 0 else f"{self.gap_:.1e}"
            warnings.warn(
                f"alpha = {self.alpha_:g}: after {self.n_iter_} steps the objective may still be above its least by "
                f"{told} of it, more than tol = {self.tol:g}: raise max_iter, tol or alpha, or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _goal(self, watch: Watch) -> Goal:
        return Goal(self.tol, self.max_iter, watch)

    def _ends_as_told(self) -> bool:
        """Whether training ends where it is told to, which may be before the gap is met."""
        return self.early_stopping

    def alpha_grid(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> Array:
        """The values of λ that ``alpha=search()`` would choose from on these data, ascending."""
        task = self._task(X, y, qid, None, None)
        return self._own_grid(task, engine_of(task.queries))

    # What is asked for

    def _task(self, X: Any, y: Any, qid: Any, valid: Any, sample_weight: Any, group: Any = None) -> Task:
        loss = self._loss()
        self._check_parameters()
        needs_memory = self._needs_memory()
        if needs_memory is not None and isinstance(X, StreamedQueries):
            in_memory(X, *needs_memory)
        measures, convention = self._told_measures(), convention_of(self.convention)
        queries, held_out = self._training_queries(X, y, qid, group), self._validation_queries(valid)
        if self.early_stopping and (held_out is None or not measures):
            raise ParameterError("early_stopping needs validation queries (fit(…, valid=…)) and a measure")
        # Without weights nothing has to be known of the documents, and nothing of each query is sent to the parts.
        weights = None if sample_weight is None else counting_weights(queries.judgments, sample_weight)
        return Task(queries, loss, weights, self._center(queries.n_features), held_out, Judge(measures, convention))

    def _needs_memory(self) -> tuple[str, str] | None:
        """What about its parameters needs all documents in memory, and what to use instead; None if nothing does."""
        return None

    def _check_parameters(self) -> None:
        check_choice("solver", self.solver, self._solvers)
        check_positive("tol", self.tol)
        check_bool("early_stopping", self.early_stopping)
        check_whole("folds", self.folds, 2)
        if self.max_iter is not None:
            check_whole("max_iter", self.max_iter, 1, or_else="None")

    def _center(self, n_columns: int) -> Array:
        """w₀ for columns of training: as given for features, and 0 for those that tell where a feature is missing."""
        padded = np.zeros(n_columns)
        if self.center is None:
            return padded
        padded[: self.n_features_in_] = finite_numbers("center", self.center, self.n_features_in_, "feature")
        return padded

    # The λ path

    def _own_grid(self, task: Task, engine: Engine) -> Array:
        """Powers of two about the λ at which one step down the gradient, −∇loss(w₀)/λ, would spread scores by 1.

        So they fit, however many pairs there are, however these are weighed, and whatever the scale of the features.
        """
        point = LinearObjective(engine, task.sent_loss(), 1.0, task.center).at(task.center)
        squares: float = engine.sum(_squared_spread, point.loss_gradient)
        spread = float(np.sqrt(squares / engine.n_documents))  # within queries
        middle = np.round(np.log2(spread)) if 0 < spread < np.inf else 0.0
        grid: Array = np.exp2(middle + _GRID)
        return grid

    def _cross_validated(self, task: Task, alphas: Array, progress: Tell | None) -> Array:
        """What measures say of each query by rankers that were not trained on it, queries × λ × measures."""
        n_queries = task.queries.n_queries
        values = np.empty((n_queries, len(alphas), len(task.measures)))
        for fold, split in enumerate(splits_of(task.queries, self.folds), start=1):
            tell = None if progress is None else _in_fold(progress, fold, min(self.folds, n_queries))
            solutions = self._path(task.without_judged(split), engine_of(split.train), alphas, tell)
            values[split.is_judged] = task.judge.values(split.judged, _weights(solutions))
        return values


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be learned from, and judged by; queries without ``weights`` count alike."""

    queries: AnyQueries
    loss: Loss
    weights: Array | None
    center: Array
    valid: AnyQueries | None
    judge: Judge

    @property
    def measures(self) -> tuple[Measure, ...]:
        """What to tell of rankers; the first one decides."""
        return self.judge.measures

    def sent_loss(self) -> SentLoss:
        """The loss as parts of the data take it."""
        return SentLoss(self.loss, self.weights)

    def without_judged(self, split: Split) -> Task:
        """The same on the queries that a split has to train on."""
        weights = None if self.weights is None else self.weights[~split.is_judged]
        return replace(self, queries=split.train, weights=weights)


class _Minimised(Protocol):
    """An objective as far as those who watch know it."""

    alpha: float
    engine: Engine


class Watch:
    """Called after every step of a solver: tells of it, and stops early where validation says so."""

    def __init__(
        self,
        ranker: PathRanker,
        task: Task,
        objective: _Minimised,
        progress: Tell | None,
    ) -> None:
        self._task, self._objective, self._progress = task, objective, progress
        self._stops_early = ranker.early_stopping and task.valid is not None
        self._tol = ranker.tol
        self._step = 0
        self._best_measure = -np.inf
        self._since_best = 0
        self.best: Solved | None = None

    def __call__(self, weights: Array, value: float, bound: float) -> bool:
        """Whether to stop."""
        self._step += 1
        measure = self._measure(weights) if self._stops_early or self._progress else None
        if self._progress is not None:
            passes = self._objective.engine.passes
            told = Iteration(self._objective.alpha, self._step, value, value - bound, passes, measure)
            self._progress(Progress(f"step {self._step}", self._step, None, iteration=told))
        if not self._stops_early or measure is None:
            return False
        if np.isnan(measure):
            raise DataError(NONE_COUNTS)
        worth = -measure if self._task.measures[0].lower_is_better else measure
        self._since_best += 1
        if worth > self._best_measure:
            self._best_measure, self._since_best = worth, 0
            converged, passes = value - bound <= self._tol * value, self._objective.engine.passes
            self.best = Solved(weights.copy(), value, bound, self._step, passes, converged, "it was stopped")
        return self._since_best >= _PATIENCE

    def _measure(self, weights: Array) -> float | None:
        task = self._task
        if task.valid is None or not task.measures:
            return None
        deciding = Judge(task.measures[:1], task.judge.convention)
        return deciding.estimates(deciding.values(task.valid, weights[None]))[task.measures[0]][0].mean


def _weights(solutions: Sequence[Solved]) -> Array:
    return np.stack([solution.weights for solution in solutions])


def _squared_spread(part: Part, weights: Array) -> float:
    """Σ of squared scores, centred query by query."""
    scores = np.empty(part.n_documents)
    part.over_runs(lambda first, last: part.products.scores(first, last, weights, scores))
    centred = centred_by_query(scores, part.offsets)
    return float(centred @ centred)


def _in_fold(progress: Tell, fold: int, folds: int) -> Tell | None:
    """Tells of the training without one part of the queries; that on all of them comes after the last part."""

    def tell(now: Progress) -> None:
        progress(now if now.iteration is None else now._replace(iteration=now.iteration._replace(fold=fold)))

    return part_of(tell, f"fold {fold} of {folds}", fold - 1, folds + 1)
