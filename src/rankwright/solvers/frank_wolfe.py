"""Structured losses by block-coordinate Frank–Wolfe (Lacoste-Julien et al. 2013), with the planes it has seen.

The dual of the objective has a simplex for each query. A query's most violating ranking at the present weights is the
corner that Frank–Wolfe goes to, with an exact line search. Corners are kept as planes (Shah et al. 2015), so that dual
ascent goes on with them between readings of X; a step takes from the lowest plane and gives to the highest.
"""

from __future__ import annotations

from rankwright.solvers.descent import Descent
from rankwright.solvers.planes import Planes
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

_MOST_SWEEPS = 200
# Sweeps over known planes end when their gap is this part of that of the last reading of X.
_ENOUGH = 0.1
_NEGLIGIBLE = 1e-4
_MOST_APPROACHES = 20
# The λ of the approach, as a multiple of the mean of ‖v‖².
_FIRST_ALPHA = 2.0


def minimise_by_frank_wolfe(objective: StructuredObjective, planes: Planes, weights: Array, progress: Descent) -> None:
    """Read X with steps on the way, then at fixed weights for a certificate, until progress is enough.

    Where planes are known already it begins from their dual variables, not from the weights.
    """
    alpha, center = objective.alpha, objective.center
    least = 0.0
    weights = center - planes.combined() / alpha if planes.n_planes else weights.copy()  # changes in place
    while True:
        gap = read_and_ascend(objective, planes, alpha, weights, least)
        least = _NEGLIGIBLE * gap / objective.n_queries
        combined = planes.combined()
        weights = center - combined / alpha  # anew: thousands of steps have been rounded
        objective.look(weights)
        progress.see(weights, objective.value(weights), planes.bound(combined, alpha, center))
        if not progress.goes_on:
            return
        planes.add(weights, 0, objective.n_queries, least)


def read_and_ascend(
    objective: StructuredObjective, planes: Planes, alpha: float, weights: Array, least: float
) -> float:
    """One reading of X, with dual ascent on each group as it is read, then sweeps over all; ``weights`` follow.

    Returns the gap as each query saw it when it was read.
    """
    gap = planes.read_and_ascend(objective, alpha, weights, least)
    everything = range(objective.n_queries)
    for _ in range(_MOST_SWEEPS):
        if planes.ascend(everything, alpha, weights, least) <= _ENOUGH * gap:
            break
    return gap


def approach(objective: StructuredObjective, planes: Planes, weights: Array, part: float) -> Array:
    """Planes near the optimum, within a few readings of X, and weights there.

    Ascent is slow where λ is small beside ‖v‖² of the planes, so a λ of their size is taken instead: its optimum is not
    ours, but planes near it are good ones to start with.
    """
    first, last = objective.groups()[0]
    if not objective.sees_center:
        objective.look(weights, first, last)
    planes.add(objective.center if objective.sees_center else weights, first, last, 0.0)
    objective.check_finite(planes.mean_size())
    alpha = max(objective.alpha, _FIRST_ALPHA * planes.mean_size())
    weights = objective.center.copy()
    least = 0.0
    for _ in range(_MOST_APPROACHES):
        gap = read_and_ascend(objective, planes, alpha, weights, least)
        least = _NEGLIGIBLE * gap / objective.n_queries
        if gap <= part * planes.bound(planes.combined(), alpha, objective.center):
            break
    return weights
