"""Linear rankers that minimise a loss of their scores: the solvers, the λ path, and the choice of λ."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from rankwright.data.centred import check_features
from rankwright.data.products import FeatureProducts
from rankwright.data.queries import Queries
from rankwright.engines.blas import one_thread_per_call
from rankwright.errors import DataError, ParameterError
from rankwright.losses.loss import Loss, query_weights
from rankwright.losses.pairwise import MarginLosses
from rankwright.losses.phi import huber_hinge
from rankwright.measures.conventions import Convention, convention_of
from rankwright.measures.measure import Measure
from rankwright.rankers.alpha_path import ALPHAS, AlphaPath, by_measure, choose_alpha
from rankwright.rankers.base import LinearRanker, linear_scores
from rankwright.selection.search import (
    Estimate,
    Rule,
    Search,
    checked_alphas,
    checked_rule,
    estimates,
    optional_measures,
)
from rankwright.solvers.hinge import FIRST_HALF_WIDTH, minimise_hinge
from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.solvers.newton import newton
from rankwright.solvers.sgd import Stream
from rankwright.solvers.trace import Iteration

Array = npt.NDArray[np.float64]
Solver = Literal["newton", "sgd"]
SOLVERS = ("newton", "sgd")

_MOST_STEPS = {"newton": 500, "sgd": 50}
# Early stopping gives up after so many steps without a better validation measure.
_PATIENCE = 3
# How far down the gradient goes before a start is good enough.
_START_TOLERANCE, _START_STEPS = 0.1, 5
# A smoothed hinge for the next λ begins so much wider than the last one ended.
_WIDER = 4.0
# The grid of λ, as powers of two times the scale of the data.
_GRID = np.arange(-16.0, 9.0)

Progress = Callable[[Iteration], None]


class Solution(NamedTuple):
    """The weights for one λ, their objective, how far it can be above the least, and what it took."""

    weights: Array
    value: float
    gap: float
    converged: bool
    steps: int
    half_width: float = FIRST_HALF_WIDTH  # of the smoothed hinge, in the end


class LossRanker(LinearRanker):
    """½ λ‖w − w₀‖² + Σ_q loss_q(X_q w); subclasses say which loss."""

    alpha: float | Search
    rule: Rule
    center: Any
    solver: Solver
    tol: float
    max_iter: int | None
    early_stopping: bool
    folds: int
    random_state: Any

    _stream: Stream

    @abstractmethod
    def _loss(self) -> Loss:
        """The loss that the parameters describe, checked."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        valid: Queries | None = None,
        sample_weight: npt.ArrayLike | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn the weights. X may be `Queries`, which bring y and qid with them.

        An alpha that is searched for is chosen on ``valid`` if given, else by cross-validation over ``folds`` parts of
        the queries. ``sample_weight`` weighs queries: a number for each of them, in the order of their first rows, or
        one for each row. ``progress`` is called with an `Iteration` after every step of the solver.
        """
        task = self._task(X, y, qid, valid, sample_weight)
        self._forget_stream()
        features = FeatureProducts(task.queries)
        is_free = isinstance(self.alpha, Search) and self.alpha.values is None
        alphas = checked_alphas(self.alpha, self._own_grid(task, features) if is_free else ALPHAS)
        if len(alphas) > 1 and not task.measures:
            raise ParameterError("measures: name the one that alpha is to be chosen by")
        rule = checked_rule(self.rule)
        on_folds: list[dict[Measure, Estimate]] = []
        if len(alphas) > 1 and task.valid is None:
            on_folds = self._cross_validated(task, alphas, progress)
        solutions = self._path(task, features, alphas, progress)
        weights = np.stack([solution.weights for solution in solutions])
        on_valid: list[dict[Measure, Estimate]] = []
        if task.valid is not None:
            scores = linear_scores(task.valid.X, weights.T).T
            on_valid = [estimates(row, task.valid, task.measures, task.convention) for row in scores]
        chosen = choose_alpha(on_valid or on_folds, task.measures, rule) if len(alphas) > 1 else 0
        self.path_ = AlphaPath(
            alphas,
            weights,
            valid=by_measure(on_valid, task.measures),
            folds=by_measure(on_folds, task.measures),
            objectives=np.array([solution.value for solution in solutions]),
            gaps=np.array([max(solution.gap, 0.0) for solution in solutions]),
        )
        self._keep(solutions[chosen], float(alphas[chosen]), features.passes)
        return self

    def _keep(self, solution: Solution, alpha: float, passes: int) -> None:
        self.coef_, self.n_iter_ = solution.weights, solution.steps
        self.objective_, self.gap_ = float(solution.value), max(float(solution.gap), 0.0)  # below 0 only by rounding
        self.converged_ = bool(solution.converged)
        self.alpha_, self.passes_ = alpha, passes
        if not (self.converged_ or self.early_stopping or self.solver == "sgd"):  # these end where they are told to
            told = f"{self.gap_ / self.objective_:.1e}" if self.objective_ > 0 else f"{self.gap_:.1e}"
            warnings.warn(
                f"alpha = {alpha:g}: after {self.n_iter_} steps the objective may still be above its least by {told} "
                f"of it, more than tol = {self.tol:g}: raise max_iter, tol or alpha, or scale the features",
                ConvergenceWarning,
                stacklevel=3,
            )

    # What is asked for

    def _task(self, X: Any, y: Any, qid: Any, valid: Any, sample_weight: Any) -> _Task:
        loss = self._loss()
        self._check_parameters()
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        queries, held_out = self._training_queries(X, y, qid), self._validation_queries(valid)
        if self.early_stopping and (held_out is None or not measures):
            raise ParameterError("early_stopping needs validation queries (fit(…, valid=…)) and a measure")
        weights = query_weights(queries, sample_weight)
        return _Task(queries, loss, weights, self._center(queries.n_features), held_out, measures, convention)

    def _check_parameters(self) -> None:
        if self.solver not in SOLVERS:
            raise ParameterError(f"solver must be one of {', '.join(map(repr, SOLVERS))}, not {self.solver!r}")
        number = isinstance(self.tol, int | float | np.floating) and not isinstance(self.tol, bool)
        if not number or not 0 < self.tol < np.inf:
            raise ParameterError(f"tol must be a finite number above 0, not {self.tol!r}")
        if not isinstance(self.early_stopping, bool):
            raise ParameterError(f"early_stopping must be True or False, not {self.early_stopping!r}")
        for name, least in (("max_iter", 1), ("folds", 2)):
            value = getattr(self, name)
            if name == "max_iter" and value is None:
                continue
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}")

    def _center(self, n_features: int) -> Array:
        if self.center is None:
            return np.zeros(n_features)
        try:
            center = np.array(self.center, dtype=np.float64)
        except (TypeError, ValueError):
            center = np.array(np.nan)
        if center.shape != (n_features,) or not np.isfinite(center).all():
            raise ParameterError(f"center must be {n_features} finite numbers, one for each feature")
        return center

    # The λ path

    def _own_grid(self, task: _Task, features: FeatureProducts) -> Array:
        """Powers of two about the λ at which one step down the gradient, −∇loss(w₀)/λ, would spread scores by 1.

        So they fit, however many pairs there are, however these are weighed, and whatever the scale of the features.
        """
        objective = LinearObjective(features, task.loss.on(task.queries, task.weights), 1.0, task.center)
        point = objective.at(task.center)
        grouping = task.queries.grouping
        along = grouping.gather(linear_scores(task.queries.X, point.loss_gradient))
        means = np.add.reduceat(along, grouping.offsets[:-1]) / task.queries.sizes
        spread = float(np.std(along - np.repeat(means, task.queries.sizes)))  # within queries
        middle = np.round(np.log2(spread)) if 0 < spread < np.inf else 0.0
        grid: Array = np.exp2(middle + _GRID)
        return grid

    def _cross_validated(self, task: _Task, alphas: Array, progress: Progress | None) -> list[dict[Measure, Estimate]]:
        """What measures say of each λ on queries that were not trained on, each query being left out once."""
        queries, n = task.queries, task.queries.n_queries
        if n < 2:
            raise DataError("cross-validation needs at least two queries: give qid, or validation queries")
        scores = np.empty((len(alphas), queries.n_documents))
        part = np.arange(n) % min(self.folds, n)
        for fold in range(min(self.folds, n)):
            inner = task.part(part != fold)
            tell = None if progress is None else _in_fold(progress, fold + 1)
            path = self._path(inner, FeatureProducts(inner.queries), alphas, tell)
            weights = np.stack([solution.weights for solution in path])
            rows = (part == fold)[queries.grouping.codes]
            scores[:, rows] = linear_scores(queries.X[rows], weights.T).T
        return [estimates(row, queries, task.measures, task.convention) for row in scores]

    def _path(self, task: _Task, features: FeatureProducts, alphas: Array, progress: Progress | None) -> list[Solution]:
        """The solution for each λ, from the largest to the smallest, each one the start of the next."""
        losses = task.loss.on(task.queries, task.weights)
        solutions: list[Solution] = []
        with one_thread_per_call():  # products of vectors are over before other threads have woken
            for alpha in alphas[::-1].tolist():
                objective = LinearObjective(features, losses, alpha, task.center)
                watch = _Watch(self, task, objective, progress)
                solutions.append(self._solve(objective, solutions[-1] if solutions else None, watch))
        return solutions[::-1]

    def _solve(self, objective: LinearObjective, previous: Solution | None, watch: _Watch) -> Solution:
        """The weights for one λ, from those for the one before."""
        if self.solver == "sgd":
            solution = self._descend(objective, previous, watch)
        elif isinstance(objective.losses, MarginLosses) and not objective.losses.phi.is_smooth:
            solution = self._smoothed(objective, previous, watch)
        else:
            solution = self._newton(objective, previous, watch)
        return watch.best if watch.best is not None else solution

    def _smoothed(self, objective: LinearObjective, previous: Solution | None, watch: _Watch) -> Solution:
        done = minimise_hinge(
            objective,
            previous.weights if previous else objective.center,
            self.tol,
            most_steps=self.max_iter or _MOST_STEPS["newton"],
            half_width=min(FIRST_HALF_WIDTH, _WIDER * previous.half_width) if previous else FIRST_HALF_WIDTH,
            after_step=watch,
        )
        return Solution(done.weights, done.value, done.value - done.bound, done.finished, done.steps, done.half_width)

    def _newton(self, objective: LinearObjective, previous: Solution | None, watch: _Watch) -> Solution:
        def done(point: LinearPoint) -> bool:
            return objective.gap(point) <= self.tol * point.value

        def after_step(point: LinearPoint) -> bool:
            return watch(point.weights, point.value, point.value - objective.gap(point))

        first = objective.at(previous.weights if previous else objective.center)
        steps, most_steps = 0, self.max_iter or _MOST_STEPS["newton"]
        if previous is None and not done(first):
            better = _start_where_it_curves(objective, first)
            if better is not None:
                first, steps = better, 1
                after_step(first)
        result = newton(objective, first, done, most_steps=most_steps - steps, after_step=after_step)
        point = result.point
        return Solution(point.weights, point.value, objective.gap(point), result.finished, steps + result.steps)

    def _descend(self, objective: LinearObjective, previous: Solution | None, watch: _Watch) -> Solution:
        """Averaged stochastic gradient descent, until the mean is good enough or epochs are over."""
        features, losses = objective.features, objective.losses
        random = check_random_state(self.random_state)
        start = previous.weights if previous else objective.center
        objective.at(start)  # refuses features that are not finite, which would stay in the weights
        stream = Stream.start(start, objective.center, objective.alpha)
        epochs = self.max_iter or _MOST_STEPS["sgd"]
        for epoch in range(1, epochs + 1):
            order = random.permutation(features.n_queries)
            stream.follow(features, losses, order, features.n_queries, average=epoch > 1)
            point = objective.at(stream.mean.copy())
            gap = objective.gap(point)
            converged = gap <= self.tol * point.value
            if watch(point.weights, point.value, point.value - gap) or converged:
                break
        return Solution(point.weights, point.value, gap, converged, epoch)

    def partial_fit(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> Self:
        """Go on learning from more queries of a stream, each once, by averaged stochastic gradient descent.

        λ counts as in ``fit`` on all queries seen so far. alpha must be a number, and stay the same. The first call,
        also the first one after ``fit``, starts from ``center``. There is no certificate.
        """
        if isinstance(self.alpha, Search):
            raise ParameterError("partial_fit: alpha must be a number, as a stream cannot be searched")
        loss, alpha = self._loss(), float(checked_alphas(self.alpha, ALPHAS)[0])
        self._check_parameters()
        is_new = not hasattr(self, "_stream")
        if not is_new and alpha != self._stream.alpha:
            raise ParameterError(f"alpha was {self._stream.alpha:g} when the stream began, and cannot become {alpha:g}")
        queries = self._training_queries(X, y, qid, reset=is_new)
        check_features(queries)  # once it is in the weights it stays
        features, losses = FeatureProducts(queries), loss.on(queries)
        if is_new:
            self._forget_fit()
            center = self._center(queries.n_features)
            self._stream, self.n_queries_seen_ = Stream.start(center, center, alpha), 0
        order = check_random_state(self.random_state).permutation(queries.n_queries)
        self.n_queries_seen_ += queries.n_queries
        self._stream.follow(features, losses, order, self.n_queries_seen_)
        self.coef_, self.alpha_ = self._stream.mean.copy(), alpha
        return self

    def _forget_fit(self) -> None:
        """What ``fit`` has learned is not true of the weights of a stream."""
        for name in ("objective_", "gap_", "converged_", "n_iter_", "passes_", "path_"):
            self.__dict__.pop(name, None)

    def _forget_stream(self) -> None:
        for name in ("_stream", "n_queries_seen_"):
            self.__dict__.pop(name, None)


@dataclass(frozen=True, eq=False)
class _Task:
    """What is to be learned from, and judged by."""

    queries: Queries
    loss: Loss
    weights: Array
    center: Array
    valid: Queries | None
    measures: tuple[Measure, ...]
    convention: Convention

    def part(self, which: npt.NDArray[np.bool_]) -> _Task:
        """The same on some of the queries."""
        known = (self.loss, self.weights[which], self.center, None, self.measures, self.convention)
        return _Task(self.queries[which], *known)


class _Watch:
    """Called after every step of a solver: tells of it, and stops early where validation says so."""

    def __init__(
        self,
        ranker: LossRanker,
        task: _Task,
        objective: LinearObjective,
        progress: Progress | None,
    ) -> None:
        self._task, self._objective, self._progress = task, objective, progress
        self._stops_early = ranker.early_stopping and task.valid is not None
        self._tol = ranker.tol
        self._step = 0
        self._best_measure = -np.inf
        self._since_best = 0
        self.best: Solution | None = None

    def __call__(self, weights: Array, value: float, bound: float) -> bool:
        self._step += 1
        measure = self._measure(weights) if self._stops_early or self._progress else None
        if self._progress is not None:
            passes = self._objective.features.passes
            self._progress(Iteration(self._objective.alpha, self._step, value, value - bound, passes, measure))
        if not self._stops_early or measure is None:
            return False
        worth = -measure if self._task.measures[0].lower_is_better else measure
        self._since_best += 1
        if worth > self._best_measure:
            self._best_measure, self._since_best = worth, 0
            converged = value - bound <= self._tol * value
            self.best = Solution(weights.copy(), value, value - bound, converged, self._step)
        return self._since_best >= _PATIENCE

    def _measure(self, weights: Array) -> float | None:
        task = self._task
        if task.valid is None or not task.measures:
            return None
        deciding = task.measures[:1]
        scores = linear_scores(task.valid.X, weights)
        return estimates(scores, task.valid, deciding, task.convention)[deciding[0]].mean


def _start_where_it_curves(objective: LinearObjective, first: LinearPoint) -> LinearPoint | None:
    """A better start where the loss is straight at tied scores, so that Newton's model knows no scale there.

    With a unit margin, a Huber hinge of h = 1 curves at ties: steps down that one lead to where the corner of ours is.
    """
    losses = objective.losses
    if not isinstance(losses, MarginLosses) or losses.phi.name != "huber-hinge":
        return None
    rounder = LinearObjective(objective.features, losses.with_phi(huber_hinge(1.0)), objective.alpha, objective.center)
    start = rounder.at(first.weights)
    enough = _START_TOLERANCE * float(np.linalg.norm(start.gradient))

    def is_near(point: LinearPoint) -> bool:
        return float(np.linalg.norm(point.gradient)) <= enough

    return objective.at(newton(rounder, start, is_near, most_steps=_START_STEPS).point.weights)


def _in_fold(progress: Progress, fold: int) -> Progress:
    return lambda iteration: progress(iteration._replace(fold=fold))
