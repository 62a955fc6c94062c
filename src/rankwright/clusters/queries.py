"""`ClusterQueries`: queries whose parts are in the memory of a cluster. Features stay there; functions go to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.clusters.partitions import Partitions
from rankwright.data.part import Part
from rankwright.data.parts import parts_of
from rankwright.data.queries import Queries
from rankwright.data.streams.joining import joined_queries
from rankwright.data.streams.sizes import told_bytes
from rankwright.data.streams.streamed import AnyQueries, Map, StreamedQueries, checked_map
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.whole import Whole

R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class ClusterSource:
    """Where queries on a cluster come from: partitions as they were loaded, and what is known of them here.

    Attributes
    ----------
    partitions : whole queries each, with equal features; rows of a query stand together
    query_ids, sizes : of all queries, partition by partition
    starts : where the queries of each partition begin among all, and their number
    empty : no queries, with the same features
    bytes : the memory that all take
    name : where they come from, in a few words
    moved : a query whose rows stood apart, so that rows have another order than where they come from; else None
    """

    partitions: Partitions
    query_ids: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    empty: Queries
    bytes: int
    name: str
    moved: Any = None

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.empty.n_features

    @property
    def given_names(self) -> Sequence[str] | None:
        """The names of the features, if they were given names."""
        return self.empty.feature_names if self.empty.has_feature_names else None

    def row_bytes(self) -> float:
        """The memory that a document takes, on average."""
        return self.bytes / max(1, int(self.sizes.sum()))

    def told(self) -> str:
        """Where the queries come from."""
        return self.name

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """Queries first … last − 1, brought here."""
        runs = [(max(first, begin), min(last, end), begin) for begin, end in pairwise(self.starts.tolist())]
        wanted = [(place, a - begin, b - begin) for place, (a, b, begin) in enumerate(runs) if a < b]
        if not wanted:
            return self.empty
        found = (next(self.partitions.results("bring", _run, a, b, only=[place])) for place, a, b in wanted)
        return joined_queries(found, int(self.sizes[first:last].sum()), self.empty)


class ClusterQueries(StreamedQueries):
    """N queries with their documents in the memory of a cluster, in parts of whole queries.

    Learners, models and measures take them like any others: they send functions to the parts, and get sums and numbers
    of queries back. What is known of all queries at once (their number, ids, sizes, and ``judgments``) is here.
    ``parts()``, ``run`` and ``in_memory()`` bring queries here.
    """

    _source: ClusterSource

    @cached_property
    def partitions(self) -> Partitions:
        """The parts: as they were loaded, or made of these once, when they are first needed."""
        source = self._source
        has_empty = len(self._runs_by_place) < len(source.partitions)  # which are no parts
        if self._chosen is None and not self._maps and not has_empty:
            return source.partitions
        own = [(place, (self._inside(run), self._maps)) for place, run in self._runs_by_place.items()]
        return source.partitions.made("prepare" if self._maps else "take", _made, own)

    @property
    def moved(self) -> Any:
        """A query whose rows did not stand together where they come from: rows have another order here. Else None."""
        return self._source.moved

    @cached_property
    def _runs_by_place(self) -> dict[int, tuple[int, int]]:
        """The queries of each partition, without those partitions of which none is chosen."""
        runs = [(first, last) for first, last in pairwise(self._source.starts.tolist())]
        taken = {place: run for place, run in enumerate(runs) if run[0] < run[1]}
        if self._chosen is None:
            return taken
        return {place: run for place, run in taken.items() if np.diff(np.searchsorted(self._chosen, run))[0]}

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        return list(self._runs_by_place.values())

    def _inside(self, run: tuple[int, int]) -> npt.NDArray[np.intp] | None:
        """Which queries of a run are chosen; None if all are."""
        if self._chosen is None:
            return None
        begin, end = np.searchsorted(self._chosen, run)
        return None if end - begin == run[1] - run[0] else self._chosen[begin:end] - run[0]

    @cached_property
    def offsets(self) -> npt.NDArray[np.int64]:
        """Where the documents of each query begin and end."""
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])

    def before_parts(self) -> list[tuple[int, int]]:
        """How many queries and documents come before each part."""
        chosen = np.arange(len(self._source.sizes)) if self._chosen is None else self._chosen
        firsts = np.searchsorted(chosen, [first for first, _ in self._runs])
        return [(int(query), int(self.offsets[query])) for query in firsts]

    def each(self, function: Callable[..., R], *sent: Any) -> Iterator[R]:
        """What ``function(part, *sent)`` makes of each part, where it is: results alone are brought here."""
        what = getattr(function, "__name__", "step").strip("_<>")
        return self.partitions.results(what, _applied, function, self.whole, sent)

    @cached_property
    def whole(self) -> Whole:
        """Extremes of all queries, from those of the parts."""
        return Whole.of_parts(self.partitions.results("extremes", _whole_of))

    def _judgments_of_parts(self) -> Iterator[Judgments]:
        return self.partitions.results("judgments", _judgments_of)

    def _part(self, run: tuple[int, int]) -> Queries:
        if run not in self._runs:
            return super()._part(run)
        (part,) = self.partitions.results("bring", _itself, only=[self._runs.index(run)])
        assert isinstance(part, Queries)
        return part

    def chained(self, first: AnyQueries, second: AnyQueries) -> ClusterQueries:
        """The queries of both on this cluster, with numbers as ids: those of the same id stay apart."""
        both = [self._on_cluster(queries) for queries in (first, second)]
        sizes = np.concatenate([queries.sizes for queries in both])
        counts = [last - begin for queries in both for begin, last in pairwise(queries._starts)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        partitions = both[0].partitions.followed_by(both[1].partitions)
        is_sparse = any(queries.is_sparse for queries in both)
        own = [(place, (int(first), is_sparse)) for place, first in enumerate(starts[:-1])]
        source = ClusterSource(
            partitions.made("number", _numbered, own),
            np.arange(len(sizes)),
            sizes,
            starts,
            next(queries._empty for queries in both if queries.is_sparse == is_sparse),
            sum(int(queries.n_documents * queries.row_bytes) for queries in both),
            "training and validation data",
        )
        return type(self)(source, self.memory)

    def _on_cluster(self, queries: AnyQueries) -> ClusterQueries:
        if isinstance(queries, ClusterQueries):
            return queries
        sizes = np.asarray(queries.sizes)
        counts: list[int] = []

        def parts() -> Iterator[Queries]:
            for part in parts_of(queries):
                counts.append(part.n_queries)
                yield together(part)

        partitions = self._source.partitions.put(parts())
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        empty = queries[:0] if isinstance(queries, Queries) else queries.run(0, 0)
        size = int(len(sizes) and sizes.sum() * self.row_bytes)
        return type(self)(
            ClusterSource(partitions, queries.query_ids, sizes, starts, empty, size, "memory"), self.memory
        )

    @property
    def _starts(self) -> list[int]:
        """Where the queries of each part begin among all, and their number."""
        return [*(query for query, _ in self.before_parts()), self.n_queries]

    def __repr__(self) -> str:
        n_parts = len(self._runs)
        return (
            f"{type(self).__name__}({self.n_queries:,} queries, {self.n_documents:,} documents, {self.n_features:,} "
            f"features; {told_bytes(self.n_documents * self.row_bytes)} in {n_parts:,} part{'s' * (n_parts != 1)} from "
            f"{self._source.told()})"
        )


def part_of(queries: Queries, before: tuple[int, int], whole: Whole) -> Part:
    """A partition as a step is given it: a part of all queries."""
    return Part(queries.as_part(lambda: whole), before=before)


def together(queries: Queries) -> Queries:
    """The same with the rows of each query one behind the other."""
    return queries if queries.grouping.order is None else queries[np.arange(queries.n_queries)]


# What is done where the partitions are


def _run(queries: Queries, first: int, last: int) -> Queries:
    return queries[first:last]


def _itself(queries: Queries) -> Queries:
    return queries


def _made(queries: Queries, inside: npt.NDArray[np.intp] | None, maps: tuple[Map, ...]) -> Queries:
    taken = queries if inside is None else queries[inside]
    for function in maps:
        taken = checked_map(function, taken)
    return taken


def _applied(queries: Queries, function: Callable[..., Any], whole: Whole, sent: tuple[Any, ...]) -> Any:
    return function(queries.as_part(lambda: whole), *sent)


def _whole_of(queries: Queries) -> Whole:
    return Whole.of(queries.supervision, queries.grouping)


def _judgments_of(queries: Queries) -> Judgments:
    return Judgments(queries.supervision, queries.grouping)


def _numbered(queries: Queries, first: int, is_sparse: bool) -> Queries:
    grouping = Grouping.of_sizes(np.arange(first, first + queries.n_queries), queries.sizes)
    names = queries.feature_names if queries.has_feature_names else None
    x = sp.csr_array(queries.X) if is_sparse else queries.X
    return Queries.of_parts(x, queries.supervision, grouping, names, None)
