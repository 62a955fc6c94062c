"""Planes for wide data: a number for each document of the query instead of one for each feature.

v = X_qᵀc, so b + vᵀw = b + cᵀs with the scores s = X_q w: a sweep over the planes reads X once, but keeps only as many
numbers as there are documents for each plane of a query.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.part import Part
from rankwright.solvers import document_plane_kernels as kernels
from rankwright.solvers.planes import MOST_STEPS, FeaturePlanes, Order, Planes, make_room
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array


class DocumentPlanes(Planes):
    """Each plane with its c, a number for each document. Data must be in memory, as all sweeps read them."""

    has_vectors = False

    def __init__(self, objective: StructuredObjective) -> None:
        self._part = objective.engine.whole(
            f"{objective.n_features:,} features: StructuredRanker reads all of them with every sweep; use RankSVM"
        )
        super().__init__(objective)
        rooms = self._part.state["planes.margins"].shape[1]
        self._part.state["planes.coefficients"] = np.zeros((rooms, self._part.n_documents))

    @staticmethod
    def add_to(part: Part, weights: Array, first: int, last: int, least: float) -> None:
        """Reads the features of new planes."""
        state = part.state
        new = (state["found.scores"], state["found.gradient"], state["found.pulls"], state["found.values"])
        room = (np.zeros(part.n_features), _room(part)[0])
        while True:
            uses = (state["planes.idle"], state["planes.rooms"])
            first = kernels.add_planes(first, last, part.products.parts(), new, least, _known(part), uses, room)
            if first >= last:
                return
            make_room(state)
            more = state["planes.margins"].shape[1] - len(state["planes.coefficients"])
            state["planes.coefficients"] = np.pad(state["planes.coefficients"], ((0, more), (0, 0)))

    @staticmethod
    def ascend_on(part: Part, order: Order, alpha: float, weights: Array, least: float, gap: float) -> float:
        """Reads the features of the queries."""
        return gap + _ascend(part, order, alpha, weights, least, MOST_STEPS)

    def add(self, weights: Array, first: int, last: int, least: float) -> None:
        """Reads the features of new planes."""
        self.add_to(self._part, weights, first, last, least)

    def drop_idle(self, rounds: int) -> None:
        """Moves the others together."""
        kernels.drop_idle(rounds, _known(self._part), self._part.state["planes.idle"])

    def ascend(self, queries: Order, alpha: float, weights: Array, least: float, most_steps: int = MOST_STEPS) -> float:
        """Reads the features of the queries."""
        if len(queries) and queries[-1] == self._part.n_queries - 1:  # all have had their turn
            self._engine.passes += 1
        return _ascend(self._part, queries, alpha, weights, least, most_steps)

    def read_and_ascend(self, objective: StructuredObjective, alpha: float, weights: Array, least: float) -> float:
        """Ascent reads X once more."""
        self._engine.passes += 1
        return super().read_and_ascend(objective, alpha, weights, least)

    def combined(self) -> Array:
        """v = Xᵀ(Σ d_i c_i)."""
        part, mixed, known = self._part, _room(self._part)[1], _known(self._part)
        self._engine.passes += 1
        part.over_runs(lambda first, last: kernels.mixed_coefficients(known, first, last, mixed))
        return part.sum_over_runs(
            lambda first, last, out: part.products.add_transposed(first, last, mixed, out), (part.n_features,)
        )


def _ascend(part: Part, order: Order, alpha: float, weights: Array, least: float, most_steps: int) -> float:
    known = (part.products.parts(), _known(part), _room(part))
    gap: float = kernels.ascend(np.asarray(order, np.int64), alpha, least, most_steps, weights, *known)
    return gap


def _known(part: Part) -> tuple[Any, ...]:
    """What is known of planes, as kernels take it."""
    names = ("coefficients", "margins", "duals", "gram", "counts")
    return (part.offsets, *(part.state[f"planes.{name}"] for name in names))


def _room(part: Part) -> tuple[Array, Array]:
    """Room for two numbers of each document."""
    scores, change = part.kept("room for planes", lambda: np.empty((2, part.n_documents)))
    return scores, change


def planes_of(objective: StructuredObjective) -> Planes:
    """No planes yet, to be kept as the width of the data asks for."""
    return DocumentPlanes(objective) if objective.is_wide else FeaturePlanes(objective)
