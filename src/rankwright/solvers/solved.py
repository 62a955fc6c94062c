"""What all solvers have in common: how they are asked, and what they tell in the end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from rankwright.types import Array

# Sees the best weights so far, their objective and a lower bound after every step; True ends the solver.
AfterStep = Callable[[Array, float, float], bool]

Ended = Literal["the gap is met", "it was stopped", "all steps were taken", "nothing better was found"]


class Goal(NamedTuple):
    """How near to the least objective a solver is to come, as a part of it, and in how many steps at most."""

    tol: float
    most_steps: int | None = None
    after_step: AfterStep | None = None


class Solved(NamedTuple):
    """Where a solver has ended.

    Attributes
    ----------
    weights, value : the best it has found, and the objective there
    bound : what the objective is nowhere below
    steps, passes : what it took; passes are counted by the engine, over all that it has done
    converged : whether the goal is met
    ended : why it ended
    known : what the same solver may begin with for the next λ
    unsure : by how much the objective can be above ``value``, where it is not computed exactly
    """

    weights: Array
    value: float
    bound: float
    steps: int
    passes: int
    converged: bool
    ended: Ended
    known: Any = None
    unsure: float = 0.0

    @property
    def gap(self) -> float:
        """How far the objective can be above the least there is."""
        return self.value - self.bound + self.unsure


O_contra = TypeVar("O_contra", contravariant=True)


class Solver(Protocol[O_contra]):
    """Minimises one kind of objective; solvers of a kind are registered by their names."""

    def __call__(self, objective: O_contra, start: Array, goal: Goal, known: Any = None, **options: Any) -> Solved:
        """Go from the start to the goal; ``known`` is what it has told to know of the λ before."""


def why_ended(*, met: bool, stopped: bool, all_steps: bool) -> Ended:
    """In this order."""
    if met:
        return "the gap is met"
    if stopped:
        return "it was stopped"
    return "all steps were taken" if all_steps else "nothing better was found"
