"""A pool of threads for kernels that release the GIL."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.machine.runs import split_by_size

T = TypeVar("T")
R = TypeVar("R")

_ENVIRONMENT = "RANKWRIGHT_THREADS"

# More than any machine has processors; each takes memory, and a system has only so many.
_MOST_THREADS = 1024

# Below this many documents a second thread costs more than it brings.
_DOCUMENTS_WORTH_A_THREAD = 4096


def thread_count() -> int:
    """How many threads kernels may use: ``RANKWRIGHT_THREADS``, or the processors this process may run on."""
    wanted = os.environ.get(_ENVIRONMENT)
    if wanted is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    digits = wanted.lstrip("0")
    is_number = wanted.isascii() and wanted.isdecimal() and len(digits) <= len(str(_MOST_THREADS))
    if not is_number or not 1 <= int(wanted) <= _MOST_THREADS:
        raise ParameterError(
            f"{_ENVIRONMENT} must be a whole number from 1 to {_MOST_THREADS}, not {wanted[:40]!r}: "
            "as many as there are processors are enough"
        )
    return int(wanted)


class _Here(threading.local):
    """Whether this thread is one of a pool's own: it must not wait for the pool, but do the work itself."""

    is_worker = False

    def enter(self) -> None:
        self.is_worker = True


_here = _Here()


@contextmanager
def on_this_thread() -> Iterator[None]:
    """While it lasts, what would be shared among threads is done by this one alone, as others have work of their own.

    So results do not depend on how many threads there are.
    """
    before, _here.is_worker = _here.is_worker, True
    try:
        yield
    finally:
        _here.is_worker = before


def _pool(threads: int) -> ThreadPoolExecutor:
    return _pool_of_process(threads, os.getpid())  # a forked process inherits the pool, but not its threads


@lru_cache(maxsize=4)
def _pool_of_process(threads: int, process: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rankwright", initializer=_here.enter)


def _submit(pool: ThreadPoolExecutor, work: Callable[..., R], *arguments: Any) -> Future[R]:
    try:
        return pool.submit(work, *arguments)
    except RuntimeError as error:
        if "start new thread" not in str(error):
            raise
        raise ParameterError(f"{error}: set {_ENVIRONMENT} to less than {thread_count()}") from error


def runs_for_threads(offsets: npt.NDArray[np.int64]) -> list[tuple[int, int]]:
    """Runs [first, last) of whole queries, one for each thread that is worth its cost."""
    worth = int(offsets[-1]) // _DOCUMENTS_WORTH_A_THREAD
    if worth <= 1 and _ENVIRONMENT not in os.environ:  # often asked for a few queries at a time
        return [(0, len(offsets) - 1)] if len(offsets) > 1 else []
    return split_by_size(offsets, min(_threads_to_use(), max(1, worth)))


def side_by_side(work: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """``work(item)`` for each of a few items at the same time, the first of them here."""
    threads = 1 if len(items) <= 1 else _threads_to_use()
    if threads == 1:
        return [work(item) for item in items]
    pending: list[Future[R]] = []
    try:
        for item in items[1:]:
            pending.append(_submit(_pool(threads), work, item))
        first = work(items[0])
    finally:
        wait(pending)  # they may write into the caller's arrays
    return [first, *(future.result() for future in pending)]


def for_query_ranges(work: Callable[[int, int], None], offsets: npt.NDArray[np.int64]) -> None:
    """Call ``work(first, last)`` on runs of whole queries, side by side, until every query has been seen."""
    side_by_side(lambda run: work(*run), runs_for_threads(offsets))


def sum_over_query_ranges(
    add: Callable[[int, int, npt.NDArray[np.float64]], None], offsets: npt.NDArray[np.int64], shape: tuple[int, ...]
) -> npt.NDArray[np.float64]:
    """Σ over runs of whole queries of what ``add(first, last, out)`` adds to zeros, done side by side.

    The sums are added in the order of the runs, so that the total is the same on every run of the program.
    """

    def sum_of(run: tuple[int, int]) -> npt.NDArray[np.float64]:
        part = np.zeros(shape)
        add(*run, part)
        return part

    total, *others = side_by_side(sum_of, runs_for_threads(offsets) or [(0, 0)])
    for part in others:
        total += part
    return total


def _threads_to_use() -> int:
    return 1 if _here.is_worker else thread_count()


def map_in_order(work: Callable[[T], R], items: Iterable[T]) -> Generator[R]:
    """Yield ``work(item)`` for every item, in order, keeping only a few items in flight.

    Who may leave before the end closes the generator: that waits for the items in flight.
    """
    threads = _threads_to_use()
    if threads == 1:
        yield from map(work, items)
        return
    pool = _pool(threads)
    in_flight: list[Future[R]] = []
    try:
        for item in items:
            in_flight.append(_submit(pool, work, item))
            if len(in_flight) > 2 * threads:
                yield in_flight.pop(0).result()
        while in_flight:
            yield in_flight.pop(0).result()
    finally:
        for future in in_flight:
            future.cancel()
        wait(in_flight)
