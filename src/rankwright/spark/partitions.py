"""Queries as cached partitions of Spark: what an executor loses, Spark makes again."""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from rankwright.clusters.loading import leaving, with_moved
from rankwright.clusters.partitions import Move, Own, Partitions
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.spark import worker
from rankwright.spark.jobs import answers, names, new_name
from rankwright.spark.packing import opened, packed

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

# What a partition is to be made into: the places of these, and what a function is given besides.
_Goals = Mapping[int, Sequence[tuple[int, tuple[Any, ...]]]]
# RDDs that nobody has any more. Garbage may be collected while a thread reads what Spark sends, so that nothing can be
# asked of Spark there: they are noted, and the next job lets their caches go.
_given_up: deque[RDD[bytes]] = deque()


class SparkPartitions(Partitions):
    """The packed queries of partitions ``places`` of an RDD. They are cached while somebody has this."""

    def __init__(self, rdd: RDD[bytes], places: Iterable[int], *made_of: SparkPartitions) -> None:
        from pyspark import RDD, StorageLevel

        self.rdd, self.places, self._name = rdd, list(places), new_name(self)
        self._made_of = made_of  # which are cached in place of this
        self._are_there = False
        if not made_of:
            rdd.persist(StorageLevel.MEMORY_AND_DISK_DESER)  # as data frames are: else every job unpacks all of it
            weakref.finalize(self, _given_up.append, rdd)
        # A sample of nothing is where its partitions are, and has no items to be sent to Python.
        self._nothing: RDD[bytes] = RDD(rdd._jrdd.sample(False, 0.0), self.context, rdd._jrdd_deserializer)

    @property
    def context(self) -> SparkContext:
        """That of the session."""
        return self.rdd.context

    def __len__(self) -> int:
        return len(self.places)

    def asked(
        self, what: str, function: Callable[..., Any], sent: Mapping[int, tuple[Any, ...]], group: int | None = None
    ) -> list[Any]:
        """``function(queries, *sent)`` of some partitions, with what is sent to each of them.

        They stay on their machines, in files. Those that are not there, or not any more, are brought from the cache. If
        these are answers, those of ``group`` partitions at a time can be added up before they get here.
        """
        found: dict[int, Any] = {}
        given = {self.places[number]: arguments for number, arguments in sent.items()}
        for rdd, work in ((self._nothing, _of_file), (self.rdd, worker.of_partition))[not self._are_there :]:
            lacking = [place for place in given if place not in found]
            if lacking:
                rest = (self._name, names(), function, given)
                groups = _groups(lacking, group) if len(lacking) == rdd.getNumPartitions() else None
                for place, answer in answers(self.context, what, rdd, lacking, groups, work, *rest).items():
                    if answer.error is not None:
                        raise answer.error
                    if answer.result is not None:
                        found[place] = answer.result
        _unpersist_given_up()  # not before: these partitions may be made of what is given up
        self._are_there |= len(given) == len(self)
        return [found[place][0] for place in given]

    def results(
        self, what: str, function: Callable[..., Any], *sent: Any, only: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """By a job for all of them."""
        return iter(self.asked(what, function, dict.fromkeys(range(len(self)) if only is None else only, sent)))

    def made(self, what: str, function: Callable[..., Queries], own: Sequence[Own]) -> SparkPartitions:
        """A new RDD, cached when it is first asked for."""
        goals: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
        for goal, (place, arguments) in enumerate(own):
            goals.setdefault(self.places[place], []).append((goal, arguments))
        if len(goals) < len(own):
            return SparkPartitions(_dealt(self.rdd, function, goals, len(own)).flatMap(list), range(len(own)))
        given = {place: arguments for place, ((_, arguments),) in goals.items()}
        return SparkPartitions(made_of(self.rdd, _applied, function, given), given)

    def moved(self, moves: Sequence[Move]) -> SparkPartitions:
        """Only queries that leave their partition go through a shuffle."""
        goals: dict[int, list[tuple[int, tuple[Any, ...]]]] = {}
        for move in moves:
            goals.setdefault(self.places[move.source], []).append((self.places[move.goal], (move.queries,)))
        arriving = _dealt(self.rdd, _taken, goals, self.rdd.getNumPartitions())
        gone = {place: leaving(moves, number) for number, place in enumerate(self.places)}
        return SparkPartitions(made_of(self.rdd.glom().zip(arriving.glom()), _with_moved, gone), self.places)

    def put(self, parts: Iterable[Queries]) -> SparkPartitions:
        """They go along with the RDD."""
        content = [list(packed(part)) for part in parts]
        return SparkPartitions(self.context.parallelize(content, len(content)).flatMap(list), range(len(content)))

    def followed_by(self, others: Partitions) -> SparkPartitions:
        """The RDDs of both, cached as they are."""
        if not isinstance(others, SparkPartitions) or others.context is not self.context:
            raise ParameterError("training and validation queries must be in the same Spark session")
        places = [*self.places, *(self.rdd.getNumPartitions() + place for place in others.places)]
        return SparkPartitions(self.context.union([self.rdd, others.rdd]), places, self, others)


def _groups(places: Sequence[int], size: int | None) -> dict[int, int] | None:
    return None if size is None else {place: number // size for number, place in enumerate(places)}


def made_of(rdd: RDD[Any], function: Callable[..., Any], *arguments: Any) -> RDD[bytes]:
    """What ``function(number, items, *arguments)`` returns of each partition, packed."""
    return rdd.mapPartitionsWithIndex(lambda number, items: worker.made(number, items, function, *arguments))


def _dealt(rdd: RDD[bytes], function: Callable[..., Any], goals: _Goals, count: int) -> RDD[list[bytes]]:
    """What is made of partitions, brought to their goals: there it is packed, in the order of where it comes from."""

    def deal(source: int, pieces: Iterator[bytes]) -> Iterator[tuple[int, tuple[int, int, bytes]]]:
        content = b"".join(pieces)
        for goal, arguments in goals.get(source, ()):
            given = {source: arguments}
            for place, piece in enumerate(worker.made(source, iter([content]), _applied, function, given)):
                yield goal, (source, place, piece)

    return rdd.mapPartitionsWithIndex(deal).partitionBy(count, int).values().mapPartitions(_by_source)


def _unpersist_given_up() -> None:
    while True:
        try:
            rdd = _given_up.popleft()
        except IndexError:
            return
        if rdd.context._jsc is not None:
            rdd.unpersist()


# What is done by workers


def _of_file(number: int, _: Iterator[bytes], *rest: Any) -> Any:
    return worker.of_partition(number, None, *rest)


def _applied(number: int, pieces: Iterator[bytes], function: Callable[..., Any], given: Mapping[int, Any]) -> Any:
    return None if number not in given else function(opened(b"".join(pieces)), *given[number])


def _taken(queries: Queries, which: Any) -> Queries:
    return queries[which]


def _by_source(items: Iterator[tuple[int, int, bytes]]) -> Iterator[list[bytes]]:
    for _, pieces in groupby(sorted(items, key=itemgetter(0, 1)), itemgetter(0)):
        yield [piece for *_, piece in pieces]


def _with_moved(number: int, both: Iterator[tuple[list[bytes], list[list[bytes]]]], gone: Mapping[int, Any]) -> Any:
    ((own, arriving),) = both
    if number not in gone:
        return None
    return with_moved(opened(b"".join(own)), gone[number], [opened(b"".join(pieces)) for pieces in arriving])
