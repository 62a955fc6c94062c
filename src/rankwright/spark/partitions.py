"""Queries as cached partitions of Spark: what an executor loses, Spark makes again."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from rankwright.clusters.partitions import Own, Partitions
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.spark import worker
from rankwright.spark.jobs import collected, names, new_name, packed_function
from rankwright.spark.packing import packed

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext


class SparkPartitions(Partitions):
    """The packed queries of partitions ``places`` of an RDD. They are cached while somebody has this."""

    def __init__(self, rdd: RDD[bytes], places: Sequence[int], *, cache: bool = True) -> None:
        from pyspark import RDD, StorageLevel

        self.rdd, self.places, self._name = rdd, list(places), new_name(self)
        self._are_there = False
        self._digests: dict[int, int] = {}
        if cache:
            rdd.persist(StorageLevel.MEMORY_AND_DISK)
            weakref.finalize(self, _unpersist, rdd)
        # A sample of nothing is where its partitions are, and has no items to be sent to Python.
        self._nothing: RDD[bytes] = RDD(rdd._jrdd.sample(False, 0.0), self.context, rdd._jrdd_deserializer)

    @property
    def context(self) -> SparkContext:
        """That of the session."""
        return self.rdd.context

    def __len__(self) -> int:
        return len(self.places)

    def asked(
        self, what: str, function: Callable[..., Any], sent: Mapping[int, tuple[Any, ...]] | tuple[Any, ...], only: Any
    ) -> list[Any]:
        """``function(queries, *sent)`` of some partitions; ``sent`` may be for each of them.

        They stay on their machines, in files. Those that are not there, or not any more, are brought from the cache.
        """
        answers: dict[int, Any] = {}
        for brings in (False, True) if self._are_there else (True,):
            lacking = [number for number in only if self.places[number] not in answers]
            if not lacking:
                break
            own = {self.places[n]: sent[n] for n in lacking} if isinstance(sent, Mapping) else sent
            content = packed_function(worker.of_partition, self._name, names(), brings, self._digests, function, own)
            rdd = self.rdd if brings else self._nothing
            found = collected(self.context, what, rdd, content, [self.places[number] for number in lacking])
            answers |= {place: each for place, each in found.items() if not isinstance(each.error, worker.Lacking)}
        self._are_there = self._are_there or len(only) == len(self)
        results = {place: _result(answers[place]) for place in (self.places[number] for number in only)}
        self._digests |= {place: digest for place, (digest, _) in results.items() if digest is not None}
        return [results[self.places[number]][1] for number in only]

    def made(self, what: str, function: Callable[..., Queries], own: Sequence[Own]) -> SparkPartitions:
        """A new RDD, cached when it is first asked for."""
        given = {self.places[place]: arguments for place, arguments in own}
        rdd = made_of(self.rdd, _applied, function, given)
        return SparkPartitions(rdd, list(given))

    def results(
        self, what: str, function: Callable[..., Any], *sent: Any, only: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """By a job for all of them."""
        return iter(self.asked(what, function, sent, range(len(self)) if only is None else only))

    def put(self, parts: Iterable[Queries]) -> SparkPartitions:
        """They go along with the RDD."""
        content = [list(packed(part)) for part in parts]
        rdd = self.context.parallelize(content, len(content)).mapPartitions(_pieces)
        return SparkPartitions(rdd, range(len(content)))

    def followed_by(self, others: Partitions) -> SparkPartitions:
        """The RDDs of both, cached as they are."""
        if not isinstance(others, SparkPartitions) or others.context is not self.context:
            raise ParameterError("training and validation queries must be in the same Spark session")
        places = [*self.places, *(self.rdd.getNumPartitions() + place for place in others.places)]
        both = SparkPartitions(self.context.union([self.rdd, others.rdd]), places, cache=False)
        both._made_of = (self, others)  # type: ignore[attr-defined]  # which stay cached as long
        return both


def made_of(rdd: RDD[bytes], function: Callable[..., Any], *arguments: Any) -> RDD[bytes]:
    """What ``function(number, pieces, *arguments)`` returns of each partition, packed."""
    content = packed_function(function, *arguments)

    def make(number: int, items: Iterator[bytes]) -> Iterator[bytes]:
        return worker.made(number, items, content)

    return rdd.mapPartitionsWithIndex(make)


def _applied(number: int, items: Iterator[bytes], function: Callable[..., Any], own: Mapping[int, Any]) -> Any:
    return None if number not in own else function(worker.joined(items), *own[number])


def _pieces(lists: Iterator[list[bytes]]) -> Iterator[bytes]:
    return chain.from_iterable(lists)


def _result(answer: Any) -> Any:
    if answer.error is not None:
        raise answer.error
    return answer.result


def _unpersist(rdd: RDD[Any]) -> None:
    if rdd.context._jsc is not None:
        rdd.unpersist()
