"""Files of scores: one number per line, in the order of the documents."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from rankwright.data.content import unpacked
from rankwright.data.parts import each_part, judgments_of
from rankwright.data.paths import input_file
from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParseError
from rankwright.judgments.judgments import Judgments

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

_LONGEST_SCORE = 10_000  # bytes of a line
_CHUNK = 1 << 19
_NOTHING = "expected one number, found ''"


def read_scores(path: str | os.PathLike[str], queries: Queries | StreamedQueries) -> npt.NDArray[np.float64]:
    """Read one score per line, plain or gzip, for the documents of ``queries`` in their row order.

    Blank lines are allowed at the end. A :class:`ParseError` names the line that is not a number or is NaN.
    """
    file = _ScoreFile(path, queries.n_documents)
    scores = file.take(queries.n_documents)
    file.end()
    return scores


def scored_parts(
    path: str | os.PathLike[str], queries: Queries | StreamedQueries
) -> Iterator[tuple[npt.NDArray[np.float64], Judgments]]:
    """The same part by part, with the judgments; that the file has more scores than documents is told at the end."""
    file = _ScoreFile(path, queries.n_documents)
    for judgments in each_part(queries, judgments_of):
        yield file.take(judgments.n_documents), judgments
    file.end()


class _ScoreFile:
    """A file that should hold so many scores."""

    def __init__(self, path: str | os.PathLike[str], n_documents: int) -> None:
        self._path, self._n_documents, self._n_read = path, n_documents, 0
        self._blocks = _blocks_of_lines(path, n_documents)
        self._lines: list[bytes] = []

    def take(self, count: int) -> npt.NDArray[np.float64]:
        """The next scores."""
        while len(self._lines) < count and (block := next(self._blocks, None)) is not None:
            self._lines += block
        scores = _parsed(self._path, self._lines[:count], self._n_read)
        self._n_read += len(scores)
        if len(scores) < count:
            raise ParseError(self._path, _NOTHING, line=1) if self._n_read == 0 else self._wrong_count(self._n_read)
        self._lines = self._lines[count:]
        return scores

    def end(self) -> None:
        """Refuse what goes on behind the last document: it is counted, and not read but for its first line."""
        lines = self._lines or next(self._blocks, [])
        if lines:
            _parsed(self._path, lines[:1], self._n_read)
            raise self._wrong_count(self._n_read + len(lines) + sum(map(len, self._blocks)))

    def _wrong_count(self, n_scores: int) -> DataError:
        return DataError(
            f"{os.fspath(self._path)}: {n_scores:,} scores for {self._n_documents:,} documents; "
            "give one score per line, in the order of the documents"
        )


def _parsed(path: str | os.PathLike[str], lines: Sequence[bytes], n_before: int) -> npt.NDArray[np.float64]:
    """The numbers in some lines; so many lines stand before them."""
    scores = np.empty(len(lines))
    for i, line in enumerate(lines):
        try:
            scores[i] = _number(line)
        except ValueError:
            told = line[:40].decode(errors="backslashreplace").strip()
            raise ParseError(path, f"expected one number, found {told!r}", line=n_before + i + 1) from None
    if np.isnan(scores).any():
        line_number = n_before + int(np.argmax(np.isnan(scores))) + 1
        raise ParseError(path, "the score is NaN, which has no place in a ranking", line=line_number)
    return scores


def _blocks_of_lines(path: str | os.PathLike[str], n_lines: int) -> Iterator[list[bytes]]:
    """The lines of a file, some at a time, without the blank ones at its end.

    However much is packed into a gzip file, little of it is in memory at a time: of blank lines no more than the file
    should have lines, and a line that is too long for a number is not read to its end.
    """
    n_blank, rest = 0, b""
    for chunk in _ended(_chunks(path)):
        *found, rest = (rest + chunk).split(b"\n")
        if len(rest) > _LONGEST_SCORE:
            found, rest = [*found, rest], b""
        last = next((place for place in range(len(found), 0, -1) if found[place - 1].strip()), 0)
        if last:
            yield [b""] * min(n_blank, n_lines + 1) + found[:last]
            n_blank = 0
        n_blank += len(found) - last


def _ended(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same with a line end behind the last one."""
    yield from chunks
    yield b"\n"


def _chunks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """A file piece by piece, uncompressed if it is compressed."""
    # Not as `Content`: of a pipe, no more is kept than is needed.
    with input_file(path).open("rb") as file, unpacked(file, Path(path)) as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _number(text: bytes) -> float:
    """The number in a line; unlike Python's literals, without ``_`` between digits."""
    if b"_" in text or len(text) > _LONGEST_SCORE:
        raise ValueError
    return float(text)
