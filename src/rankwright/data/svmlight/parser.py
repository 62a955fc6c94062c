"""Blocks of text into pieces of arrays, on many threads."""

from __future__ import annotations

import mmap
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.precision import Blur, query_begins, stored_dense
from rankwright.data.svmlight import parsing
from rankwright.data.svmlight.assembly import Piece
from rankwright.data.svmlight.blocks import Block
from rankwright.data.svmlight.faults import GRADE_RANGE, PROBLEMS, Fault, fault_at
from rankwright.data.svmlight.layout import DENSE_FROM, Layout, ReadAgain, TooWide
from rankwright.errors import DataError, ParseError
from rankwright.judgments.ids import fits_fixed_width, text_array
from rankwright.machine.words import count_byte, find_byte

_HARD_NUMBERS_AT_FIRST = 64
_NEWLINE = np.uint64(10)
_SHORTEST_ROW = 6  # bytes that rows take on average, or many lines are blank
_MANY_TIMES_THE_RULE = 0.01  # samples that blur so many differences leave little doubt


class _BadLine(Exception):
    """A line that only Python found out to be malformed."""

    def __init__(self, position: int, problem: str) -> None:
        self.position, self.problem = position, problem


@dataclass(frozen=True)
class Task:
    """A block to parse, the number of its lines, and its rows in the whole array if it has room for them."""

    block: Block
    lines: int
    rows: int  # at the most
    place: int | None = None
    cells: npt.NDArray[Any] | None = None


def tasks(blocks: Iterable[Block], whole: npt.NDArray[Any], gaps: bool) -> Iterator[Task]:
    """The blocks with their parts of the whole array, as long as it has rows left.

    Counting lines costs next to nothing, and spares the copy from small arrays into the large one. Counting
    rows costs more: it is done in files with blank or comment lines between the rows.
    """
    row = 0
    for block in blocks:
        lines = rows = count_byte(block.text.ctypes.data, block.start, block.stop, _NEWLINE)
        if gaps or lines * _SHORTEST_ROW > block.stop - block.start:
            rows = parsing.count_rows(block.text.ctypes.data, block.start, block.stop)
        if row + rows <= len(whole):
            yield Task(block, lines, rows, row, whole[row : row + rows].reshape(-1))
        else:
            yield Task(block, lines, rows)
        row += rows


class _Scratch(threading.local):
    """Cells that each thread uses for block after block, so that they stay in its cache."""

    cells: npt.NDArray[Any] = np.empty(0)


class Parser:
    """Turns blocks into pieces; `parse` runs on many threads, `look_at` and `accept` on one."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.with_qid = True
        self.width = layout.n_features or layout.least_width
        self.blur = Blur()
        self.gaps = False
        self._lines = 0
        self._sampled_bytes = self._sampled_rows = 0
        self._scratch = _Scratch()

    def look_at(self, samples: list[Block], blocks: Iterable[Block]) -> None:
        """Learn from some lines how wide the rows are, whether most cells are missing, and how exact they must be."""
        if not samples:
            raise ParseError(self.layout.path, "the file is empty")
        self.with_qid = self._first_row_has_qid(blocks)
        self._sampled_bytes = sum(block.stop - block.start for block in samples)
        if not self.layout.sparse and not self.layout.may_turn_sparse:
            self.layout.check_dense_size(1, self.width, self._sampled_bytes)
        # What is wrong in a sample is told later, when its line number is known.
        results = list(map(self.parse, tasks(samples, np.empty((0, 0)), gaps=False)))
        looks = [result for result in results if isinstance(result, Piece)]
        lines, rows = sum(look.lines for look in looks), sum(look.rows for look in looks)
        self.gaps = rows < 0.99 * lines
        self._sampled_rows = rows if self.gaps else lines
        self.width = max([self.width, *(look.width for look in looks)])
        given = sum(look.given for look in looks)
        layout = self.layout
        if layout.may_turn_sparse and not layout.sparse and given < DENSE_FROM * rows * self.width:
            raise ReadAgain(replace(layout, sparse=True))
        if layout.by_rule and not layout.sparse and layout.dtype == np.float32 and _blurs_much(looks):
            raise ReadAgain(replace(layout, dtype=np.dtype(np.float64)))

    def _first_row_has_qid(self, blocks: Iterable[Block]) -> bool:
        """Whether the first line that is not blank or a comment names a query: then every line must."""
        for block in blocks:
            start = parsing.first_row(block.text.ctypes.data, block.start, block.stop)
            if start < block.stop:
                end = find_byte(block.text.ctypes.data, start, block.stop, _NEWLINE)
                words = bytes(block.text[start:end]).split(b"#", 1)[0].split(maxsplit=2)
                return len(words) > 1 and words[1].startswith(b"qid:")
            block.release()
        raise ParseError(self.layout.path, "the file holds no documents, only comments or blank lines")

    def rows_expected(self, size: int) -> int:
        """A generous guess at the rows of a file of this size: rows that stay empty take no memory."""
        if self._sampled_bytes >= size:
            return self._sampled_rows if size else 0
        spare = self.layout.rows_always_allowed(self.width)
        return int(1.1 * self._likely_rows(size)) + min(1000, spare)

    def check_dense_size(self, size: int) -> None:
        """An error if a dense array of as many rows as there seem to be would take too much."""
        if not self.layout.sparse and self._sampled_bytes:
            self.layout.check_dense_size(self._likely_rows(size), self.width, max(size, self._sampled_bytes))

    def _likely_rows(self, size: int) -> int:
        """The rows of a file of this size, if it is like the samples; one of these may be all of faults."""
        sampled = max(self._sampled_rows, 1)
        return max(sampled, size * sampled // self._sampled_bytes)

    def width_of(self, block: Block) -> int:
        """The number of features of the widest row of a block."""
        (task,) = tasks([block], np.empty((0, 0)), gaps=False)
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
        self.blur.add(result.blur)
        return result

    def parse(self, task: Task) -> Piece | Fault:
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
                    if self.layout.by_rule:
                        self._store(piece, task)
                    block.release()
                    return piece
            except _BadLine as bad:
                return fault_at(block, bad.position, bad.problem, self.layout.parsed_dtype)
            problem, position = PROBLEMS.get(status, ""), int(report[parsing.POSITION])
            if status == parsing.TOO_WIDE and self.layout.n_features is None:
                width = int(report[parsing.WIDTH])
                if self._is_too_wide(task, width):
                    position, problem = int(report[parsing.WIDEST_AT]), self.layout.too_wide_for_dense(task.rows, width)
                elif task.cells is not None:
                    raise TooWide
            elif status == parsing.TOO_WIDE:
                problem = f"feature {report[parsing.WIDTH]} does not fit n_features={self.layout.n_features}"
            elif status == parsing.TOO_MANY_HARD:
                hard_numbers = int(report[parsing.HARD_NUMBERS])
            elif status == parsing.INDEX_ZERO and self.layout.may_turn_zero_based:
                raise ReadAgain(replace(self.layout, first_index=0, may_turn_zero_based=False))
            if problem:
                return fault_at(block, position, problem, self.layout.parsed_dtype)

    def _is_too_wide(self, task: Task, width: int) -> bool:
        """Whether a block cannot be held in dense rows, and may not become CSR either."""
        size = task.block.stop - task.block.start
        return not self.layout.may_turn_sparse and self.layout.dense_takes_too_much(task.rows, width, size)

    def _sweep(
        self, task: Task, width: int, hard_numbers: int
    ) -> tuple[Piece, npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        layout, block, room_for = self.layout, task.block, task.rows
        size = block.stop - block.start
        if not layout.sparse and layout.may_turn_sparse and 3 * room_for * width > 4 * size:
            # A given cell takes three characters or more: fewer than a quarter can be there.
            raise ReadAgain(replace(layout, sparse=True))
        cells = self._room_for_cells(task, size // 3 if layout.sparse else room_for * width)
        columns = _pages(size // 3 if layout.sparse else 0, np.dtype(np.int32))
        row_ends, qids = np.empty(room_for, np.int64), np.empty(room_for, np.int64)
        grades = np.empty(room_for, np.float64)
        qid_spans, doc_spans = np.empty((room_for, 2), np.int64), np.empty((room_for, 2), np.int64)
        hard = np.empty((hard_numbers, 3), np.int64)
        report = np.zeros(parsing.REPORT_LENGTH, np.int64)
        most = (layout.n_features or parsing.LARGEST_INDEX + 1) if layout.sparse else width
        how = (self.with_qid, layout.first_index, layout.sparse, most, layout.n_features is not None, layout.fill)
        of_rows = (row_ends, grades, qids, qid_spans, doc_spans)
        known = (block.text.ctypes.data, block.start, block.stop, *how, cells, columns, *of_rows, hard, report)
        parsing.parse_block(*known)
        rows = int(report[parsing.ROWS])
        piece = Piece(
            lines=task.lines,
            rows=rows,
            given=int(report[parsing.CELLS]),
            width=int(report[parsing.WIDTH]),
            size=size,
            cells=cells,
            stride=width,
            columns=columns,
            row_ends=row_ends[:rows],
            grades=grades[:rows],
            qids=_query_ids(block, qid_spans[:rows]) if report[parsing.WORDY_QIDS] else qids[:rows],
            doc_ids=_texts(block, doc_spans[:rows], "backslashreplace") if report[parsing.DOC_IDS] else None,
            place=task.place if task.cells is not None else None,
            blur=Blur(beyond_single=bool(report[parsing.BEYOND_SINGLE])),
        )
        if not self.with_qid:
            piece.qids = np.zeros(rows, np.int64)
        return piece, hard, report

    def _room_for_cells(self, task: Task, room: int) -> npt.NDArray[Any]:
        """Where the cells of a block are parsed to: their place in the whole array, if they are of its type."""
        layout = self.layout
        if task.cells is not None and layout.dtype == layout.parsed_dtype:
            return task.cells
        if layout.dtype == layout.parsed_dtype:
            return _pages(room, layout.dtype)
        if len(self._scratch.cells) < room:
            self._scratch.cells = _pages(room + room // 8, layout.parsed_dtype)  # the next block may hold more rows
        return self._scratch.cells

    def _store(self, piece: Piece, task: Task) -> None:
        """Store the float64 cells of a piece in the type that is guessed, and see what float32 would blur."""
        if self.layout.sparse:
            self._store_csr(piece)
            return
        cells, length = piece.cells[: piece.rows * piece.stride], piece.rows * piece.stride
        if self.layout.dtype != self.layout.parsed_dtype:
            piece.cells = _pages(length, self.layout.dtype) if task.cells is None else task.cells
        piece.blur.add(stored_dense(cells, piece.stride, query_begins(piece.qids), piece.cells))
        no_columns = piece.columns[:0]
        piece.first_row = no_columns, cells[: piece.stride].copy()
        piece.last_row = no_columns, cells[length - piece.stride :].copy()

    def _store_csr(self, piece: Piece) -> None:
        """Where nothing is blurred, float32 will do to count differences; elsewhere float64 is kept for that."""
        rows = piece.csr()
        piece.has_blurred = rows.has_blurred()
        if piece.rows:
            piece.first_row, piece.last_row = rows.copy_of_row(0), rows.copy_of_row(piece.rows - 1)
        if self.layout.dtype != self.layout.parsed_dtype:
            piece.cells = _pages(len(rows.values), self.layout.parsed_dtype if piece.has_blurred else self.layout.dtype)
            piece.cells[:] = rows.values


def _blurs_much(looks: list[Piece]) -> bool:
    blur = Blur()
    for look in looks:
        blur.add(look.blur)
    return blur.matters(_MANY_TIMES_THE_RULE)


def _pages(length: int, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
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


def _texts(block: Block, spans: npt.NDArray[np.int64], errors: str = "strict") -> npt.NDArray[Any]:
    """The pieces of text between the given positions, decoded from UTF-8."""
    lengths = spans[:, 1] - spans[:, 0]
    longest = int(lengths.max(initial=1))
    if fits_fixed_width(longest, int(lengths.sum()), len(spans)):
        characters = np.zeros((len(spans), longest), np.uint32)
        if parsing.copy_spans(block.text, spans, characters):
            return characters.view(f"<U{longest}")[:, 0]
    return text_array([bytes(block.text[a:b]).decode("utf-8", errors) for a, b in spans.tolist()])


def _query_ids(block: Block, spans: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
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
                piece.blur.beyond_single |= bool(np.isinf(np.float32(value)))
            if np.isinf(piece.cells[place]):
                raise _BadLine(start, PROBLEMS[parsing.VALUE_TOO_LARGE])
        elif 0 <= value < np.inf:
            piece.grades[-1 - place] = value
        else:
            raise _BadLine(start, GRADE_RANGE)
