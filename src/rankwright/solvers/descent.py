"""How far a structured solver has come: the least objective, the greatest lower bound, and when to end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
AfterStep = Callable[[Array, float, float], bool]


class Descent:
    """The least objective and the greatest lower bound so far; ends a solver when they are near enough."""

    def __init__(
        self,
        center: Array,
        value_at_center: float,
        tolerance: float,
        most_steps: int,
        after_step: AfterStep | None = None,
    ) -> None:
        self.tolerance, self._most_steps, self._after_step = tolerance, most_steps, after_step
        self.weights, self.value, self.bound = center, value_at_center, 0.0  # no loss is negative
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
    def is_finished(self) -> bool:
        """Whether the gap is as small as asked for, or there is no better place nearby."""
        return self._is_settled or self.gap <= self.tolerance * self.value

    @property
    def goes_on(self) -> bool:
        """Whether there is more to do."""
        return not (self.is_finished or self._is_stopped or self.steps >= self._most_steps)
