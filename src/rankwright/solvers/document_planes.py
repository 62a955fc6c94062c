"""Planes for wide data: a number for each document of the query instead of one for each feature.

v = X_qᵀc, so b + vᵀw = b + cᵀs with the scores s = X_q w: a sweep over the planes reads X once, but keeps only as many
numbers as there are documents for each plane of a query.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwright.machine.threads import for_query_ranges, sum_over_query_ranges
from rankwright.solvers import document_plane_kernels as kernels
from rankwright.solvers.planes import MOST_STEPS, FeaturePlanes, Planes
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array


class DocumentPlanes(Planes):
    """Each plane with its c, a number for each document."""

    def __init__(self, objective: StructuredObjective) -> None:
        super().__init__(objective)
        features = objective.features
        self._x = features.parts()
        self._coefficients = np.zeros((self.margins.shape[1], features.n_documents))
        self._vector = np.zeros(features.n_features)
        self._scores, self._change = np.empty((2, features.n_documents))

    def _add(self, objective: StructuredObjective, weights: Array, first: int, last: int, least: float) -> int:
        new = (objective.point.gradient, objective.point.pulls, objective.point.values)
        known = (self._coefficients, self.margins, self.duals, self.gram, self.counts, self.idle)
        room = (self._vector, self._scores)
        homeless: int = kernels.add_planes(
            first, last, *self._x, self._offsets, objective.scores, *new, least, *known, *room
        )
        return homeless

    def _grow(self) -> None:
        super()._grow()
        more = self.margins.shape[1] - len(self._coefficients)
        self._coefficients = np.pad(self._coefficients, ((0, more), (0, 0)))

    def drop_idle(self, rounds: int) -> None:
        """Moves the others together."""
        known = (self._coefficients, self.margins, self.duals, self.gram, self.counts, self.idle)
        kernels.drop_idle(rounds, self._offsets, *known)

    def ascend(
        self,
        queries: npt.NDArray[np.int64],
        alpha: float,
        weights: Array,
        least: float,
        most_steps: int = MOST_STEPS,
    ) -> float:
        """Reads the features of the queries."""
        if len(queries) and queries[-1] == len(self.counts) - 1:  # all have had their turn
            self._engine.passes += 1
        known = (self._coefficients, self.margins, self.duals, self.gram, self.counts)
        room = (self._scores, self._change)
        gap: float = kernels.ascend(queries, alpha, least, most_steps, weights, *self._x, self._offsets, *known, *room)
        return gap

    def combined(self) -> Array:
        """v = Xᵀ(Σ d_i c_i)."""
        mixed, features = self._change, self._features
        self._engine.passes += 1

        def mix(first: int, last: int) -> None:
            kernels.mixed_coefficients(self._offsets, self._coefficients, self.duals, self.counts, first, last, mixed)

        for_query_ranges(mix, self._offsets)
        return sum_over_query_ranges(
            lambda first, last, out: features.add_transposed(first, last, mixed, out),
            self._offsets,
            (features.n_features,),
        )


def planes_of(objective: StructuredObjective) -> Planes:
    """No planes yet, to be kept as the width of the data asks for."""
    return DocumentPlanes(objective) if objective.is_wide else FeaturePlanes(objective)
