"""Work on numbers that a learner has itself, beside those that are with the parts, on the threads of this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from rankwright.machine.threads import for_query_ranges, map_in_order, runs_for_threads, side_by_side

T = TypeVar("T")
R = TypeVar("R")


def share(work: Callable[[int, int], None], count: int, size: int) -> None:
    """Call ``work(first, last)`` on runs of ``count`` items, side by side; each item is worth ``size`` documents."""
    for_query_ranges(work, np.arange(count + 1) * size)


def share_by_size(work: Callable[[int, int], None], offsets: npt.NDArray[np.int64]) -> None:
    """The same, where item i is worth offsets[i + 1] − offsets[i] documents."""
    for_query_ranges(work, offsets)


def of_runs(work: Callable[[tuple[int, int]], R], offsets: npt.NDArray[np.int64]) -> list[R]:
    """``work((first, last))`` of runs of whole queries, side by side; of no queries, that of the empty run."""
    return side_by_side(work, runs_for_threads(offsets) or [(0, 0)])


def in_order(work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
    """``work(item)`` of each item, in order, a few at a time."""
    return map_in_order(work, items)
