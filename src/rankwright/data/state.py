"""`State`: arrays that belong to the queries of a part and cannot be computed again."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankwright.data.doubled_sums import DoubledSums
from rankwright.machine.threads import for_query_ranges, runs_for_threads, side_by_side, sum_over_query_ranges
from rankwright.types import Array

Step = TypeVar("Step", bound=Callable[..., Any])


def changes_state(step: Step) -> Step:
    """Say of a step that it changes states, or makes them.

    A part on another machine may be lost, and its state with it. It is then made anew, and all that has changed its
    state is done again, in order; other steps need not be.
    """
    step.changes_state = True  # type: ignore[attr-defined]
    return step


class QueryRun:
    """A run of whole queries.

    Attributes
    ----------
    offsets : where the documents of each of them begin and end, from 0 on
    first_query : how many queries come before in the whole data
    """

    offsets: npt.NDArray[np.int64]
    first_query: int

    @property
    def n_queries(self) -> int:
        """How many they are."""
        return len(self.offsets) - 1

    def over_runs(self, work: Callable[[int, int], None], first: int = 0, last: int | None = None) -> None:
        """Call ``work(begin, end)`` on runs of queries first … last − 1, side by side on the threads of this machine.

        By default on all of them.
        """
        offsets = self.offsets[first : None if last is None else last + 1]
        for_query_ranges(lambda begin, end: work(first + begin, first + end), offsets - offsets[0])

    def sum_over_runs(self, add: Callable[[int, int, Array], None], shape: tuple[int, ...]) -> Array:
        """Σ over runs of its queries of what ``add(first, last, out)`` adds to zeros, always in the same order."""
        return sum_over_query_ranges(add, self.offsets, shape)

    def doubled_sums_over_runs(self, add: Callable[[int, int, DoubledSums], None], n_columns: int) -> DoubledSums:
        """The same in twice the digits by ``add(first, last, total)``: the total does not depend on the runs."""

        def total_of(run: tuple[int, int]) -> DoubledSums:
            total = DoubledSums(n_columns)
            add(*run, total)
            return total

        return reduce(operator.add, side_by_side(total_of, runs_for_threads(self.offsets) or [(0, 0)]))

    def run_of(self, first: int, last: int) -> tuple[int, int]:
        """Which of its own queries are among queries first … last − 1 of the whole data."""
        begin = min(max(first - self.first_query, 0), self.n_queries)
        return begin, max(min(last - self.first_query, self.n_queries), begin)


class State(dict[Hashable, npt.NDArray[Any]], QueryRun):
    """Arrays by name. They are plain ones, of numbers, so that an engine can keep them in files."""

    def __init__(self, offsets: npt.NDArray[np.int64], first_query: int = 0) -> None:
        super().__init__()
        self.offsets, self.first_query = offsets, first_query
