"""The tighter bound (paper L, eq. 14), which is not convex, by a sequence of convex ones.

The bound subtracts the score of the ranking by scores, the largest there is; that of any fixed ranking is less. So with
the targets fixed to the present ranking the loss is convex, nowhere below the bound, and equal to it here: its minimum
has a lower bound than here, or as low a one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.solvers.document_planes import planes_of
from rankwright.solvers.planes import Planes
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.solvers.structured_result import Progress

Array = npt.NDArray[np.float64]
Minimise = Callable[[StructuredObjective, Planes, Array, Progress], None]

# The gap of each convex problem, as a part of its objective, and its steps at most.
_INNER_TOLERANCE, _MOST_INNER_STEPS = 1e-3, 100


def minimise_tight(objective: StructuredObjective, weights: Array, progress: Progress, minimise: Minimise) -> None:
    """Descend from the weights until a convex problem lowers the bound by less than the tolerance."""
    value = np.inf
    while True:
        scores = objective.scores_of(weights)
        before, value = value, objective.value_of(weights, scores)
        progress.see(weights, value)
        if before - value <= progress.tolerance * value:
            progress.settle()
        if not progress.goes_on:
            return
        weights = _convex_minimum(objective, scores, progress.weights, minimise)


def _convex_minimum(objective: StructuredObjective, scores: Array, weights: Array, minimise: Minimise) -> Array:
    losses = objective.losses.with_targets(objective.losses.predicted_targets(scores))
    convex = objective.with_losses(losses)
    inner = Progress(weights, convex.value_of(weights, scores), _INNER_TOLERANCE, _MOST_INNER_STEPS)
    minimise(convex, planes_of(convex), weights, inner)
    return inner.weights
