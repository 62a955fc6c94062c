"""Messages of learners on a Dask cluster, watched: seconds of driver and workers, and bytes that travel."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import cloudpickle
import numpy as np
from distributed import Client, LocalCluster

import rankwright as rw
from benchmarks.scale_model import Run, Seen, Size, Transport
from rankwright.clusters.engine import Call
from rankwright.dask.engine import DaskEngine, DaskQueries
from rankwright.dask.partitions import DaskPartitions
from rankwright.data.part import Part
from rankwright.engines import ENGINES, engine_of

_PAYLOAD = 4_000_000
_MESSAGES, _TASKS = 100, 20


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """So many workers with a thread each, in processes of their own; the scheduler is in this process."""
    with (
        LocalCluster(
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
        ) as running,
        Client(running, set_as_default=False) as client,
        mock.patch.dict(os.environ, RANKWRIGHT_THREADS="1"),
    ):
        yield client


def size_of(queries: DaskQueries) -> Size:
    """How much data there is."""
    return Size(queries.n_documents, queries.n_queries, queries.n_parts)


def watched(learn: Callable[[Any], Any], queries: DaskQueries) -> Run:
    """A run of a learner on queries in the memory of a cluster."""
    watch = _Watch()
    with (
        mock.patch.dict(ENGINES, {DaskQueries: partial(_WatchedEngine, watch)}),
        mock.patch.object(DaskPartitions, "results", _watched_results(watch)),
    ):
        begin = time.perf_counter()
        learn(queries)
        taken = time.perf_counter() - begin
    return Run(taken - watch.watching, sum(engine.passes for engine in watch.engines), watch.seen)


class _Watch:
    """What has been seen of a run, and the seconds that looking took."""

    def __init__(self) -> None:
        self.engines: list[_WatchedEngine] = []
        self.seen: list[Seen] = []
        self.watching = 0.0

    def bytes_of(self, thing: Any) -> int:
        """How many bytes it is when it travels."""
        begin = time.perf_counter()
        size = len(cloudpickle.dumps(thing))
        self.watching += time.perf_counter() - begin
        return size


class _WatchedEngine(DaskEngine):
    """Tells of its messages."""

    def __init__(self, watch: _Watch, queries: DaskQueries) -> None:
        super().__init__(queries)
        self._watch, self._step, self._is_in_turn = watch, "", False
        self._client = _WatchedClient(self._client, self._tell)
        watch.engines.append(self)

    def _asked(self, call: Call, numbers: Any) -> list[Any]:
        self._step = f"{call.step.__module__.rpartition('.')[2]}.{call.step.__name__.strip('_')}"
        return super()._asked(call, numbers)

    def in_turn(self, step: Any, carried: Any, *sent: Any, states_only: bool = False) -> Any:
        self._is_in_turn = True
        try:
            return super().in_turn(step, carried, *sent, states_only=states_only)
        finally:
            self._is_in_turn = False

    def _hold(self, numbers: list[int]) -> None:
        begin = time.perf_counter()
        super()._hold(numbers)
        if numbers:
            self._watch.seen.append(Seen("hold", False, True, time.perf_counter() - begin, 0.0, 0.0, 0, 0))

    def _tell(self, seconds: float, sent: Any, told: dict[str, Any]) -> None:
        n_bytes = self._watch.bytes_of(sent), self._watch.bytes_of([found for found, _, _ in told.values()])
        self._watch.seen.append(Seen(self._step, self._is_in_turn, False, seconds, *_longest(told.values()), *n_bytes))


class _WatchedClient:
    """A client that lets workers tell how long they took for a message."""

    def __init__(self, client: Client, tell: Callable[[float, Any, dict[str, Any]], None]) -> None:
        self._client, self._tell = client, tell

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def run(self, function: Any, *sent: Any, **options: Any) -> dict[str, Any]:
        begin = time.perf_counter()
        told: dict[str, Any] = self._client.run(_timed, function, *sent, **options)
        self._tell(time.perf_counter() - begin, sent, told)
        return {worker: found for worker, (found, _, _) in told.items()}


async def _timed(function: Any, *sent: Any, dask_worker: Any) -> tuple[Any, float, float]:
    """On a worker: what a function returns, and the seconds of a processor and of a clock that it took."""
    cpu, wall = time.process_time(), time.perf_counter()
    found = await function(*sent, dask_worker)
    return found, time.process_time() - cpu, time.perf_counter() - wall


def _watched_results(watch: _Watch) -> Callable[..., Iterator[Any]]:
    """`DaskPartitions.results`, which tells of its tasks."""
    results = DaskPartitions.results

    def told(partitions: DaskPartitions, what: str, function: Any, *sent: Any, only: Any = None) -> Iterator[Any]:
        begin = time.perf_counter()
        found = list(results(partitions, what, _timed_task, function, *sent, only=only))
        seconds = time.perf_counter() - begin
        answers = [answer for answer, _, _ in found]
        n_bytes = watch.bytes_of((function, sent)), watch.bytes_of(answers)
        watch.seen.append(Seen(what, False, True, seconds, *_longest(found), *n_bytes))
        return iter(answers)

    return told


def _longest(answers: Iterable[tuple[Any, float, float]]) -> tuple[float, float]:
    """The most seconds of a processor that one of the workers took, and by how much more the last of them was late."""
    _, cpus, walls = zip(*answers, strict=True)
    return max(cpus), max(0.0, max(walls) - max(cpus))


def _timed_task(queries: Any, function: Any, *sent: Any) -> tuple[Any, float, float]:
    cpu, wall = time.thread_time(), time.perf_counter()
    found = function(queries, *sent)
    return found, time.thread_time() - cpu, time.perf_counter() - wall


# What messages take themselves


def transport(file: Path, counts: tuple[int, ...] = (1, 2, 4, 8)) -> Transport:
    """What messages to one worker, and to some more, take in which little or nothing is done.

    What each further worker adds is taken from the processor seconds of this process, in which driver and scheduler
    are: workers would have processors of their own elsewhere.
    """
    by_count = [_Empty.measured(file, count) for count in counts]
    alone = by_count[0]

    def each(name: str) -> float:
        taken = [getattr(found, name)[1] for found in by_count]
        return max(0.0, float(np.polyfit(counts, taken, 1)[0]))

    byte_each = max(0.0, each("sending") - each("message")) / _PAYLOAD
    return Transport(
        fixed=max(0.0, alone.message[0] - each("message")),
        each=each("message"),
        task_fixed=max(0.0, alone.task[0] - each("task")),
        task_each=each("task"),
        byte_once=max(0.0, (alone.sending[0] - alone.message[0]) / _PAYLOAD - byte_each),
        byte_each=byte_each,
        byte_back=max(0.0, (alone.returning[0] - alone.message[0]) / _PAYLOAD),
    )


class _Empty(NamedTuple):
    """Seconds of a clock, and of the processor for this process, that a message takes: empty, or with many bytes."""

    message: tuple[float, float]
    task: tuple[float, float]
    sending: tuple[float, float]
    returning: tuple[float, float]

    @classmethod
    def measured(cls, file: Path, workers: int) -> _Empty:
        payload = bytes(_PAYLOAD)
        with cluster(workers) as client:
            queries = rw.dask.queries(file, client=client, parts=workers)
            engine = engine_of(queries)
            return cls(
                _median(lambda: engine.sum(_nothing, reads=False), _MESSAGES),
                _median(lambda: list(queries.partitions.results("nothing", _nothing)), _TASKS),
                _median(lambda: engine.sum(_nothing, payload, reads=False), _TASKS),
                _median(lambda: list(engine.each(_zeros, reads=False)), _TASKS),
            )


def _median(work: Callable[[], object], repeats: int) -> tuple[float, float]:
    work()
    taken = []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    walls, cpus = zip(*taken, strict=True)
    return statistics.median(walls), statistics.median(cpus)


def _nothing(part: Any, *sent: Any) -> None:
    """All that is asked of a part."""


def _zeros(part: Part) -> Any:
    return np.zeros(_PAYLOAD // 8)
