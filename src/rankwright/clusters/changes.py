"""`Changes`: what has changed the states of parts, to be done again if they are lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from tempfile import SpooledTemporaryFile

# So many bytes are in memory; more than that are in a file, which is read only if a part is lost.
_IN_MEMORY = 1 << 24


class Changes:
    """Packed calls that have changed the state of each of some parts, in order.

    A fit may have thousands of them, each with the weights of its time.
    """

    def __init__(self, n_parts: int) -> None:
        self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 - it is closed when nobody has this any more
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(n_parts)]

    def count(self, number: int) -> int:
        """How many have changed the state of a part."""
        return len(self._places[number])

    def add(self, packed: bytes, numbers: Iterable[int]) -> None:
        """One more, of some parts."""
        place = (self._file.seek(0, 2), len(packed))
        self._file.write(packed)
        for number in numbers:
            self._places[number].append(place)

    def since(self, begins: Mapping[int, int]) -> dict[int, list[bytes]]:
        """Those of each part after so many of them. Parts have the same objects, so that these travel once."""
        wanted = {number: self._places[number][begin:] for number, begin in begins.items()}
        read = {place: self._read(*place) for place in {place for places in wanted.values() for place in places}}
        return {number: [read[place] for place in places] for number, places in wanted.items()}

    def _read(self, begin: int, length: int) -> bytes:
        self._file.seek(begin)
        return self._file.read(length)
