"""A text file as a series of blocks of whole lines, from a memory map or out of a gzip stream."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParseError

Text = npt.NDArray[np.uint8]

BLOCK = 1 << 21  # small enough to stay in the cache, large enough that handing it to a thread costs nothing
SAMPLE = 1 << 16  # enough to see what a file is like
SAMPLES = 8
PADDING = 32  # kernels may look at a few bytes behind the last line
_POPULATE_READ = 22  # MADV_POPULATE_READ of Linux 5.14: map a whole range in one call
_GZIP_MAGIC = b"\x1f\x8b"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Block:
    """The whole lines text[start:stop]; the last byte is a newline, and PADDING bytes follow it."""

    text: Text
    start: int
    stop: int

    def prepare(self) -> None:
        """Called before the block is looked at."""

    def release(self) -> None:
        """Called when the block has been parsed."""


@dataclass(frozen=True)
class _MappedBlock(Block):
    """A block of a memory map, whose pages are mapped in one call and given back when it is done."""

    memory: mmap.mmap

    def prepare(self) -> None:
        self._advise(_POPULATE_READ)

    def release(self) -> None:
        # A page shared with a neighbour that is still being parsed just comes back from the page cache.
        self._advise(getattr(mmap, "MADV_DONTNEED", _POPULATE_READ))

    def _advise(self, advice: int) -> None:
        if hasattr(self.memory, "madvise"):
            first = self.start - self.start % mmap.PAGESIZE
            with suppress(OSError, ValueError):  # advice only: an older kernel may not know it
                self.memory.madvise(advice, first, self.stop - first)


class MappedFile(AbstractContextManager["MappedFile"]):
    """A plain text file through a memory map."""

    def __init__(self, path: Path) -> None:
        self._memory: mmap.mmap | None = None
        with path.open("rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            if self.size:
                self._memory = mmap.mmap(file.fileno(), self.size, access=mmap.ACCESS_READ)

    def __exit__(self, *error: Any) -> None:
        if self._memory is not None:
            with suppress(BufferError):  # a block still in flight holds it, and lets it go by itself
                self._memory.close()

    def samples(self) -> Iterator[Block]:
        """A few stretches of lines, the first and the last lines of the file among them."""
        memory = self._memory
        if memory is None:
            return
        step = max(SAMPLE, len(memory) // SAMPLES)
        seen = 0
        for place in [*range(0, len(memory) - SAMPLE, step), max(0, len(memory) - SAMPLE)]:
            start = memory.rfind(b"\n", 0, place) + 1 if place else _text_start(memory)
            stop = memory.find(b"\n", min(place + SAMPLE, len(memory))) + 1 or len(memory)
            if start >= seen:  # not on a line so long that it has been sampled already
                yield whole_lines(memory[start:stop])
                seen = stop

    def blocks(self) -> Iterator[Block]:
        """The lines of the file, in order."""
        memory = self._memory
        if memory is None:
            return
        text = np.frombuffer(memory, dtype=np.uint8)
        # The last lines are copied, so that no kernel looks behind the end of the map.
        tail = memory.rfind(b"\n", 0, max(0, len(memory) - PADDING)) + 1
        start = _text_start(memory)
        while start < tail:
            stop = tail if start + BLOCK >= tail else memory.find(b"\n", start + BLOCK, tail) + 1
            yield _MappedBlock(text, start, stop, memory)
            start = stop
        rest = memory[max(start, tail) :]
        if rest:
            yield whole_lines(rest)


class StreamedFile(AbstractContextManager["StreamedFile"]):
    """A text file that can only be read from its start: compressed by gzip, or a pipe."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self._path = path
        self.size = 0  # how much text is in it is known at its end only
        self._stream = stream

    def __exit__(self, *error: Any) -> None:
        self._stream.close()

    def samples(self) -> Iterator[Block]:
        """The first lines of the file."""
        content = self._read(SAMPLE)
        content = content[_text_start(content) :]
        while content and b"\n" not in content and (more := self._read(len(content))):
            content += more
        self._stream.seek(0)
        if content:
            yield whole_lines(content[: content.rfind(b"\n") + 1] or content)

    def blocks(self) -> Iterator[Block]:
        """The lines of the file, in order."""
        unfinished: list[bytes] = []
        self._stream.seek(0)
        self._stream.seek(_text_start(self._read(len(_BYTE_ORDER_MARK))))
        while chunk := self._read(BLOCK):
            end = chunk.rfind(b"\n") + 1
            if end:
                yield whole_lines(b"".join([*unfinished, chunk[:end]]))
                unfinished = []
            unfinished.append(chunk[end:])
        rest = b"".join(unfinished)
        if rest:
            yield whole_lines(rest)

    def _read(self, size: int) -> bytes:
        try:
            return self._stream.read(size)
        except EOFError:
            raise ParseError(self._path, "the gzip stream ends too early: the file is truncated") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise ParseError(self._path, f"the gzip stream is damaged: {error}") from None


def _text_start(content: bytes | mmap.mmap) -> int:
    """Where the text begins: behind the byte-order mark that some editors put at the start of a file."""
    return len(_BYTE_ORDER_MARK) if content[: len(_BYTE_ORDER_MARK)] == _BYTE_ORDER_MARK else 0


def whole_lines(content: bytes) -> Block:
    """A block of its own, with a newline behind the last line and the padding."""
    newline = b"" if content.endswith(b"\n") else b"\n"
    padded = b"".join([content, newline, bytes(PADDING)])
    return Block(np.frombuffer(padded, dtype=np.uint8), 0, len(content) + len(newline))


def open_text(path: Path) -> MappedFile | StreamedFile:
    """The file as blocks: whether it is compressed is told by its first bytes, not by its name."""
    if not path.is_file():  # a pipe, which gives its bytes once
        content = path.read_bytes()
        stream = io.BytesIO(content)
        return StreamedFile(path, _uncompressed(stream) if content.startswith(_GZIP_MAGIC) else stream)
    with path.open("rb") as file:
        compressed = file.read(2) == _GZIP_MAGIC
    return StreamedFile(path, _uncompressed(path.open("rb"))) if compressed else MappedFile(path)


def _uncompressed(stream: BinaryIO) -> BinaryIO:
    return cast(BinaryIO, gzip.GzipFile(fileobj=stream, mode="rb"))
