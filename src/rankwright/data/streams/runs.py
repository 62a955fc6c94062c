"""Which query each row belongs to, told as the rows are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.precision import query_begins
from rankwright.data.streams.joining import joined_ids
from rankwright.errors import DataError

_HOW_TO_SORT = "read it with sort=True (--sort), or sort the lines by query first"


class Runs:
    """The queries in the order of their first rows, with their sizes; runs of rows of one query are numbered by it."""

    def __init__(self, *, may_be_apart: bool) -> None:
        self.may_be_apart, self.are_apart = may_be_apart, False
        self.sizes: list[int] = []
        self._ids: list[npt.NDArray[Any]] = []
        self._code_of: dict[str, int] = {}
        self._file_of: list[str] = []
        self._last = -1

    def add(self, qids: npt.NDArray[Any], file: str, first_row: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[Any]]:
        """Rows of these queries follow; the query of each run among them, by number, and how long it is."""
        starts = np.flatnonzero(query_begins(qids))
        lengths = np.diff(np.append(starts, len(qids)))
        ids = qids[starts]
        codes = np.empty(len(starts), np.int64)
        new: list[int] = []
        for place, key in enumerate(_keys(ids)):
            code = self._code_of.setdefault(key, len(self.sizes))
            if code == len(self.sizes):
                self.sizes.append(0)
                self._file_of.append(file)
                new.append(place)
            elif code != self._last and not self.may_be_apart:
                raise self._rows_apart(key, code, file, first_row + int(starts[place]))
            elif code != self._last:
                self.are_apart = True
            self.sizes[code] += int(lengths[place])
            codes[place] = self._last = code
        if new:
            self._ids.append(ids[new])
        return codes, lengths

    def query_ids(self) -> npt.NDArray[Any]:
        """The id of each query."""
        return joined_ids(self._ids)

    def _rows_apart(self, query: str, code: int, file: str, row: int) -> DataError:
        elsewhere = "" if self._file_of[code] == file else f", and others are in {self._file_of[code]}"
        return DataError(
            f"{file}: the rows of query {query} do not stand together: row {row + 1:,} of the file belongs to it, but "
            f"rows of other queries stand before it{elsewhere}; {_HOW_TO_SORT}"
        )


def _keys(ids: npt.NDArray[Any]) -> list[str]:
    """A text for each id, different for different ones."""
    return list(map(str, (ids.astype(np.str_) if ids.dtype.kind in "Mm" else ids).tolist()))
