"""Files and partitions of data frames, read by the workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client, Future

from rankwright.clusters.loading import Alike, Read, Reading, Seen, joined_pieces, moves_of, seen, source_of
from rankwright.clusters.queries import ClusterSource
from rankwright.dask.partitions import DaskPartitions, gathered, tasks
from rankwright.data.queries import Queries
from rankwright.judgments.grouping import plain_values
from rankwright.machine.runs import split_by_size


class Loading:
    """Reads files, or frames that are on the cluster, by a task for each."""

    def __init__(self, client: Client, reading: Reading, given: Sequence[Any], told: Sequence[str]) -> None:
        self._client, self._given, self._told = client, given, told
        self._read, self._seen = self._tasks(reading)
        again = reading.again(self._seen)
        if again is not None:
            self._read, self._seen = self._tasks(again)

    def _tasks(self, reading: Reading) -> tuple[list[Future], list[Seen]]:
        given = [(reading, data, name) for data, name in zip(self._given, self._told, strict=True)]
        read = tasks(self._client, "read", Reading.of, given)
        return read, gathered(self._client, tasks(self._client, "look", seen, [(each,) for each in read]))

    def _workers(self, count: int) -> list[str]:
        """A worker for each part, dealt to all threads in turn: Dask would leave them where they were read."""
        threads = self._client.nthreads()
        turns = [worker for turn in range(max(threads.values())) for worker in threads if turn < threads[worker]]
        return [turns[number % len(turns)] for number in range(count)]

    def source(self, name: str, parts: int, *, shuffle: bool) -> ClusterSource:
        """Partitions that are alike, at least so many of them, with whole queries each."""
        alike, per_file, number = Alike.of(self._seen, self._told), -(-parts // len(self._read)), 1
        given: list[tuple[Any, ...]] = []
        pieces: list[Seen] = []
        told: list[str] = []
        for read, found, where in zip(self._read, self._seen, self._told, strict=True):
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(found.sizes)])
            for first, last in split_by_size(offsets, max(1, per_file)):
                given.append((alike, read, first, last, number))
                pieces.append(found.run(first, last, number))
                told.append(where)
                number += last - first
        places = self._workers(len(given)) if len(given) > len(self._read) else None
        placed = futures = tasks(self._client, "part", Alike.piece, given, places)
        before, moves = pieces, moves_of(pieces, told, shuffle=shuffle)
        if moves:
            futures = self._moved(futures, moves)
            pieces = gathered(self._client, tasks(self._client, "look", _seen, [(each,) for each in futures]))
        empty = alike.made_of(pieces[0].empty)
        gathered(self._client, tasks(self._client, "look", _is_there, [(each,) for each in futures]))
        anywhere = {future.key: None for future in placed}  # if they have to be made again
        self._client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.set_restrictions(anywhere))
        moved = next((part.moved for part in self._seen if part.moved is not None), None)
        if moves and moved is None:
            moved = plain_values(before[moves[0].source].query_ids[moves[0].queries[:1]])[0]
        partitions = DaskPartitions(self._client, futures)
        return source_of(partitions, [piece._replace(empty=empty) for piece in pieces], name, moved)

    def _moved(self, futures: Sequence[Future], moves: Sequence[Any]) -> list[Future]:
        taken = tasks(self._client, "take", _taken, [(futures[move.source], move.queries) for move in moves])
        given = []
        for place, future in enumerate(futures):
            leaving = [move.queries for move in moves if move.source == place]
            arriving = [piece for piece, move in zip(taken, moves, strict=True) if move.goal == place]
            gone = np.concatenate([np.zeros(0, np.intp), *leaving])
            given.append((future, gone, *arriving))
        return tasks(self._client, "shuffle", _joined, given)


def _taken(queries: Queries, which: Any) -> Queries:
    return queries[which]


def _joined(queries: Queries, leaving: Any, *arriving: Queries) -> Queries:
    return joined_pieces(queries, leaving, arriving)


def _seen(queries: Queries) -> Seen:
    return seen(Read(queries))


def _is_there(queries: Queries) -> None:
    """Ask for this of each partition, and all of them are there."""
