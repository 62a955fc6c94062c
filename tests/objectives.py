"""Objectives of queries in memory, for tests of solvers."""

import numpy as np

from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.solvers.linear_objective import LinearObjective
from rankwright.solvers.sent_loss import SentLoss
from rankwright.solvers.structured_objective import StructuredObjective


def linear_objective(queries, loss, alpha, center):
    return LinearObjective(engine_of(queries), SentLoss(loss, np.ones(queries.n_queries)), alpha, center)


def structured_objective(queries, loss, alpha, center):
    return StructuredObjective(engine_of(queries), SentLoss(loss, np.ones(queries.n_queries)), alpha, center)


def centred(queries):
    return CentredSums(engine_of(queries))


class SeenPlanes:
    """Planes of queries in memory, with the arrays that they keep as attributes."""

    def __init__(self, planes):
        self.planes, self._state = planes, planes._engine.whole("").state

    def __getattr__(self, name):
        kept = self._state.get(f"planes.{name}")
        return getattr(self.planes, name) if kept is None else kept


def found(objective, name):
    """What the objective has found of queries in memory."""
    return objective.engine.whole("").state[f"found.{name}"]
