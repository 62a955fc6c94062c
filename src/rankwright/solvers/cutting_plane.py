"""Structured losses by cutting planes (paper L, algorithm 1), with the four tricks of its section 3.2.

Constraints (9) are planes; the quadratic programme (10)–(11) over their dual variables is solved by ascent, query by
query. The tricks are the dual variables of the last time as a start ("hot-start"), forgetting constraints that have had
none for some rounds ("drop-inactive"), a quadratic programme that is not solved to the end ("inexact"), and, while X is
read, a step for each new constraint alone ("single-update").
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal

from rankwright.solvers.descent import Descent
from rankwright.solvers.planes import Planes
from rankwright.solvers.structured_objective import StructuredObjective
from rankwright.types import Array

Trick = Literal["hot-start", "drop-inactive", "inexact", "single-update"]
TRICKS: tuple[Trick, ...] = ("hot-start", "drop-inactive", "inexact", "single-update")

# To what part of the gap the quadratic programme is solved, or of what was open when it began if that is less.
_EXACT, _INEXACT = 0.01, 0.1
_MOST_SWEEPS = 2000
_NEGLIGIBLE = 1e-4
# A constraint that was not active for more rounds is forgotten.
_IDLE_ROUNDS = 5


def minimise_by_cutting_planes(
    objective: StructuredObjective,
    planes: Planes,
    weights: Array,
    progress: Descent,
    tricks: Collection[str] = TRICKS,
) -> None:
    """Find violated constraints and solve the quadratic programme in turn until progress is enough."""
    alpha, center, n = objective.alpha, objective.center, objective.n_queries
    if planes.n_planes:
        weights = center - planes.combined() / alpha
    is_solved = True
    while True:
        objective.look(weights)
        progress.see(weights, objective.value(weights), planes.bound(planes.combined(), alpha, center))
        if not progress.goes_on:
            return
        least = _NEGLIGIBLE * progress.gap / n
        planes.add(weights, 0, n, least)
        weights = center - planes.combined() / alpha
        if "single-update" in tricks:
            _step_on_each(objective, planes, weights, least)
        if "hot-start" not in tricks and is_solved:  # begun anew each time, a long programme would never be solved
            planes.forget_duals()
            weights = center.copy()
        is_solved = _solve_programme(objective, planes, weights, progress.gap, tricks)
        if "drop-inactive" in tricks:
            planes.drop_idle(_IDLE_ROUNDS)
        weights = center - planes.combined() / alpha


def _step_on_each(objective: StructuredObjective, planes: Planes, weights: Array, least: float) -> None:
    """Read X once more in parts, each with the weights that the constraints of the parts before have led to."""
    for first, last in objective.groups():
        planes.ascend(range(first, last), objective.alpha, weights, least, most_steps=1)
        objective.look(weights, first, last)
        planes.add(weights, first, last, least)
        planes.ascend(range(first, last), objective.alpha, weights, least, most_steps=1)


def _solve_programme(
    objective: StructuredObjective, planes: Planes, weights: Array, gap: float, tricks: Collection[str]
) -> bool:
    """Dual ascent on all queries in turn; whether that came to an end before there were too many sweeps."""
    everything = range(objective.n_queries)
    least = _NEGLIGIBLE * gap / objective.n_queries
    enough = _EXACT * gap
    if "inexact" in tricks:
        begun = planes.ascend(everything, objective.alpha, weights, least)
        enough = max(enough, _INEXACT * min(begun, gap))
    for _ in range(_MOST_SWEEPS):
        if planes.ascend(everything, objective.alpha, weights, least) > enough:
            continue
        # What each query saw in its turn may be far less than the gap at the weights where the sweep ended.
        if planes.ascend(everything, objective.alpha, weights, least, most_steps=0) <= enough:
            return True
    return False
