"""`read_svmlight`: LETOR and SVMlight text into Queries."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.paths import input_file
from rankwright.data.queries import Features, Queries
from rankwright.data.svmlight import parsing
from rankwright.data.svmlight.blocks import Block, open_text
from rankwright.engines.threads import map_in_order
from rankwright.engines.words import count_byte
from rankwright.errors import ParameterError, ParseError

# In a file where fewer of the cells than this are given, CSR takes less room than a dense array.
_DENSE_FROM = 0.25
_HARD_NUMBERS_AT_FIRST = 64
_NEWLINE = np.uint64(10)


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike = np.float32,
    sparse: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    missing: Literal["zero", "nan"] = "zero",
) -> Queries:
    """Read ``<grade> qid:<id> <index>:<value> … # docid = <id>`` lines, plain or gzip-compressed.

    Parameters
    ----------
    path : path
        Whether it is compressed is seen from its content.
    dtype : float32 or float64
        Values are read as correctly rounded float64 and then stored in this type.
    sparse : bool or None
        True: CSR; False: dense; None: CSR if fewer than a quarter of the cells are in the file.
    n_features : int or None
        The number of columns, if the file may not show them all. None: up to the largest index.
    zero_based : bool or "auto"
        Whether features are numbered from 0. "auto": they are if a feature 0 occurs.
    missing : "zero" or "nan"
        What an absent feature or the value NULL becomes.

    Rows keep the order of the file. Query ids are int64 if every one is a plain whole number, else text;
    a file in which no line has a ``qid`` is one query. Document ids are what follows ``docid =`` in the
    comment, or a comment of a single word. A malformed line raises a :class:`ParseError` with file, line,
    column and what was expected, and nothing is returned.
    """
    layout = _Layout(
        input_file(path),
        _checked_dtype(dtype),
        sparse=bool(sparse),
        may_turn_sparse=sparse is None and missing == "zero",
        first_index=0 if zero_based is True else 1,
        may_turn_zero_based=zero_based == "auto",
        n_features=_checked_n_features(n_features),
        fill=_checked_fill(missing, sparse),
    )
    if zero_based not in (True, False, "auto"):
        raise ParameterError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
    while True:
        try:
            return _read(layout)
        except _ReadAgain as again:
            layout = again.layout


@dataclass(frozen=True)
class _Layout:
    """How a file is to be read."""

    path: Path
    dtype: np.dtype[Any]
    sparse: bool
    may_turn_sparse: bool
    first_index: int
    may_turn_zero_based: bool
    n_features: int | None
    fill: float


class _ReadAgain(Exception):
    """The file turned out to be laid out differently from what was assumed."""

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout


@dataclass
class _Piece:
    """What one block holds. Its cells may already stand in the array that will be returned."""

    lines: int
    rows: int
    given: int
    width: int
    cells: npt.NDArray[Any]
    columns: npt.NDArray[np.int32]
    row_ends: npt.NDArray[np.int64]
    grades: npt.NDArray[np.float64]
    qids: npt.NDArray[Any]
    doc_ids: npt.NDArray[np.str_] | None
    stride: int
    in_place: bool


@dataclass(frozen=True)
class _Fault:
    """A malformed line: its number within the block, the column, and what is wrong."""

    line: int
    column: int
    problem: str


@dataclass(frozen=True)
class _Task:
    """A block to parse, the number of its lines, and the place for its dense cells if there is one."""

    block: Block
    lines: int
    cells: npt.NDArray[Any] | None = None


def _read(layout: _Layout) -> Queries:
    with open_text(layout.path) as source:
        parser = _Parser(layout)
        parser.look_at(list(source.samples()))
        whole = np.empty((0 if layout.sparse else parser.rows_expected(source.size), parser.width), layout.dtype)
        pieces = [parser.accept(result) for result in map_in_order(parser.parse, _tasks(source.blocks(), whole))]
    if not any(piece.rows for piece in pieces):
        raise ParseError(layout.path, "the file holds no documents, only comments or blank lines")
    return _assemble(pieces, whole, layout, with_qid=parser.with_qid)


def _tasks(blocks: Iterable[Block], whole: npt.NDArray[Any]) -> Iterator[_Task]:
    """The blocks with their parts of the whole array, as long as it has rows left.

    Counting lines costs next to nothing, and spares the copy from small arrays into the large one.
    """
    row = 0
    for block in blocks:
        block.prepare()
        lines = count_byte(block.text.ctypes.data, block.start, block.stop, _NEWLINE)
        fits = row + lines <= len(whole)
        yield _Task(block, lines, whole[row : row + lines].reshape(-1) if fits else None)
        row += lines


class _Parser:
    """Turns blocks into pieces; `parse` runs on many threads, `look_at` and `accept` on one."""

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.with_qid = True
        self.width = layout.n_features or 0
        self._lines = 0
        self._bytes_per_line = 1.0

    def look_at(self, samples: list[Block]) -> None:
        """Learn from some lines how wide the rows are, and whether most cells are missing."""
        if not samples:
            raise ParseError(self.layout.path, "the file is empty")
        self.with_qid = _first_line_has_qid(samples[0])
        # What is wrong in a sample is told later, when its line number is known.
        results = list(map(self.parse, _tasks(samples, np.empty((0, 0)))))
        looks = [result for result in results if isinstance(result, _Piece)]
        self._bytes_per_line = sum(b.stop - b.start for b in samples) / max(1, sum(look.lines for look in looks))
        self.width = max([self.width, *(look.width for look in looks)])
        rows, given = sum(look.rows for look in looks), sum(look.given for look in looks)
        if self.layout.may_turn_sparse and not self.layout.sparse and given < _DENSE_FROM * rows * self.width:
            raise _ReadAgain(replace(self.layout, sparse=True))

    def rows_expected(self, size: int) -> int:
        """A generous guess at the lines of a file of this size: rows that stay empty take no memory."""
        return int(1.1 * size / self._bytes_per_line) + 1000

    def accept(self, result: _Piece | _Fault) -> _Piece:
        """Count the lines of a piece, or raise what is wrong with it, now that its line number is known."""
        if isinstance(result, _Fault):
            line = self._lines + result.line
            raise ParseError(self.layout.path, result.problem, line=line, column=result.column)
        self._lines += result.lines
        self.width = max(self.width, result.width)
        return result

    def parse(self, task: _Task) -> _Piece | _Fault:
        """Parse a block, again with more room if it turns out to need it."""
        block, lines, cells = task.block, task.lines, task.cells
        width, hard_numbers = self.width if cells is None else len(cells) // max(lines, 1), _HARD_NUMBERS_AT_FIRST
        while True:
            piece, hard, report = self._sweep(block, lines, width, cells, hard_numbers)
            status = int(report[parsing.STATUS])
            if status == parsing.TOO_WIDE:
                if self.layout.n_features is not None:
                    return self._too_wide(block, int(report[parsing.WIDTH]))
                width, cells = int(report[parsing.WIDTH]), None
            elif status == parsing.TOO_MANY_HARD:
                hard_numbers = int(report[parsing.HARD_NUMBERS])
            elif status == parsing.DONE:
                fault = _read_hard_numbers(block, hard[: report[parsing.HARD_NUMBERS]], piece)
                block.release()
                return fault or piece
            elif status == parsing.INDEX_ZERO and self.layout.may_turn_zero_based:
                raise _ReadAgain(replace(self.layout, first_index=0, may_turn_zero_based=False))
            else:
                return _fault(block, int(report[parsing.POSITION]), _PROBLEMS[status])

    def _sweep(
        self, block: Block, lines: int, width: int, place: npt.NDArray[Any] | None, hard_numbers: int
    ) -> tuple[_Piece, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        layout = self.layout
        size = block.stop - block.start
        if not layout.sparse and layout.may_turn_sparse and lines * width > size:
            # A given cell takes four characters or more: fewer than a quarter can be there.
            raise _ReadAgain(replace(layout, sparse=True))
        room = size // 3 if layout.sparse else lines * width
        cells = _scratch(room, layout.dtype) if place is None else place
        columns = _scratch(room if layout.sparse else 0, np.dtype(np.int32))
        row_ends, qids = np.empty(lines, np.int64), np.empty(lines, np.int64)
        grades = np.empty(lines, np.float64)
        qid_spans, doc_spans = np.empty((lines, 2), np.int64), np.empty((lines, 2), np.int64)
        hard = np.empty((hard_numbers, 3), np.int64)
        report = np.zeros(parsing.REPORT_LENGTH, np.int64)
        parsing.parse_block(
            block.text.ctypes.data,
            block.start,
            block.stop,
            self.with_qid,
            layout.first_index,
            layout.sparse,
            (layout.n_features or parsing.LARGEST_INDEX + 1) if layout.sparse else width,
            layout.fill,
            cells,
            columns,
            row_ends,
            grades,
            qids,
            qid_spans,
            doc_spans,
            hard,
            report,
        )
        rows = int(report[parsing.ROWS])
        piece = _Piece(
            lines=lines,
            rows=rows,
            given=int(report[parsing.CELLS]),
            width=int(report[parsing.WIDTH]),
            cells=cells,
            columns=columns,
            row_ends=row_ends[:rows],
            grades=grades[:rows],
            qids=_texts(block.text, qid_spans[:rows]) if report[parsing.WORDY_QIDS] else qids[:rows],
            doc_ids=_texts(block.text, doc_spans[:rows]) if report[parsing.DOC_IDS] else None,
            stride=width,
            in_place=place is not None and rows == lines,
        )
        return piece, hard, report

    def _too_wide(self, block: Block, width: int) -> _Fault:
        last = width - 1 + self.layout.first_index
        position = bytes(block.text[block.start : block.stop]).find(f" {last}:".encode()) + block.start + 1
        return _fault(block, position, f"feature {last} does not fit n_features={self.layout.n_features}")


def _scratch(length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Zeros in pages of their own: unlike the heap, they go back to the system as soon as they are dropped."""
    if length == 0:
        return np.empty(0, dtype)
    pages = mmap.mmap(-1, length * dtype.itemsize)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype)


def _first_line_has_qid(block: Block) -> bool:
    """Whether the first line that is not blank or a comment names a query: then every line must."""
    for line in bytes(block.text[block.start : block.stop]).splitlines():
        words = line.split(b"#", 1)[0].split()
        if words:
            return len(words) > 1 and words[1].startswith(b"qid:")
    return True


def _texts(text: npt.NDArray[np.uint8], spans: npt.NDArray[np.int64]) -> npt.NDArray[np.str_]:
    """The pieces of text between the given positions, decoded from UTF-8."""
    longest = max(1, int((spans[:, 1] - spans[:, 0]).max()))
    characters = np.zeros((len(spans), longest), np.uint32)
    if parsing.copy_spans(text, spans, characters):
        return characters.view(f"<U{longest}")[:, 0]
    return np.array([bytes(text[a:b]).decode("utf-8", "replace") for a, b in spans])


def _read_hard_numbers(block: Block, hard: npt.NDArray[np.int64], piece: _Piece) -> _Fault | None:
    """Put the numbers in place that the kernel left to Python."""
    for place, start, end in hard.tolist():
        value = float(bytes(block.text[start:end]))
        if place >= 0:
            with np.errstate(over="ignore"):
                piece.cells[place] = value
            if np.isinf(piece.cells[place]):
                return _fault(block, start, _PROBLEMS[parsing.VALUE_TOO_LARGE])
        elif 0 <= value < np.inf:
            piece.grades[-1 - place] = value
        else:
            return _fault(block, start, _GRADE_RANGE)
    return None


def _fault(block: Block, position: int, problem: str) -> _Fault:
    before = bytes(block.text[block.start : position])
    line_start = before.rfind(b"\n") + 1
    found = _found(bytes(block.text[position : min(position + 200, block.stop)]))
    return _Fault(before.count(b"\n") + 1, len(before) - line_start + 1, problem.replace("{found}", found))


def _found(text: bytes) -> str:
    """What stands where something else was expected."""
    if text.startswith((b"\n", b"\r\n", b"#")) or not text:
        return "the end of the line"
    if text.startswith(b"\r"):
        return "a carriage return within the line"
    return repr((text.split(maxsplit=1) or [text])[0][:40].decode("utf-8", "backslashreplace"))


_GRADE_RANGE = "expected a grade that is finite and at least 0, found {found}"
_PROBLEMS = {
    parsing.BAD_GRADE: "expected a grade (a number), found {found}",
    parsing.GRADE_OUT_OF_RANGE: _GRADE_RANGE,
    parsing.NO_QID: "expected qid:<id>, as on the first line, found {found}",
    parsing.UNEXPECTED_QID: "expected <index>:<value>, found {found}: the first line names no query",
    parsing.EMPTY_QID: "expected a query id after qid:, found nothing",
    parsing.BAD_INDEX: "expected <index>:<value>, found {found}",
    parsing.INDEX_ZERO: "expected a feature number of at least 1, found {found} (zero_based=False)",
    parsing.INDEX_NOT_RISING: "expected feature numbers that rise along the line, found {found}",
    parsing.INDEX_TOO_LARGE: f"expected a feature number up to {parsing.LARGEST_INDEX}, found {{found}}",
    parsing.VALUE_TOO_LARGE: "expected a number that fits the dtype (float64 reaches 1.8e308), found {found}",
    parsing.BAD_VALUE: "expected a number or NULL, found {found}",
}


def _assemble(pieces: list[_Piece], whole: npt.NDArray[Any], layout: _Layout, with_qid: bool) -> Queries:
    """Put the pieces together, dropping each as soon as it has been copied."""
    rows = sum(piece.rows for piece in pieces)
    given = sum(piece.given for piece in pieces)
    width = max(layout.n_features or 0, *(piece.width for piece in pieces))
    thin = given < _DENSE_FROM * rows * width
    if layout.may_turn_sparse and thin and not layout.sparse:
        raise _ReadAgain(replace(layout, sparse=True))
    grades = np.concatenate([piece.grades for piece in pieces])
    qid = _joined([piece.qids for piece in pieces]) if with_qid else None
    doc_ids = _joined_doc_ids(pieces)
    x: Features
    if layout.sparse:
        x = _joined_rows(pieces, rows, width, layout)
        if layout.may_turn_sparse and not thin:
            x = x.toarray()
    elif whole.shape[1] == width and all(piece.in_place for piece in pieces):
        x = whole[:rows]
    else:
        x = _stacked_rows(pieces, rows, width, layout)
    return Queries(x, grades, qid, doc_ids=doc_ids)


def _stacked_rows(pieces: list[_Piece], rows: int, width: int, layout: _Layout) -> npt.NDArray[Any]:
    x = np.empty((rows, width), layout.dtype)
    starts = np.cumsum([0, *(piece.rows for piece in pieces)])

    def copy(start_and_piece: tuple[int, _Piece]) -> None:
        start, piece = start_and_piece
        block = piece.cells[: piece.rows * piece.stride].reshape(piece.rows, piece.stride)
        kept = min(width, piece.stride)
        x[start : start + piece.rows, :kept] = block[:, :kept]
        x[start : start + piece.rows, kept:] = layout.fill
        piece.cells = np.empty(0)

    for _ in map_in_order(copy, zip(starts.tolist(), pieces, strict=False)):
        pass
    return x


def _joined_rows(pieces: list[_Piece], rows: int, width: int, layout: _Layout) -> sp.csr_array:
    lengths = [int(piece.row_ends[-1]) if piece.rows else 0 for piece in pieces]
    stored = sum(lengths)
    index_type = np.int32 if stored < 2**31 else np.int64
    data, columns = np.empty(stored, layout.dtype), np.empty(stored, index_type)
    row_starts = np.zeros(rows + 1, index_type)
    row = start = 0
    for piece, length in zip(pieces, lengths, strict=True):
        data[start : start + length] = piece.cells[:length]
        columns[start : start + length] = piece.columns[:length]
        row_starts[row + 1 : row + 1 + piece.rows] = piece.row_ends + start
        piece.cells = piece.columns = np.empty(0, np.int32)
        row, start = row + piece.rows, start + length
    return sp.csr_array((data, columns, row_starts), shape=(rows, width))


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Ids of all pieces: text if any piece has one that is not a plain whole number."""
    parts = [part for part in parts if len(part)]
    if any(part.dtype.kind == "U" for part in parts):
        parts = [part.astype(np.str_) for part in parts]
    return np.concatenate(parts)


def _joined_doc_ids(pieces: list[_Piece]) -> npt.NDArray[np.str_] | None:
    if all(piece.doc_ids is None for piece in pieces):
        return None
    return np.concatenate([np.zeros(piece.rows, "<U1") if piece.doc_ids is None else piece.doc_ids for piece in pieces])


def _checked_dtype(dtype: npt.DTypeLike) -> np.dtype[Any]:
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"dtype must be float32 or float64, not {np.dtype(dtype)}")
    return np.dtype(dtype)


def _checked_n_features(n_features: int | None) -> int | None:
    if n_features is not None and not (isinstance(n_features, int | np.integer) and n_features >= 1):
        raise ParameterError(f"n_features must be a whole number of at least 1, not {n_features!r}")
    return None if n_features is None else int(n_features)


def _checked_fill(missing: str, sparse: bool | None) -> float:
    if missing not in ("zero", "nan"):
        raise ParameterError(f"missing must be 'zero' or 'nan', not {missing!r}")
    if missing == "nan" and sparse:
        raise ParameterError("missing='nan' needs a dense array: in CSR what is absent is zero")
    return np.nan if missing == "nan" else 0.0
