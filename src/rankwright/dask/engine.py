"""`DaskEngine`: steps go to parts in the workers' memory, all of them by one message to all workers.

A task takes Dask 10 ms, however short it is; a message to all workers takes 1 ms. So parts are made by tasks, and every
worker notes those that it has; a pass is a message, which each worker answers for its own parts. A part that nobody
answers for was lost: it is made anew, and what has changed its state is done again, in order. So no result depends on
which worker it came from.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import lru_cache
from typing import Any
from weakref import WeakValueDictionary

import cloudpickle
from distributed import Future

from rankwright.clusters.engine import ClusterEngine
from rankwright.clusters.held import Answer, Call, Held
from rankwright.clusters.queries import ClusterQueries, part_of
from rankwright.dask.partitions import DaskPartitions, finished, tasks
from rankwright.data.queries import Queries
from rankwright.judgments.whole import Whole
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import on_this_thread


class DaskQueries(ClusterQueries):
    """Queries in the memory of a Dask cluster, made by :func:`rankwright.dask.queries`."""

    partitions: DaskPartitions


DaskQueries._kind = DaskQueries


class DaskEngine(ClusterEngine):
    """Parts stay with the workers, and so does what they keep."""

    keeps = True

    def __init__(self, queries: DaskQueries) -> None:
        super().__init__(queries)
        self._queries: DaskQueries
        self._client, self._name = queries.partitions.client, uuid.uuid4().hex
        self._held: dict[int, Future] = {}

    def _hold(self, numbers: list[int]) -> None:
        """Have parts made where their queries are."""
        if not numbers:
            return
        queries, whole = self._queries, self._queries.whole
        given = [(queries.partitions.futures[n], self._name, n, self._before[n], whole) for n in numbers]
        futures = tasks(self._client, "hold", NotedPart, given)
        for number, future in zip(numbers, futures, strict=True):
            finished(future)
            self._held[number] = future

    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]]) -> dict[int, Answer]:
        """The answers of all workers, of the parts that they have."""
        self._hold([number for number in changes if number not in self._held])
        try:
            told = self._client.run(_answers, self._name, call, changes, on_error="return")
        except BaseException:
            with suppress(Exception):
                self._client.run(_forget, self._name, wait=False)
            raise
        found: dict[int, Answer] = {}
        for answer in told.values():
            if isinstance(answer, dict):
                found.update(answer)
            elif not isinstance(answer, OSError):  # the worker is gone, and its parts with it
                raise answer
        return found

    def _give_up(self, number: int) -> None:
        self._held.pop(number).cancel()


# What runs on workers. The parts that a worker has, by the engine that they are for and their numbers
_parts: dict[str, WeakValueDictionary[int, NotedPart]] = {}


class NotedPart(Held):
    """A part that is noted as long as Dask keeps this."""

    def __init__(self, queries: Queries, engine: str, number: int, before: tuple[int, int], whole: Whole) -> None:
        super().__init__(part_of(queries, before, whole))
        self._made_of = (queries, engine, number, before, whole)
        _parts.setdefault(engine, WeakValueDictionary())[number] = self

    def __del__(self) -> None:
        self.part.release()
        if not _parts.get(self._made_of[1], True):
            del _parts[self._made_of[1]]

    def __reduce__(self) -> tuple[Any, ...]:
        return NotedPart, self._made_of

    def answer(self, call: Call, version: int, changes: list[bytes]) -> Answer:
        """With what the call raises."""
        if self._made_of[1] not in _parts:
            return Answer(is_behind=True)  # nobody waits for it
        try:
            with on_this_thread(), one_thread_per_call():
                return super().answer(call, version, changes)
        except Exception as error:
            return Answer(error=error)


async def _answers(
    engine: str, packed: bytes, changes: dict[int, tuple[int, list[bytes]]], dask_worker: Any
) -> dict[int, Answer]:
    """The answers of the parts that this worker has."""
    own: Mapping[int, NotedPart] = _parts.get(engine, {})
    held = {number: part for number in changes if (part := own.get(number)) is not None}
    if not held:
        return {}
    call: Call = cloudpickle.loads(packed)
    loop, pool = asyncio.get_running_loop(), _pool(dask_worker.state.nthreads)
    answers = [loop.run_in_executor(pool, part.answer, call, *changes[number]) for number, part in held.items()]
    return dict(zip(held, await asyncio.gather(*answers), strict=True))


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rankwright-part")


def _forget(engine: str) -> None:
    """Begin no further step on parts of this engine, as nobody waits for it."""
    _parts.pop(engine, None)
