"""Whether two collections are the same, down to types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import rankwright as rw


def assert_same(got: rw.Queries, expected: rw.Queries) -> None:
    assert sp.issparse(got.X) == sp.issparse(expected.X)
    assert got.X.dtype == expected.X.dtype
    assert got.X.shape == expected.X.shape
    for one, other in zip(_arrays(got.X), _arrays(expected.X), strict=True):
        np.testing.assert_array_equal(one, other)
    assert type(got.supervision) is type(expected.supervision)
    if isinstance(expected.supervision, rw.PreferenceGraph):
        for name in ("preferred", "other", "weights"):
            np.testing.assert_array_equal(getattr(got.supervision, name), getattr(expected.supervision, name))
    elif isinstance(expected.supervision, rw.FullRanking):
        np.testing.assert_array_equal(got.supervision.ranks, expected.supervision.ranks)
    else:
        np.testing.assert_array_equal(got.y, expected.y)
    assert got.qid.dtype.kind == expected.qid.dtype.kind
    assert got.qid.tolist() == expected.qid.tolist()
    assert got.query_ids.tolist() == expected.query_ids.tolist()
    assert got.has_feature_names == expected.has_feature_names
    assert got.feature_names == expected.feature_names
    assert (got.doc_ids is None) == (expected.doc_ids is None)
    if expected.doc_ids is not None:
        assert got.doc_ids.tolist() == expected.doc_ids.tolist()


def _arrays(x: Any) -> tuple[Any, ...]:
    return (x.indptr, x.indices, x.data) if sp.issparse(x) else (x,)


def assert_streams_as(streamed: rw.StreamedQueries, expected: rw.Queries, least_parts: int = 1) -> None:
    """All that a stream tells, part by part and as a whole, against queries whose rows stand query by query."""
    assert (streamed.n_queries, streamed.n_documents, streamed.n_features) == (
        expected.n_queries,
        expected.n_documents,
        expected.n_features,
    )
    assert streamed.query_ids.tolist() == expected.query_ids.tolist()
    np.testing.assert_array_equal(streamed.sizes, expected.sizes)
    assert streamed.feature_names == expected.feature_names
    assert streamed.has_feature_names == expected.has_feature_names
    first, parts = 0, list(streamed.parts())
    assert len(parts) >= least_parts
    for part in parts:
        assert_same(part, expected[first : first + part.n_queries])
        first += part.n_queries
    assert first == expected.n_queries
    assert_same(streamed.in_memory(), expected)
    np.testing.assert_array_equal(streamed.judgments.grouping.offsets, expected.grouping.offsets)


def grouped(queries: rw.Queries) -> rw.Queries:
    """The same with the rows of each query together."""
    return queries[np.arange(queries.n_queries)]


def concatenated(paths: list[Path], target: Path) -> Path:
    target.write_bytes(b"".join(path.read_bytes() for path in paths))
    return target
