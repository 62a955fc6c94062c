"""What a solver tells of its work while it runs."""

from __future__ import annotations

from typing import NamedTuple


class Iteration(NamedTuple):
    """One iteration of a solver.

    ``gap`` is the objective minus a lower bound of the least there can be, so it is at least what is left to gain;
    ``passes`` counts how often the data have been read. ``measure`` is the deciding measure on the validation
    queries, where it has been computed; ``fold`` is the part that cross-validation leaves out, counted from 1.
    """

    alpha: float
    step: int
    objective: float
    gap: float
    passes: int
    measure: float | None
    fold: int | None = None
