"""States of parts that may take more memory than there is: what goes beyond a limit lies on disk."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Iterator, MutableMapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt


class Shelf:
    """Where the states of all parts keep their arrays: in memory up to a limit, then in a temporary file.

    The file has no name (or goes with the process, where a system has no such files): whatever ends the program,
    nothing is left behind. It is made in the folder that ``TMPDIR`` names. Room in it is not used again.
    """

    def __init__(self, limit: int) -> None:
        self._left = limit
        self._file: Any = None
        self._end = 0

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may stay in memory; if so, they are counted."""
        fits = size <= self._left
        self._left -= size if fits else 0
        return fits

    def free(self, size: int) -> None:
        """So many bytes are no longer kept in memory."""
        self._left += size

    def write(self, array: npt.NDArray[Any]) -> int:
        """Put an array on disk; returns where it is."""
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="rankwright-")  # noqa: SIM115 – it is closed with the shelf
        self._file.seek(self._end)
        self._file.write(np.ascontiguousarray(array).data)
        begin, self._end = self._end, self._end + array.nbytes
        return begin

    def read(self, place: _Place) -> npt.NDArray[Any]:
        """An array from disk."""
        array = np.empty(place.shape, place.dtype)
        self._file.seek(place.begin)
        self._file.readinto(array.data)
        return array


class _Place(NamedTuple):
    begin: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class State(MutableMapping[Hashable, Any]):
    """The state of one part. Arrays are not to be changed in place: set them anew."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._values: dict[Hashable, Any] = {}

    def __getitem__(self, key: Hashable) -> Any:
        value = self._values[key]
        return self._shelf.read(value) if isinstance(value, _Place) else value

    def __setitem__(self, key: Hashable, value: Any) -> None:
        self.pop(key, None)
        if isinstance(value, np.ndarray) and value.nbytes and not self._shelf.has_room(value.nbytes):
            value = _Place(self._shelf.write(value), value.shape, value.dtype)
        self._values[key] = value

    def __delitem__(self, key: Hashable) -> None:
        value = self._values.pop(key)
        if isinstance(value, np.ndarray):
            self._shelf.free(value.nbytes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
