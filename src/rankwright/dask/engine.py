"""`DaskEngine`: steps go to parts in the workers' memory, all of them by a message to each worker.

A task takes Dask 10 ms, however short it is; a message to a worker takes half a millisecond. So parts are made by
tasks, and every worker notes those that it has; a pass is a message, which each worker answers for its own parts. A
part that nobody answers for was lost: it is made anew, and what has changed its state is done again, in order. So no
result depends on which worker it came from.
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
from distributed import Future, get_worker

from rankwright.clusters.engine import ClusterEngine
from rankwright.clusters.held import Answer, Call, Held
from rankwright.clusters.queries import ClusterQueries, part_of
from rankwright.dask.messages import talk
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
        self._workers: dict[str, list[int]] = {}  # the parts that each has

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
        places = self._client.who_has(list(self._held.values()))
        self._workers = {}
        for number, future in self._held.items():
            for worker in places[future.key][:1]:
                self._workers.setdefault(worker, []).append(number)

    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]], *, may_add: bool) -> dict[int, Answer]:
        """The answers of all workers, of the parts that they have."""
        self._hold([number for number in changes if number not in self._held])
        own = {worker: {n: changes[n] for n in numbers if n in changes} for worker, numbers in self._workers.items()}
        contents = {worker: cloudpickle.dumps((self._name, call, asked)) for worker, asked in own.items() if asked}
        try:
            answers = talk(self._client, _OPERATION, contents)
        except BaseException:
            with suppress(Exception):
                self._client.run(_forget, self._name, wait=False)
            raise
        found = {number: answer for packed in answers for number, answer in cloudpickle.loads(packed).items()}
        for number in changes.keys() - found.keys():
            self._held.pop(number).cancel()
        return found


# What runs on workers. The parts that a worker has, by the engine that they are for and their numbers
_OPERATION = "rankwright_answers"
_parts: dict[str, WeakValueDictionary[int, NotedPart]] = {}


class NotedPart(Held):
    """A part that is noted as long as Dask keeps this."""

    def __init__(self, queries: Queries, engine: str, number: int, before: tuple[int, int], whole: Whole) -> None:
        super().__init__(part_of(queries, before, whole))
        self._engine = engine
        _parts.setdefault(engine, WeakValueDictionary())[number] = self
        worker = get_worker()
        worker.handlers.setdefault(_OPERATION, _answers)
        self.pool = _pool(worker.state.nthreads)

    def __del__(self) -> None:
        self.part.release()
        if all(held is self for held in list(_parts.get(self._engine, {}).values())):  # it is noted until it is gone
            _parts.pop(self._engine, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return _Moved, ()

    def answer(self, call: Call, version: int, changes: list[bytes]) -> Answer:
        """With what the call raises."""
        if self._engine not in _parts:
            return Answer(is_behind=True)  # nobody waits for it
        try:
            with on_this_thread(), one_thread_per_call():
                return super().answer(call, version, changes)
        except Exception as error:
            return Answer(error=error.with_traceback(None))  # whose frames would keep this part in memory


class _Moved:
    """What is left of a part that Dask has moved, or read back from disk: nobody answers for it, so it is made anew."""


async def _answers(content: bytes) -> bytes:
    """The answers of the parts that this worker has."""
    engine, packed, changes = cloudpickle.loads(content)
    own: Mapping[int, NotedPart] = _parts.get(engine, {})
    held = {number: part for number in changes if (part := own.get(number)) is not None}
    call: Call = cloudpickle.loads(packed)
    run = asyncio.get_running_loop().run_in_executor
    answers = [run(part.pool, part.answer, call, *changes[number]) for number, part in held.items()]
    packed_answers: bytes = cloudpickle.dumps(dict(zip(held, await asyncio.gather(*answers), strict=True)))
    return packed_answers


@lru_cache(maxsize=1)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="rankwright-part")


def _forget(engine: str) -> None:
    """Begin no further step on parts of this engine, as nobody waits for it."""
    _parts.pop(engine, None)
