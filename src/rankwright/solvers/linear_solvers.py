"""Solvers of ½ λ‖w − w₀‖² + Σ_q loss_q(X_q w) with a loss whose derivatives are known, by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from rankwright.errors import ParameterError
from rankwright.losses.loss import Loss
from rankwright.losses.phi import huber_hinge
from rankwright.solvers.hinge import FIRST_HALF_WIDTH, MOST_STEPS, minimise_hinge
from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.solvers.newton import newton
from rankwright.solvers.sgd import Stream
from rankwright.solvers.solved import Goal, Solved, Solver, why_ended
from rankwright.types import Array

_MOST_EPOCHS = 50
# How far down the gradient goes before a start is good enough.
_START_TOLERANCE, _START_STEPS = 0.1, 5
# A smoothed hinge for the next λ begins so much wider than the last one ended.
_WIDER = 4.0


def check_solvable(loss: Loss, solver: str) -> None:
    """Refuse a loss that these solvers cannot minimise, by what it says of itself."""
    if not loss.is_convex:
        raise ParameterError(f"loss: {loss!r} is not convex, and solver={solver!r} could not certify what it finds")
    if not (loss.is_smooth or loss.can_be_smoothed):
        raise ParameterError(f"loss: {loss!r} is not smooth, but solver={solver!r} goes by its curvature")


def solve_by_newton(objective: LinearObjective, start: Array, goal: Goal, known: Any = None, **_: Any) -> Solved:
    """Newton's method; a loss with corners is smoothed, ever less."""
    check_solvable(objective.loss.loss, "newton")
    if objective.loss.is_smooth:
        return _smooth(objective, start, goal, is_first=known is None)
    half_width = FIRST_HALF_WIDTH if known is None else min(FIRST_HALF_WIDTH, _WIDER * known)
    return minimise_hinge(objective, start, goal, half_width)


def _smooth(objective: LinearObjective, start: Array, goal: Goal, *, is_first: bool) -> Solved:
    def done(point: LinearPoint) -> bool:
        return objective.gap(point) <= goal.tol * point.value

    def after_step(point: LinearPoint) -> bool:
        tell = goal.after_step
        return tell is not None and tell(point.weights, point.value, point.value - objective.gap(point))

    first, steps = objective.at(start), 0
    if is_first and not done(first):
        better = _start_where_it_curves(objective, first)
        if better is not None:
            first, steps = better, 1
            after_step(first)
    most_steps = (goal.most_steps or MOST_STEPS) - steps
    solved = newton(objective, first, done, most_steps=most_steps, after_step=after_step)
    return solved._replace(steps=steps + solved.steps)


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

    return objective.at(newton(rounder, start, is_near, most_steps=_START_STEPS).weights)


def solve_by_sgd(
    objective: LinearObjective, start: Array, goal: Goal, known: Any = None, *, random_state: Any = None, **_: Any
) -> Solved:
    """Averaged stochastic gradient descent, until the mean is good enough or epochs are over."""
    check_solvable(objective.loss.loss, "sgd")
    engine = objective.engine
    whole = engine.whole("solver='sgd' goes through the queries in random order: use solver='newton'")
    losses, random = objective.loss.on(whole), check_random_state(random_state)
    objective.at(start)  # refuses features that are not finite, which would stay in the weights
    stream = Stream.start(start, objective.center, objective.alpha)
    epochs = goal.most_steps or _MOST_EPOCHS
    for epoch in range(1, epochs + 1):
        order = random.permutation(whole.n_queries)
        stream.follow(whole.products, losses, order, whole.n_queries, average=epoch > 1)
        engine.passes += 1
        point = objective.at(stream.mean.copy())
        bound = point.value - objective.gap(point)
        converged = point.value - bound <= goal.tol * point.value
        stopped = goal.after_step is not None and goal.after_step(point.weights, point.value, bound)
        if stopped or converged:
            break
    ended = why_ended(met=converged, stopped=stopped, all_steps=True)
    return Solved(point.weights, point.value, bound, epoch, engine.passes, converged, ended)


LINEAR_SOLVERS: dict[str, Solver[LinearObjective]] = {"newton": solve_by_newton, "sgd": solve_by_sgd}
