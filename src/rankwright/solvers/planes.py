"""Planes below the losses of queries, and the dual variables on them: what structured solvers know of the data.

A plane of query q is b + vᵀw ≤ ξ_q(w) for all weights w: v = X_qᵀ(c(y) − t) and b = Δ(y) of some ranking y (paper L,
eq. 9). Dual variables on a query's planes, not negative and with sum 1, make a lower bound of the objective,

    D = Σ d_i b_i + w₀ᵀv − ‖v‖²/2λ,   v = Σ d_i v_i,

which is the dual (10)–(11) of paper L. Plane 0 of every query is 0, as no loss is negative. Planes do not depend on λ.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from rankwright.machine.threads import for_query_ranges, sum_over_query_ranges
from rankwright.solvers import plane_kernels as kernels
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

_FIRST_CAPACITY = 8
# Steps of dual ascent within a query before the next one has its turn.
MOST_STEPS = 20
_ROWS_PER_BLOCK = 512  # of the Hessian, so that they stay in a core's cache


class Planes(ABC):
    """A few planes for each query, with their dual variables; subclasses say how the vectors are kept."""

    margins: Array
    duals: Array
    gram: Array
    idle: npt.NDArray[np.int64]

    def __init__(self, objective: StructuredObjective) -> None:
        n = objective.n_queries
        self._engine, self._part = objective.engine, objective.part
        self._features, self._offsets = objective.features, objective.features.offsets
        self.margins, self.duals = np.zeros((2, n, _FIRST_CAPACITY))
        self.gram = np.zeros((n, _FIRST_CAPACITY, _FIRST_CAPACITY))
        self.idle, self.counts = np.zeros((n, _FIRST_CAPACITY), np.int64), np.ones(n, np.int64)
        self.duals[:, 0] = 1.0

    @property
    def n_planes(self) -> int:
        """How many there are besides the zeros."""
        return int(self.counts.sum()) - len(self.counts)

    def add(self, objective: StructuredObjective, weights: Array, first: int, last: int, least: float) -> None:
        """Take over the planes that the objective has just found for queries first … last − 1.

        A plane that is at most ``least`` higher than those known is left.
        """
        while self._add(objective, weights, first, last, least) > 0:
            self._grow()

    @abstractmethod
    def _add(self, objective: StructuredObjective, weights: Array, first: int, last: int, least: float) -> int:
        """Add them as far as there is room; returns how many found none."""

    def _grow(self) -> None:
        more = self.margins.shape[1] // 2
        self.gram = np.pad(self.gram, ((0, 0), (0, more), (0, more)))
        self.margins, self.duals = (np.pad(array, ((0, 0), (0, more))) for array in (self.margins, self.duals))
        self.idle = np.pad(self.idle, ((0, 0), (0, more)))

    @abstractmethod
    def drop_idle(self, rounds: int) -> None:
        """Forget the planes that have had no dual variable for more than so many rounds."""

    def forget_duals(self) -> None:
        """Start anew from the zeros."""
        self.duals[:] = 0.0
        self.duals[:, 0] = 1.0

    @abstractmethod
    def ascend(
        self,
        queries: npt.NDArray[np.int64],
        alpha: float,
        weights: Array,
        least: float,
        most_steps: int = MOST_STEPS,
    ) -> float:
        """Raise D by the dual variables of these queries, each in turn; ``weights`` follow. Returns the gap before."""

    @abstractmethod
    def combined(self) -> Array:
        """v = Σ d_i v_i."""

    def mean_size(self) -> float:
        """The mean of ‖v‖² over the first plane of each query that has one."""
        sizes = self.gram[self.counts > 1, 1, 1]
        return float(sizes.mean()) if len(sizes) else 0.0

    def bound(self, combined: Array, alpha: float, center: Array) -> float:
        """D, the lower bound that the dual variables give; ``combined`` is their v."""
        margins = float(np.vdot(self.duals, self.margins))
        return margins + float(center @ combined) - float(combined @ combined) / (2 * alpha)


class FeaturePlanes(Planes):
    """Each plane with its v, a number for each feature."""

    def __init__(self, objective: StructuredObjective) -> None:
        super().__init__(objective)
        self.vectors = np.zeros((objective.n_queries, _FIRST_CAPACITY, objective.n_features))

    def _add(self, objective: StructuredObjective, weights: Array, first: int, last: int, least: float) -> int:
        new = (objective.vectors, objective.point.pulls, objective.point.values)
        known = (self.vectors, self.margins, self.duals, self.gram, self.counts, self.idle)
        homeless: int = kernels.add_planes(first, last, weights, *new, least, *known)
        return homeless

    def _grow(self) -> None:
        super()._grow()
        more = self.margins.shape[1] - self.vectors.shape[1]
        self.vectors = np.pad(self.vectors, ((0, 0), (0, more), (0, 0)))

    def drop_idle(self, rounds: int) -> None:
        """Moves the others together."""
        kernels.drop_idle(rounds, self.vectors, self.margins, self.duals, self.gram, self.counts, self.idle)

    def ascend(
        self,
        queries: npt.NDArray[np.int64],
        alpha: float,
        weights: Array,
        least: float,
        most_steps: int = MOST_STEPS,
    ) -> float:
        """Without the data."""
        known = (self.vectors, self.margins, self.duals, self.gram, self.counts)
        gap: float = kernels.ascend(queries, alpha, least, most_steps, weights, *known)
        return gap

    def combined(self) -> Array:
        """v = Σ d_i v_i."""
        return sum_over_query_ranges(
            lambda first, last, out: kernels.combine(self.vectors, self.duals, self.counts, first, last, out),
            self._offsets,
            self.vectors.shape[2:],
        )

    # The soft maximum of the planes

    def heights(self, weights: Array) -> Array:
        """b_i + v_iᵀw of each plane."""
        out = np.zeros_like(self.margins)
        for_query_ranges(
            lambda first, last: kernels.heights(weights, self.vectors, self.margins, self.counts, first, last, out),
            self._offsets,
        )
        return out

    def slopes(self, direction: Array) -> Array:
        """v_iᵀd of each plane."""
        out = np.zeros_like(self.margins)
        for_query_ranges(
            lambda first, last: kernels.slopes(direction, self.vectors, self.counts, first, last, out),
            self._offsets,
        )
        return out

    def soften(self, heights: Array, slopes: Array, step: float, temperature: float) -> float:
        """Σ_q T log Σ_i exp(h_i/T), h = heights + step · slopes; the dual variables become its derivatives."""

        def add(first: int, last: int, out: Array) -> None:
            out[0] += kernels.soft_maximum(heights, slopes, step, temperature, self.counts, first, last, self.duals)

        return float(sum_over_query_ranges(add, self._offsets, (1,))[0])

    def curvature(self) -> Array:
        """T times the Hessian of the soft maximum at the dual variables."""
        n = self.vectors.shape[2]
        return sum_over_query_ranges(self._add_curvature, self._offsets, (n, n))

    def _add_curvature(self, first: int, last: int, out: Array) -> None:
        n = self.vectors.shape[2]
        mean, rows = np.empty(n), np.empty((max(_ROWS_PER_BLOCK, self.vectors.shape[1]), n))
        while first < last:
            used, first = kernels.hessian_rows(self.vectors, self.duals, self.counts, first, last, mean, rows)
            out += rows[:used].T @ rows[:used]
