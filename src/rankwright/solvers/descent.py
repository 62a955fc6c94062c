"""How far a structured solver has come: the least objective, the greatest lower bound, and when to end."""

from __future__ import annotations

import numpy as np

from rankwright.solvers.solved import AfterStep, Ended, why_ended
from rankwright.types import Array

# Sums of losses are hardly more exact: where less than this part of one can be gained, nothing can.
ROUNDING = 1e-9
# No smaller gap is asked for, as a part of the objective: beside a gain that is more than rounding it is nothing.
_LEAST_GAP = 1e-12


class Descent:
    """The least objective and the greatest lower bound so far; ends a solver when they are near enough.

    The gap must be within the tolerance of the objective. With ``counts_gain`` it must also be within that of what can
    be gained from the start on: most of the objective may be a constant, of which 0.1 % is more than all weights gain.
    """

    def __init__(
        self,
        start: Array,
        value_at_start: float,
        tolerance: float,
        most_steps: int,
        after_step: AfterStep | None = None,
        *,
        counts_gain: bool = True,
    ) -> None:
        self.tolerance, self._most_steps, self._after_step = tolerance, most_steps, after_step
        self._start, self.value_at_start, self._counts_gain = start, value_at_start, counts_gain
        self.weights, self.value, self.bound = start, value_at_start, 0.0  # no loss is negative
        self.steps = 0
        self._is_stopped = self._is_settled = False

    def see(self, weights: Array, value: float, bound: float = -np.inf) -> None:
        """A step has led to these weights; the objective is nowhere below the bound."""
        self.steps += 1
        if value < self.value:
            self.weights, self.value = weights.copy(), value
        self.raise_bound(bound)
        if self._after_step is not None and self._after_step(self.weights, self.value, self.bound):
            self._is_stopped = True

    def raise_bound(self, bound: float) -> None:
        """The objective is nowhere below the bound."""
        self.bound = max(self.bound, bound)

    @property
    def gap(self) -> float:
        """How far the least objective seen can be above the least there is."""
        return self.value - self.bound

    def settle(self) -> None:
        """There is no better place near here: all there is to say where the objective is not convex."""
        self._is_settled = True

    @property
    def most_gain(self) -> float:
        """What weights can gain at most from the start on."""
        return self.value_at_start - self.bound

    @property
    def nothing_to_gain(self) -> bool:
        """Whether it is certain that no weights have a lower objective than the start, but for rounding."""
        return self.most_gain <= ROUNDING * self.value_at_start

    @property
    def best(self) -> tuple[Array, float]:
        """The best weights and their objective: the start, where nothing is to be gained."""
        is_start = self._counts_gain and self.nothing_to_gain
        return (self._start, self.value_at_start) if is_start else (self.weights, self.value)

    def is_near(self, value: float) -> bool:
        """Whether an objective is as near to the least there can be as asked for."""
        if not self._counts_gain:
            return value - self.bound <= self.tolerance * value
        enough = max(self.tolerance * min(value, self.most_gain), _LEAST_GAP * value)
        return self.nothing_to_gain or value - self.bound <= enough

    @property
    def is_finished(self) -> bool:
        """Whether the gap is as small as asked for, or there is no better place nearby."""
        return self._is_settled or self.is_near(self.value)

    @property
    def ended(self) -> Ended:
        """Why there is no more to do, or why a solver has given up."""
        met, all_steps = self.is_near(self.value), self.steps >= self._most_steps
        return why_ended(met=met, stopped=self._is_stopped, all_steps=all_steps and not self._is_settled)

    @property
    def goes_on(self) -> bool:
        """Whether there is more to do."""
        return not (self.is_finished or self._is_stopped or self.steps >= self._most_steps)
