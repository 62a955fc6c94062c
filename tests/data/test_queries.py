"""Queries: grouping ids of any type in any order, slicing, immutability, supervision, bad input."""

import datetime
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw

any_ids = st.sampled_from([
    [3, 1, 2],
    ["b", "a", "c"],
    [2.5, -1.0, 0.0],
    [7, "7", None.__class__],
    [(1, 2), (1, 3), (0, 0)],
    [datetime.date(2026, 1, 2), datetime.date(2025, 1, 1), datetime.date(2024, 5, 5)],
    [True, False, True],
    [b"x", b"y", b"z"],
])  # fmt: skip


@given(ids=any_ids, picks=st.lists(st.integers(0, 2), max_size=30))
def test_grouping_against_a_dictionary(ids, picks):
    qid = np.empty(len(picks), dtype=object)
    qid[:] = [ids[p] for p in picks]
    queries = rw.Queries(np.arange(len(picks), dtype=float)[:, None], np.zeros(len(picks)), qid)
    expected: dict = {}
    for row, query in enumerate(qid):
        expected.setdefault(query, []).append(row)
    assert queries.n_queries == len(expected)
    for one, (query, rows) in zip(queries, expected.items(), strict=True):
        assert one.query_ids[0] == query
        assert one.X[:, 0].tolist() == rows
    np.testing.assert_array_equal(queries.X[:, 0], np.arange(len(picks)))
    grouped = queries.grouping.gather(queries.X)
    np.testing.assert_array_equal(queries.grouping.scatter(grouped), queries.X)


def test_seven_and_the_text_seven_are_two_queries():
    assert rw.Queries(None, [0, 1, 2], [7, "7", 7]).n_queries == 2


def test_no_qid_is_one_query():
    assert rw.Queries([[1], [2]], [0, 1]).sizes.tolist() == [2]


@pytest.mark.parametrize("contiguous", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_slicing_by_query(contiguous, sparse):
    qid = np.array([5, 5, 9, 2, 2, 2] if contiguous else [5, 9, 2, 5, 2, 2])
    X = np.arange(12.0).reshape(6, 2)
    queries = rw.Queries(
        sp.csr_array(X) if sparse else X, np.arange(6), qid, feature_names=["a", "b"], doc_ids=[*"uvwxyz"]
    )
    for which, ids in [(slice(1, 3), [9, 2]), ([2, 0], [2, 5]), (np.array([True, False, True]), [5, 2]), (-1, [2]),
                       (slice(None, None, -1), [2, 9, 5]), ([], [])]:  # fmt: skip
        part = queries[which]
        rows = [row for query in ids for row in np.flatnonzero(qid == query)]
        assert part.query_ids.tolist() == ids
        np.testing.assert_array_equal(part.X.toarray() if sparse else part.X, X[rows])
        np.testing.assert_array_equal(part.y, rows)
        assert part.doc_ids.tolist() == [*np.array([*"uvwxyz"])[rows]]
        assert part.feature_names == ("a", "b")
    assert queries.select([9]).y.tolist() == np.flatnonzero(qid == 9).tolist()
    assert queries[1:][0:1].query_ids.tolist() == [9]


def test_a_run_of_queries_is_a_view():
    queries = rw.Queries(np.ones((6, 2), np.float32), np.zeros(6), [1, 1, 2, 2, 3, 3])
    assert np.shares_memory(queries[1:].X, queries.X)


def test_a_sequence_as_numpy_has_them():
    queries = rw.Queries([[1], [2], [3]], [0, 1, 2], ["a", "b", "c"])
    assert queries.shape == (len(queries),) == (3,)
    assert queries[[2, 0], ...].query_ids.tolist() == ["c", "a"]


def test_slicing_refuses():
    queries = rw.Queries([[1], [2]], [0, 1], [1, 2])
    with pytest.raises(IndexError, match="query 2 of 2"):
        queries[2]
    with pytest.raises(rw.DataError, match="taken twice"):
        queries[[0, 0]]
    with pytest.raises(rw.DataError, match="no query 'x'"):
        queries.select(["x"])
    with pytest.raises(TypeError, match=r"by position: take queries by their ids with .select\(\['a'\]\)"):
        queries["a"]
    with pytest.raises(TypeError, match="by query alone"):
        queries[0, 1]


def test_they_never_change():
    X, y, qid = np.ones((3, 1)), np.array([0.0, 1.0, 2.0]), np.array([1, 2, 1])
    whole = rw.Queries(X, y, qid, doc_ids=["a", "b", "c"])
    for queries in (whole, whole[0], whole[1:], whole[[1, 0]], pickle.loads(pickle.dumps(whole))):
        grouping = queries.grouping
        arrays = [queries.X, queries.y, queries.qid, queries.query_ids, queries.doc_ids, grouping.offsets]
        for array in [*arrays, *([] if grouping.order is None else [grouping.order])]:
            assert not array.flags.writeable
    y -= 5e7  # what the caller does to its own arrays does not reach the kernels
    qid[:] = 9
    assert whole.y.tolist() == [0, 1, 2]
    assert whole.qid.tolist() == [1, 2, 1]
    assert np.isfinite(rw.evaluate([1, 2, 3], whole, "ndcg").means[rw.nDCG])
    queries = whole
    with pytest.raises(AttributeError, match="never change"):
        queries.X = X
    X[0] = 5  # the caller's own array stays writable


def test_csr_of_the_caller_is_left_alone():
    unsorted = sp.csr_array((np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    queries = rw.Queries(unsorted, [1])
    np.testing.assert_array_equal(queries.X.toarray(), [[2, 0, 4]])
    assert unsorted.indices.tolist() == [2, 0, 2]
    assert unsorted.data.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        queries.X.data[:] = 0


def test_dtypes_are_kept_or_become_float64():
    for dtype, kept in [("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8"), ("f2", "f8")]:
        assert rw.Queries(np.ones((1, 1), dtype), [1]).X.dtype == kept
        assert rw.Queries(sp.csr_array(np.ones((1, 1), "f8").astype("f4" if dtype == "f4" else "f8")), [1]).X.nnz == 1


def test_survive_pickling():
    queries = rw.Queries(np.eye(3), [0, 1, 2], ["b", "a", "b"], feature_names=["x", "y", "z"], doc_ids=["1", "2", "3"])
    copy = pickle.loads(pickle.dumps(queries))
    np.testing.assert_array_equal(copy.X, queries.X)
    assert (copy.qid.tolist(), copy.feature_names, copy.doc_ids.tolist()) == (
        ["b", "a", "b"],
        ("x", "y", "z"),
        ["1", "2", "3"],
    )


def test_ids_of_time():
    days = np.array(["2026-01-02", "2026-01-01", "2026-01-02"], "M8[ns]")
    queries = rw.Queries(None, [0, 1, 2], days)
    assert queries.select([days[1]]).y.tolist() == [1]
    assert queries.grouping.query_id(0) == datetime.datetime(2026, 1, 2)
    near = np.array(["2026-01-01T00:00:00.000000001", "2026-01-01T00:00:00.000000002"], "M8[ns]")
    assert rw.Queries(None, [1, 0], near).select(near[:1]).y.tolist() == [1]


@pytest.mark.parametrize(
    "qid", [["a", b"a"], [2**63 + 1, 2**63, -1], [2**53, 2**53 + 1, 0.5], ["a", "a\0"], [b"a", b"a\0"], [1, "1"]]
)
def test_different_ids_stay_different(qid):
    assert rw.Queries(None, np.zeros(len(qid)), qid).n_queries == len(qid)


def test_what_happens_to_a_frame_or_csr_later_does_not_show():
    frame = pd.DataFrame({"y": [0, 1], "q": [1, 2], "x": [0.5, 0.25]})
    csr = sp.csr_array(np.eye(2))
    made = [rw.Queries(csr, frame["y"], frame["q"]), rw.from_frame(frame, label="y", qid="q")]
    frame.loc[0, ["y", "q"]] = [-9, 55]
    csr.indices[:] = 2_000_000_000
    csr.indptr[1:] = 2_000_000_000
    for queries in made:
        assert (queries.y.tolist(), queries.qid.tolist()) == ([0, 1], [1, 2])
    assert made[0].X.indices.tolist() == [0, 1]
    assert made[0].X.indptr.tolist() == [0, 1, 2]
    assert not made[0].grouping.codes.flags.writeable


def test_masked_values_are_missing():
    X = np.ma.masked_array(np.ones((2, 2), np.float32), mask=[[False, True], [False, False]])
    queries = rw.Queries(X, [0, 1])
    assert queries.X.dtype == np.float32
    np.testing.assert_array_equal(queries.X, [[1, np.nan], [1, 1]])


def test_repr():
    assert repr(rw.Queries(sp.csr_array((1, 5)), [2])) == "Queries(1 query, 1 document, 5 features, CSR, grades 2–2)"
    assert repr(rw.Queries(None, rw.FullRanking([1, 2]))) == "Queries(1 query, 2 documents, 0 features, full ranking)"


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: rw.Queries([[1], [2]], [0]), "X has 2 rows, but the supervision has 1"),
        (lambda: rw.Queries([1, 2], [0, 1]), "two dimensions"),
        (lambda: rw.Queries([["x"], ["y"]], [0, 1]), "features must be numbers"),
        (lambda: rw.Queries([[1j]], [0]), "not complex"),
        (lambda: rw.Queries([[1], [2]], [0, 1], qid=pd.Series([[1, 2], [3]])), "single values"),
        (lambda: rw.Queries([[1], [2]], [0, 1], qid=pd.array(["a", pd.NA])), "row 1 has no query id"),
        (lambda: rw.Queries([[1], [2]], [0, 1], qid=[1]), "one query id for each of the 2 rows"),
        (lambda: rw.Queries([[1], [2]], [0, 1], qid=[1, np.nan]), "row 1 has no query id"),
        (lambda: rw.Queries([[1], [2]], [0, 1], qid=np.array(["a", None], object)), "row 1 has no query id"),
        (lambda: rw.Queries([[1], [2]], [0, -1], qid=["a", "b"]), r"row 1 \(query 'b'\): the grade is -1"),
        (lambda: rw.Queries([[1], [2]], [np.nan, 0]), r"row 0 .*the grade is nan"),
        (lambda: rw.Queries([[1], [2]], [0, np.inf]), r"row 1 .*the grade is inf"),
        (lambda: rw.Queries([[1], [2]], ["good", "bad"]), "grades must be numbers"),
        (lambda: rw.Queries([[1], [2]], [[0, 1], [1, 0]]), "one number per row"),
        (lambda: rw.Queries([[1, 2]], [0], feature_names=["a"]), "1 feature names for 2 features"),
        (lambda: rw.Queries([[1, 2]], [0], feature_names=["a", "a"]), "two features are named 'a'"),
        (lambda: rw.Queries([[1], [2]], [0, 1], doc_ids=["a"]), "one id for each of the 2 rows"),
        (lambda: rw.Queries(None, rw.FullRanking([1, 1])), "query 0: a full ranking must have each rank from 1 to 2"),
        (lambda: rw.Queries(None, rw.FullRanking([1, 2, 3]), [1, 1, 2]), "query 2: a full ranking"),
        (lambda: rw.FullRanking([1.5]), "whole numbers"),
        (lambda: rw.Queries(None, rw.PreferenceGraph(2, [0], [2])), "edge 0 names row 2"),
        (lambda: rw.Queries(None, rw.PreferenceGraph(2, [0], [1]), [1, 2]), "rows 0 and 1 of different queries"),
        (lambda: rw.Queries(None, rw.PreferenceGraph(2, [1], [1])), "prefers row 1 to itself"),
        (lambda: rw.Queries(None, rw.PreferenceGraph(2, [0], [1], [-2])), "edge 0 has weight -2"),
        (lambda: rw.PreferenceGraph(2, [0], [1, 0]), "an edge has two ends"),
        (lambda: rw.Queries(None, rw.FullRanking([1, 2])).y, "have a full ranking, not grades"),
    ],
)
def test_bad_input_is_named(make, problem):
    with pytest.raises(rw.DataError, match=problem):
        make()


def test_preferences_follow_their_queries():
    graph = rw.PreferenceGraph(5, [0, 2, 3], [1, 4, 1], [1.0, 2.0, 3.0])
    queries = rw.Queries(None, graph, qid=["a", "a", "b", "a", "b"])
    part = queries.select(["b"]).supervision
    assert (part.n_documents, part.preferred.tolist(), part.other.tolist(), part.weights.tolist()) == (
        2,
        [0],
        [1],
        [2.0],
    )
    part = queries.select(["a"]).supervision
    assert (part.preferred.tolist(), part.other.tolist(), part.weights.tolist()) == ([0, 2], [1, 1], [1.0, 3.0])


def test_rankings_follow_their_queries():
    queries = rw.Queries(None, rw.FullRanking([2, 1, 1, 3]), qid=[1, 1, 2, 1])
    assert queries[0].supervision.ranks.tolist() == [2, 1, 3]
