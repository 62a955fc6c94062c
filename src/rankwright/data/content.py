"""What is in a file, uncompressed, however often it is looked at."""

from __future__ import annotations

import gzip
import io
import mmap
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from rankwright.data.paths import input_file
from rankwright.errors import ParseError

GZIP_MAGIC = b"\x1f\x8b"
_HEAD = 1 << 16


class Content:
    """The bytes of a file, from the beginning each time they are opened; a pipe is read once and kept."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: Path = input_file(path)
        self._kept = None if self.path.is_file() else self.path.read_bytes()
        with self.raw() as file:
            self.is_compressed = _is_gzip(file)

    def raw(self) -> io.BufferedReader:
        """The file as it is, compressed or not."""
        return self.path.open("rb") if self._kept is None else io.BufferedReader(io.BytesIO(self._kept))

    @contextmanager
    def for_arrow(self) -> Iterator[Any]:
        """What Arrow opens as a stream, compressed or not: a name where there is one, which it reads faster."""
        if self._kept is None:
            yield os.fspath(self.path)
        else:
            with self.raw() as file:
                yield file

    def may_contain(self, part: bytes) -> bool:
        """Whether these bytes occur; of what is compressed, that is not known."""
        if self.is_compressed or self._kept is not None:
            return True
        with self.raw() as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(part) >= 0

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """The content, uncompressed; damaged gzip is a :class:`ParseError`."""
        with self.raw() as file, unpacked(file, self.path) as stream:
            yield stream

    def head(self) -> bytes:
        """How it begins."""
        with self.open() as file:
            return file.read(_HEAD)


@contextmanager
def unpacked(file: io.BufferedReader, path: Path) -> Iterator[BinaryIO]:
    """The content of an open file, uncompressed if it is compressed; damaged gzip is a :class:`ParseError`."""
    try:
        yield gzip.GzipFile(fileobj=file, mode="rb") if _is_gzip(file) else file  # type: ignore[misc]
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise damaged_gzip(path, error) from None


def _is_gzip(file: io.BufferedReader) -> bool:
    return file.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC)


def damaged_gzip(path: Path, error: Exception) -> ParseError:
    """What to raise for gzip that cannot be unpacked."""
    return ParseError(path, f"the gzip data are damaged or cut off: {error}")
