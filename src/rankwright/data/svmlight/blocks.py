"""A text file, plain, compressed or a pipe, as a series of blocks of whole lines in memory of our own.

Nothing is parsed in place: whoever writes to the file meanwhile cannot change a block that has been read, so that
the arrays made for its lines are large enough for them. That the file has changed is told at the end.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from rankwright.data.changes import CHANGED, size_and_time
from rankwright.errors import DataError, ParseError

Text = npt.NDArray[np.uint8]

BLOCK = 1 << 21  # small enough to stay in the cache, large enough that handing it to a thread costs nothing
SAMPLE = 1 << 16  # enough to see what a file is like
SAMPLES = 8
PADDING = 32  # kernels may look at a few bytes behind the last line
LONGEST_LINE = 1 << 30  # bytes
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """The whole lines text[start:stop]; the last byte is a newline, and PADDING bytes that mean nothing follow it."""

    text: Text
    start: int
    stop: int
    _memory: bytearray
    _free: list[bytearray]

    def release(self) -> None:
        """Called when the block has been parsed: its memory is used for another."""
        self._free.append(self._memory)


class TextFile(AbstractContextManager["TextFile"]):
    """A file that is read as often as needed, always the one that was opened, even if another takes its name.

    ``size`` is 0 where it is known at the end only: in what is compressed, and in a pipe. When the file is closed,
    a :class:`ParseError` tells if it was changed meanwhile, instead of whatever error that has led to.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self._path, self._file, self._stream = path, file, file
        self._state = self._size_and_time()
        self.size = 0 if self._state is None else self._state[0]
        if file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC:
            self._stream, self.size = cast(BinaryIO, gzip.GzipFile(fileobj=file, mode="rb")), 0
        file.seek(0)

    def __exit__(self, kind: type[BaseException] | None, *error: Any) -> None:
        state = self._size_and_time()
        self._stream.close()
        self._file.close()
        if state != self._state and (kind is None or issubclass(kind, DataError)):
            raise ParseError(self._path, CHANGED) from None

    def _size_and_time(self) -> tuple[int, int] | None:
        """What tells that a file has changed; None for the content of a pipe."""
        return None if isinstance(self._file, io.BytesIO) else size_and_time(self._file.fileno())

    def samples(self) -> Iterator[Block]:
        """A few stretches of lines, the first lines among them; of a stream, these alone."""
        seen = -1
        for place in [*range(0, self.size - SAMPLE, max(SAMPLE, self.size // SAMPLES)), max(0, self.size - SAMPLE)]:
            self._stream.seek(place)
            content = self._read(SAMPLE)
            start = content.find(b"\n") + 1 if place else _text_start(content)
            while content.rfind(b"\n") < start and (more := self._read(len(content))):
                content += more
                start = content.find(b"\n") + 1 if place else start
            stop = content.rfind(b"\n") + 1 or len(content)
            if place + start > seen and start < stop:  # not on a line so long that it has been sampled already
                yield _whole_lines(content[start:stop])
                seen = place + stop - 1

    def blocks(self) -> Iterator[Block]:
        """The lines of the file, in order."""
        free: list[bytearray] = []
        self._stream.seek(0)
        self._stream.seek(_text_start(self._read(len(_BYTE_ORDER_MARK))))
        unfinished = b""
        while True:
            if len(unfinished) > LONGEST_LINE:
                raise ParseError(
                    self._path, f"a line is longer than {LONGEST_LINE:,} bytes: check that this is a text file"
                )
            wanted = max(BLOCK, len(unfinished))
            buffer = _buffer(free, len(unfinished) + wanted + PADDING)
            buffer[: len(unfinished)] = unfinished
            end = len(unfinished) + self._read_into(memoryview(buffer)[len(unfinished) : len(unfinished) + wanted])
            if end == len(unfinished):
                break
            stop = buffer.rfind(b"\n", len(unfinished), end) + 1
            unfinished = bytes(memoryview(buffer)[stop:end])
            if stop:
                yield Block(np.frombuffer(buffer, np.uint8), 0, stop, buffer, free)
        if unfinished:
            yield _whole_lines(unfinished)

    def _read(self, size: int) -> bytes:
        content = bytearray(size)
        return bytes(content[: self._read_into(memoryview(content))])

    def _read_into(self, memory: memoryview) -> int:
        try:
            return cast(io.BufferedIOBase, self._stream).readinto(memory)
        except EOFError:
            raise ParseError(self._path, "the gzip stream ends too early: the file is truncated") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ParseError(self._path, f"the gzip stream is damaged: {error}") from None


def _buffer(free: list[bytearray], size: int) -> bytearray:
    """Memory for a block, if possible that of a block that has been parsed: its pages are there already."""
    while free:
        buffer = free.pop()
        if len(buffer) >= size:
            return buffer
    return bytearray(size + size // 8)  # so that it will do for a longer unfinished line too


def _text_start(content: bytes) -> int:
    """Where the text begins: behind the byte-order mark that some editors put at the start of a file."""
    return len(_BYTE_ORDER_MARK) if content[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK else 0


def _whole_lines(content: bytes) -> Block:
    """A block of its own, with a newline behind the last line and the padding."""
    newline = b"" if content.endswith(b"\n") else b"\n"
    padded = bytearray(b"".join([content, newline, bytes(PADDING)]))
    return Block(np.frombuffer(padded, np.uint8), 0, len(content) + len(newline), padded, [])


def open_text(path: Path) -> TextFile:
    """The file as blocks: whether it is compressed is told by its first bytes, not by its name."""
    if not path.is_file():  # a pipe, which gives its bytes once
        return TextFile(path, io.BytesIO(path.read_bytes()))
    return TextFile(path, cast(BinaryIO, path.open("rb", buffering=0)))
