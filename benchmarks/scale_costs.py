"""Messages of learners on a cluster, watched: seconds of the driver and of workers, and bytes that travel."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import cloudpickle
import numpy as np

import rankwright as rw
from benchmarks.local_clusters import dask_client
from benchmarks.scale_model import Run, Seen, Size, Transport, Way
from rankwright.clusters.engine import ClusterEngine
from rankwright.clusters.held import Answer, Call
from rankwright.clusters.queries import ClusterQueries
from rankwright.dask.engine import DaskEngine, DaskQueries
from rankwright.dask.partitions import DaskPartitions
from rankwright.engines import ENGINES, engine_of
from rankwright.engines.engine import Step

_PAYLOAD = 4_000_000
_MESSAGES, _TASKS = 100, 20


def seconds_of_job(queries: ClusterQueries) -> float:
    """What a job of Spark takes in which nothing is done."""
    engine = engine_of(queries)
    return _median(lambda: engine.sum(_nothing, reads=False), _TASKS)[0]


def size_of(queries: ClusterQueries) -> Size:
    """How much data there is."""
    return Size(queries.n_documents, queries.n_queries, queries.n_parts)


def watched(learn: Callable[[Any], Any], queries: ClusterQueries) -> Run:
    """A run of a learner on queries in the memory of a cluster."""
    watch = _Watch()
    kind: Any = _WatchedDask if isinstance(queries, DaskQueries) else _watched_spark()
    with (
        mock.patch.dict(ENGINES, {type(queries): partial(kind, watch)}),
        mock.patch.object(DaskPartitions, "results", _watched_results(watch)),
    ):
        begin, cpu = time.perf_counter(), time.thread_time()
        learn(queries)
        taken, driver = time.perf_counter() - begin - watch.watching, time.thread_time() - cpu - watch.cpu_elsewhere
    return Run(taken, driver, sum(engine.passes for engine in watch.engines), watch.seen)


class _Watch:
    """What has been seen of a run, seconds that looking took, and those of a processor that are not the driver's."""

    def __init__(self) -> None:
        self.engines: list[_Watching] = []
        self.seen: list[Seen] = []
        self.watching = self.cpu_elsewhere = 0.0

    def bytes_of(self, thing: Any) -> int:
        """How many bytes it is when it travels."""
        with self.elsewhere() as taken:
            size = len(cloudpickle.dumps(thing))
        self.watching += taken[0]
        return size

    @contextmanager
    def elsewhere(self) -> Iterator[list[float]]:
        """Not the driver's own work: gives the seconds that it took, once it is done."""
        begin, cpu, before, taken = time.perf_counter(), time.thread_time(), self.cpu_elsewhere, [0.0]
        yield taken
        taken[0] = time.perf_counter() - begin
        self.cpu_elsewhere = before + time.thread_time() - cpu


class _Watching(ClusterEngine):
    """Tells of its messages, in front of the engine of a cluster."""

    def __init__(self, watch: _Watch, queries: Any) -> None:
        super().__init__(queries)
        self._watch, self._is_in_turn, self._seconds_held = watch, False, 0.0
        self._seconds, self._sent, self._back = 0.0, 0, 0  # of the last message
        watch.engines.append(self)

    def _answers(self, call: Call, numbers: Sequence[int], *, may_add: bool = False) -> list[Answer]:
        answers = super()._answers(call._replace(step=_Timed(call.step)), numbers, may_add=may_add)
        name = f"{call.step.__module__.rpartition('.')[2]}.{call.step.__name__.strip('_')}"
        work = max(answer.result[1] for answer in answers if not answer.is_added)
        self._watch.seen.append(Seen(name, self._is_in_turn, False, self._seconds, work, self._sent, self._back))
        return [answer if answer.is_added else answer._replace(result=answer.result[0]) for answer in answers]

    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]], *, may_add: bool) -> dict[int, Answer]:
        held_before = self._seconds_held
        with self._watch.elsewhere() as taken:
            found = super()._message(call, changes, may_add=may_add)  # type: ignore[safe-super]
        self._seconds = taken[0] - (self._seconds_held - held_before)
        self._sent = len(call) + max(sum(map(len, untold)) for _, untold in changes.values())
        self._back = self._watch.bytes_of(list(found.values()))
        return found

    def change_states(self, step: Step, *sent: Any) -> None:
        super().change_states(_Timed(step, is_alone=False), *sent)

    def in_turn(self, step: Step, carried: Any, *sent: Any, states_only: bool = False) -> Any:
        self._is_in_turn = True
        try:
            return super().in_turn(step, carried, *sent, states_only=states_only)
        finally:
            self._is_in_turn = False


class _WatchedDask(_Watching, DaskEngine):
    def _hold(self, numbers: list[int]) -> None:
        with self._watch.elsewhere() as taken:
            super()._hold(numbers)
        if numbers:
            self._seconds_held += taken[0]
            self._watch.seen.append(Seen("hold", False, True, taken[0], 0.0, 0, 0))


def _watched_spark() -> type[_Watching]:
    from rankwright.spark.engine import SparkEngine

    return type("_WatchedSpark", (_Watching, SparkEngine), {})


_before = threading.local()


class _Timed:
    """On a worker: a step that also returns the seconds of a processor that it took.

    Changes of the state come before a step, in the same thread, and return nothing: their seconds are added to its.
    """

    def __init__(self, step: Step, *, is_alone: bool = True) -> None:
        self._step, self._is_alone = step, is_alone
        self.changes_state = getattr(step, "changes_state", False)

    def __call__(self, part: Any, *sent: Any) -> Any:
        begin = time.thread_time()
        result = self._step(part, *sent)
        taken = getattr(_before, "seconds", 0.0) + time.thread_time() - begin
        _before.seconds = 0.0 if self._is_alone else taken
        return (result, taken) if self._is_alone else None


def _watched_results(watch: _Watch) -> Callable[..., Iterator[Any]]:
    """`DaskPartitions.results`, which tells of its tasks."""
    results = DaskPartitions.results

    def told(partitions: DaskPartitions, what: str, function: Any, *sent: Any, only: Any = None) -> Iterator[Any]:
        with watch.elsewhere() as taken:
            found = list(results(partitions, what, _Timed(function), *sent, only=only))
        answers = [answer for answer, _ in found]
        n_bytes = watch.bytes_of((function, sent)), watch.bytes_of(answers)
        work = max(seconds for _, seconds in found)
        watch.seen.append(Seen(what, False, True, taken[0], work, *n_bytes))
        return iter(answers)

    return told


# What messages take themselves


def transport(file: Path, counts: tuple[int, ...] = (1, 2, 4, 8)) -> Transport:
    """What messages to one worker, and to some more, take in which little or nothing is done.

    What each further worker adds is taken from the processor seconds of this process, in which driver and scheduler
    are: elsewhere workers have processors of their own.
    """
    found = [_Empty.measured(file, count) for count in counts]
    alone = found[0]

    def each(taken: Callable[[_Empty], float]) -> float:
        return max(0.0, float(np.polyfit(counts, [taken(empty) for empty in found], 1)[0]))

    def way(empty: str, full: str) -> Way:
        of_message = each(lambda taken: getattr(taken, empty)[1])
        of_byte = each(lambda taken: getattr(taken, full)[1] - getattr(taken, empty)[1]) / _PAYLOAD
        fixed, filled = getattr(alone, empty)[0], getattr(alone, full)[0]
        return Way(max(0.0, fixed - of_message), of_message, max(0.0, (filled - fixed) / _PAYLOAD - of_byte), of_byte)

    return Transport(
        message=way("message", "sending"),
        turn=way("turn", "sending_in_turn"),
        task=way("task", "sending_by_task"),
        byte_back=max(0.0, (alone.returning[0] - alone.message[0]) / _PAYLOAD),
    )


class _Empty(NamedTuple):
    """Seconds of a clock, and of the processor for this process, that a message takes: empty, or with many bytes."""

    message: tuple[float, float]
    sending: tuple[float, float]
    turn: tuple[float, float]
    sending_in_turn: tuple[float, float]
    task: tuple[float, float]
    sending_by_task: tuple[float, float]
    returning: tuple[float, float]

    @classmethod
    def measured(cls, file: Path, workers: int) -> _Empty:
        payload = bytes(_PAYLOAD)
        with dask_client(workers) as client:
            queries = rw.dask.queries(file, client=client, parts=workers)
            engine, partitions = engine_of(queries), queries.partitions
            return cls(
                _median(lambda: engine.sum(_nothing, reads=False), _MESSAGES),
                _median(lambda: engine.sum(_nothing, payload, reads=False), _TASKS),
                _median(lambda: engine.in_turn(_nothing, None, states_only=True), _MESSAGES, workers),
                _median(lambda: engine.in_turn(_nothing, None, payload, states_only=True), _TASKS, workers),
                _median(lambda: list(partitions.results("nothing", _nothing)), _TASKS),
                _median(lambda: list(partitions.results("nothing", _nothing, payload)), _TASKS),
                _median(lambda: list(engine.each(_zeros, reads=False)), _TASKS),
            )


def _median(work: Callable[[], object], repeats: int, messages: int = 1) -> tuple[float, float]:
    """For each of the messages that are the work."""
    work()
    taken = []
    for _ in range(max(3, repeats // messages)):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        taken.append((time.perf_counter() - wall, time.process_time() - cpu))
    walls, cpus = zip(*taken, strict=True)
    return statistics.median(walls) / messages, statistics.median(cpus) / messages


def _nothing(part: Any, *sent: Any) -> None:
    """All that is asked of a part."""


def _zeros(part: Any) -> Any:
    return np.zeros(_PAYLOAD // 8)
