"""The tighter bound (paper L, eq. 14), which is not convex, by a sequence of convex ones.

The bound subtracts the score of the ranking by scores, the largest there is; that of any fixed ranking is less. So with
the targets fixed to the present ranking the loss is convex, nowhere below the bound, and equal to it here: its minimum
has a lower bound than here, or as low a one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwright.solvers.descent import Descent
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

Minimise = Callable[[StructuredObjective, Array, Descent], None]

# The gap of each convex problem is that asked for, but at most this part of its objective.
_INNER_TOLERANCE = 1e-3
_MOST_INNER_STEPS = 1000


def minimise_tight(objective: StructuredObjective, weights: Array, progress: Descent, minimise: Minimise) -> None:
    """Descend from the weights until a convex problem lowers the bound by less than the tolerance."""
    value, is_solved = np.inf, False
    while True:
        scores = objective.scores_of(weights)
        before, value = value, objective.value_of(weights, scores)
        progress.see(weights, value)
        if is_solved and before - value <= progress.tolerance * value:
            progress.settle()
        if not progress.goes_on or before <= value:
            return
        convex = _convex_problem(objective, scores, weights, progress.tolerance, minimise)
        weights, is_solved = convex.weights, convex.is_finished


def _convex_problem(
    objective: StructuredObjective, scores: Array, weights: Array, tolerance: float, minimise: Minimise
) -> Descent:
    """The bound with its targets fixed to the ranking by these scores, minimised from the weights that have them."""
    losses = objective.losses.with_targets(objective.losses.predicted_targets(scores))
    convex = objective.with_losses(losses)
    at_start = convex.value_of(weights, scores)
    tolerance = min(tolerance, _INNER_TOLERANCE)
    progress = Descent(weights, at_start, tolerance, _MOST_INNER_STEPS, counts_gain=False)  # what is gained falls to 0
    minimise(convex, weights, progress)
    return progress
