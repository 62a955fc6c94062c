"""Queries in memory as if they were larger than it: cut into as many parts as a test wants."""

from itertools import pairwise

import numpy as np

from rankwright.data.streams.streamed import StreamedQueries


class _InMemory:
    """A source that has all queries, and gives runs of them."""

    def __init__(self, queries):
        self._queries = queries
        self.query_ids, self.sizes, self.n_features = queries.query_ids, queries.sizes, queries.n_features
        self.given_names = queries.feature_names if queries.has_feature_names else None

    def row_bytes(self):
        return 8.0 * self.n_features

    def told(self):
        return "a test"

    def read(self, first, last, *, features=True):
        return self._queries[first:last]


class _Cut(StreamedQueries):
    """Always cut into the same number of parts."""

    n_wanted = 1

    @property
    def _runs(self):
        cuts = np.unique(np.linspace(0, len(self._source.sizes), self.n_wanted + 1).astype(int)).tolist()
        return list(pairwise(cuts))


def streamed(queries, n_parts, memory="1MB"):
    """Queries that are read in parts."""
    cut = _Cut(_InMemory(queries), memory)
    cut.n_wanted = n_parts
    return cut
