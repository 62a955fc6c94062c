"""Structured losses by steps along subgradients, each followed by an exact line search (paper L, section 3.3.1).

At a corner one subgradient may lead upwards. So several are kept, of planes that lie at most ε below the objective
here, and the step goes against the shortest vector in their convex hull, which is the direction of steepest descent if
they are all there are (Wolfe 1975; Lemaréchal 1975). Each line search adds the subgradients on both sides of the corner
that it ends in. If X = Σ μ_i g_i is that vector and e_i says how far planes lie below the objective F here,

    F(w) − min F ≤ Σ μ_i e_i + ‖X‖²/2λ,

so that ε is made smaller as the gap asks. Steepest descent forgets its subgradients when it moves; the conjugate method
keeps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwright.losses.loss import Point
from rankwright.solvers import plane_kernels
from rankwright.solvers.descent import Descent
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

# Subgradients that are kept at most.
_MOST_TANGENTS = 200
_MOST_HULL_STEPS = 20_000
_HULL_ACCURACY = 1e-3
# ε in the beginning, as a part of the objective, and what becomes of it when nothing shorter is left to go against.
_FIRST_NEARNESS, _SHARPER = 0.5, 0.25
_LEAST_NEARNESS = 1e-15
_MOST_TRIALS = 60
_ROUNDING = 1e-13
# A step that lowers the objective by this part of ε leads away from the subgradients known.
_SERIOUS = 0.1


def minimise_by_subgradients(
    objective: StructuredObjective, weights: Array, progress: Descent, *, is_conjugate: bool
) -> None:
    """Descend from the weights until progress is enough; the objective never rises."""
    line = _Line(objective, weights)
    tangents = _Tangents(objective)
    tangents.add(line.here)
    nearness = _FIRST_NEARNESS * line.value
    progress.see(line.weights, line.value)
    is_convex = objective.is_convex
    least = _LEAST_NEARNESS if is_convex else progress.tolerance
    while progress.goes_on:
        if nearness <= least * line.value:
            return
        shortest, bound = tangents.shortest(line.weights, line.value, nearness)
        bound = bound if is_convex else 0.0
        objective.check_finite(float(shortest @ shortest))
        if float(shortest @ shortest) <= 2 * objective.alpha * nearness:
            nearness *= _SHARPER
            progress.raise_bound(bound)
            continue
        before = line.value
        line.search(-shortest)
        gained = before - line.value
        if gained > _SERIOUS * nearness and not is_conjugate:
            tangents.clear()
        if not is_convex and gained <= progress.tolerance * line.value:
            nearness *= _SHARPER  # planes that touch the losses elsewhere may lie above them here
        tangents.add(line.here)
        tangents.add(line.beyond)
        progress.see(line.weights, line.value, bound)


class _Line:
    """The weights, and the way from them along a direction: scores are straight there, and losses but at corners.

    ``here`` has the losses on the near side of the corner where the last search ended, ``beyond`` on the far side.
    """

    def __init__(self, objective: StructuredObjective, weights: Array) -> None:
        self._objective, self._is_convex = objective, objective.is_convex
        self.weights, self.scores = weights, objective.scores_of(weights)
        self.here, self.beyond, self._room = (objective.losses.point() for _ in range(3))
        self.value = objective.penalty(weights) + objective.losses_at(self.scores, self.here)

    def search(self, direction: Array) -> None:
        """Go to the least objective along the direction.

        The penalty is known; the losses are taken for the higher of the two straight lines that touch them on either
        side, until they are no higher where that model is least.
        """
        objective = self._objective
        rates = objective.scores_of(direction)
        bend = objective.alpha * float(direction @ direction)
        fall = objective.alpha * float((self.weights - objective.center) @ direction)
        penalty = objective.penalty(self.weights)

        def penalty_at(step: float) -> float:
            return penalty + step * fall + 0.5 * bend * step * step

        near = _Tangent(0.0, self.value - penalty, float(self.here.gradient @ rates))
        far: _Tangent | None = None
        best, best_value = 0.0, self.value
        step = _least(fall, bend, near, far)
        for _ in range(_MOST_TRIALS):
            loss = objective.losses_at(self.scores + step * rates, self._room)
            touched = _Tangent(step, loss, float(self._room.gradient @ rates))
            value = penalty_at(step) + loss
            expected = penalty_at(step) + (near.at(step) if far is None else max(near.at(step), far.at(step)))
            rises = fall + bend * step + touched.rate > 0 or (value > best_value and not self._is_convex)
            if value < best_value:
                best, best_value = step, value
            if rises:
                far = touched
                self.beyond, self._room = self._room, self.beyond
            else:
                near = touched
                self.here, self._room = self._room, self.here
            is_least = value <= expected + _ROUNDING * abs(value) and far is not None
            if is_least and (best > 0 or self._is_convex):  # else lines may lie above the losses
                break
            following = _least(fall, bend, near, far)
            if following == step:
                break
            step = following
        if far is None:
            objective.losses_at(self.scores + step * rates, self.beyond)
        self.weights, self.scores = self.weights + best * direction, self.scores + best * rates
        self.value = best_value


@dataclass(frozen=True)
class _Tangent:
    """A straight line that touches the losses after some step."""

    step: float
    loss: float
    rate: float

    def at(self, step: float) -> float:
        return self.loss + self.rate * (step - self.step)


def _least(fall: float, bend: float, near: _Tangent, far: _Tangent | None) -> float:
    """Where fall · t + ½ bend · t² plus the higher of the two lines is least, between the points where they touch."""
    step = max(-(fall + near.rate) / bend, near.step)
    if far is None:
        return max(step, 2 * near.step, 1e-3 * abs(fall) / bend + 1e-300) if step <= near.step else step
    turn = far.rate - near.rate
    crossing = near.step if turn <= 0 else (near.at(0.0) - far.at(0.0)) / turn
    least_beyond = -(fall + far.rate) / bend
    if step > crossing:
        step = max(crossing, least_beyond)
    if not near.step < step < far.step:
        step = 0.5 * (near.step + far.step)
    return step


class _Tangents:
    """Planes b + vᵀw below the sum of the losses, each of which touches it somewhere."""

    def __init__(self, objective: StructuredObjective) -> None:
        self._objective = objective
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._margins, self._vectors = np.zeros(0), np.zeros((0, self._objective.n_features))
        self._gram = np.zeros((0, 0))

    def add(self, point: Point) -> None:
        """The plane that touches the losses at the point."""
        margin, vector = self._objective.plane_of(point)
        if len(self._margins) == _MOST_TANGENTS:
            self._margins, self._vectors, self._gram = self._margins[1:], self._vectors[1:], self._gram[1:, 1:]
        self._margins = np.append(self._margins, margin)
        self._vectors = np.vstack([self._vectors, vector])
        self._gram = np.pad(self._gram, (0, 1))
        self._gram[-1] = self._gram[:, -1] = self._vectors @ vector

    def shortest(self, weights: Array, value: float, nearness: float) -> tuple[Array, float]:
        """The shortest mixture of the subgradients of planes that are at most ``nearness`` below the value here.

        Also the lower bound of the objective that the mixture gives.
        """
        alpha, center = self._objective.alpha, self._objective.center
        own = alpha * (weights - center)
        below = value - self._objective.penalty(weights) - self._margins - self._vectors @ weights
        chosen = np.flatnonzero(below <= max(nearness, float(below.min())))
        gram = np.ascontiguousarray(self._gram[np.ix_(chosen, chosen)])
        pull = -self._vectors[chosen] @ own
        mixture = np.zeros(len(chosen))
        mixture[np.argmin(np.diag(gram) - 2 * pull)] = 1.0
        heights = pull - gram @ mixture
        least = _HULL_ACCURACY * alpha * nearness
        plane_kernels.ascend_query(
            len(chosen), 1.0, least, _MOST_HULL_STEPS, heights, mixture, gram, np.zeros(len(chosen))
        )
        combined = mixture @ self._vectors[chosen]
        bound = float(mixture @ self._margins[chosen]) + float(center @ combined)
        return own + combined, bound - float(combined @ combined) / (2 * alpha)
