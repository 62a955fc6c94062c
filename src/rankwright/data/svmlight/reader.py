"""`read_svmlight`: LETOR and SVMlight text into Queries."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.paths import input_file
from rankwright.data.queries import Features, Queries
from rankwright.data.svmlight import assembly, parsing
from rankwright.data.svmlight.assembly import Piece
from rankwright.data.svmlight.blocks import Block, TextFile, open_text
from rankwright.data.svmlight.faults import GRADE_RANGE, PROBLEMS, Fault, fault_at
from rankwright.engines.threads import map_in_order
from rankwright.engines.words import count_byte
from rankwright.errors import DataError, ParameterError, ParseError

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

    Rows keep the order of the file. Query ids are int64 if every one is a plain whole number, else text;
    a file in which no line has a ``qid`` is one query. Document ids are what follows ``docid =`` in the
    comment, or a comment of a single word. A malformed line raises a :class:`ParseError` with file, line,
    column and what was expected, and nothing is returned.

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
    """
    if zero_based not in (True, False, "auto"):
        raise ParameterError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
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
    with open_text(layout.path) as source:
        return _read_as_laid_out(source, layout)[0]


def read_parts(
    paths: Sequence[str | os.PathLike[str]], *, dtype: npt.DTypeLike, missing: Literal["zero", "nan"]
) -> list[Queries]:
    """Read the files of one collection alike: numbered from the same index, equally wide, all dense or all CSR."""
    fill = _checked_fill(missing, None)
    layout = _Layout(input_file(paths[0]), _checked_dtype(dtype), False, missing == "zero", 1, True, None, fill)
    with ExitStack() as stack:
        sources = [stack.enter_context(open_text(input_file(path))) for path in paths]
        parts, layouts = [], []
        for source, path in zip(sources, paths, strict=True):
            part, found = _read_as_laid_out(source, replace(layout, path=input_file(path)))
            parts.append(part)
            layouts.append(found)
            layout = replace(found, sparse=sp.issparse(part.X), may_turn_sparse=False)
        base = min(found.first_index for found in layouts)
        width = max(part.n_features + found.first_index - base for part, found in zip(parts, layouts, strict=True))
        for i, found in enumerate(layouts):
            if found.first_index != base or parts[i].n_features < width:  # rare, so simply read it again
                again = replace(found, sparse=layout.sparse, may_turn_sparse=False, first_index=base, n_features=width)
                parts[i] = _read_as_laid_out(sources[i], replace(again, may_turn_zero_based=False))[0]
    return parts


def _read_as_laid_out(source: TextFile, layout: _Layout) -> tuple[Queries, _Layout]:
    """Read a file, again if it turns out to be laid out differently, and tell how it is laid out."""
    while True:
        try:
            return _read(source, layout), layout
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
    least_width: int = 0


class _TooWide(Exception):
    """A row that is wider than the place it has in the whole array."""


class _ReadAgain(Exception):
    """The file turned out to be laid out differently from what was assumed."""

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout


class _BadLine(Exception):
    """A line that only Python found out to be malformed."""

    def __init__(self, position: int, problem: str) -> None:
        self.position, self.problem = position, problem


@dataclass(frozen=True)
class _Task:
    """A block to parse, the number of its lines, and its rows in the whole array if it has room for them."""

    block: Block
    lines: int
    rows: int  # at the most
    place: int | None = None
    cells: npt.NDArray[Any] | None = None


def _read(source: TextFile, layout: _Layout) -> Queries:
    parser = _Parser(layout)
    parser.look_at(list(source.samples()), source.blocks())
    whole = np.empty((0 if layout.sparse else parser.rows_expected(source.size), parser.width), layout.dtype)
    try:
        # Closed at once if a result is refused: no thread may go on parsing while the error is handled.
        with closing(map_in_order(parser.parse, _tasks(source.blocks(), whole, parser.gaps))) as results:
            pieces = [parser.accept(result) for result in results]
    except _TooWide:
        width = max(map_in_order(parser.width_of, source.blocks()))
        raise _ReadAgain(replace(layout, least_width=width)) from None
    if not any(piece.rows for piece in pieces):
        raise ParseError(layout.path, "the file holds no documents, only comments or blank lines")
    return _queries(pieces, whole, layout, with_qid=parser.with_qid)


def _tasks(blocks: Iterable[Block], whole: npt.NDArray[Any], gaps: bool) -> Iterator[_Task]:
    """The blocks with their parts of the whole array, as long as it has rows left.

    Counting lines costs next to nothing, and spares the copy from small arrays into the large one. Counting
    rows costs more: it is done in files with blank or comment lines between the rows.
    """
    row = 0
    for block in blocks:
        lines = rows = count_byte(block.text.ctypes.data, block.start, block.stop, _NEWLINE)
        if gaps:
            rows = parsing.count_rows(block.text.ctypes.data, block.start, block.stop)
        if row + rows <= len(whole):
            yield _Task(block, lines, rows, row, whole[row : row + rows].reshape(-1))
        else:
            yield _Task(block, lines, rows)
        row += rows


def _queries(pieces: list[Piece], whole: npt.NDArray[Any], layout: _Layout, with_qid: bool) -> Queries:
    """Put the pieces together; read again if the file as a whole is sparser than its samples."""
    rows = sum(piece.rows for piece in pieces)
    width = max(layout.n_features or 0, *(piece.width for piece in pieces))
    thin = sum(piece.given for piece in pieces) < _DENSE_FROM * rows * width
    if layout.may_turn_sparse and thin and not layout.sparse:
        raise _ReadAgain(replace(layout, sparse=True))
    x: Features
    if layout.sparse:
        x = assembly.csr_rows(pieces, rows, width, layout.dtype)
        if layout.may_turn_sparse and not thin:
            x = x.toarray()
    else:
        x = assembly.dense_rows(pieces, whole, rows, width, layout.fill)
    qid = assembly.query_ids(pieces) if with_qid else None
    grades = np.concatenate([piece.grades for piece in pieces])
    doc_ids = assembly.document_ids(pieces)
    csr_parts = (x.indices, x.indptr) if sp.issparse(x) else ()
    for own in (grades, qid, doc_ids, *csr_parts):
        if own is not None:
            own.setflags(write=False)  # nobody else has them: Queries need not copy them
    return Queries(x, grades, qid, doc_ids=doc_ids)


class _Parser:
    """Turns blocks into pieces; `parse` runs on many threads, `look_at` and `accept` on one."""

    def __init__(self, layout: _Layout) -> None:
        self.layout = layout
        self.with_qid = True
        self.width = layout.n_features or layout.least_width
        self._lines = 0
        self.gaps = False
        self._sampled_bytes = self._sampled_rows = 0

    def look_at(self, samples: list[Block], blocks: Iterable[Block]) -> None:
        """Learn from some lines how wide the rows are, and whether most cells are missing."""
        if not samples:
            raise ParseError(self.layout.path, "the file is empty")
        self.with_qid = _first_row_has_qid(blocks)
        # What is wrong in a sample is told later, when its line number is known.
        results = list(map(self.parse, _tasks(samples, np.empty((0, 0)), gaps=False)))
        looks = [result for result in results if isinstance(result, Piece)]
        lines, rows = sum(look.lines for look in looks), sum(look.rows for look in looks)
        self.gaps = rows < 0.99 * lines
        self._sampled_bytes = sum(block.stop - block.start for block in samples)
        self._sampled_rows = rows if self.gaps else lines
        self.width = max([self.width, *(look.width for look in looks)])
        rows, given = sum(look.rows for look in looks), sum(look.given for look in looks)
        if self.layout.may_turn_sparse and not self.layout.sparse and given < _DENSE_FROM * rows * self.width:
            raise _ReadAgain(replace(self.layout, sparse=True))

    def rows_expected(self, size: int) -> int:
        """A generous guess at the rows of a file of this size: rows that stay empty take no memory."""
        if self._sampled_bytes >= size:
            return self._sampled_rows if size else 0
        return int(1.1 * size * max(self._sampled_rows, 1) / self._sampled_bytes) + 1000

    def width_of(self, block: Block) -> int:
        """The number of features of the widest row of a block."""
        (task,) = _tasks([block], np.empty((0, 0)), gaps=False)
        try:
            return int(self._sweep(task, 0, 0)[2][parsing.WIDTH])
        except _BadLine:  # it will be found again, and told
            return 0
        finally:
            block.release()

    def accept(self, result: Piece | Fault) -> Piece:
        """Count the lines of a piece, or raise what is wrong with it, now that its line number is known."""
        if isinstance(result, Fault):
            line = self._lines + result.line
            raise ParseError(self.layout.path, result.problem, line=line, column=result.column)
        self._lines += result.lines
        self.width = max(self.width, result.width)
        return result

    def parse(self, task: _Task) -> Piece | Fault:
        """Parse a block, again with more room if it turns out to need it."""
        block = task.block
        width = self.width if task.cells is None else len(task.cells) // max(task.rows, 1)
        hard_numbers = _HARD_NUMBERS_AT_FIRST
        while True:
            try:
                piece, hard, report = self._sweep(task, width, hard_numbers)
                status = int(report[parsing.STATUS])
                if status == parsing.DONE:
                    _read_hard_numbers(block, hard[: report[parsing.HARD_NUMBERS]], piece)
                    block.release()
                    return piece
            except _BadLine as bad:
                return fault_at(block, bad.position, bad.problem, self.layout.dtype)
            if status == parsing.TOO_WIDE and self.layout.n_features is None:
                if task.cells is not None:
                    raise _TooWide
                width, task = int(report[parsing.WIDTH]), _Task(block, task.lines, task.rows)
            elif status == parsing.TOO_WIDE:
                problem = f"feature {report[parsing.WIDTH]} does not fit n_features={self.layout.n_features}"
                return fault_at(block, int(report[parsing.POSITION]), problem, self.layout.dtype)
            elif status == parsing.TOO_MANY_HARD:
                hard_numbers = int(report[parsing.HARD_NUMBERS])
            elif status == parsing.INDEX_ZERO and self.layout.may_turn_zero_based:
                raise _ReadAgain(replace(self.layout, first_index=0, may_turn_zero_based=False))
            else:
                return fault_at(block, int(report[parsing.POSITION]), PROBLEMS[status], self.layout.dtype)

    def _sweep(
        self, task: _Task, width: int, hard_numbers: int
    ) -> tuple[Piece, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        layout, block, room_for = self.layout, task.block, task.rows
        size = block.stop - block.start
        if not layout.sparse and layout.may_turn_sparse and room_for * width > size:
            # A given cell takes four characters or more: fewer than a quarter can be there.
            raise _ReadAgain(replace(layout, sparse=True))
        room = size // 3 if layout.sparse else room_for * width
        cells = _scratch(room, layout.dtype) if task.cells is None else task.cells
        columns = _scratch(room if layout.sparse else 0, np.dtype(np.int32))
        row_ends, qids = np.empty(room_for, np.int64), np.empty(room_for, np.int64)
        grades = np.empty(room_for, np.float64)
        qid_spans, doc_spans = np.empty((room_for, 2), np.int64), np.empty((room_for, 2), np.int64)
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
            layout.n_features is not None,
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
        piece = Piece(
            lines=task.lines,
            rows=rows,
            given=int(report[parsing.CELLS]),
            width=int(report[parsing.WIDTH]),
            cells=cells,
            stride=width,
            columns=columns,
            row_ends=row_ends[:rows],
            grades=grades[:rows],
            qids=_query_ids(block, qid_spans[:rows]) if report[parsing.WORDY_QIDS] else qids[:rows],
            doc_ids=_texts(block, doc_spans[:rows], "backslashreplace") if report[parsing.DOC_IDS] else None,
            place=task.place,
        )
        return piece, hard, report


def _scratch(length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Zeros in pages of their own: unlike the heap, they go back to the system as soon as they are dropped."""
    if length == 0:
        return np.empty(0, dtype)
    try:
        pages = mmap.mmap(-1, length * dtype.itemsize)
    except (OSError, OverflowError):
        raise DataError(
            f"a dense array would need {length * dtype.itemsize / 1e9:,.0f} GB for a few lines of the file alone: "
            "read it with sparse=True"
        ) from None
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return np.frombuffer(pages, dtype)


def _first_row_has_qid(blocks: Iterable[Block]) -> bool:
    """Whether the first line that is not blank or a comment names a query: then every line must."""
    for block in blocks:
        for line in bytes(block.text[block.start : block.stop]).split(b"\n"):
            words = line.split(b"#", 1)[0].split()
            if words:
                return len(words) > 1 and words[1].startswith(b"qid:")
    return True


def _texts(block: Block, spans: npt.NDArray[np.int64], errors: str = "strict") -> npt.NDArray[np.str_]:
    """The pieces of text between the given positions, decoded from UTF-8."""
    longest = int((spans[:, 1] - spans[:, 0]).max(initial=1))
    characters = np.zeros((len(spans), longest), np.uint32)
    if parsing.copy_spans(block.text, spans, characters):
        return characters.view(f"<U{longest}")[:, 0]
    return np.array([bytes(block.text[a:b]).decode("utf-8", errors) for a, b in spans])


def _query_ids(block: Block, spans: npt.NDArray[np.int64]) -> npt.NDArray[np.str_]:
    try:
        return _texts(block, spans)
    except UnicodeDecodeError:
        for start, end in spans.tolist():
            if "\ufffd" in bytes(block.text[start:end]).decode("utf-8", "replace"):
                raise _BadLine(start, "expected a query id in UTF-8, found {found}") from None
        raise


def _read_hard_numbers(block: Block, hard: npt.NDArray[np.int64], piece: Piece) -> None:
    """Put the numbers in place that the kernel left to Python."""
    for place, start, end in hard.tolist():
        value = float(bytes(block.text[start:end]))
        if place >= 0:
            with np.errstate(over="ignore"):
                piece.cells[place] = value
            if np.isinf(piece.cells[place]):
                raise _BadLine(start, PROBLEMS[parsing.VALUE_TOO_LARGE])
        elif 0 <= value < np.inf:
            piece.grades[-1 - place] = value
        else:
            raise _BadLine(start, GRADE_RANGE)


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
