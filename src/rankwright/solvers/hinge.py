"""The plain hinge, to a certified gap: Newton on a smoothed hinge whose corner is made sharper as the gap asks.

The smoothed hinge is quadratic within h of the corner. −φ' of its pairs, all between 0 and their weights, are dual
variables of the plain hinge, so that every point comes with a lower bound of the optimum:

    D = Σ β_ij margin_ij + w₀ᵀv − ‖v‖²/2λ,   v = Xᵀ∇loss = −Σ β_ij (x_i − x_j).

Smoothing adds about h²/6 times the density of pairs at the corner. The number of passes depends on how well the
quadratic model fits; it grows slowly as λ falls, where that of cutting planes is proportional to 1/λ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwright.losses.phi import huber_hinge
from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.solvers.newton import newton
from rankwright.solvers.solved import Goal, Solved, why_ended
from rankwright.types import Array

MOST_STEPS = 500
# With h = 1 and a unit margin, tied pairs (all of them, at w = 0) are still where the smoothed hinge curves.
FIRST_HALF_WIDTH = 1.0
_LEAST_SHARPENING, _MOST_SHARPENING = 0.5, 0.02
# A gap due to smoothing falls with a power of h between 1 (a few pairs at the corner) and 2 (a continuum of them).
_POWER = 1.5
# What part of the gap asked for may be left by Newton's method.
_NEWTON_PART = 0.1
_LEAST_HALF_WIDTH = 1e-12


def minimise_hinge(
    objective: LinearObjective, start: Array, goal: Goal, half_width: float = FIRST_HALF_WIDTH
) -> Solved:
    """Minimise until value − bound ≤ tol · value.

    How sharp the corner was in the end is what it knows: a good beginning for a λ nearby.
    """
    tolerance, most_steps, after_step = goal.tol, goal.most_steps or MOST_STEPS, goal.after_step
    seen = _Seen(start)
    weights, steps, stopped = start, 0, False

    def enough(smoothed: LinearObjective) -> Callable[[LinearPoint], bool]:
        return lambda point: smoothed.gap(point) <= _NEWTON_PART * tolerance * seen.value or seen.gap_is_met(tolerance)

    def step_taken(point: LinearPoint) -> bool:
        nonlocal stopped
        seen.look(smoothed, point)
        stopped = after_step is not None and after_step(seen.weights, seen.value, seen.bound)
        return stopped

    while steps < most_steps and not stopped:
        smoothed = objective.with_loss(objective.loss.with_phi(huber_hinge(half_width)), plain=objective.loss)
        first = smoothed.at(weights)
        seen.look(smoothed, first)
        done = newton(smoothed, first, enough(smoothed), most_steps=most_steps - steps, after_step=step_taken)
        steps += max(done.steps, 1)
        weights = done.weights
        if seen.gap_is_met(tolerance) or half_width < _LEAST_HALF_WIDTH:
            break
        wanted = (tolerance * seen.value / max(seen.value - seen.bound, 1e-300)) ** (1 / _POWER)
        half_width *= min(max(0.7 * wanted, _MOST_SHARPENING), _LEAST_SHARPENING)
    met = seen.gap_is_met(tolerance)
    ended = why_ended(met=met, stopped=stopped, all_steps=steps >= most_steps)
    return Solved(seen.weights, seen.value, seen.bound, steps, objective.engine.passes, met, ended, half_width)


class _Seen:
    """The least value of the plain hinge and the greatest lower bound among the points looked at."""

    def __init__(self, start: Array) -> None:
        self.weights, self.value, self.bound = start, np.inf, -np.inf

    def gap_is_met(self, tolerance: float) -> bool:
        return self.value - self.bound <= tolerance * abs(self.value)

    def look(self, smoothed: LinearObjective, point: LinearPoint) -> None:
        """Value and bound at a point of the smoothed objective."""
        value = smoothed.value_of_plain(point)
        if value < self.value:
            self.weights, self.value = point.weights, value
        self.bound = max(self.bound, smoothed.hinge_bound(point))
