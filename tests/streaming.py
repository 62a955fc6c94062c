"""Queries in memory as if they were larger than it: cut into as many parts as a test wants."""

import numpy as np

import rankwright as rw

_MEMORY = 1_000_000


class _Held:
    """A source that has all queries; a document is said to take so much memory that there are several parts.

    So what is made of the queries, by choosing some or by functions, comes in several parts too.
    """

    def __init__(self, queries, n_parts):
        self._queries = queries
        self.query_ids, self.sizes, self.n_features = queries.query_ids, queries.sizes, queries.n_features
        self.given_names = queries.feature_names if queries.has_feature_names else None
        self._n_parts = n_parts

    def row_bytes(self):
        """A part takes a quarter of the memory, and no query may take half of it."""
        by_parts = _MEMORY / 4 * self._n_parts / self.sizes.sum() if len(self.sizes) else 1.0
        return min(by_parts * (1 - 1e-9), _MEMORY / 3 / self.sizes.max(initial=1))

    def told(self):
        return "a test"

    def read(self, first, last, *, features=True):
        return self._queries[first:last]


def query_by_query(queries):
    """The same queries with each one's rows together, as streams have them."""
    return queries[np.arange(queries.n_queries)]


def streamed(queries, n_parts=4):
    """Queries that are read in so many parts, or a few more; fewer if there are not so many queries, or huge ones."""
    stream = rw.StreamedQueries(_Held(query_by_query(queries), n_parts), _MEMORY)
    longest = queries.sizes.max(initial=1)
    assert min(n_parts, queries.n_queries, queries.n_documents // longest) <= stream.n_parts
    return stream
