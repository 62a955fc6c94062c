"""Files and data frames, read by Spark's Python workers into packed partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.clusters.loading import Alike, Move, Read, Reading, Seen, joined_pieces, moves_of, seen, source_of
from rankwright.clusters.queries import ClusterSource
from rankwright.judgments.grouping import plain_values
from rankwright.machine.runs import split_by_size
from rankwright.spark import worker
from rankwright.spark.jobs import packed_function
from rankwright.spark.partitions import SparkPartitions, made_of

if TYPE_CHECKING:
    from pyspark import RDD

Reader = Callable[[Reading], "RDD[bytes]"]


class Loading:
    """Partitions as they were read, each by a task.

    ``read`` gives them by the way to read; ``told`` are what people call them.
    """

    def __init__(self, read: Reader, reading: Reading, told: Sequence[str]) -> None:
        self._told = told
        self._partitions, self._seen = self._looked(read(reading))
        again = reading.again(self._seen)
        if again is not None:
            self._partitions, self._seen = self._looked(read(again))

    def _looked(self, rdd: RDD[bytes]) -> tuple[SparkPartitions, list[Seen]]:
        partitions = SparkPartitions(rdd, range(rdd.getNumPartitions()))
        return partitions, list(partitions.results("reading", seen))

    def source(self, name: str, parts: int, *, shuffle: bool) -> ClusterSource:
        """Partitions that are alike, at least so many of them, with whole queries each."""
        alike, per_partition, number = Alike.of(self._seen, self._told), -(-parts // len(self._seen)), 1
        runs: list[tuple[int, int, int, int]] = []
        pieces: list[Seen] = []
        told: list[str] = []
        for source, (found, where) in enumerate(zip(self._seen, self._told, strict=True)):
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(found.sizes)])
            for first, last in split_by_size(offsets, max(1, per_partition)):
                runs.append((source, first, last, number))
                pieces.append(found.run(first, last, number))
                told.append(where)
                number += last - first
        before, moves = pieces, moves_of(pieces, told, shuffle=shuffle)
        partitions = self._cut(alike, runs)
        if moves:
            partitions = _moved(partitions, moves)
            pieces = list(partitions.results("bringing queries together", _seen))
        else:
            list(partitions.results("parts", _is_there))
        empty = alike.made_of(pieces[0].empty)
        moved = next((part.moved for part in self._seen if part.moved is not None), None)
        if moves and moved is None:
            moved = plain_values(before[moves[0].source].query_ids[moves[0].queries[:1]])[0]
        return source_of(partitions, [piece._replace(empty=empty) for piece in pieces], name, moved)

    def _cut(self, alike: Alike, runs: Sequence[tuple[int, int, int, int]]) -> SparkPartitions:
        """A partition for each run of queries: those that nobody is to share stay where they are."""
        by_source: dict[int, list[tuple[int, tuple[int, int, int]]]] = {}
        for goal, (source, *run) in enumerate(runs):
            by_source.setdefault(source, []).append((goal, (run[0], run[1], run[2])))
        if len(by_source) == len(runs):
            given = {source: (alike, run) for source, ((_, run),) in by_source.items()}
            return SparkPartitions(made_of(self._partitions.rdd, _piece, given), list(given))
        dealt = _dealt(self._partitions.rdd, len(runs), _pieces, by_source, alike)
        return SparkPartitions(made_of(dealt, _only), range(len(runs)))


def _moved(partitions: SparkPartitions, moves: Sequence[Move]) -> SparkPartitions:
    """Only queries that leave their partition go through a shuffle."""
    places = partitions.places
    leaving: dict[int, list[tuple[int, Any]]] = {}
    for move in moves:
        leaving.setdefault(places[move.source], []).append((places[move.goal], move.queries))
    count = partitions.rdd.getNumPartitions()
    arriving = _dealt(partitions.rdd, count, _taken, leaving)
    gone = {place: np.concatenate([queries for _, queries in of_place]) for place, of_place in leaving.items()}
    both = partitions.rdd.glom().zip(arriving.glom())
    return SparkPartitions(made_of(both, _joined, gone), places)


def _dealt(rdd: RDD[bytes], count: int, function: Callable[..., Any], *arguments: Any) -> RDD[Any]:
    """What a function of each partition gives as pairs (goal, object), each brought to the partition of its goal.

    There they are (source, place, piece of bytes), in no order.
    """
    content = packed_function(function, *arguments)

    def deal(source: int, items: Iterator[bytes]) -> Iterator[Any]:
        return worker.dealt(source, items, content)

    return rdd.mapPartitionsWithIndex(deal).partitionBy(count, int).values()


# What is done by workers


def _piece(number: int, pieces: Iterator[bytes], given: Mapping[int, tuple[Alike, tuple[int, int, int]]]) -> Any:
    if number not in given:
        return None
    alike, run = given[number]
    return alike.piece(worker.joined(pieces), *run)


def _pieces(number: int, pieces: Iterator[bytes], runs: Mapping[int, Any], alike: Alike) -> Iterator[tuple[int, Any]]:
    if number in runs:
        read = worker.joined(pieces)
        for goal, run in runs[number]:
            yield goal, alike.piece(read, *run)


def _taken(number: int, pieces: Iterator[bytes], leaving: Mapping[int, Any]) -> Iterator[tuple[int, Any]]:
    if number in leaving:
        queries = worker.joined(pieces)
        for goal, which in leaving[number]:
            yield goal, queries[which]


def _arrived(items: Sequence[tuple[int, int, bytes]]) -> list[Any]:
    """Objects that were dealt, in the order of where they come from."""
    by_source: dict[int, list[bytes]] = {}
    for source, _, piece in sorted(items, key=lambda item: item[:2]):
        by_source.setdefault(source, []).append(piece)
    return [worker.joined(pieces) for pieces in by_source.values()]


def _only(number: int, items: Iterator[tuple[int, int, bytes]]) -> Any:
    (found,) = _arrived(list(items))
    return found


def _joined(number: int, both: Iterator[tuple[list[bytes], list[Any]]], gone: Mapping[int, Any]) -> Any:
    ((pieces, items),) = list(both)
    queries = worker.joined(pieces)
    if queries is None:
        return None
    return joined_pieces(queries, gone.get(number, np.zeros(0, np.intp)), _arrived(items))


def _seen(queries: Any) -> Seen:
    return seen(Read(queries))


def _is_there(queries: Any) -> None:
    """Ask for this of each partition, and all of them are there."""
