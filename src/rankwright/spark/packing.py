"""Objects as pieces of bytes that Spark keeps, and as files that all Python workers of a machine map."""

from __future__ import annotations

import mmap
import os
import pickle
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

_PIECE = 1 << 24
_ALIGNED = 64  # arrays begin at multiples of so many bytes
_LENGTH = 8


class Failed:
    """What there is in place of an object that could not be made: whoever opens it raises the error."""

    def __init__(self, error: Exception) -> None:
        self.error = error


def packed(found: Any) -> Iterator[bytes]:
    """An object as pieces of bytes: the numbers of its arrays stand as they are, and can be used where they are."""
    buffers: list[pickle.PickleBuffer] = []
    body = pickle.dumps(found, protocol=5, buffer_callback=buffers.append)
    raw = [buffer.raw() for buffer in buffers]
    head = pickle.dumps((body, [len(each) for each in raw]))
    yield _padded(len(head).to_bytes(_LENGTH, "little") + head)
    for each in raw:
        for begin in range(0, len(each), _PIECE):
            yield _padded(bytes(each[begin : begin + _PIECE]))


def opened(content: memoryview) -> Any:
    """The object that was packed; its arrays are parts of ``content``."""
    length = int.from_bytes(content[:_LENGTH], "little")
    body, sizes = pickle.loads(content[_LENGTH : _LENGTH + length])
    place, buffers = _up(_LENGTH + length), []
    for size in sizes:
        buffers.append(content[place : place + size])
        place = _up(place + size)
    found = pickle.loads(body, buffers=buffers)
    if isinstance(found, Failed):
        raise found.error
    return found


def written(pieces: Iterable[bytes], path: Path) -> int:
    """Pieces in a file, which is there when it is complete. Returns a digest of its arrays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}-{os.getpid()}")
    try:
        with beside.open("xb") as file:
            digest = 0
            for place, piece in enumerate(pieces):
                file.write(piece)
                digest = zlib.crc32(piece, digest) if place else 0  # the first is not an array
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return digest


def mapped(path: Path, *, writable: bool = False) -> Any:
    """The object in a file; writable arrays are copies of its own."""
    if writable:
        return opened(memoryview(bytearray(path.read_bytes())))
    with path.open("rb") as file:
        return opened(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def _padded(piece: bytes) -> bytes:
    return piece + bytes(_up(len(piece)) - len(piece))


def _up(place: int) -> int:
    return -(-place // _ALIGNED) * _ALIGNED
