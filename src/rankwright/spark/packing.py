"""Objects as pieces of bytes that Spark keeps, and as files that all Python workers of a machine map."""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_PIECE = 1 << 24  # Spark takes objects of less than 2 GB
_ALIGNED = 64  # arrays begin at multiples of so many bytes


class Failed:
    """What there is in place of an object that could not be made: whoever opens it raises the error."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def packed(found: Any) -> Iterator[bytes]:
    """An object as pieces of bytes: all but its arrays, and the numbers of these as they are."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(found, protocol=5, buffer_callback=buffers.append)
    arrays = [buffer.raw() for buffer in buffers]
    yield _padded(pickle.dumps((body, [len(array) for array in arrays])))
    for array in arrays:
        for begin in range(0, len(array), _PIECE):
            yield _padded(bytes(array[begin : begin + _PIECE]))


def opened(content: Any) -> Any:
    """The object that was packed into these bytes, in which its arrays stay."""
    body, sizes = pickle.loads(content)  # which does not look at what comes behind
    view, arrays = memoryview(content), []
    place = len(view) - sum(map(_up, sizes))
    for size in sizes:
        arrays.append(view[place : place + size])
        place += _up(size)
    found = pickle.loads(body, buffers=arrays)
    if isinstance(found, Failed):
        raise found.error
    return found


def written(pieces: Iterable[bytes], path: Path) -> None:
    """Pieces in a file, which is there when it is complete."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with beside.open("wb") as file:
            file.writelines(pieces)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def mapped(path: Path, access: int = mmap.ACCESS_READ) -> Any:
    """The object in a file, in which its arrays stay."""
    with path.open("rb" if access == mmap.ACCESS_READ else "r+b") as file:
        return opened(mmap.mmap(file.fileno(), 0, access=access))


def _padded(piece: bytes) -> bytes:
    return piece + bytes(_up(len(piece)) - len(piece))


def _up(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED
