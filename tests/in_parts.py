"""Queries in memory as if they were read part by part."""

import numpy as np

import rankwright as rw


class Held:
    """A source that has all queries in memory; a document is said to take so much that there are several parts."""

    def __init__(self, queries, parts):
        self._queries = queries
        self.query_ids, self.sizes = queries.query_ids, queries.sizes
        self.n_features = queries.n_features
        self.given_names = queries.feature_names if queries.has_feature_names else None
        self._parts = parts

    def row_bytes(self):
        return 250_000 * self._parts / max(1, int(self.sizes.sum()))

    def told(self):
        return "a test"

    def read(self, first, last, *, features=True):
        return self._queries[first:last]


def in_parts(queries, parts=4):
    """The queries as a stream of about so many parts, and the same in memory with each query's rows together."""
    whole = queries[np.arange(queries.n_queries)]
    stream = rw.StreamedQueries(Held(whole, parts), "1MB")
    assert stream.n_parts >= min(parts, queries.n_queries)
    return stream, whole
