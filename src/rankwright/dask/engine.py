"""`DaskEngine`: steps go to parts in the workers' memory, all of them by one message to all workers.

A task takes Dask 10 ms, however short it is; a message to all workers takes 1 ms. So parts are made by tasks, and every
worker notes those that it has; a pass is a message, which each worker answers for its own parts. A part that nobody
answers for was lost: it is made anew, and what has changed its state is done again, in order. So no result depends on
which worker it came from.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from functools import lru_cache
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import cloudpickle
from distributed import Future

from rankwright.clusters.queries import ClusterQueries, part_of
from rankwright.dask.partitions import DaskPartitions, finished, tasks
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.state import State
from rankwright.engines.engine import Engine, Step, check_learnable_size
from rankwright.errors import DataError
from rankwright.judgments.whole import Whole
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import on_this_thread
from rankwright.progress import Progress

# A part that was lost so often in a row takes more than a worker has.
_MOST_LOSSES = 5


class DaskQueries(ClusterQueries):
    """Queries in the memory of a Dask cluster, made by :func:`rankwright.dask.queries`."""

    partitions: DaskPartitions


DaskQueries._kind = DaskQueries


class Call(NamedTuple):
    """A step with what is sent along, to a part or to its state."""

    step: Step
    sent: tuple[Any, ...]
    on_state: bool

    @property
    def changes_state(self) -> bool:
        """Whether what it does has to be done again if the part is lost."""
        return bool(getattr(self.step, "changes_state", False))

    def of(self, part: Part) -> Any:
        """What the step returns."""
        return self.step(part.state if self.on_state else part, *self.sent)


class Answer(NamedTuple):
    """What became of a call on a part; ``is_behind`` says that the state is not what the call should find."""

    result: Any = None
    error: Exception | None = None
    is_behind: bool = False


class DaskEngine(Engine):
    """Parts stay with the workers, and so does what they keep."""

    keeps = True

    def __init__(self, queries: DaskQueries) -> None:
        check_learnable_size(queries)
        self._queries, self._client = queries, queries.partitions.client
        self.n_features, self.is_sparse, self.offsets = queries.n_features, queries.is_sparse, queries.offsets
        self.memory = queries.memory
        self._name = uuid.uuid4().hex
        self._before = queries.before_parts()
        self._held: dict[int, Future] = {}
        self._changes: list[list[bytes]] = [[] for _ in self._before]  # calls that change each state, in order
        self._n_told = [0 for _ in self._before]  # of these the worker knows

    def each(self, step: Step, *sent: Any, reads: bool = True) -> Iterator[Any]:
        """Tells of a pass."""
        if not reads:
            return self._results(step, sent)
        with self._passing():
            return self._results(step, sent)

    def _results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        return iter(self._asked(Call(step, sent, on_state=False), range(len(self._before))))

    def _state_results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        return iter(self._asked(Call(step, sent, on_state=True), range(len(self._before))))

    def change_states(self, step: Step, *sent: Any) -> None:
        """Goes along with the next message."""
        packed = cloudpickle.dumps(Call(step, sent, on_state=True))
        for changes in self._changes:
            changes.append(packed)

    def in_turn(self, step: Step, carried: Any, *sent: Any, states_only: bool = False) -> Any:
        """A message for each part, as what the part before has returned goes along."""
        with nullcontext() if states_only else self._passing():
            for number in range(len(self._before)):
                (carried,) = self._asked(Call(step, (carried, *sent), states_only), [number])
        return carried

    @contextmanager
    def _passing(self) -> Iterator[None]:
        """Count a pass, and tell of it."""
        self.passes += 1
        watch = self._queries._watch
        if watch is None:
            yield
            return
        watch.passes += 1
        what = f"pass {watch.passes} over {self._queries._source.told()}"
        total = self.n_documents * self._queries.row_bytes
        watch.tell(Progress(what, 0.0, total, in_bytes=True))
        yield
        watch.tell(Progress(what, total, total, in_bytes=True))

    def _asked(self, call: Call, numbers: Any) -> list[Any]:
        """What a call returns of some parts, in this order; those that are lost are made anew."""
        answers: dict[int, Answer] = {}
        packed = cloudpickle.dumps(call)  # as it is now: learners go on to change what they have sent
        losses, behind = 0, set[int]()
        while lacking := [number for number in numbers if number not in answers]:
            self._hold([number for number in lacking if number not in self._held])
            untold = {n: self._changes[n][0 if n in behind else self._n_told[n] :] for n in lacking}
            found = self._message(packed, {n: (len(self._changes[n]), untold[n]) for n in lacking})
            behind = {number for number, answer in found.items() if answer.is_behind}
            answers |= {number: answer for number, answer in found.items() if not answer.is_behind}
            lost = [number for number in lacking if number not in found]
            losses = losses + 1 if lost else 0
            if losses > _MOST_LOSSES:
                raise DataError(
                    f"workers were lost {losses} times while they worked on part {lost[0] + 1} of {len(self._before)}: "
                    "they may need more memory, or smaller parts"
                )
            for number in lost:
                self._held.pop(number).cancel()
        for number in numbers:
            error = answers[number].error
            if error is not None:
                raise error
            if call.changes_state:
                self._changes[number].append(packed)
            self._n_told[number] = len(self._changes[number])
        return [answers[number].result for number in numbers]

    def _hold(self, numbers: list[int]) -> None:
        """Have parts made where their queries are."""
        if not numbers:
            return
        queries, whole = self._queries, self._queries.whole
        given = [(queries.partitions.futures[n], self._name, n, self._before[n], whole) for n in numbers]
        futures = tasks(self._client, "hold", Held, given)
        for number, future in zip(numbers, futures, strict=True):
            finished(future)
            self._held[number] = future

    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]]) -> dict[int, Answer]:
        """The answers of all workers, of the parts that they have."""
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


# What runs on workers. The parts that a worker has, by the engine that they are for and their numbers
_parts: dict[str, WeakValueDictionary[int, Held]] = {}


class Held:
    """A part that is noted as long as Dask keeps this. ``version`` counts what has changed its state."""

    def __init__(self, queries: Queries, engine: str, number: int, before: tuple[int, int], whole: Whole) -> None:
        self._made_of = (queries, engine, number, before, whole)
        self.part, self.version = part_of(queries, before, whole), 0
        _parts.setdefault(engine, WeakValueDictionary())[number] = self

    def __del__(self) -> None:
        self.part.release()
        if not _parts.get(self._made_of[1], True):
            del _parts[self._made_of[1]]

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, self._made_of

    def answer(self, call: Call, version: int, changes: list[bytes]) -> Answer:
        """What the call returns, once the state is what so many changes make it, of which the last are given."""
        if self._made_of[1] not in _parts:
            return Answer(is_behind=True)  # nobody waits for it
        try:
            with on_this_thread(), one_thread_per_call():
                if self.version != version - len(changes) and len(changes) == version:  # these are all there are
                    self.part.state, self.version = State(self.part.offsets, self.part.first_query), 0
                if self.version != version - len(changes):
                    return Answer(is_behind=True)
                for change in changes:
                    self._do(cloudpickle.loads(change))
                return Answer(self._do(call))
        except Exception as error:
            return Answer(error=error)

    def _do(self, call: Call) -> Any:
        if not call.changes_state:
            return call.of(self.part)
        version, self.version = self.version, -1  # a state that is half changed is none
        result = call.of(self.part)
        self.version = version + 1
        return result


async def _answers(
    engine: str, packed: bytes, changes: dict[int, tuple[int, list[bytes]]], dask_worker: Any
) -> dict[int, Answer]:
    """The answers of the parts that this worker has."""
    own: Mapping[int, Held] = _parts.get(engine, {})
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
