"""Queries in memory, read part by part with what a function makes of them."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.data.streams.resident import mapped_queries
from tests.maps.dirty import dirty_queries


def wide(part):
    """A thousand columns of each feature."""
    return rw.Queries(np.repeat(part.X, 1000, axis=1), part.supervision, part.qid)


@pytest.mark.parametrize("in_order", [True, False])
def test_parts_are_the_queries_in_their_order(in_order):
    queries = dirty_queries(40)
    if in_order:
        queries = queries[:]
    mapped = mapped_queries(queries, wide, memory="2MB")
    assert mapped.n_parts > 3
    assert mapped.n_features == 6000
    together = mapped.in_memory()
    np.testing.assert_array_equal(together.query_ids, queries.query_ids)
    np.testing.assert_array_equal(together.y, queries.grouping.gather(queries.y))
    np.testing.assert_array_equal(together.X[:, ::1000], queries.grouping.gather(queries.X))
    np.testing.assert_array_equal(mapped.judgments.y, together.y)


def test_a_long_query_is_one_part():
    queries = rw.Queries(np.ones((14_000, 2), np.float32), np.arange(14_000) % 2, np.zeros(14_000))
    mapped = mapped_queries(queries, wide)
    assert mapped.n_parts == 1


def test_queries_of_files_are_mapped_where_they_are(tmp_path):
    queries = dirty_queries(40)
    rw.write_parquet(queries, tmp_path / "q.parquet")
    opened = rw.open_queries(tmp_path / "q.parquet", memory="2MB")
    mapped = mapped_queries(opened, wide)
    assert mapped.memory == opened.memory
    np.testing.assert_array_equal(mapped.in_memory().X[:, ::1000], opened.in_memory().X)
