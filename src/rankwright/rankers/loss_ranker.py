"""Linear rankers that minimise a loss with Newton's method, or by averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy.typing as npt
from sklearn.utils import check_random_state

from rankwright.data.finite import check_features
from rankwright.data.part import Part
from rankwright.data.streams.streamed import in_memory
from rankwright.engines.engine import Engine
from rankwright.errors import ParameterError
from rankwright.evaluation.tables import regularisation
from rankwright.machine.blas import one_thread_per_call
from rankwright.progress import Tell, part_of
from rankwright.rankers.alpha_path import ALPHAS
from rankwright.rankers.path_ranker import PathRanker, Task, Watch
from rankwright.selection.search import Search, checked_alphas
from rankwright.solvers.linear_objective import LinearObjective
from rankwright.solvers.linear_solvers import LINEAR_SOLVERS, check_solvable
from rankwright.solvers.sgd import Stream
from rankwright.solvers.solved import Solved
from rankwright.types import Array

Solver = Literal["newton", "sgd"]


class LossRanker(PathRanker):
    """Minimises a loss whose derivatives are known."""

    __metadata_request__partial_fit = {"qid": True}  # noqa: RUF012 - as in Ranker

    solver: Solver
    random_state: Any

    _solvers = LINEAR_SOLVERS
    _stream: Stream

    def _path(self, task: Task, engine: Engine, alphas: Array, progress: Tell | None) -> list[Solved]:
        """The solution for each λ, from the largest to the smallest, each one the start of the next."""
        loss = task.sent_loss()
        solutions: list[Solved] = []
        with one_thread_per_call():  # products of vectors are over before other threads have woken
            for done, alpha in enumerate(alphas[::-1].tolist()):
                objective = LinearObjective(engine, loss, alpha, task.center)
                tell = part_of(progress, f"λ = {regularisation(alpha)}", done, len(alphas))
                watch = Watch(self, task, objective, tell)
                solutions.append(self._solve(objective, solutions[-1] if solutions else None, watch))
        return solutions[::-1]

    def _keep(self, solution: Solved, alpha: float, passes: int) -> None:
        self._forget_stream()
        super()._keep(solution, alpha, passes)

    def _needs_memory(self) -> tuple[str, str] | None:
        return ("solver='sgd'", "solver='newton'") if self.solver == "sgd" else None

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_solvable(self._loss(), self.solver)

    def _ends_as_told(self) -> bool:
        return self.early_stopping or self.solver == "sgd"

    def _solve(self, objective: LinearObjective, previous: Solved | None, watch: Watch) -> Solved:
        """The weights for one λ, from those for the one before."""
        start, known = (objective.center, None) if previous is None else (previous.weights, previous.known)
        solve = LINEAR_SOLVERS[self.solver]
        solved = solve(objective, start, self._goal(watch), known, random_state=self.random_state)
        return solved if watch.best is None else watch.best

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
