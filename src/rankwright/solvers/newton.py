"""Truncated Newton with a trust region: each step minimises the quadratic model by conjugate gradients (Steihaug)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.solvers.preconditioner import Diagonal, Preconditioner, preconditioner
from rankwright.solvers.solved import Solved, why_ended
from rankwright.types import Array

# A step is taken if the value falls by more than this part of what the model foretold.
_LEAST_FALL = 1e-4
# The region grows where it was too small, and shrinks where the model foretells badly.
_BADLY = 0.25
_GROWTH, _SHRINKING, _AFTER_SEARCH = 10.0, 0.5, 10.0
# Conjugate gradients stop at this part of the gradient, measured by M⁻¹.
_INEXACTNESS = 0.2
_MOST_INNER_STEPS = 500
# Where conjugate gradients took more steps than this, the preconditioner is made anew.
_MANY_INNER_STEPS = 3
# The search along a step ends where the slope is at most this part of what it was at the start.
_SEARCH_SLOPE, _MOST_SEARCH_STEPS = 0.1, 40
# Rounding of a sum: a fall below this part of the value cannot be seen.
_ROUNDING = 1e-13


def newton(
    objective: LinearObjective,
    start: LinearPoint,
    done: Callable[[LinearPoint], bool],
    *,
    most_steps: int,
    after_step: Callable[[LinearPoint], bool] | None = None,
) -> Solved:
    """Minimise a smooth convex objective until ``done``; ``after_step`` sees each new point, and may end it (True).

    The point that it ends at is what it knows.
    """

    def solved(point: LinearPoint, steps: int, *, stopped: bool = False) -> Solved:
        met, bound = done(point), point.value - objective.gap(point)
        ended = why_ended(met=met, stopped=stopped, all_steps=steps >= most_steps)
        return Solved(point.weights, point.value, bound, steps, objective.engine.passes, met, ended, point)

    point, spare, model = start, None, None
    radius, spent = np.inf, 0
    for step in range(1, most_steps + 1):
        if done(point):
            return solved(point, step - 1)
        if model is None:
            model = preconditioner(objective, point)
        inner = _model_minimum(objective, point, model, radius)
        trial = objective.at(point.weights + inner.step, spare)
        fall, length = point.value - trial.value, model.norm(inner.step)
        if inner.foretold <= _ROUNDING * abs(point.value):  # the value cannot show it, but the gradient can
            if not np.linalg.norm(trial.gradient) < np.linalg.norm(point.gradient):
                return solved(point, step)
        elif not fall > _LEAST_FALL * inner.foretold:
            part = _search(objective, point, trial, inner.step)
            if part == 0:
                return solved(point, step)
            trial = objective.at(point.weights + part * inner.step, trial)
            radius = _AFTER_SEARCH * part * length
        elif fall < _BADLY * inner.foretold:
            radius = _SHRINKING * length
        elif inner.on_boundary:
            radius *= _GROWTH
        point, spare = trial, point
        spent += inner.steps
        if inner.steps > _MANY_INNER_STEPS or inner.on_boundary:
            fresh = preconditioner(objective, point, model, spent)
            radius *= fresh.norm(inner.step) / length
            spent = spent if fresh is model or isinstance(fresh, Diagonal) else 0
            model = fresh
        if after_step is not None and after_step(point):
            return solved(point, step, stopped=True)
    return solved(point, most_steps)


class _Inner(NamedTuple):
    """A step, by how much it should lower the value, whether the radius stopped it, and how long it took to find."""

    step: Array
    foretold: float
    on_boundary: bool
    steps: int


def _model_minimum(objective: LinearObjective, point: LinearPoint, model: Preconditioner, radius: float) -> _Inner:
    """The step d that minimises ∇Fᵀd + ½dᵀHd where √(dᵀMd) ≤ radius, by conjugate gradients preconditioned by M."""
    residual = -point.gradient
    solved = model.solve(residual)
    squared = float(residual @ solved)
    enough = _INEXACTNESS**2 * squared
    step, search = np.zeros_like(residual), solved
    inner_steps = 0
    while squared > enough and inner_steps < _MOST_INNER_STEPS:
        inner_steps += 1
        curved = objective.curve(point, search)
        bend = float(search @ curved)
        if not bend > 0:  # only by rounding: λ is lost beside the loss
            break
        length = squared / bend
        longer = step + length * search
        if model.norm(longer) >= radius:
            length = _to_boundary(model, step, search, radius)
            step, residual = step + length * search, residual - length * curved
            return _Inner(step, _foretold(point, step, residual), True, inner_steps)
        step, residual = longer, residual - length * curved
        solved = model.solve(residual)
        previous, squared = squared, float(residual @ solved)
        search = solved + squared / previous * search
    return _Inner(step, _foretold(point, step, residual), False, inner_steps)


def _foretold(point: LinearPoint, step: Array, residual: Array) -> float:
    """−∇Fᵀd − ½dᵀHd, where Hd = −∇F − residual."""
    return 0.5 * float(step @ (residual - point.gradient))


def _to_boundary(model: Preconditioner, step: Array, search: Array, radius: float) -> float:
    """The t > 0 at which √((d + tp)ᵀM(d + tp)) reaches the radius."""
    a, inside = model.norm(search) ** 2, model.norm(step) ** 2
    b = 0.5 * (model.norm(step + search) ** 2 - inside - a)
    c = max(radius * radius - inside, 0.0)
    root = float(np.sqrt(b * b + a * c))
    return c / (b + root) if b + root > 0 else 0.0


def _search(objective: LinearObjective, point: LinearPoint, trial: LinearPoint, step: Array) -> float:
    """The t in (0, 1) at which F(w + td) is least, or nearly, from scores alone where they are kept.

    F is convex along d and falls at first, but by t = 1 it has risen, or hardly fallen.
    """
    at_start, at_end = float(point.gradient @ step), float(trial.gradient @ step)
    if at_end <= 0:  # it falls all the way
        return 1.0 if trial.value < point.value else 0.0
    low, high = 0.0, 1.0
    low_slope, high_slope = at_start, at_end
    for _ in range(_MOST_SEARCH_STEPS):
        if low == 0:
            t = 0.1 * high  # the right length may be smaller by far
        else:  # the secant's zero, but not too near an end: the slope may be steep on one side
            steeper = high_slope - low_slope
            secant = low - low_slope * (high - low) / steeper if steeper > 0 else high
            t = min(max(secant, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high)
        value, slope = objective.on_line(point, trial, t)
        if abs(slope) <= _SEARCH_SLOPE * abs(at_start) and value < point.value:
            return t
        if slope < 0:
            low, low_slope = t, slope
        else:
            high, high_slope = t, slope
    return low
