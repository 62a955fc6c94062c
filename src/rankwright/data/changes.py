"""Whether a file has changed while it was being read."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankwright.errors import DataError, ParseError

CHANGED = "the file was changed while being read: read it again, as it is now"


def size_and_time(descriptor: int) -> tuple[int, int]:
    """What tells that an open file has been written to. (That another takes its name changes its other times, too.)"""
    seen = os.fstat(descriptor)
    return seen.st_size, seen.st_mtime_ns


@contextmanager
def told_if_changed(path: str | os.PathLike[str]) -> Iterator[None]:
    """A :class:`ParseError` if the file of this name is another one afterwards, whatever error that has led to."""
    before = _identity(path)
    try:
        yield
    except (DataError, OSError):
        if _identity(path) == before:
            raise
    if _identity(path) != before:
        raise ParseError(path, CHANGED)


def _identity(path: str | os.PathLike[str]) -> tuple[int, ...] | None:
    """Which file of this name there is, and when it was written to; None if there is none, and for a pipe."""
    file = Path(path)
    if not file.is_file():
        return None
    seen = file.stat()
    # The time of the last change, unlike that of the last writing, cannot be set back.
    return seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns
