"""LETOR and SVMlight text, block by block into a store: what `read_svmlight` would give, without holding it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.precision import Blur, Row, blur_of_two_rows
from rankwright.data.queries import Features
from rankwright.data.streams.rewriting import Laid, finished
from rankwright.data.streams.runs import Runs
from rankwright.data.streams.store import Rows, Store, StoreWriter
from rankwright.data.svmlight.assembly import Piece
from rankwright.data.svmlight.blocks import open_text
from rankwright.data.svmlight.group_files import GroupFile, group_file_of
from rankwright.data.svmlight.layout import DENSE_FROM, Layout, ReadAgain
from rankwright.data.svmlight.parser import Parser, tasks
from rankwright.data.svmlight.reader import WHY_ONE_QUERY, first_layout
from rankwright.errors import ParseError
from rankwright.machine.threads import map_in_order
from rankwright.progress import Progress, Tell

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_NO_PLACE = np.empty((0, 0))


def text_to_store(
    files: Sequence[Path],
    file: BinaryIO,
    folder: Path,
    *,
    dtype: npt.DTypeLike | None,
    missing: str,
    sort: bool,
    note: dict[str, Any],
    memory: int,
    progress: Tell | None = None,
) -> Store:
    """Write the rows of text files, read as one, into an open file; ``folder`` takes what is needed on the way."""
    layout = first_layout(files[0], dtype=dtype, missing=missing)
    while True:
        try:
            return _Reading(files, layout, sort).into(file, folder, note, memory, progress)
        except ReadAgain as again:
            layout = again.layout


@dataclass
class _Seen:
    """What is known of the pieces so far."""

    rows: int = 0
    given: int = 0
    width: int = 0
    size: int = 0
    blur: Blur = field(default_factory=Blur)
    ends: list[int] = field(default_factory=list)  # of the pieces, in rows
    last: tuple[str, Row] | None = None  # the query and the features of the last row
    has_blurred: bool = False


class _Reading:
    """One reading of all files, laid out in one way."""

    def __init__(self, files: Sequence[Path], layout: Layout, sort: bool) -> None:
        self.files, self.layout, self.sort = files, layout, sort
        self.runs, self.seen = Runs(may_be_apart=sort), _Seen()
        self.with_qid: bool | None = None
        self.width = 0  # of dense rows
        self.n_grouped = 0  # queries of files of group sizes

    def into(self, file: BinaryIO, folder: Path, note: dict[str, Any], memory: int, progress: Tell | None) -> Store:
        """Read all, and write it."""
        sizes = [path.stat().st_size for path in self.files]
        parsers = [self._looked_at(path) for path in self.files]
        self.width = max(parser.width for parser in parsers)
        done = 0
        with StoreWriter(file, folder) as writer:
            for path, parser, size in zip(self.files, parsers, sizes, strict=True):
                parser.width = self.width

                def tell(share: float, path: Path = path, before: int = done, size: int = size) -> None:
                    if progress is not None:
                        progress(Progress(f"reading {path.name}", before + share * size, sum(sizes), in_bytes=True))

                self._read(path, parser, writer, tell)
                done += size
            if not self.seen.rows:
                raise ParseError(self.files[0], "the file holds no documents, only comments or blank lines")
            return self._finished(writer, file, folder, note, memory)

    def _looked_at(self, path: Path) -> Parser:
        with group_file_of(path) as groups, open_text(path) as source:
            layout = replace(self.layout, path=path, groups=groups)
            if layout.by_rule and groups is not None and layout.dtype == _SINGLE:
                raise ReadAgain(replace(self.layout, dtype=_DOUBLE))  # until it is known which rows are of one query
            parser = Parser(layout)
            parser.look_at(list(source.samples()), source.blocks())
            parser.check_dense_size(source.size)
        if self.with_qid is None:
            self.with_qid = parser.with_qid
        if self.with_qid != parser.with_qid:
            told = "no line has a qid:, but there is one" if self.with_qid else "there is a qid:, but none"
            raise ParseError(path, f"{told} in {self.files[0]}: files that are read as one must be alike")
        return parser

    def _read(self, path: Path, parser: Parser, writer: StoreWriter, tell: Callable[[float], None]) -> None:
        """The rows of one file."""
        before, rows = len(self.runs.sizes), 0
        runs: list[tuple[npt.NDArray[Any], npt.NDArray[Any]]] = []
        with group_file_of(path) as groups, open_text(path) as source:
            results = map_in_order(parser.parse, tasks(source.blocks(), _NO_PLACE, parser.gaps))
            with closing(results):
                for result in results:
                    piece = parser.accept(result)
                    self._check_width(piece, parser)
                    qids = self._qids(piece, rows, groups)
                    codes, lengths = self.runs.add(qids, str(path), rows)
                    if groups is not None:
                        runs.append((codes, lengths))
                    self._add(piece, qids)
                    writer.append(Rows(self._features(piece), piece.grades, piece.doc_ids))
                    if self.sort:
                        writer.append_array("row_codes", np.repeat(codes, lengths))
                    rows += piece.rows
                    tell(min(1.0, self.seen.size / max(1, source.size)))
            if groups is not None:
                self._check_groups(groups, path, runs, rows, before)
        self.seen.blur.add(parser.blur)
        self.seen.size = 0

    def _check_width(self, piece: Piece, parser: Parser) -> None:
        """Rows of a store are equally wide: if a dense one is wider than all before, all are read again."""
        if self.layout.sparse or piece.rows == 0 or piece.stride <= self.width:
            return
        raise ReadAgain(replace(self.layout, least_width=max(self._widths(parser))))

    def _widths(self, parser: Parser) -> Iterator[int]:
        for path in self.files:
            with open_text(path) as source, closing(map_in_order(parser.width_of, source.blocks())) as widths:
                yield from widths

    def _qids(self, piece: Piece, row: int, groups: GroupFile | None) -> npt.NDArray[Any]:
        """The query of each row: named in it, or by its place where sizes of queries are in a file beside."""
        if self.with_qid or groups is None:
            return piece.qids
        ends = np.cumsum(groups.sizes)
        return np.searchsorted(ends, np.arange(row, row + piece.rows), side="right") + 1 + self.n_grouped

    def _check_groups(self, groups: GroupFile, path: Path, runs: list[Any], rows: int, before: int) -> None:
        groups.check_total(path, rows)
        if self.with_qid:
            codes = np.concatenate([codes for codes, _ in runs])
            lengths = np.concatenate([lengths for _, lengths in runs])
            begins = np.flatnonzero(np.diff(codes, prepend=-1))
            ids = self.runs.query_ids()[codes[begins]]
            groups.check_runs(path, ids, np.add.reduceat(lengths, begins))
        self.n_grouped += len(self.runs.sizes) - before

    def _features(self, piece: Piece) -> Features:
        if not self.layout.sparse:
            return piece.cells[: piece.rows * piece.stride].reshape(piece.rows, piece.stride)
        rows = piece.csr()
        shape = (piece.rows, int(rows.columns.max(initial=-1)) + 1)
        values = rows.values.astype(self.layout.dtype, copy=False)
        return sp.csr_array((values, rows.columns, rows.starts), shape=shape)

    def _add(self, piece: Piece, qids: npt.NDArray[Any]) -> None:
        """What is to be known of a piece when all have been read."""
        seen, layout = self.seen, self.layout
        seen.size += piece.size
        if piece.rows == 0:
            return
        seen.rows, seen.given, seen.width = (
            seen.rows + piece.rows,
            seen.given + piece.given,
            max(seen.width, piece.width),
        )
        if not layout.by_rule:
            return
        if self.runs.are_apart and layout.dtype == _SINGLE:
            raise ReadAgain(replace(layout, dtype=_DOUBLE))  # documents of a query meet only when all are read
        if layout.sparse and piece.has_blurred and layout.dtype == _SINGLE:
            raise ReadAgain(replace(layout, dtype=_DOUBLE))  # how much is blurred is counted when all are read
        seen.has_blurred |= piece.has_blurred
        if seen.last is not None and seen.last[0] == str(qids[0]) and not layout.sparse:
            seen.blur.add(blur_of_two_rows(seen.last[1], piece.first_row))
        seen.blur.beyond_single |= piece.blur.beyond_single
        seen.last = str(qids[-1]), piece.last_row
        seen.ends.append(seen.rows)

    def _finished(self, writer: StoreWriter, file: BinaryIO, folder: Path, note: dict[str, Any], memory: int) -> Store:
        """Close the store, and lay it out as the file as a whole asks for, if it is other than its samples."""
        seen, layout = self.seen, self.layout
        width = max(layout.n_features or 0, seen.width)
        thin = seen.given < DENSE_FROM * seen.rows * width
        if layout.may_turn_sparse and thin and not layout.sparse:
            raise ReadAgain(replace(layout, sparse=True))
        if not self.with_qid and not self.n_grouped:
            note = {**note, "one query": WHY_ONE_QUERY.format(rows=seen.rows, path=self.files[0])}
        together = not self.runs.are_apart and (bool(self.with_qid) or not self.n_grouped)
        dtype: np.dtype[Any] | None = layout.dtype
        if layout.by_rule and together and not layout.sparse:
            dtype = _DOUBLE if seen.blur.matters() else _SINGLE
            if dtype == _DOUBLE and layout.dtype == _SINGLE:
                raise ReadAgain(replace(layout, dtype=_DOUBLE, by_rule=False))
        elif layout.by_rule and (not together or seen.has_blurred):
            dtype = None  # to be found out from the store
        elif layout.by_rule:
            dtype = _DOUBLE if seen.blur.beyond_single else _SINGLE
            if dtype == _DOUBLE and layout.dtype == _SINGLE:
                raise ReadAgain(replace(layout, dtype=_DOUBLE, by_rule=False))
        laid = Laid(
            dtype=dtype,
            dense=not layout.sparse or (layout.may_turn_sparse and not thin),
            ends=np.array(seen.ends, np.int64) if together else None,
            apart=self.runs.are_apart,
        )
        store = writer.finish(self.runs.query_ids(), np.array(self.runs.sizes, np.int64), width, note=note)
        return finished(store, file, folder, laid, note, memory)
