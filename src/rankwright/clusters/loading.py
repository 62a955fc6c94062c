"""How queries get onto a cluster: what was read of each partition, made alike, and no query in two of them."""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.clusters.partitions import Move, Partitions
from rankwright.clusters.queries import ClusterSource, together
from rankwright.data.as_queries import as_queries
from rankwright.data.files import kind_of_file, read_asked, refuse_columns_of_text
from rankwright.data.one_query import warn_of_reason
from rankwright.data.paths import group_files
from rankwright.data.queries import Queries
from rankwright.data.selected_features import of_numbers
from rankwright.data.streams.joining import joined_ids
from rankwright.data.streams.opening import data_files
from rankwright.data.streams.sizes import bytes_of, told_bytes
from rankwright.data.svmlight.reader import read_with_first_index
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError, OneQueryWarning
from rankwright.judgments.grouping import Grouping, plain_values
from rankwright.machine.runs import split_by_size


class Read(NamedTuple):
    """A file or a frame, read.

    ``first_index`` is the number of the first feature of text; ``is_numbered`` says that queries have numbers from 1 on
    in place of ids; ``is_text``, that features are numbered as far as lines have them. Who reads it again must get the
    same ``digest``.
    """

    queries: Queries
    first_index: int = 1
    is_numbered: bool = False
    is_text: bool = False
    digest: int = 0

    def with_digest(self) -> Read:
        """The same, with the digest of its queries."""
        return self._replace(digest=_digest(self.queries))


@dataclass(frozen=True)
class Reading:
    """How the files or frames of a collection are read, each where it will be worked on."""

    asked: TableColumns
    dtype: Any = None
    missing: Literal["zero", "nan"] = "zero"
    column_description: Any = None
    zero_based: bool | Literal["auto"] = "auto"

    def of(self, data: Any, name: str) -> Read:
        """A file by its path, or a data frame that has a name."""
        return self._read(data, name).with_digest()

    def queries(self, frame: Any, name: str) -> Queries:
        """Those of a data frame."""
        with _all_queries_elsewhere():
            queries = as_queries(frame, self.asked, name)
        assert isinstance(queries, Queries)
        return queries

    def _read(self, data: Any, name: str) -> Read:
        if not isinstance(data, str | os.PathLike):
            return Read(self.queries(data, name))
        with _all_queries_elsewhere():
            if self.column_description is None and kind_of_file(data) == "text":
                return self._of_text(data)
            return Read(read_asked(data, self.asked, column_description=self.column_description))

    def _of_text(self, path: str | os.PathLike[str]) -> Read:
        refuse_columns_of_text(path, self.asked)
        queries, first_index = read_with_first_index(path, self.dtype, self.missing, self.zero_based)
        numbers = np.arange(1, queries.n_queries + 1)
        is_numbered = bool(group_files(path)) and np.array_equal(queries.query_ids, numbers)
        return Read(of_numbers(queries, self.asked, path), first_index, is_numbered, is_text=True)

    def again(self, parts: Sequence[Seen]) -> Reading | None:
        """How to read once more, so that all partitions are alike, where they are not and it takes reading."""
        changed: dict[str, Any] = {}
        if self.asked.one_hot and len({part.names for part in parts}) > 1:
            changed["asked"] = self.asked.for_features(_all_names([part.names or () for part in parts]))
        if len({part.first_index for part in parts}) > 1:
            changed["zero_based"] = True
        if len({part.dtype for part in parts}) > 1 and self.dtype is None:
            changed["dtype"] = np.dtype(np.float64)
        return replace(self, **changed) if changed else None


def _digest(queries: Queries) -> int:
    x: Any = queries.X
    arrays = [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
    digest = zlib.crc32(repr(plain_values(queries.query_ids)).encode())
    for array in [*arrays, queries.y, queries.sizes]:
        digest = zlib.crc32(np.ascontiguousarray(array).data.cast("B") if array.size else b"", digest)
    return digest


def _all_names(parts: Sequence[Sequence[str]]) -> list[str]:
    """The names of all features; what is encoded of a column of text stands where its first value stands."""
    names = list(dict.fromkeys(name for part in parts for name in part))
    columns = list(dict.fromkeys(name.partition("=")[0] for name in names))
    return sorted(names, key=lambda name: (columns.index(name.partition("=")[0]), name))


@contextmanager
def _all_queries_elsewhere() -> Iterator[None]:
    """That there is one query is told where all are known."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OneQueryWarning)
        yield


class Seen(NamedTuple):
    """What is known here of a partition as it was read."""

    names: tuple[str, ...] | None
    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    query_ids: npt.NDArray[Any]
    sizes: npt.NDArray[np.int64]
    bytes: int
    moved: Any
    why_one_query: str | None
    empty: Queries
    first_index: int
    is_numbered: bool
    is_text: bool
    digest: int

    def run(self, first: int, last: int, number: int) -> Seen:
        """Of queries first … last − 1; ``number`` is that of the first of them, if they have numbers as ids."""
        sizes = self.sizes[first:last]
        ids = np.arange(number, number + len(sizes)) if self.is_numbered else self.query_ids[first:last]
        share = int(sizes.sum()) / max(1, int(self.sizes.sum()))
        return self._replace(query_ids=ids, sizes=sizes, bytes=int(self.bytes * share))


def seen(read: Read) -> Seen:
    """What is to be known of a partition."""
    queries, grouping = read.queries, read.queries.grouping
    moved = None
    if grouping.order is not None:
        apart = int(np.flatnonzero(np.diff(grouping.order) != 1)[0])
        moved = grouping.query_of_row(int(grouping.order[apart]))
    return Seen(
        queries.feature_names if queries.has_feature_names else None,
        queries.n_features,
        queries.X.dtype,
        bool(sp.issparse(queries.X)),
        queries.query_ids,
        queries.sizes,
        bytes_of(queries),
        moved,
        grouping.why_one_query,
        queries[:0],
        read.first_index,
        read.is_numbered,
        read.is_text,
        read.digest,
    )


@dataclass(frozen=True)
class Alike:
    """The features that all partitions are to have, and what those become that a partition does not know."""

    n_features: int
    dtype: np.dtype[Any]
    is_sparse: bool
    absent: float

    @classmethod
    def of(cls, parts: Sequence[Seen], told: Sequence[str], absent: float) -> Alike:
        """Text does not tell of features that none of its lines has; others must be the same everywhere."""
        for part, name in zip(parts, told, strict=True):
            if part.names != parts[0].names:
                lacking = sorted(set(parts[0].names or ()) ^ set(part.names or ()))
                what = f"column {lacking[0]!r} is in one of them only" if lacking else "their order differs"
                raise DataError(f"{name} has other features than {told[0]}: {what}")
        n_features = max(part.n_features for part in parts)
        for part, name in zip(parts, told, strict=True):
            if part.n_features < n_features and part.sizes.size and not part.is_text:
                raise DataError(f"{name} has {part.n_features} features, but other partitions have {n_features}")
        dtype = np.result_type(*(part.dtype for part in parts))
        return cls(n_features, dtype, any(part.is_sparse for part in parts), absent)

    def piece(self, read: Read, first: int, last: int, number: int) -> Queries:
        """Queries first … last − 1 with these features, and the rows of each query one behind the other.

        They have memory of their own, so that what was read can be given up. ``number`` is that of the first of them,
        if they have numbers as ids.
        """
        queries = together(read.queries)
        if last - first < queries.n_queries:
            queries = queries[np.arange(first, last)]
        if read.is_numbered:
            grouping = Grouping.of_sizes(np.arange(number, number + queries.n_queries), queries.sizes)
            names = queries.feature_names if queries.has_feature_names else None
            queries = Queries.of_parts(queries.X, queries.supervision, grouping, names, queries.doc_ids)
        return self.made_of(queries)

    def made_of(self, queries: Queries) -> Queries:
        """The same queries with these features."""
        if (queries.n_features, queries.X.dtype, bool(sp.issparse(queries.X))) == astuple(self)[:3]:
            return queries
        x: Any = queries.X.astype(self.dtype, copy=False)
        missing = self.n_features - x.shape[1]
        if self.is_sparse:
            x = sp.csr_array(x)
            x = sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], self.n_features))
        elif missing:
            x = np.hstack([x, np.full((x.shape[0], missing), self.absent, x.dtype)])
        names = queries.feature_names if queries.has_feature_names else None
        return Queries.of_parts(x, queries.supervision, queries.grouping, names, queries.doc_ids)


def split_queries(parts: Sequence[Seen]) -> dict[Any, list[tuple[int, int]]]:
    """The queries that are in several partitions: in which, and at which place in each of them."""
    ids = joined_ids([part.query_ids for part in parts])
    partition = np.repeat(np.arange(len(parts)), [len(part.query_ids) for part in parts])
    place = np.concatenate([np.arange(len(part.query_ids)) for part in parts])
    order = np.argsort(ids, kind="stable")
    is_again = np.concatenate([[False], ids[order][1:] == ids[order][:-1]])
    found: dict[Any, list[tuple[int, int]]] = {}
    for at in np.flatnonzero(is_again | np.append(is_again[1:], False)).tolist():
        query = plain_values(ids[order[at : at + 1]])[0]
        found.setdefault(query, []).append((int(partition[order[at]]), int(place[order[at]])))
    return found


def moves_of(parts: Sequence[Seen], told: Sequence[str], *, shuffle: bool) -> list[Move]:
    """What brings the rows of each query together: each to the partition, of those that have some, with fewest rows.

    Without ``shuffle`` a query in two partitions is an error.
    """
    split = split_queries(parts)
    if not split:
        return []
    if not shuffle:
        query, places = next(iter(split.items()))
        others = f" (and so are {len(split) - 1:,} others)" if len(split) > 1 else ""
        raise DataError(
            f"query {query!r} is split: some of its rows are in {told[places[0][0]]} and some in {told[places[1][0]]}"
            f"{others}. A query must be in one place: give shuffle=True (--sort) to bring its rows together, or write "
            "the data so that each query is in one file or partition"
        )
    rows = np.array([part.sizes.sum() for part in parts])
    for places in split.values():
        for partition, place in places:
            rows[partition] -= parts[partition].sizes[place]
    going: dict[tuple[int, int], list[int]] = {}
    n_rows, n_bytes = 0, 0.0
    for places in split.values():
        sizes = [int(parts[partition].sizes[place]) for partition, place in places]
        goal = min((partition for partition, _ in places), key=lambda partition: rows[partition])
        rows[goal] += sum(sizes)
        for (partition, place), size in zip(places, sizes, strict=True):
            if partition != goal:
                going.setdefault((partition, goal), []).append(place)
                n_rows += size
                n_bytes += size * parts[partition].bytes / max(1, int(parts[partition].sizes.sum()))
    warnings.warn(
        f"{len(split):,} {'query was' if len(split) == 1 else 'queries were'} split over partitions: {n_rows:,} rows "
        f"({told_bytes(n_bytes)}) were moved to bring {'it' if len(split) == 1 else 'them'} together",
        stacklevel=4,
    )
    return [Move(np.array(sorted(places)), *between) for between, places in going.items()]


def leaving(moves: Sequence[Move], source: int) -> npt.NDArray[np.intp]:
    """The queries that leave a partition."""
    return np.concatenate([np.zeros(0, np.intp), *(move.queries for move in moves if move.source == source)])


def with_moved(queries: Queries, gone: npt.NDArray[np.intp], arriving: Sequence[Queries]) -> Queries:
    """A partition without queries that leave it, and with those of others behind: rows of one query come together."""
    keeps = np.setdiff1d(np.arange(queries.n_queries), gone)
    pieces = [queries[keeps] if len(gone) else queries, *arriving]
    stack: Any = sp.vstack if any(sp.issparse(piece.X) for piece in pieces) else np.vstack
    x = stack([piece.X for piece in pieces])
    doc_ids = [piece.doc_ids for piece in pieces]
    return together(
        Queries(
            sp.csr_array(x) if sp.issparse(x) else x,
            np.concatenate([piece.y for piece in pieces]),
            joined_ids([piece.qid for piece in pieces]),
            feature_names=queries.feature_names if queries.has_feature_names else None,
            doc_ids=None if any(ids is None for ids in doc_ids) else np.concatenate(doc_ids),  # type: ignore[arg-type]
        )
    )


class Given(NamedTuple):
    """What is to be read: files or frames, what people call each of them, and all of them."""

    data: Sequence[Any]
    told: Sequence[str]
    name: str

    @classmethod
    def files(cls, files: Any) -> Given:
        """Paths, folders and patterns of files."""
        paths = [path.absolute() for path in data_files(files)]
        told = [path.name for path in paths]
        return cls(paths, told, told[0] if len(told) == 1 else f"{told[0]} and {len(told) - 1} more")

    @classmethod
    def frame(cls, partitions: Sequence[Any], name: str) -> Given:
        """The partitions of a data frame."""
        return cls(partitions, [f"partition {number}" for number in range(1, len(partitions) + 1)], name)


class _Run(NamedTuple):
    """Queries first … last − 1 of what was read at one place; ``number`` is how many come before in all, and 1."""

    source: int
    first: int
    last: int
    number: int


def loaded(
    read: Callable[[Reading], Partitions], reading: Reading, given: Given, parts: int, *, shuffle: bool
) -> ClusterSource:
    """Queries in at least so many partitions that are alike, with whole queries each.

    ``read`` has a cluster read what is given, a partition for each.
    """
    partitions = read(reading)
    found: list[Seen] = list(partitions.results("look", seen))
    again = reading.again(found)
    if again is not None:
        partitions = read(again)
        found = list(partitions.results("look", seen))
    alike = Alike.of(found, given.told, np.nan if reading.missing == "nan" else 0.0)
    runs = _runs(found, parts)
    if not runs:
        raise DataError(f"{given.name}: there are no documents")
    pieces = [found[run.source].run(run.first, run.last, run.number) for run in runs]
    moves = moves_of(pieces, [given.told[run.source] for run in runs], shuffle=shuffle)
    moved = next((part.moved for part in found if part.moved is not None), None)
    own = [(run.source, (alike, *run[1:], found[run.source].digest, given.told[run.source])) for run in runs]
    partitions = partitions.made("part", _piece, own)
    if moves:
        if moved is None:
            moved = plain_values(pieces[moves[0].source].query_ids[moves[0].queries[:1]])[0]
        partitions = partitions.moved(moves)
        pieces = list(partitions.results("look", _seen_queries))
    else:
        list(partitions.results("look", _is_there))
    empty = alike.made_of(pieces[0].empty)
    return _source_of(partitions, [piece._replace(empty=empty) for piece in pieces], given.name, moved)


def _runs(found: Sequence[Seen], parts: int) -> list[_Run]:
    """What was read, cut into at least so many runs of queries, as far as there are so many."""
    runs: list[_Run] = []
    number = 1
    for source, part in enumerate(found):
        offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(part.sizes)])
        for first, last in split_by_size(offsets, max(1, -(-parts // len(found)))):
            runs.append(_Run(source, first, last, number))
            number += last - first
    return runs


def _source_of(partitions: Partitions, parts: Sequence[Seen], name: str, moved: Any) -> ClusterSource:
    """Partitions that are alike, with whole queries each, as a source of queries."""
    sizes = np.concatenate([part.sizes for part in parts])
    counts = [len(part.sizes) for part in parts]
    if len(sizes) == 1:
        warn_of_reason(next((part.why_one_query for part in parts if part.why_one_query), None), int(sizes.sum()))
    return ClusterSource(
        partitions,
        joined_ids([part.query_ids for part in parts]),
        sizes,
        np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]),
        parts[0].empty,
        sum(part.bytes for part in parts),
        name,
        moved,
    )


# What is done where the partitions are


def _piece(read: Read, alike: Alike, first: int, last: int, number: int, digest: int, told: str) -> Queries:
    if read.digest != digest:
        raise DataError(
            f"{told} was lost, and when it was read again, it had other rows, or in another order: data must not "
            "change while they are used. Load them again; write frames to files before, or checkpoint them"
        )
    return alike.piece(read, first, last, number)


def _seen_queries(queries: Queries) -> Seen:
    return seen(Read(queries))


def _is_there(queries: Queries) -> None:
    """Ask for this of each partition, and all of them are there."""
