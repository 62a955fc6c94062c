"""Runs of whole queries: every query once, none longer than asked for but for a single long query."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rankwright.machine.runs import runs_of_queries, split_by_size


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 9))
def test_ranges_cover_every_query_once(sizes, parts):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ranges = split_by_size(offsets, parts)
    assert len(ranges) <= parts
    assert [q for first, last in ranges for q in range(first, last)] == list(range(len(sizes)))


def test_ranges_are_of_nearly_equal_size():
    offsets = np.arange(0, 100_001, 10)
    assert [last - first for first, last in split_by_size(offsets, 4)] == [2500] * 4


@given(st.lists(st.integers(0, 50), max_size=40), st.integers(1, 99), st.data())
def test_runs_are_as_long_as_they_may_be(sizes, documents, data):
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    first = data.draw(st.integers(0, len(sizes)))
    last = data.draw(st.integers(first, len(sizes)))
    runs = list(runs_of_queries(offsets, documents, first, last))
    assert [q for begin, end in runs for q in range(begin, end)] == list(range(first, last))
    for begin, end in runs:
        assert end == begin + 1 or sum(sizes[begin:end]) <= documents
        assert end == last or sum(sizes[begin : end + 1]) > documents
    assert first > 0 or last < len(sizes) or runs == list(runs_of_queries(offsets, documents))
