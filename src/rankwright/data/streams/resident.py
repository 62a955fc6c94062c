"""Queries in memory, read part by part: for columns that are made of their features, used, and dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.sizes import bytes_of
from rankwright.data.streams.streamed import AnyQueries, Map, StreamedQueries

# Of what a function makes, a part in work and one made ahead take half of this: little beside the data, and yet enough
# rows in a part for its sums to cost little beside its products.
_MEMORY = 200_000_000
_LARGEST_SHARE = 2  # of the memory that the longest query may take


class Resident:
    """A `Source` of queries in memory."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self.query_ids: npt.NDArray[Any] = queries.query_ids
        self.sizes: npt.NDArray[np.int64] = queries.sizes
        self.n_features = queries.n_features
        self.given_names: Sequence[str] | None = queries.feature_names if queries.has_feature_names else None

    def row_bytes(self) -> float:
        """Nothing: features that are there already take no more memory, unless their rows have to be put in order."""
        if self._queries.grouping.order is None:
            return 0.0
        return bytes_of(self._queries) / max(1, self._queries.n_documents)

    def told(self) -> str:
        """Where they are."""
        return "memory"

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """A run, which is a view where the rows of queries stand together."""
        del features  # they are there
        return self._queries[first:last]


def mapped_queries(queries: AnyQueries, function: Map, memory: int | str | None = None) -> StreamedQueries:
    """The same queries with what a function makes of their features while they are read, as learners take them.

    The function must treat documents one by one or query by query, and keep grades as they are. Of queries in memory
    what it makes is cut into parts by ``memory``; those that are read from files have a limit already.
    """
    if isinstance(queries, StreamedQueries):
        return queries.mapped(function, same_judgments=True)
    source = Resident(queries)
    if memory is None:
        row = StreamedQueries(source, _MEMORY).mapped(function, same_judgments=True).row_bytes
        longest = float(queries.sizes.max(initial=0)) * row
        memory = int(max(_MEMORY, _LARGEST_SHARE * longest + 1))
    return StreamedQueries(source, memory).mapped(function, same_judgments=True)
