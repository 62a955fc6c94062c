"""What queries larger than memory come from: anything that can give a run of them in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.sizes import told_bytes
from rankwright.errors import DataError
from rankwright.machine.runs import runs_of_queries

# A part takes at most this share of the memory: one in work and one read ahead leave the other half to learners.
_SHARE = 4
# Larger parts are read no faster.
_LARGEST_PART = 1 << 28


class Source(Protocol):
    """Queries in an order that never changes, of which any run can be read."""

    @property
    def query_ids(self) -> npt.NDArray[Any]:
        """The id of each query."""

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each query."""

    @property
    def n_features(self) -> int:
        """The number of features."""

    @property
    def given_names(self) -> Sequence[str] | None:
        """The names of the features, if they were given names."""

    def row_bytes(self) -> float:
        """The memory that a document takes, on average."""

    def told(self) -> str:
        """Where the queries come from, in a few words."""

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """Queries first … last − 1 in memory; without features, those that have none."""


def cut(offsets: npt.NDArray[np.int64], row_bytes: float, memory: int) -> list[tuple[int, int]]:
    """Runs [first, last) of whole queries, each of which is a part: always the same for the same limit."""
    most = min(memory / _SHARE, _LARGEST_PART)
    n_queries = len(offsets) - 1
    largest = int(np.argmax(np.diff(offsets))) if n_queries else 0
    if n_queries and (offsets[largest + 1] - offsets[largest]) * row_bytes > memory / 2:
        documents = int(offsets[largest + 1] - offsets[largest])
        needed = 2 * documents * row_bytes
        raise DataError(
            f"query number {largest + 1} has {documents:,} documents, which take {told_bytes(documents * row_bytes)}: "
            "parts hold whole queries, and one is read while another is in work, so give "
            f"memory='{needed / 1e6 + 1:.0f}MB' or more, or check that the data say which query each row belongs to"
        )
    rows = max(1, int(most / max(row_bytes, 1.0)))
    return list(runs_of_queries(offsets, rows))
