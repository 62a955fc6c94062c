"""Solvers of ½ λ‖w − w₀‖² + Σ_q ξ_q(X_q w) with structured losses ξ, by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from rankwright.solvers.bundle import minimise_by_bundle
from rankwright.solvers.cutting_plane import minimise_by_cutting_planes
from rankwright.solvers.descent import Descent
from rankwright.solvers.document_planes import planes_of
from rankwright.solvers.frank_wolfe import minimise_by_frank_wolfe
from rankwright.solvers.planes import Planes
from rankwright.solvers.solved import Goal, Solved, Solver
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.solvers.subgradient import minimise_by_subgradients
from rankwright.solvers.tight import minimise_tight
from rankwright.types import Array

_MOST_STEPS = 1000


class Known(NamedTuple):
    """The planes that a solver has found, which do not depend on λ, and how far it has come."""

    planes: Planes | None
    progress: Descent


# Goes on until progress is enough; is called with objective, planes, weights, progress and options.
ByPlanes = Callable[..., None]


def _solve_by_planes(
    minimise: ByPlanes, objective: StructuredObjective, start: Array, goal: Goal, known: Any = None, **options: Any
) -> Solved:
    """Losses that are not convex by a sequence of convex ones."""
    progress = _begun(objective, goal)
    if not objective.is_convex:
        _descend_tight(minimise, objective, start, progress, **options)
        return _solved(objective, None, progress)
    planes = planes_of(objective) if known is None or known.planes is None else known.planes
    minimise(objective, planes, start, progress, **options)
    return _solved(objective, planes, progress)


def _solve_by_subgradients(
    objective: StructuredObjective, start: Array, goal: Goal, known: Any = None, *, is_conjugate: bool, **_: Any
) -> Solved:
    progress = _begun(objective, goal)
    minimise_by_subgradients(objective, start, progress, is_conjugate=is_conjugate)
    if not objective.is_convex:  # subgradients may not find the way on where there is one
        _descend_tight(minimise_by_bundle, objective, progress.weights, progress)
    return _solved(objective, None, progress)


def _begun(objective: StructuredObjective, goal: Goal) -> Descent:
    most_steps = goal.most_steps or _MOST_STEPS
    return Descent(objective.center, objective.value_at_center(), goal.tol, most_steps, goal.after_step)


def _descend_tight(
    minimise: ByPlanes, objective: StructuredObjective, start: Array, progress: Descent, **options: Any
) -> None:
    def minimise_convex(convex: StructuredObjective, weights: Array, inner: Descent) -> None:
        minimise(convex, planes_of(convex), weights, inner, **options)

    minimise_tight(objective, start, progress, minimise_convex)


def _solved(objective: StructuredObjective, planes: Planes | None, progress: Descent) -> Solved:
    weights, value = progress.best
    told = (progress.steps, objective.engine.passes, progress.is_finished, progress.ended)
    return Solved(weights, value, progress.bound, *told, Known(planes, progress))


STRUCTURED_SOLVERS: dict[str, Solver[StructuredObjective]] = {
    "bundle": partial(_solve_by_planes, minimise_by_bundle),
    "cutting-plane": partial(_solve_by_planes, minimise_by_cutting_planes),
    "frank-wolfe": partial(_solve_by_planes, minimise_by_frank_wolfe),
    "subgradient": partial(_solve_by_subgradients, is_conjugate=False),
    "conjugate-subgradient": partial(_solve_by_subgradients, is_conjugate=True),
}
