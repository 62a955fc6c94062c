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
