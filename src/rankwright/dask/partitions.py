"""Queries in the memory of Dask workers, made by tasks: what a worker loses, Dask makes again."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from distributed import Client, Future

from rankwright.clusters.partitions import Own, Partitions
from rankwright.data.queries import Queries
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
        return DaskPartitions(self.client, tasks(self.client, what, function, given))

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
            _on_this_thread,
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


def _on_this_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """A worker has as many tasks at a time as it has threads: each works on one."""
    with on_this_thread():
        return function(*arguments)


def _itself(queries: Queries) -> Queries:
    return queries
