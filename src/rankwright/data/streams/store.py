"""Rows of a data set in one file of raw arrays, of which any run is read without parsing.

A file begins with a line that says what it is. Then come the arrays, each whole and one after the other: the cells
of the features row by row (of CSR those that are stored, and their columns and the ends of rows), the grades or ranks,
and the texts of document ids. The end of the file is a note in JSON that tells where each array begins and what
the queries are, the length of this note, and the first line again. So a file that was cut off has no end, and
is not read.
"""

from __future__ import annotations

import json
import mmap
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Features, Queries
from rankwright.data.streams.texts import texts_from, utf8_of
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision

MAGIC = b"Rankwright rows, layout 1\n"
_ALIGNED = 64
_LENGTH = 8  # bytes of the length of the note
_ID_KINDS = "iufbMm"
_COPIED = 1 << 24
_ROWS_BYTES = 1 << 24  # of rows that are looked at together
_OWN_PAGES = 1 << 20  # an array of so many bytes is allocated apart


def unnamed_file(folder: Path) -> BinaryIO:
    """An open file without a name: it is gone when it is closed, or when the program ends in any way."""
    return cast(BinaryIO, tempfile.TemporaryFile(dir=folder))


def _write_all(file: BinaryIO, content: memoryview) -> None:
    """Write all of it: a file without a buffer may take a part at a time."""
    while len(content):
        content = content[file.write(content) :]


class NotAStore(Exception):
    """A file that is not one of ours, or not whole."""


@dataclass(frozen=True)
class Rows:
    """Some rows: features, grades or ranks or a preference graph of whole queries, and document ids."""

    x: Features
    labels: npt.NDArray[Any] | PreferenceGraph
    doc_ids: npt.NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: npt.NDArray[np.intp]) -> Rows:
        """The rows at these places; not for preference graphs."""
        assert isinstance(self.labels, np.ndarray)
        return Rows(self.x[rows], self.labels[rows], None if self.doc_ids is None else self.doc_ids[rows])


class StoreWriter:
    """Writes rows as they come, into an open file: the cells at once, the rest when all is known.

    What has to wait is kept in files without a name in ``folder``, which vanish with the writer.
    """

    def __init__(self, file: BinaryIO, folder: Path) -> None:
        self._file, self._folder = file, folder
        self._spools: dict[str, BinaryIO] = {}
        self._kinds: dict[str, np.dtype[Any]] = {}
        self._lengths: dict[str, int] = {}
        self._has_doc_ids = self._is_sparse = False
        self._stored = self._characters = self.n_rows = self._n_features = 0
        file.seek(0)
        file.truncate()
        file.write(MAGIC.ljust(_ALIGNED))

    def __enter__(self) -> StoreWriter:
        return self

    def __exit__(self, *_: object) -> None:
        for spool in self._spools.values():
            spool.close()

    def append(self, rows: Rows) -> None:
        """Write rows of the same kind as all others: dense or CSR, of one type."""
        if len(rows) == 0:
            return
        x = rows.x
        self._is_sparse, self._n_features = sp.issparse(x), x.shape[1]
        if self._is_sparse:
            self.append_array("cells", x.data)
            self.append_array("columns", x.indices.astype(np.int32, copy=False))
            self.append_array("row_ends", x.indptr[1:].astype(np.int64) - x.indptr[0] + self._stored)
            self._stored += len(x.data)
        else:
            self.append_array("cells", np.ascontiguousarray(x).reshape(-1))
        if isinstance(rows.labels, PreferenceGraph):
            self._append_edges(rows.labels)
        else:
            self.append_array("labels", rows.labels)
        lengths = np.zeros(len(rows), np.int64)
        if rows.doc_ids is not None:
            self._has_doc_ids = True
            characters, lengths = utf8_of(rows.doc_ids)
            self.append_array("doc_text", characters)
        self.append_array("doc_ends", np.cumsum(lengths) + self._characters)
        self._characters += int(lengths.sum())
        self.n_rows += len(rows)

    def _append_edges(self, graph: PreferenceGraph) -> None:
        """Edges row by row of the preferred document; the other one by its number among all rows."""
        order = np.argsort(graph.preferred, kind="stable")
        counts = np.bincount(graph.preferred, minlength=len(graph))
        before = self._lengths.get("edge_other", 0)
        self.append_array("edge_ends", np.cumsum(counts).astype(np.int64) + before)
        self.append_array("edge_other", graph.other[order].astype(np.int64) + self.n_rows)
        self.append_array("edge_weights", graph.weights[order])

    def append_array(self, name: str, values: npt.NDArray[Any]) -> None:
        """Write more of one array."""
        kind = self._kinds.setdefault(name, values.dtype)
        if kind != values.dtype:
            raise TypeError(f"{name}: {values.dtype} after {kind}")
        if name != "cells" and name not in self._spools:
            self._spools[name] = unnamed_file(self._folder)
        file = self._file if name == "cells" else self._spools[name]
        content: Any = np.ascontiguousarray(values).view(np.uint8)
        _write_all(file, memoryview(content))
        self._lengths[name] = self._lengths.get(name, 0) + len(values)

    def finish(
        self,
        query_ids: npt.NDArray[Any],
        sizes: npt.NDArray[np.int64],
        n_features: int,
        *,
        names: tuple[str, ...] | None = None,
        note: dict[str, Any] | None = None,
    ) -> Store:
        """Write all the rest, and give what has been written."""
        if not self._has_doc_ids:
            self._lengths.pop("doc_ends", None)
        self.append_array("sizes", np.asarray(sizes, np.int64))
        if query_ids.dtype.kind in _ID_KINDS:
            self.append_array("ids", query_ids)
        else:
            characters, lengths = utf8_of(query_ids)
            self.append_array("id_text", characters)
            self.append_array("id_ends", np.cumsum(lengths))
        places: dict[str, list[Any]] = {}
        for name, length in self._lengths.items():
            place = _ALIGNED if name == "cells" else self._appended(self._spools[name])
            places[name] = [place, self._kinds[name].str, length]
        kind = "preference graph" if "edge_ends" in self._kinds else "grades"
        if self._kinds.get("labels", np.dtype(np.float64)).kind == "i":
            kind = "full ranking"
        told = {
            "rows": self.n_rows,
            "features": n_features,
            "sparse": self._is_sparse,
            "supervision": kind,
            "names": names,
            "arrays": places,
            **(note or {}),
        }
        text = json.dumps(told).encode()
        _write_all(self._file, memoryview(text + len(text).to_bytes(_LENGTH, "little") + MAGIC))
        self._file.flush()
        return Store(self._file)

    def _appended(self, spool: BinaryIO) -> int:
        place = self._file.tell()
        self._file.write(bytes(-place % _ALIGNED))
        place = self._file.tell()
        spool.seek(0)
        shutil.copyfileobj(spool, self._file, _COPIED)
        return place


class Store:
    """The rows of a file that :class:`StoreWriter` wrote, which must stay open; a :class:`Source` of queries."""

    def __init__(self, file: BinaryIO) -> None:
        self.file, self._told = file, "a file"
        self._lock = threading.Lock()
        self.note = _note(file)
        try:
            self._places = {
                str(name): (int(place), np.dtype(str(kind)), int(length))
                for name, (place, kind, length) in self.note["arrays"].items()
            }
            self.n_rows, self.n_features = int(self.note["rows"]), int(self.note["features"])
            self.is_sparse, self._kind = bool(self.note["sparse"]), str(self.note["supervision"])
            names = self.note["names"]
            self.given_names = None if names is None else tuple(map(str, names))
            self.sizes: npt.NDArray[np.int64] = self.array("sizes")
            self.query_ids: npt.NDArray[Any] = self._ids()
            self._check()
        except (KeyError, TypeError, ValueError) as error:
            raise NotAStore(str(error)) from None
        self.dtype = self._places["cells"][1] if "cells" in self._places else np.dtype(np.float32)
        self.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes)])
        for array in (self.sizes, self.query_ids):
            array.setflags(write=False)

    def _check(self) -> None:
        """What the rest relies on: other numbers would lead to reading what is not there."""
        size = self.file.seek(0, 2)
        for name, (place, kind, length) in self._places.items():
            if place < 0 or length < 0 or kind.hasobject or place + length * kind.itemsize > size:
                raise ValueError(f"array {name!r} does not lie in the file")
        labels = "edge_ends" if self._kind == "preference graph" else "labels"
        per_row = [labels, *(["row_ends"] if self.is_sparse else []), *(["doc_ends"] if self._has_doc_ids else [])]
        wrong = [name for name in per_row if self.n_rows and self._places[name][2] != self.n_rows]
        cells = 0 if "cells" not in self._places else self._places["cells"][2]
        if wrong or (not self.is_sparse and cells != self.n_rows * self.n_features):
            raise ValueError("arrays are not as long as there are rows")
        if len(self.query_ids) != len(self.sizes) or self.sizes.sum() != self.n_rows or np.any(self.sizes < 1):
            raise ValueError("the queries are not those of the rows")

    @property
    def _has_doc_ids(self) -> bool:
        return "doc_ends" in self._places

    def _ids(self) -> npt.NDArray[Any]:
        if "ids" in self._places:
            return self.array("ids")
        ends = self.array("id_ends")
        return texts_from(self.array("id_text") if "id_text" in self._places else np.zeros(0, np.uint8), ends, 0)

    def named(self, told: str) -> None:
        """From now on, tell that the queries come from there."""
        self._told = told

    def array(self, name: str, first: int = 0, last: int | None = None) -> npt.NDArray[Any]:
        """The entries first … last − 1 of an array."""
        place, kind, length = self._places[name]
        last = length if last is None else last
        values = _room(last - first, kind)
        content: Any = values.view(np.uint8)
        memory = memoryview(content)
        done = 0
        with self._lock:
            self.file.seek(place + first * kind.itemsize)
            while done < len(memory):
                read = cast(Any, self.file).readinto(memory[done:])
                if not read:
                    raise DataError(f"{self._told}: the file ends too early: it was changed while in use")
                done += read
        return values

    # Rows

    def rows(self, first: int, last: int, *, features: bool = True) -> Rows:
        """Rows first … last − 1."""
        x = self._features(first, last) if features else np.zeros((last - first, 0), np.float32)
        doc_ids = None
        if self._has_doc_ids and features:
            start, ends = self._ends("doc_ends", first, last)
            characters = self.array("doc_text", start, int(ends[-1]) if len(ends) else start)
            try:
                doc_ids = texts_from(characters, ends, start)
            except ValueError as error:
                raise DataError(
                    f"{self._told}: what is kept of it is damaged ({error}): remove_cache removes it"
                ) from None
        return Rows(x, self._labels(first, last), doc_ids)

    def _labels(self, first: int, last: int) -> npt.NDArray[Any] | PreferenceGraph:
        if self._kind != "preference graph":
            return self.array("labels", first, last) if last > first else np.zeros(0)
        if first == last:
            return PreferenceGraph(0, np.zeros(0, np.intp), np.zeros(0, np.intp))
        start, ends = self._ends("edge_ends", first, last)
        preferred = np.repeat(np.arange(last - first), np.diff(ends, prepend=start))
        other, weights = (self.array(name, start, int(ends[-1])) for name in ("edge_other", "edge_weights"))
        return PreferenceGraph(last - first, preferred, other - first, weights)

    def _features(self, first: int, last: int) -> Features:
        if last == first:
            empty = np.zeros((0, self.n_features), self.dtype)
            return sp.csr_array(empty.shape, dtype=self.dtype) if self.is_sparse else empty
        if not self.is_sparse:
            if self.n_features == 0:
                return np.zeros((last - first, 0), self.dtype)
            return self.array("cells", first * self.n_features, last * self.n_features).reshape(-1, self.n_features)
        start, ends = self._ends("row_ends", first, last)
        row_starts = np.concatenate([np.zeros(1, np.int64), ends - start])
        stored = int(row_starts[-1])
        if stored < 2**31:
            row_starts = row_starts.astype(np.int32)
        data, columns = self.array("cells", start, start + stored), self.array("columns", start, start + stored)
        return sp.csr_array((data, columns, row_starts), shape=(last - first, self.n_features))

    def _ends(self, name: str, first: int, last: int) -> tuple[int, npt.NDArray[np.int64]]:
        """Where row ``first`` begins, and where each row ends."""
        ends = self.array(name, max(0, first - 1), last)
        return (int(ends[0]), ends[1:]) if first else (0, ends)

    def in_pieces(self) -> Iterator[tuple[int, Rows]]:
        """All rows, a few at a time, each time with the number of the first."""
        step = max(1, int(_ROWS_BYTES / max(1.0, self.row_bytes())))
        for first in range(0, self.n_rows, step):
            yield first, self.rows(first, min(first + step, self.n_rows))

    # A source of queries

    def row_bytes(self) -> float:
        """The memory that a document takes, on average."""
        of_ids = self.query_ids.dtype.itemsize + 16.0
        if self._has_doc_ids and "doc_text" in self._places:
            of_ids += 6 * self._places["doc_text"][2] / max(1, self.n_rows)
        stored = self._places["cells"][2] if "cells" in self._places else 0
        cell = self.dtype.itemsize + (4 if self.is_sparse else 0)
        return of_ids + cell * stored / max(1, self.n_rows)

    def told(self) -> str:
        """Where the queries come from."""
        return self._told

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """Queries first … last − 1."""
        rows = self.rows(int(self.offsets[first]), int(self.offsets[last]), features=features)
        names = self.given_names if features else None
        return Queries.of_parts(
            rows.x,
            self._supervision(rows.labels),
            Grouping.of_sizes(self.query_ids[first:last], self.sizes[first:last]),
            names,
            rows.doc_ids,
        )

    def _supervision(self, labels: npt.NDArray[Any] | PreferenceGraph) -> Supervision:
        if isinstance(labels, PreferenceGraph):
            return labels
        labels.setflags(write=False)  # nobody else has them: they need not be copied
        return FullRanking(labels.astype(np.int64)) if self._kind == "full ranking" else Grades(labels)


def _room(length: int, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    """An array to be filled; a large one in pages of its own, which go back to the system as soon as it is gone.

    Of what is allocated and freed again and again, allocators keep a part or two for later.
    """
    n_bytes = length * kind.itemsize
    return np.empty(length, kind) if n_bytes < _OWN_PAGES else np.frombuffer(mmap.mmap(-1, n_bytes), kind)


def _note(file: BinaryIO) -> dict[str, Any]:
    """What stands at the end of the file."""
    size = file.seek(0, 2)
    tail = len(MAGIC) + _LENGTH
    if size < _ALIGNED + tail:
        raise NotAStore("the file is too short")
    file.seek(0)
    head = file.read(len(MAGIC))
    file.seek(size - tail)
    end = file.read(tail)
    length = int.from_bytes(end[:_LENGTH], "little")
    if head != MAGIC or end[_LENGTH:] != MAGIC or length > size - tail - _ALIGNED:
        raise NotAStore("the file does not begin or end as it should")
    file.seek(size - tail - length)
    try:
        note = json.loads(file.read(length))
    except ValueError as error:
        raise NotAStore(str(error)) from None
    if not isinstance(note, dict):
        raise NotAStore("there is no note")
    return note
