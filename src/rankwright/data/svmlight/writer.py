"""`write_svmlight`: Queries into LETOR and SVMlight text."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.parts import parts_of
from rankwright.data.paths import atomic_path
from rankwright.data.queries import Queries
from rankwright.data.svmlight.formatting import LONGEST_CELL, format_rows
from rankwright.data.svmlight.parsing import LONGEST_ID
from rankwright.errors import DataError
from rankwright.machine.threads import map_in_order

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

_CELLS_AT_A_TIME = 100_000


def write_svmlight(
    queries: Queries | StreamedQueries, path: str | os.PathLike[str], *, zero_based: bool = False
) -> None:
    """Write one line ``<grade> qid:<id> <index>:<value> … #docid = <id>`` per row; compressed if the name ends in .gz.

    Dense rows are written whole, CSR rows as far as they are stored. Every number is written with the
    fewest digits that read back as the same number. The file is written whole or not at all. Queries that are read from
    files are written part by part.
    """
    if queries.n_documents == 0:
        raise DataError("there are no documents to write")
    _check_query_ids(queries)
    target = Path(path)
    with atomic_path(target) as temporary, _opened(temporary, compress=target.suffix == ".gz") as file:
        n_before = 0
        for part in parts_of(queries):
            _check_document_ids(part, n_before)
            for text in _Lines(part, zero_based).blocks():
                file.write(text)
            n_before += part.n_documents


@contextmanager
def _opened(path: Path, compress: bool) -> Iterator[BinaryIO]:
    """The file to write to. What gzip would tell of it, its name and the time, is left out: equal data, equal bytes."""
    with path.open("wb") as file:
        if not compress:
            yield file
            return
        with gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0) as packed:
            yield cast(BinaryIO, packed)


class _Lines:
    """The rows of some queries as text, block by block."""

    def __init__(self, queries: Queries, zero_based: bool) -> None:
        x = queries.X
        self._queries = queries
        self._grades = queries.y
        self._first_index = 0 if zero_based else 1
        self._single = x.dtype == np.float32
        self._sparse = sp.issparse(x)
        no_places = np.zeros(0, dtype=np.int32)
        self._cells = x.data if self._sparse else np.ascontiguousarray(x).reshape(-1)
        self._columns = x.indices if self._sparse else no_places
        self._row_starts = x.indptr if self._sparse else no_places

    def blocks(self) -> Iterator[memoryview]:
        """The lines, in order, formatted on all threads."""
        rows, cells = self._queries.n_documents, max(1, len(self._cells))
        step = max(1, _CELLS_AT_A_TIME * rows // cells)
        ranges = ((first, min(first + step, rows)) for first in range(0, rows, step))
        for block in map_in_order(self._format, ranges):
            yield from block

    def _format(self, rows: tuple[int, int]) -> list[memoryview]:
        """The lines of some rows: formatted by the kernel, but for rows that it gives back."""
        first, last = rows
        heads = _joined(self._head(row) for row in range(first, last))
        tails = _joined(self._tail(row) for row in range(first, last))
        width = -1 if self._sparse else self._queries.n_features
        cells = int(self._row_starts[last] - self._row_starts[first]) if self._sparse else (last - first) * width
        out = np.empty(len(heads[0]) + len(tails[0]) + (last - first) + cells * LONGEST_CELL, dtype=np.uint8)
        numbers = (self._cells, self._columns, self._row_starts, width, self._first_index, self._single)
        finished: list[memoryview] = []
        row, length = first, 0
        while row < last:
            start = length
            length, row = format_rows(first, row, last, numbers, heads, tails, out, start)
            finished.append(out[start:length].data)
            if row < last:
                finished.append(memoryview(self._format_plainly(row)))
                row += 1
        return finished

    def _head(self, row: int) -> bytes:
        return f"{_plain(self._grades[row])} qid:{self._queries.qid[row]}".encode()

    def _tail(self, row: int) -> bytes:
        doc_ids = self._queries.doc_ids
        return b"" if doc_ids is None or not doc_ids[row] else f" #docid = {doc_ids[row]}".encode()

    def _format_plainly(self, row: int) -> bytes:
        """The line of a row with a number so small or large that only Python writes it."""
        x = self._queries.X
        start, stop = (self._row_starts[row], self._row_starts[row + 1]) if self._sparse else (0, x.shape[1])
        columns = self._columns[start:stop] if self._sparse else range(x.shape[1])
        values = self._cells[start:stop] if self._sparse else x[row]
        words = [
            f" {column + self._first_index}:{_plain(value)}" for column, value in zip(columns, values, strict=True)
        ]
        return self._head(row) + "".join(words).encode() + self._tail(row) + b"\n"


def _plain(number: Any) -> str:
    """The shortest text of a NumPy number, without a needless ".0"."""
    return str(number).removesuffix(".0")


def _joined(texts: Iterable[bytes]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Texts end to end, and where each begins and ends."""
    parts = list(texts)
    ends = np.cumsum([0, *map(len, parts)])
    return np.frombuffer(b"".join(parts), dtype=np.uint8), ends


def _check_query_ids(queries: Queries | StreamedQueries) -> None:
    """Ids must be words, and different as text: white space would end them, and # would begin a comment."""
    written: dict[str, object] = {}
    for query in queries.query_ids.tolist():
        text = str(query)
        if isinstance(query, bytes) or text.split() != [text] or "#" in text:
            raise DataError(
                f"query id {query!r} cannot be written as text: it is empty, is bytes, or contains white space or #"
            )
        _check_length("query", query, text)
        if text in written:
            raise DataError(
                f"query ids {written[text]!r} and {query!r} would be the same id in the text file: rename one of them"
            )
        written[text] = query


def _check_document_ids(part: Queries, n_before: int) -> None:
    """The same of the ids of documents, before which there are so many rows."""
    if part.doc_ids is not None:
        for row, doc_id in enumerate(part.doc_ids.tolist(), start=n_before):
            if doc_id and doc_id.split() != [doc_id]:
                raise DataError(f"row {row}: document id {doc_id!r} cannot be written as text: it holds white space")
            _check_length("document", doc_id, doc_id)


def _check_length(kind: str, given: object, text: str) -> None:
    try:
        length = len(text.encode())
    except UnicodeEncodeError:
        raise DataError(f"{kind} id {given!r} cannot be written as text: it has no UTF-8") from None
    if length > LONGEST_ID:
        raise DataError(f"{kind} id {given!r} cannot be written as text: it takes more than {LONGEST_ID} bytes")
