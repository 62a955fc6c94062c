"""Equation (13) of paper L, written plainly: planes below the sum of all losses, and a quadratic programme over them.

This is what BMRM does (Teo et al. 2007). Loss and subgradient come from `rankwright`, so that iterations compare.
"""

from __future__ import annotations

import numpy as np

import rankwright as rw
from rankwright.engines import engine_of
from rankwright.losses import StructuredHinge
from rankwright.solvers.plane_kernels import ascend_query
from rankwright.solvers.sent_loss import SentLoss
from rankwright.solvers.structured_objective import StructuredObjective

_MOST_QP_STEPS = 1_000_000


def bundle_13(queries: rw.Queries, alpha: float, gap: float, most_iterations: int) -> tuple[int, float]:
    """Iterations to a relative gap, and the gap that is left."""
    n, loss = queries.n_features, SentLoss(StructuredHinge("ndcg@10"), np.ones(queries.n_queries))
    objective = StructuredObjective(engine_of(queries), loss, alpha, np.zeros(n))
    point = objective.losses.point()
    weights, best, bound = np.zeros(n), np.inf, 0.0
    margins, vectors, gram, duals = np.zeros(0), np.zeros((0, n)), np.zeros((0, 0)), np.zeros(0)
    iterations = 0
    while iterations < most_iterations:
        iterations += 1
        value = objective.losses_at(objective.scores_of(weights), point) + objective.penalty(weights)
        best = min(best, value)
        if best - bound <= gap * best:
            break
        margin, vector = objective.plane_of(point)
        margins, vectors = np.append(margins, margin), np.vstack([vectors, vector])
        gram = np.pad(gram, (0, 1))
        gram[-1] = gram[:, -1] = vectors @ vector
        duals = np.append(duals, 0.0 if len(duals) else 1.0)
        heights = margins - gram @ duals / alpha
        ascend_query(len(duals), alpha, 0.1 * gap * best, _MOST_QP_STEPS, heights, duals, gram, np.zeros(len(duals)))
        combined = duals @ vectors
        bound = max(bound, float(duals @ margins) - float(combined @ combined) / (2 * alpha))
        weights = -combined / alpha
    return iterations, (best - bound) / best
