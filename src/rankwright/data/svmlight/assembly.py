"""The pieces that the blocks of a file gave, put together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.precision import (
    NO_ROW,
    Blur,
    CsrRows,
    Row,
    blur_of_csr,
    blur_of_two_rows,
    csr_of_two_rows,
    query_begins,
)
from rankwright.judgments.ids import joined
from rankwright.machine.threads import map_in_order


@dataclass
class Piece:
    """What one block holds. Its dense cells may already stand in the array that will be returned."""

    lines: int
    rows: int
    given: int  # cells that the text has
    width: int  # features that the text has
    size: int  # bytes of text
    cells: npt.NDArray[Any]
    stride: int  # columns of dense cells
    columns: npt.NDArray[np.int32]  # of CSR cells
    row_ends: npt.NDArray[np.int64]
    grades: npt.NDArray[np.float64]
    qids: npt.NDArray[Any]
    doc_ids: npt.NDArray[Any] | None
    place: int | None  # the first row in the array that will be returned, if it stands there
    blur: Blur  # what float32 blurs of dense rows
    has_blurred: bool = False  # whether it blurs anything of CSR rows
    first_row: Row = NO_ROW  # as they were in float64, before they were stored
    last_row: Row = NO_ROW

    def csr(self) -> CsrRows:
        """The CSR rows."""
        stored = int(self.row_ends[-1]) if self.rows else 0
        starts = np.concatenate([np.zeros(1, np.int64), self.row_ends])
        return CsrRows(starts, self.columns[:stored], self.cells[:stored], query_begins(self.qids))


def dense_rows(pieces: list[Piece], whole: npt.NDArray[Any], rows: int, width: int, fill: float) -> npt.NDArray[Any]:
    """The dense cells of all pieces: within ``whole``, if all of them stand there."""
    places = [piece.place for piece in pieces if piece.place is not None]
    if whole.shape[1] == width and len(places) == len(pieces):
        return _gaps_closed(whole, places, [piece.rows for piece in pieces])
    x = np.empty((rows, width), whole.dtype)
    starts = np.cumsum([0, *(piece.rows for piece in pieces)])

    def copy(start_and_piece: tuple[int, Piece]) -> None:
        start, piece = start_and_piece
        block = piece.cells[: piece.rows * piece.stride].reshape(piece.rows, piece.stride)
        kept = min(width, piece.stride)
        x[start : start + piece.rows, :kept] = block[:, :kept]
        x[start : start + piece.rows, kept:] = fill
        piece.cells = np.empty(0)  # its memory goes back to the system

    for _ in map_in_order(copy, zip(starts.tolist(), pieces, strict=False)):
        pass
    return x


def _gaps_closed(whole: npt.NDArray[Any], places: list[int], lengths: list[int]) -> npt.NDArray[Any]:
    """The rows that stand at the given places, moved together where blank and comment lines have left gaps.

    The pieces that lie the same number of lines too far down as most rows do stay where they are: behind a
    comment at the head of a file, that is all but the first piece.
    """
    starts = np.cumsum([0, *lengths])[:-1]
    shifts = np.array(places) - starts
    stay = int(max(np.unique(shifts), key=lambda shift: np.sum(lengths, where=shifts == shift)))
    pieces = list(zip(places, (starts + stay).tolist(), lengths, strict=True))
    upwards = [piece for piece in pieces if piece[0] > piece[1]]
    downwards = [piece for piece in reversed(pieces) if piece[0] < piece[1]]
    for place, target, length in [*upwards, *downwards]:
        whole[target : target + length] = whole[place : place + length]
    return whole[stay : stay + sum(lengths)]


def csr_rows(pieces: list[Piece], rows: int, width: int, dtype: np.dtype[Any]) -> sp.csr_array:
    """The CSR cells of all pieces."""
    lengths = [int(piece.row_ends[-1]) if piece.rows else 0 for piece in pieces]
    stored = sum(lengths)
    index_type = np.int32 if stored < 2**31 else np.int64
    data, columns = np.empty(stored, dtype), np.empty(stored, index_type)
    row_starts = np.zeros(rows + 1, index_type)
    row = start = 0
    for piece, length in zip(pieces, lengths, strict=True):
        data[start : start + length] = piece.cells[:length]
        columns[start : start + length] = piece.columns[:length]
        row_starts[row + 1 : row + 1 + piece.rows] = piece.row_ends + start
        piece.cells = piece.columns = np.empty(0, np.int32)
        row, start = row + piece.rows, start + length
    return sp.csr_array((data, columns, row_starts), shape=(rows, width))


def blur_of(pieces: list[Piece], dense: Blur | None) -> Blur:
    """What float32 blurs in all pieces, given what it blurs in each dense one; None for CSR."""
    pieces = [piece for piece in pieces if piece.rows]
    edges = [(a.last_row, b.first_row) for a, b in pairwise(pieces) if str(a.qids[-1]) == str(b.qids[0])]
    total = Blur(beyond_single=any(piece.blur.beyond_single for piece in pieces))
    if dense is not None:
        total.add(dense)
        for edge in edges:
            total.add(blur_of_two_rows(*edge))
        return total
    two_rows = [csr_of_two_rows(*edge) for edge in edges]
    flags = [piece.has_blurred for piece in pieces] + [rows.has_blurred() for rows in two_rows]
    total.add(blur_of_csr([*(piece.csr() for piece in pieces), *two_rows], flags))
    return total


def query_ids(pieces: list[Piece]) -> npt.NDArray[Any]:
    """The query ids of all pieces: text if any of them is not a plain whole number."""
    parts = [piece.qids for piece in pieces if piece.rows]
    if all(part.dtype.kind == "i" for part in parts):
        return np.concatenate(parts)
    return joined([part.astype(np.str_) if part.dtype.kind == "i" else part for part in parts])


def document_ids(pieces: list[Piece]) -> npt.NDArray[Any] | None:
    """The document ids of all pieces, None if there are none at all."""
    if all(piece.doc_ids is None for piece in pieces):
        return None
    return joined([np.zeros(piece.rows, "<U1") if piece.doc_ids is None else piece.doc_ids for piece in pieces])
