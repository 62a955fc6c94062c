"""Queries in the memory of Dask workers, made by tasks: what a worker loses, Dask makes again."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from dask.sizeof import sizeof
from distributed import Client, Future, get_worker

from rankwright._version import __version__
from rankwright.clusters.loading import Read, leaving, with_moved
from rankwright.clusters.partitions import Move, Own, Partitions
from rankwright.dask.connecting import other_version
from rankwright.data.queries import Queries
from rankwright.data.streams.sizes import bytes_of
from rankwright.errors import ParameterError
from rankwright.machine.threads import on_this_thread

_PATIENCE = 60  # seconds in which a cluster may have no workers, as new ones are started for those that are lost


class DaskPartitions(Partitions):
    """A future for each partition."""

    def __init__(self, client: Client, futures: Sequence[Future]) -> None:
        self.client, self.futures = client, list(futures)

    def __len__(self) -> int:
        return len(self.futures)

    def made(self, what: str, function: Callable[..., Queries], own: Sequence[Own]) -> DaskPartitions:
        """By a task for each."""
        given = [(self.futures[place], *arguments) for place, arguments in own]
        if len({place for place, _ in own}) == len(own):
            return DaskPartitions(self.client, tasks(self.client, what, function, given))
        futures = tasks(self.client, what, function, given, self._workers(len(own)))
        gathered(self.client, tasks(self.client, "look", _is_there, [(each,) for each in futures]))
        anywhere = {future.key: None for future in futures}  # if they have to be made again
        self.client.sync(self.client.scheduler.set_restrictions, worker=anywhere)
        return DaskPartitions(self.client, futures)

    def _workers(self, count: int) -> list[str]:
        """A worker for each part, dealt to all threads in turn: Dask would leave them where they were read."""
        threads = self.client.nthreads()
        turns = [worker for turn in range(max(threads.values())) for worker in threads if turn < threads[worker]]
        return [turns[number % len(turns)] for number in range(count)]

    def moved(self, moves: Sequence[Move]) -> DaskPartitions:
        """By a task for each move, and one for each partition."""
        taken = tasks(self.client, "take", _taken, [(self.futures[move.source], move.queries) for move in moves])
        given = []
        for place, future in enumerate(self.futures):
            arriving = [piece for piece, move in zip(taken, moves, strict=True) if move.goal == place]
            given.append((future, leaving(moves, place), *arriving))
        return DaskPartitions(self.client, tasks(self.client, "shuffle", _with_moved, given))

    def results(
        self, what: str, function: Callable[..., Any], *sent: Any, only: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """By a task for each; all of them at the same time."""
        wanted = self.futures if only is None else [self.futures[place] for place in only]
        return iter(gathered(self.client, tasks(self.client, what, function, [(each, *sent) for each in wanted])))

    def put(self, parts: Iterable[Queries]) -> DaskPartitions:
        """They go along with the task, so that they can be had again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Sending large graph")
            return DaskPartitions(self.client, [tasks(self.client, "put", _itself, [(part,)])[0] for part in parts])

    def followed_by(self, others: Partitions) -> DaskPartitions:
        """The futures of both."""
        if not isinstance(others, DaskPartitions) or others.client.id != self.client.id:
            raise ParameterError("training and validation queries must be on the same cluster: give both one client")
        return DaskPartitions(self.client, [*self.futures, *others.futures])


def tasks(
    client: Client,
    what: str,
    function: Callable[..., Any],
    given: Sequence[tuple[Any, ...]],
    places: Sequence[str | None] | None = None,
) -> list[Future]:
    """A task ``function(*arguments)`` for each, with ``what`` in its name; ``places`` are workers to prefer."""
    run = uuid.uuid4().hex
    wanted = [None] * len(given) if places is None else places
    return [
        client.submit(
            _done,
            __version__,
            function,
            *arguments,
            key=f"rankwright_{what}-{run}-{number}",
            workers=place,
            allow_other_workers=place is not None,
            pure=False,
        )
        for number, (arguments, place) in enumerate(zip(given, wanted, strict=True))
    ]


def gathered(client: Client, futures: Sequence[Future]) -> list[Any]:
    """What tasks return. If somebody interrupts the waiting, or one fails, the others are not begun."""
    try:
        for future in futures:
            finished(future)
        return list(client.gather(list(futures)))
    except BaseException:
        client.cancel(list(futures))
        raise


def finished(future: Future) -> None:
    """Wait for a task, as long as there are workers; what it raised is raised here."""
    while True:
        try:
            error = future.exception(timeout=_PATIENCE)
        except TimeoutError:
            if not future.client.nthreads():
                raise ParameterError(f"client: the cluster has had no workers for {_PATIENCE} seconds") from None
            continue
        if error is not None:
            raise error
        return


# What runs on workers


def _done(version: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """A worker has as many tasks at a time as it has threads: each works on one. It may have come after all others."""
    if version != __version__:
        raise ParameterError(other_version(get_worker().address, __version__, version))
    with on_this_thread():
        return function(*arguments)


# What Dask goes by when it places tasks and moves data
sizeof.register(Queries, bytes_of)
sizeof.register(Read, lambda read: bytes_of(read.queries))


def _itself(queries: Queries) -> Queries:
    return queries


def _is_there(queries: Queries) -> None:
    """Ask for this of each partition, and all of them are there."""


def _taken(queries: Queries, which: Any) -> Queries:
    return queries[which]


def _with_moved(queries: Queries, gone: Any, *arriving: Queries) -> Queries:
    return with_moved(queries, gone, arriving)
