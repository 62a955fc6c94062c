"""`StreamedQueries`: queries that are never all in memory."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.streams.ahead import one_ahead
from rankwright.data.streams.joining import joined_judgments, joined_queries
from rankwright.data.streams.sizes import bytes_of, memory_limit, told_bytes
from rankwright.data.streams.source import Source, cut
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.whole import Whole
from rankwright.progress import Progress, Tell

Map = Callable[[Queries], Queries]
R = TypeVar("R")

# What a function makes of the features is seen on the first queries, of about so many documents.
_PROBED = 1000


class Watch:
    """Counts the readings of some queries, and whatever they are made into, and tells of them."""

    def __init__(self, tell: Tell) -> None:
        self.tell, self.passes = tell, 0


class StreamedQueries:
    """N queries with their documents, larger than memory: they are read part by part, as often as needed.

    Made by :func:`~rankwright.open_queries` and :func:`~rankwright.datasets.stream_queries`. What is known of all
    queries at once (their number, ids and sizes) is here; all else is in the :meth:`parts`, which are
    :class:`~rankwright.Queries`. Like these they never change.
    """

    def __init__(
        self,
        source: Source,
        memory: int | str = "4GB",
        *,
        chosen: npt.NDArray[np.intp] | None = None,
        maps: tuple[Map, ...] = (),
        watch: Watch | None = None,
        same_judgments: bool = True,
    ) -> None:
        self._source, self._maps, self._watch, self._same_judgments = source, maps, watch, same_judgments
        self._chosen = chosen
        self.memory = memory_limit(memory)
        """The limit of memory, in bytes: the part in work and the one that is read ahead take half of it at most."""

    _kind: ClassVar[type[StreamedQueries]]  # of some of these queries, or with other features

    # What is known of all of them

    @property
    def query_ids(self) -> npt.NDArray[Any]:
        """The id of each query, in the order of first appearance."""
        ids = self._source.query_ids
        return ids if self._chosen is None else ids[self._chosen]

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each query."""
        sizes = self._source.sizes
        return sizes if self._chosen is None else sizes[self._chosen]

    @property
    def n_queries(self) -> int:
        """N."""
        return len(self._source.query_ids if self._chosen is None else self._chosen)

    @cached_property
    def n_documents(self) -> int:
        """m, the number of rows."""
        return int(self.sizes.sum())

    @property
    def n_features(self) -> int:
        """n, the number of columns."""
        return self._first.n_features if self._maps else self._source.n_features

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features: as given, or ``f1``, ``f2``, …"""
        return tuple(map(self.feature_name, range(self.n_features)))

    @property
    def has_feature_names(self) -> bool:
        """Whether the features were given names."""
        return self._first.has_feature_names if self._maps else self._source.given_names is not None

    def feature_name(self, column: int) -> str:
        """The name of one feature."""
        if self._maps:
            return self._first.feature_name(column)
        names = self._source.given_names
        return f"f{column + 1}" if names is None else names[column]

    @property
    def shape(self) -> tuple[int]:
        """(N,): a sequence of queries."""
        return (self.n_queries,)

    def __len__(self) -> int:
        return self.n_queries

    @cached_property
    def judgments(self) -> Judgments:
        """Supervision and grouping of all documents, in memory: read once, without features and document ids."""
        return joined_judgments(list(self._judgments_of_parts()))

    @cached_property
    def whole(self) -> Whole:
        """Extremes of all queries: read without features, unless a complete reading has told them before."""
        return Whole.of_parts(Whole.of(part.supervision, part.grouping) for part in self._judgments_of_parts())

    def _judgments_of_parts(self) -> Iterator[Judgments]:
        if not self._same_judgments:
            with closing(one_ahead(self._part, self._runs)) as parts:
                yield from (part.judgments for part in parts)
        else:
            for run in self._runs:
                yield self._taken(self._source.read(*run, features=False), run).judgments

    @property
    def is_sparse(self) -> bool:
        """Whether features are CSR."""
        return bool(sp.issparse(self._empty.X))

    @property
    def n_parts(self) -> int:
        """How many parts there are in a reading."""
        return len(self._runs)

    # Reading

    def parts(self, progress: Tell | None = None) -> Generator[Queries]:
        """One reading of all queries: parts of whole queries, one after the other, always cut alike.

        While a part is in work, the next one is read. Who leaves before the end closes the iterator (a loop that is
        left by ``break`` or an error does so by itself). ``progress`` is called with `Progress`, in bytes.
        """
        total, what = self.n_documents * self.row_bytes, "reading"
        if progress is None and self._watch is not None:
            self._watch.passes += 1
            progress, what = self._watch.tell, f"pass {self._watch.passes} over {self._source.told()}"
        done, extremes = 0.0, []
        with closing(one_ahead(self._part, self._runs)) as parts:
            for part in parts:
                if "whole" not in self.__dict__:
                    extremes.append(Whole.of(part.supervision, part.grouping))
                done += part.n_documents * self.row_bytes
                whole_part = part.as_part(lambda: self.whole)
                del part  # it goes when who has got it lets it go, and not when the next one is here
                yield whole_part
                del whole_part
                if progress is not None:
                    progress(Progress(what, done, total, in_bytes=True))
        if len(extremes) == self.n_parts:
            self.whole = Whole.of_parts(extremes)

    def each(self, function: Callable[..., R], *sent: Any) -> Iterator[R]:
        """What ``function(part, *sent)`` makes of each part, in their order, in one reading."""
        with closing(self.parts()) as parts:
            for part in parts:
                result = function(part, *sent)
                del part  # before the next but one is read
                yield result

    def run(self, first: int, last: int) -> Queries:
        """Queries first … last − 1 in memory, whatever memory that takes.

        Of chosen queries, what lies between them is read too, and dropped: part by part, as there may be much of it.
        """
        if self._chosen is None and first < last:
            return self._part((first, last))
        some = self[first:last]
        return joined_queries(map(some._part, some._runs), some.n_documents, self._empty)

    def in_memory(self) -> Queries:
        """All of them as :class:`~rankwright.Queries`, whatever memory that takes."""
        with closing(self.parts()) as parts:
            return joined_queries(parts, self.n_documents, self._empty)

    # Some of them, or with other features

    def __getitem__(self, which: slice | npt.ArrayLike) -> StreamedQueries:
        """The queries of a slice, at positions, or where a mask with one entry per query is true: nothing is read.

        They keep the order of the data, so positions must ascend.
        """
        if isinstance(which, int | np.integer):
            if not -self.n_queries <= which < self.n_queries:
                raise IndexError(f"query {which} of {self.n_queries}")
            which = slice(int(which), int(which) + 1 or None)
        if isinstance(which, slice):
            positions = np.arange(self.n_queries)[which]
        else:
            positions = np.atleast_1d(np.arange(self.n_queries)[np.asarray(which, None if np.size(which) else np.intp)])
        if np.any(np.diff(positions) <= 0):
            raise DataError(
                "queries that are read from files keep their order: give positions that ascend, each once, or take "
                "them from .in_memory()"
            )
        chosen = positions if self._chosen is None else self._chosen[positions]
        return self._but(chosen=chosen)

    def __array__(self, *_: Any, **__: Any) -> npt.NDArray[Any]:
        """Refused: an array of all queries would be in memory at once."""
        raise TypeError(
            "these queries are read part by part, and are no array: give queries.in_memory() if they fit, or change "
            "their features by queries.mapped(function); rankers and fit take them as they are"
        )

    def _but(self, **changed: Any) -> StreamedQueries:
        """The same queries of the same source, but for some of what they are made by."""
        made_by: dict[str, Any] = {"chosen": self._chosen, "maps": self._maps, "watch": self._watch}
        made_by |= {"same_judgments": self._same_judgments, **changed}
        return self._kind(self._source, self.memory, **made_by)

    def mapped(self, function: Map, *, same_judgments: bool = False) -> StreamedQueries:
        """The same queries with what the function makes of each part: nothing is read now but the first queries.

        The function must treat documents one by one or query by query, and keep the queries and their documents as they
        are: it is for other features or other grades. ``same_judgments`` says that grades stay as they are: then they
        are known without it.
        """
        return self._but(maps=(*self._maps, function), same_judgments=self._same_judgments and same_judgments)

    def watched(self, tell: Tell) -> StreamedQueries:
        """The same queries, whose every reading, of parts and prepared columns too, is told: pass by pass, in bytes."""
        return self._but(watch=Watch(tell))

    def chained(self, first: AnyQueries, second: AnyQueries) -> StreamedQueries:
        """The queries of both, of which these are one, the second behind the first, with numbers as ids."""
        from rankwright.data.streams.chained import Chain

        memory = min(queries.memory for queries in (first, second) if isinstance(queries, StreamedQueries))
        return StreamedQueries(Chain(first, second), memory)

    # How it is read

    @cached_property
    def _runs(self) -> list[tuple[int, int]]:
        """The runs of the source's queries that parts are read from."""
        sizes = self._source.sizes
        if self._chosen is None:
            offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
            return cut(offsets, self.row_bytes, self.memory)
        runs = []
        # Stretches that are chosen as a whole are read as such; elsewhere what lies between is read and dropped.
        kept = np.zeros(len(sizes), np.int64)
        kept[self._chosen] = 1
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        for first, last in cut(offsets, self.row_bytes, self.memory):
            inside = np.flatnonzero(kept[first:last])
            if len(inside):
                runs.append((first + int(inside[0]), first + int(inside[-1]) + 1))
        return runs

    @cached_property
    def row_bytes(self) -> float:
        """The memory that a document takes, in bytes: as it is read, and as what the functions make of it."""
        plain = self._source.row_bytes()
        if not self._maps:
            return plain
        return plain + bytes_of(self._first) / max(1, self._first.n_documents)

    def _part(self, run: tuple[int, int]) -> Queries:
        return self._made(self._taken(self._source.read(*run), run))

    def _taken(self, part: Queries, run: tuple[int, int]) -> Queries:
        """Those of a run that are chosen."""
        if self._chosen is None:
            return part
        begin, end = np.searchsorted(self._chosen, run)
        inside = self._chosen[begin:end] - run[0]
        return part if len(inside) == part.n_queries else part[inside]

    def _made(self, part: Queries) -> Queries:
        """What the functions make of a part."""
        for function in self._maps:
            part = checked_map(function, part)
        return part

    @cached_property
    def _first(self) -> Queries:
        """What becomes of the first queries."""
        chosen = np.arange(len(self._source.sizes)) if self._chosen is None else self._chosen
        sizes = self._source.sizes[chosen]
        few = int(np.searchsorted(np.cumsum(sizes), _PROBED)) + 1
        begin = int(chosen[0]) if len(chosen) else 0
        end = begin + 1 if len(chosen) else 0
        while end < len(self._source.sizes) and end - begin < few and end in chosen[:few]:
            end += 1
        return self._made(self._source.read(begin, end))

    @property
    def _empty(self) -> Queries:
        """No queries, with the same features."""
        return self._first[:0] if self._maps else self._source.read(0, 0)

    def __repr__(self) -> str:
        queries = f"{self.n_queries:,} {'query' if self.n_queries == 1 else 'queries'}"
        documents = f"{self.n_documents:,} document{'s' * (self.n_documents != 1)}"
        features = f"{self.n_features:,} feature{'s' * (self.n_features != 1)}"
        parts = f"{len(self._runs):,} part{'s' * (len(self._runs) != 1)}"
        size = told_bytes(self.n_documents * self.row_bytes)
        return (
            f"StreamedQueries({queries}, {documents}, {features}; {size} in {parts} from {self._source.told()}, "
            f"memory {told_bytes(self.memory)})"
        )


StreamedQueries._kind = StreamedQueries


def checked_map(function: Map, part: Queries) -> Queries:
    """What a function makes of a part, which must be the same queries."""
    made = function(part)
    if made.n_queries != part.n_queries or made.n_documents != part.n_documents:
        raise DataError(
            f"a function for mapped() made {made!r} of {part!r}: it must keep the queries and their documents"
        )
    return made


AnyQueries = Queries | StreamedQueries


def in_memory(queries: AnyQueries, who: str, instead: str) -> Queries:
    """Queries as they are, for one who needs all of them at once: those that are read part by part are refused."""
    if isinstance(queries, StreamedQueries):
        raise ParameterError(
            f"{who} needs all documents in memory at once, and these are read part by part: use {instead}, or give "
            "queries.in_memory() if they fit"
        )
    return queries
