"""How far long work is, told by whoever does it to whoever wants to know: one type for rankers, `fit` and commands."""

from __future__ import annotations

from collections.abc import Callable
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


class Progress(NamedTuple):
    """What is being done, how much of it is done, and out of how much (None if nobody knows).

    ``in_bytes`` says that ``done`` and ``total`` are bytes read; all else is counted in steps, of which a part may be
    done. ``iteration`` is what an iterative solver has to tell of its last step.

    >>> print(Progress("pass 2 over train.txt", 1.5e9, 4e9, in_bytes=True))
    pass 2 over train.txt, 1.5/4.0 GB
    """

    what: str
    done: float
    total: float | None
    in_bytes: bool = False
    iteration: Iteration | None = None

    @property
    def share(self) -> float:
        """How much of the work is done, from 0 to 1; 0 where that is not known."""
        return min(self.done / self.total, 1.0) if self.total else 0.0

    @property
    def amount(self) -> str:
        """What is done out of the total: ``3/10``, or ``1.5/4.0 GB``."""
        if not self.in_bytes:
            return f"{int(self.done)}/{'?' if self.total is None else int(self.total)}"
        size, name = _unit_of(self.done if self.total is None else self.total)
        total = "?" if self.total is None else f"{self.total / size:.1f}"
        return f"{self.done / size:.1f}/{total} {name}"

    def __str__(self) -> str:
        return f"{self.what}, {self.amount}"


Tell = Callable[[Progress], None]  # what a parameter ``progress`` is


def part_of(tell: Tell | None, what: str, done: float, total: float) -> Tell | None:
    """What to tell of work that is one step of a larger one, of which ``done`` steps are done before it."""
    if tell is None:
        return None

    def tell_of_whole(part: Progress) -> None:
        told = str(part) if part.in_bytes else part.what
        named = ", ".join(filter(None, (what, told)))
        tell(Progress(named, done + part.share, total, iteration=part.iteration))

    return tell_of_whole


def _unit_of(n_bytes: float) -> tuple[float, str]:
    return next(((size, name) for size, name in ((1e9, "GB"), (1e6, "MB")) if n_bytes >= size), (1e3, "kB"))
