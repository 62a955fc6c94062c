"""Structured losses by planes below them, one set for each query, whose maximum is minimised by Newton's method.

Where paper L's bundle (13) knows planes below the sum of all losses, ours are below the loss of each query, so that few
readings of X are enough. What they know, ½λ‖w − w₀‖² + Σ_q max_i b_i + v_iᵀw, is minimised with the maximum softened,

    T log Σ_i exp((b_i + v_iᵀw)/T),

whose derivatives are dual variables on the planes: so each minimum comes with a lower bound. T falls with the gap. The
number of steps hardly depends on λ, where that of dual ascent and of (13) grows as 1/λ.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rankwright.machine.blas import one_thread_per_call
from rankwright.solvers.descent import Descent
from rankwright.solvers.frank_wolfe import approach, minimise_by_frank_wolfe
from rankwright.solvers.planes import FeaturePlanes, Planes
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

# Softening adds at most T log(planes) for each query: T is this part of the gap, shared among queries.
_SOFTNESS = 0.1
# What part of the gap may be left by Newton's method.
_NEWTON_PART = 0.02
# The planes are made sharper while they leave less of the gap open than this part, and by how much at most at a time.
_SHARPENING, _MOST_SHARPENING = 0.4, 0.05
_MOST_NEWTON_STEPS = 30
# Planes that are lower than this part of the gap, shared among queries, tell nothing new.
_NEWS = 0.01
# Dual ascent ends where its gap is this part of the objective: Newton's method goes on from there.
_APPROACH = 0.05
# So many rounds that neither lower the objective nor raise the bound are the end: rounding allows no more.
_MOST_IDLE = 30
# So many features are solved for by one thread.
_FEW_FEATURES = 512
# What a step may add to the height of a plane, as a multiple of the greatest height.
_MOST_RISE = 4.0
_LEAST_DECREASE = 1e-4
# Steps are halved so often at most, and so many halves are tried together where questions are dear.
_MOST_HALVINGS, _TRIALS_AT_A_TIME = 34, 4
# Near the minimum, differences of objectives are less than their rounding.
_ROUNDING = 1e-13


def minimise_by_bundle(objective: StructuredObjective, planes: Planes, weights: Array, progress: Descent) -> None:
    """Go on from these planes and weights until progress is enough.

    Newton's method takes features × features numbers: of wide data it is Frank–Wolfe that minimises.
    """
    if not isinstance(planes, FeaturePlanes):
        minimise_by_frank_wolfe(objective, planes, weights, progress)
        return
    if planes.n_planes == 0:
        weights = approach(objective, planes, weights, _APPROACH)
    progress.raise_bound(planes.bound(planes.combined(), objective.alpha, objective.center))
    gap, idle = 0.0, 0
    while idle < _MOST_IDLE:
        known = (progress.value, progress.bound)
        objective.look(weights)
        progress.see(weights, objective.value(weights))
        if not progress.goes_on:
            return
        planes.add(weights, 0, objective.n_queries, _NEWS * progress.gap / objective.n_queries)
        weights, gap = _minimise_planes(objective, planes, weights, progress, max(progress.gap, _MOST_SHARPENING * gap))
        idle = idle + 1 if known == (progress.value, progress.bound) else 0


def _minimise_planes(
    objective: StructuredObjective, planes: FeaturePlanes, weights: Array, progress: Descent, gap: float
) -> tuple[Array, float]:
    """The minimum of the planes, softened as much as what they leave open of the gap allows, and how much that is.

    It is sharpened from the gap given on, step by step: Newton's method finds the next minimum from the one before.
    """
    tallest, log_counts = planes.extent()
    least_gap = _ROUNDING * max(progress.value, tallest)
    while True:
        softened = _Softened(objective, planes, _SOFTNESS * gap / objective.n_queries, tallest)
        weights, value, combined = softened.minimum(weights, _NEWTON_PART * gap)
        progress.raise_bound(planes.bound(combined, objective.alpha, objective.center))
        if progress.is_finished:
            return weights, gap
        left = progress.value - (value - softened.temperature * log_counts)
        if not left < _SHARPENING * gap or gap <= least_gap:
            return weights, gap
        gap = max(left, _MOST_SHARPENING * gap, least_gap)


class _Softened:
    """The objective of planes whose maximum is softened, by Newton's method. ``tallest`` is the largest b."""

    def __init__(
        self, objective: StructuredObjective, planes: FeaturePlanes, temperature: float, tallest: float
    ) -> None:
        self._objective, self._planes = objective, planes
        self.temperature, self._tallest = temperature, tallest

    def minimum(self, weights: Array, enough: float) -> tuple[Array, float, Array]:
        """Weights within ``enough`` of the minimum, the value there, and v of the dual variables, which are set."""
        alpha, center, planes = self._objective.alpha, self._objective.center, self._planes
        planes.set_heights(weights)
        value = planes.soften(0.0, self.temperature) + self._objective.penalty(weights)
        combined = planes.combined_before_curvature()
        for _ in range(_MOST_NEWTON_STEPS):
            gradient = alpha * (weights - center) + combined
            if float(gradient @ gradient) <= 2 * alpha * enough:
                break
            hessian = planes.curvature() / self.temperature
            self._objective.check_finite(float(np.trace(hessian)))
            direction = -_solve(hessian, alpha, gradient)
            step, value = self._search(weights, direction, value, -_LEAST_DECREASE * float(gradient @ direction))
            if step == 0.0:
                break
            weights = weights + step * direction
            planes.move(step)
            combined = planes.combined_before_curvature()
        return weights, value, combined

    def _search(self, weights: Array, direction: Array, value: float, least_fall: float) -> tuple[float, float]:
        """The longest step that lowers the value enough, halving the first one, and the value there; or none."""
        at_one, highest, steepest = self._planes.set_slopes(direction, self.temperature)
        first = _first_step(max(highest, self._tallest), steepest)
        allowance = _ROUNDING * max(abs(value), self._tallest)
        for steps in _trials(first, _TRIALS_AT_A_TIME if self._objective.engine.asks_dearly else 1):
            softened = [at_one] if steps == (1.0,) else self._planes.soften_each(steps, self.temperature)
            for step, soft in zip(steps, softened, strict=True):
                lower = soft + self._objective.penalty(weights + step * direction)
                if lower <= value - step * least_fall + allowance or step == 0.0:
                    if step != steps[-1]:
                        self._planes.set_duals(step, self.temperature)
                    return (step, lower) if step else (0.0, value)
        raise AssertionError("the last trial is no step at all")


def _trials(first: float, at_a_time: int) -> Iterator[tuple[float, ...]]:
    """The first step, then its halves, some at a time; in the end there is no step: back to where it was."""
    yield (first,)
    halves = first * 0.5 ** np.arange(1, _MOST_HALVINGS + 1)
    steps = [*halves.tolist(), 0.0]
    for begin in range(0, len(steps), at_a_time):
        yield tuple(steps[begin : begin + at_a_time])


def _first_step(tallest: float, steepest: float) -> float:
    """1, or less where planes would rise by more than a few times the tallest of them.

    Where the soft maximum is almost straight in some direction, Newton's step along it is too long by orders of
    magnitude.
    """
    return 1.0 if steepest <= _MOST_RISE * tallest else _MOST_RISE * tallest / steepest


def _solve(hessian: Array, alpha: float, gradient: Array) -> Array:
    """(H + λI)⁻¹g; a Hessian that rounding has made indefinite is lifted."""
    diagonal = np.diag_indices(len(gradient))
    lift = 0.0
    largest = float(np.trace(hessian)) / len(gradient)
    while True:
        lifted = hessian.copy()
        lifted[diagonal] += alpha + lift
        try:
            # Threads of BLAS that have little to do wait by turning round, on processors that parts need.
            with one_thread_per_call() if len(gradient) <= _FEW_FEATURES else nullcontext():
                solution: Array = cho_solve(cho_factor(lifted, lower=True), gradient)
            return solution
        except LinAlgError:
            lift = max(10 * lift, 1e-14 * largest)
