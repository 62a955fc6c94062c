"""Linear rankers that minimise a loss with Newton's method, or by averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from rankwright.data.finite import check_features
from rankwright.data.part import Part
from rankwright.data.streams.streamed import in_memory
from rankwright.engines.engine import Engine
from rankwright.errors import ParameterError
from rankwright.evaluation.tables import regularisation
from rankwright.losses.pairwise import PreorderLoss
from rankwright.losses.phi import huber_hinge
from rankwright.machine.blas import one_thread_per_call
from rankwright.progress import Tell, part_of
from rankwright.rankers.alpha_path import ALPHAS
from rankwright.rankers.path_ranker import PathRanker, Solution, Task, Watch
from rankwright.selection.search import Search, checked_alphas
from rankwright.solvers.hinge import FIRST_HALF_WIDTH, minimise_hinge
from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.solvers.newton import newton
from rankwright.solvers.sgd import Stream
from rankwright.types import Array

Solver = Literal["newton", "sgd"]

_MOST_STEPS = {"newton": 500, "sgd": 50}
# How far down the gradient goes before a start is good enough.
_START_TOLERANCE, _START_STEPS = 0.1, 5
# A smoothed hinge for the next λ begins so much wider than the last one ended.
_WIDER = 4.0


class LossRanker(PathRanker):
    """Minimises a loss whose derivatives are known."""

    __metadata_request__partial_fit = {"qid": True}  # noqa: RUF012 - as in Ranker

    solver: Solver
    random_state: Any

    _solvers = ("newton", "sgd")
    _stream: Stream

    def _path(self, task: Task, engine: Engine, alphas: Array, progress: Tell | None) -> list[Solution]:
        """The solution for each λ, from the largest to the smallest, each one the start of the next."""
        loss = task.sent_loss()
        solutions: list[Solution] = []
        with one_thread_per_call():  # products of vectors are over before other threads have woken
            for done, alpha in enumerate(alphas[::-1].tolist()):
                objective = LinearObjective(engine, loss, alpha, task.center)
                tell = part_of(progress, f"λ = {regularisation(alpha)}", done, len(alphas))
                watch = Watch(self, task, objective, tell)
                solutions.append(self._solve(objective, solutions[-1] if solutions else None, watch))
        return solutions[::-1]

    def _keep(self, solution: Solution, alpha: float, passes: int) -> None:
        self._forget_stream()
        super()._keep(solution, alpha, passes)

    def _needs_memory(self) -> tuple[str, str] | None:
        return ("solver='sgd'", "solver='newton'") if self.solver == "sgd" else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        loss = self._loss()
        if not loss.is_convex:
            raise ParameterError(
                f"loss: {loss!r} is not convex, and solver={self.solver!r} could not certify what it finds"
            )
        if not loss.is_smooth and not isinstance(loss, PreorderLoss):
            raise ParameterError(f"loss: {loss!r} is not smooth, but solver={self.solver!r} goes by its curvature")

    def _ends_as_told(self) -> bool:
        return self.early_stopping or self.solver == "sgd"

    def _solve(self, objective: LinearObjective, previous: Solution | None, watch: Watch) -> Solution:
        """The weights for one λ, from those for the one before."""
        if self.solver == "sgd":
            solution = self._descend(objective, previous, watch)
        elif not objective.loss.is_smooth:
            solution = self._smoothed(objective, previous, watch)
        else:
            solution = self._newton(objective, previous, watch)
        return watch.best if watch.best is not None else solution

    def _smoothed(self, objective: LinearObjective, previous: Solution | None, watch: Watch) -> Solution:
        done = minimise_hinge(
            objective,
            previous.weights if previous else objective.center,
            self.tol,
            most_steps=self.max_iter or _MOST_STEPS["newton"],
            half_width=_next_half_width(previous),
            after_step=watch,
        )
        return Solution(done.weights, done.value, done.value - done.bound, done.finished, done.steps, done.half_width)

    def _newton(self, objective: LinearObjective, previous: Solution | None, watch: Watch) -> Solution:
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

    def _descend(self, objective: LinearObjective, previous: Solution | None, watch: Watch) -> Solution:
        """Averaged stochastic gradient descent, until the mean is good enough or epochs are over."""
        whole = objective.engine.whole("solver='sgd' goes through the queries in random order: use solver='newton'")
        losses = objective.loss.on(whole)
        random = check_random_state(self.random_state)
        start = previous.weights if previous else objective.center
        objective.at(start)  # refuses features that are not finite, which would stay in the weights
        stream = Stream.start(start, objective.center, objective.alpha)
        epochs = self.max_iter or _MOST_STEPS["sgd"]
        for epoch in range(1, epochs + 1):
            order = random.permutation(whole.n_queries)
            stream.follow(whole.products, losses, order, whole.n_queries, average=epoch > 1)
            objective.engine.passes += 1
            point = objective.at(stream.mean.copy())
            gap = objective.gap(point)
            converged = gap <= self.tol * point.value
            if watch(point.weights, point.value, point.value - gap) or converged:
                break
        return Solution(point.weights, point.value, gap, converged, epoch)

    def partial_fit(
        self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None, *, group: npt.ArrayLike | None = None
    ) -> Self:
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
        queries = self._training_queries(X, y, qid, group, reset=is_new, are_all=False)
        queries = in_memory(queries, "partial_fit", "fit, or give partial_fit one part after the other")
        check_features(queries)  # once it is in the weights it stays
        part = Part(queries)
        if is_new:
            self._forget_fit()
            center = self._center(queries.n_features)
            self._stream, self.n_queries_seen_ = Stream.start(center, center, alpha), 0
        order = check_random_state(self.random_state).permutation(queries.n_queries)
        self.n_queries_seen_ += queries.n_queries
        self._stream.follow(part.products, loss.on(part.judgments), order, self.n_queries_seen_)
        self.coef_, self.alpha_ = self._stream.mean.copy(), alpha
        return self

    def _forget_fit(self) -> None:
        """What ``fit`` has learned is not true of the weights of a stream."""
        for name in ("objective_", "gap_", "converged_", "n_iter_", "passes_", "path_"):
            self.__dict__.pop(name, None)

    def _forget_stream(self) -> None:
        for name in ("_stream", "n_queries_seen_"):
            self.__dict__.pop(name, None)


def _next_half_width(previous: Solution | None) -> float:
    if previous is None or previous.state is None:
        return FIRST_HALF_WIDTH
    return float(min(FIRST_HALF_WIDTH, _WIDER * previous.state))


def _start_where_it_curves(objective: LinearObjective, first: LinearPoint) -> LinearPoint | None:
    """A better start where the loss is straight at tied scores, so that Newton's model knows no scale there.

    With a unit margin, a Huber hinge of h = 1 curves at ties: steps down that one lead to where the corner of ours is.
    """
    if objective.loss.phi_name != "huber-hinge":
        return None
    rounder = objective.with_loss(objective.loss.with_phi(huber_hinge(1.0)))
    start = rounder.at(first.weights)
    enough = _START_TOLERANCE * float(np.linalg.norm(start.gradient))

    def is_near(point: LinearPoint) -> bool:
        return float(np.linalg.norm(point.gradient)) <= enough

    return objective.at(newton(rounder, start, is_near, most_steps=_START_STEPS).point.weights)
