"""Frames of the three libraries, held against arrays made by hand and against the queries they came from."""

import datetime as dt
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.data.frames import frame_to_matrix, from_frame, to_frame
from rankwright.errors import DataError, ParameterError

BACKENDS = ("pandas", "polars", "pyarrow")


def make_frame(backend, columns):
    """A frame made by the library's own constructor."""
    return {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[backend](columns)


def edges(graph):
    """Edges with their weights, in an order that does not depend on how they are stored."""
    return sorted(zip(graph.preferred.tolist(), graph.other.tolist(), graph.weights.tolist(), strict=True))


def same_supervision(one, two):
    assert type(one) is type(two)
    if isinstance(one, rw.Grades):
        np.testing.assert_array_equal(one.values, two.values)
    elif isinstance(one, rw.FullRanking):
        np.testing.assert_array_equal(one.ranks, two.ranks)
    else:
        assert len(one) == len(two)
        assert edges(one) == edges(two)


def same_features(one, two):
    assert type(one) is type(two)
    assert one.shape == two.shape
    assert one.dtype == two.dtype
    if sp.issparse(one):
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(one, part), getattr(two, part))
    else:
        np.testing.assert_array_equal(one, two)


def assert_same_queries(one, two):
    """Everything is equal: features bit for bit (NaN is NaN), supervision, ids, names."""
    same_features(one.X, two.X)
    same_supervision(one.supervision, two.supervision)
    np.testing.assert_array_equal(one.qid, two.qid)
    assert one.feature_names == two.feature_names
    assert (one.doc_ids is None) == (two.doc_ids is None)
    if one.doc_ids is not None:
        np.testing.assert_array_equal(one.doc_ids, two.doc_ids)


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@st.composite
def any_queries(draw, names=text, rows_together=False):
    """Queries of every kind: grades, rankings, preferences; dense and CSR; numbers and strings as ids."""
    n_documents, n_features = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    codes = draw(st.lists(st.integers(0, 3), min_size=n_documents, max_size=n_documents))
    if rows_together:
        codes.sort()
    ids = draw(st.sampled_from([[7, -1, 2**62, 0], ["b", "", "ü", "a b"], [0.5, -1.0, 2.25, 1e300]]))
    qid = np.array(ids)[codes]
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    value = st.floats(width=32) if dtype is np.float32 else st.floats()
    entry = st.one_of(st.just(0.0), value)
    x = np.array(draw(st.lists(entry, min_size=n_documents * n_features, max_size=n_documents * n_features)), dtype)
    x = x.reshape(n_documents, n_features)
    sparse = draw(st.booleans())
    return rw.Queries(
        sp.csr_array(x) if sparse else x,
        draw(supervisions(qid)),
        qid,
        feature_names=draw(st.lists(names, min_size=n_features, max_size=n_features, unique=True)),
        doc_ids=draw(st.none() | st.lists(text, min_size=n_documents, max_size=n_documents)),
    )


@st.composite
def supervisions(draw, qid):
    kind = draw(st.sampled_from(["grades", "ranking", "preferences"]))
    rows = range(len(qid))
    if kind == "grades":
        grades = st.floats(0, 1e6)
        return rw.Grades(np.array(draw(st.lists(grades, min_size=len(qid), max_size=len(qid)))))
    if kind == "ranking":
        ranks = np.zeros(len(qid))
        for query in set(qid.tolist()):
            mine = np.flatnonzero(qid == query)
            ranks[mine] = draw(st.permutations(range(1, len(mine) + 1)))
        return rw.FullRanking(ranks)
    pairs = [(i, j) for i in rows for j in rows if i != j and qid[i] == qid[j]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=8)) if pairs else []
    weights = draw(st.lists(st.floats(0, 100), min_size=len(chosen), max_size=len(chosen)))
    preferred, other = ([pair[end] for pair in chosen] for end in (0, 1))
    return rw.PreferenceGraph(len(qid), np.array(preferred, int), np.array(other, int), np.array(weights))


# There and back


@pytest.mark.parametrize("backend", BACKENDS)
@settings(max_examples=60, deadline=None)
@given(queries=any_queries(names=text.map(lambda name: f"x{name}")))
def test_frames_give_back_the_queries_they_were_made_of(backend, queries):
    features = queries.feature_names if sp.issparse(queries.X) else None
    assert_same_queries(from_frame(to_frame(queries, backend), features=features), queries)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_columns_of_a_frame(backend):
    graph = rw.PreferenceGraph(3, [2, 2, 0], [0, 0, 2], [1.5, 0.0, 2.0])
    queries = rw.Queries(np.eye(3, dtype=np.float32), graph, ["a", "b", "a"], doc_ids=["d1", "d2", "d3"])
    frame = to_frame(queries, backend)
    table = frame if backend == "pyarrow" else pa.table(frame) if backend == "polars" else pa.Table.from_pandas(frame)
    assert table.column_names == ["qid", "preferred_over", "doc_id", "f1", "f2", "f3"]
    assert [[tuple(edge.values()) for edge in row] for row in table["preferred_over"].to_pylist()] == [
        [(1, 2.0)],
        [],
        [(0, 1.5), (0, 0.0)],
    ]
    assert table.schema.field("f1").type == pa.float32()


@pytest.mark.parametrize("backend", BACKENDS)
def test_csr_features_are_lists_and_keep_empty_columns(backend):
    x = sp.csr_array(([1.0, 0.0, np.nan], ([0, 0, 2], [1, 3, 0])), shape=(3, 1000))
    queries = rw.Queries(x, [0, 1, 2], [1, 1, 2])
    frame = to_frame(queries, backend)
    assert list(frame.columns if backend != "pyarrow" else frame.column_names) == [
        "qid",
        "label",
        "indices",
        "values",
        "n_features",
    ]
    assert_same_queries(from_frame(frame), queries)


def test_a_slice_of_a_table():
    graph = rw.PreferenceGraph(4, [1, 2, 3], [0, 3, 2], [1.0, 2.0, 3.0])
    x = sp.csr_array(np.arange(12.0).reshape(4, 3))
    queries = rw.Queries(x, graph, ["a", "a", "b", "b"], doc_ids=list("wxyz"))
    assert_same_queries(from_frame(to_frame(queries, "pyarrow").slice(2)), queries[1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_preference_graph_without_edges(backend):
    queries = rw.Queries(np.eye(2), rw.PreferenceGraph(2, [], []))
    assert_same_queries(from_frame(to_frame(queries, backend)), queries)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("x", [np.zeros((0, 2)), sp.csr_array((0, 0))])
def test_no_rows(backend, x):
    frame = to_frame(rw.Queries(x, []), backend)
    assert from_frame(frame).X.shape == x.shape


def test_queries_offer_both_ways():
    queries = rw.Queries([[1.0], [2.0]], [0, 1], ["a", "b"])
    assert isinstance(queries.to_frame(), pd.DataFrame)
    assert_same_queries(rw.from_frame(queries.to_frame("polars")), queries)


# Into queries


@pytest.mark.parametrize("backend", BACKENDS)
def test_named_columns(backend):
    frame = make_frame(backend, {"url": ["u", "v"], "b": [1, 2], "grade": [0, 3], "q": [5, 5], "a": [True, False]})
    queries = from_frame(frame, label="grade", qid="q", doc="url")
    assert queries.feature_names == ("b", "a")
    np.testing.assert_array_equal(queries.X, [[1, 1], [2, 0]])
    assert queries.X.dtype == np.float64
    assert queries.X.flags.c_contiguous
    np.testing.assert_array_equal(queries.y, [0, 3])
    np.testing.assert_array_equal(queries.qid, [5, 5])
    np.testing.assert_array_equal(queries.doc_ids, ["u", "v"])
    assert from_frame(frame, label="grade", qid="q", features=["a"]).feature_names == ("a",)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_feature_called_rank_stays_a_feature_beside_grades(backend):
    queries = from_frame(make_frame(backend, {"qid": [1, 1], "label": [0, 1], "rank": [9, 8]}))
    assert queries.feature_names == ("rank",)
    assert_same_queries(from_frame(to_frame(queries, backend)), queries)


@pytest.mark.parametrize("backend", BACKENDS)
def test_float32_only_if_every_feature_is(backend):
    single = {"x": np.array([1.5, 2.5], np.float32), "y": np.array([0.1, 0.2], np.float32)}
    x, names = frame_to_matrix(make_frame(backend, single))
    assert x.dtype == np.float32
    assert names == ("x", "y")
    np.testing.assert_array_equal(x, np.column_stack([single["x"], single["y"]]))
    assert frame_to_matrix(make_frame(backend, single | {"z": np.array([1, 2])}))[0].dtype == np.float64


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame(
            {
                "i": pd.array([1, None], dtype="Int64"),
                "b": pd.array([None, True], dtype="boolean"),
                "f": [None, 2.5],
            }
        ),
        pl.DataFrame({"i": [1, None], "b": [None, True], "f": [None, 2.5]}),
        pa.table({"i": [1, None], "b": [None, True], "f": [None, 2.5]}),
        pa.table({"i": pa.chunked_array([[1], [None]]), "b": [None, True], "f": [None, 2.5]}),
    ],
)
def test_missing_feature_values_become_nan(frame):
    queries = rw.Queries(frame, [0, 1])
    np.testing.assert_array_equal(queries.X, [[1, np.nan, np.nan], [np.nan, 1, 2.5]])
    assert queries.feature_names == ("i", "b", "f")


def test_more_rows_than_a_block():
    x = np.random.default_rng(0).normal(size=(10_000, 3))
    np.testing.assert_array_equal(frame_to_matrix(pl.DataFrame(x))[0], x)


def test_a_pandas_frame_with_numbered_columns():
    x, names = frame_to_matrix(pd.DataFrame(np.eye(2)))
    assert names == ("0", "1")
    np.testing.assert_array_equal(x, np.eye(2))


LETTERS = ["b", "a", "b"]
DATES = [dt.date(2024, 2, 29), dt.date(1999, 1, 1), dt.date(2024, 2, 29)]
DAYS = np.array(DATES, "datetime64[D]")


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (pd.Series([3, 1, 3]), [3, 1, 3]),
        (pd.Series(LETTERS), LETTERS),
        (pd.Series(LETTERS, dtype="category"), LETTERS),
        (pd.Series([30, 10, 30], dtype="category"), [30, 10, 30]),
        (pd.Series(DATES), DAYS),
        (pd.to_datetime(pd.Series(DATES)), DAYS),
        (pl.Series(LETTERS, dtype=pl.Categorical), LETTERS),
        (pl.Series(LETTERS, dtype=pl.Enum(["a", "b", "c"])), LETTERS),
        (pl.Series(DATES), DAYS),
        (pl.Series([True, False, True]), [True, False, True]),
        (pa.array(LETTERS).dictionary_encode(), LETTERS),
        (pa.array([b"b", b"a", b"b"]), np.array([b"b", b"a", b"b"], object)),
        (pa.array(DATES), DAYS),
    ],
)
def test_query_ids_of_any_type(ids, expected):
    backend = type(ids).__module__.split(".")[0]
    queries = from_frame(make_frame(backend, {"qid": ids, "label": [0, 1, 2], "x": [1.0, 2.0, 3.0]}))
    np.testing.assert_array_equal(queries.qid, expected)
    assert queries.qid.dtype.kind == np.asarray(expected).dtype.kind
    np.testing.assert_array_equal(queries.grouping.codes, [0, 1, 0])


# Refused


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("columns", "arguments", "message"),
    [
        ({"qid": [1], "x": [2.0]}, {}, r"no column 'label' \(label\); there are 'qid', 'x': name .* label="),
        ({"label": [1], "x": [2.0]}, {}, r"no column 'qid' \(qid\)"),
        ({"label": [1], "qid": [1]}, {"features": ["x"]}, r"no column 'x' \(features\)"),
        ({"label": [1], "qid": [1]}, {"doc": "url"}, r"no column 'url' \(doc\)"),
        ({"label": [1], "qid": [1], "rank": [1]}, {"label": "grade"}, r"no column 'grade'"),
        (
            {"label": [1], "qid": [1], "u": ["a"]},
            {"features": ["u"]},
            r"column 'u' is String, not numeric.*one_hot=.*doc='u'",
        ),
        ({"label": ["1", "good"], "qid": [1, 1]}, {}, r"row 1: column 'label' is 'good', which is not a number"),
        (
            {"label": [1], "qid": [1]},
            {"features": ["label"]},
            r"'label' is named twice, as label and as features",
        ),
        ({"label": [0.0, None], "qid": [1, 1]}, {}, r"row 1: there is no value in column 'label'"),
        ({"label": [0, 1], "qid": [None, "a"]}, {}, r"row 0: there is no value in column 'qid'"),
        (
            {"label": [0, 1], "qid": [1, 1], "doc_id": ["a", None]},
            {},
            r"row 1: there is no value in column 'doc_id'",
        ),
        ({"label": [-1, 1], "qid": [1, 1]}, {}, r"row 0 \(query 1\): the grade is -1"),
        ({"rank": [1, 1], "qid": [1, 1]}, {}, r"query .*1.*: a full ranking must have each rank from 1 to 2"),
        ({"preferred_over": [1, 1], "qid": [1, 1]}, {}, r"column 'preferred_over' must hold lists"),
        ({"preferred_over": [[1], [2]], "qid": [1, 1]}, {}, r"lists of structs \{document, weight\}"),
        (
            {"preferred_over": [[], [{"document": 2, "weight": 1.0}]], "qid": [1, 1]},
            {},
            r"row 1: column 'preferred_over' names document 2 of query 1, which has documents 0 to 1",
        ),
        (
            {"preferred_over": [[], [{"document": None, "weight": 1.0}]], "qid": [1, 1]},
            {},
            r"every edge needs a document",
        ),
        (
            {"preferred_over": [[], [{"document": 0, "weight": "much"}]], "qid": [1, 1]},
            {},
            r"every edge needs .* a weight, a number",
        ),
        ({"qid": [[1], [2]], "label": [0, 1]}, {}, r"column 'qid' holds .*list.*: ids must be single values"),
    ],
)
def test_refusals(backend, columns, arguments, message):
    with pytest.raises(DataError, match=message):
        from_frame(make_frame(backend, columns), **arguments)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"values": [[1.0], [2.0, 3.0]]}, r"row 1 has 1 indices but 2 values"),
        ({"indices": [[0], [3]]}, r"row 1 has a value for feature 3, but features go from 0 to 2"),
        ({"indices": [[-1], [2]]}, r"row 0 has a value for feature -1"),
        ({"indices": [[0.5], [2.0]]}, r"'indices' must hold lists of whole numbers"),
        ({"values": [["a"], ["b"]]}, r"'values' must hold lists of numbers"),
        ({"indices": [0.5, 2.0]}, r"column 'values' is (List.*|Object), not numeric"),
        ({"n_features": [3, 4]}, r"'n_features' must hold one whole number"),
        ({"n_features": [-3, -3]}, r"'n_features' must hold one whole number"),
        ({"values": [[1.0], None]}, r"row 1: there is no value in column 'values'"),
    ],
)
def test_csr_columns_that_do_not_fit(backend, changed, message):
    columns = {
        "qid": [1, 1],
        "label": [0, 1],
        "indices": [[0], [2]],
        "values": [[1.0], [2.0]],
        "n_features": [3, 3],
    }
    np.testing.assert_array_equal(from_frame(make_frame(backend, columns)).X.toarray(), [[1, 0, 0], [0, 0, 2]])
    with pytest.raises(DataError, match=message):
        from_frame(make_frame(backend, columns | changed))


def test_csr_columns_in_any_order_are_sorted():
    columns = {"qid": [1], "label": [0], "indices": [[2, 0]], "values": [[1.0, 5.0]], "n_features": [3]}
    x = from_frame(pa.table(columns)).X
    np.testing.assert_array_equal(x.indices, [0, 2])
    np.testing.assert_array_equal(x.data, [5, 1])


def test_features_called_as_the_csr_columns_stay_dense():
    frame = pa.table({"qid": [1], "label": [0], "indices": [2], "values": [1.0], "n_features": [3]})
    np.testing.assert_array_equal(from_frame(frame).X, [[2, 1, 3]])


@pytest.mark.parametrize("frame", [{"qid": [1]}, pl.LazyFrame({"qid": [1]}), [[1.0]], pd.Series([1])])
def test_what_is_no_frame(frame):
    with pytest.raises(DataError, match="expected a pandas or polars DataFrame or a pyarrow Table"):
        from_frame(frame)


@pytest.mark.parametrize("frame", [pd.DataFrame(np.eye(2), columns=["a", "a"]), pa.table([[1], [2]], names=["a", "a"])])
def test_two_columns_of_one_name(frame):
    with pytest.raises(DataError, match="need different names"):
        rw.Queries(frame, [0] * len(frame))


def test_a_column_of_mixed_types_is_named():
    frame = pd.DataFrame({"qid": [7, "7"], "label": [0, 1]})
    with pytest.raises(DataError, match="column 'qid' is not a column of one plain type"):
        from_frame(frame)


def test_features_must_be_a_list_of_names():
    with pytest.raises(ParameterError, match="not the string 'bm25'"):
        from_frame(pa.table({"qid": [1], "label": [0], "bm25": [1.0]}), features="bm25")


def test_a_long_list_of_columns_is_cut():
    with pytest.raises(DataError, match="'f19' and 80 more"):
        from_frame(pa.table({f"f{j}": [1.0] for j in range(100)}))


@pytest.mark.parametrize(
    ("name", "supervision"),
    [
        ("label", rw.Grades([0.0])),
        ("qid", rw.Grades([0.0])),
        ("doc_id", rw.Grades([0.0])),
        ("label", rw.FullRanking([1])),
        ("rank", rw.FullRanking([1])),
        ("rank", rw.PreferenceGraph(1, [], [])),
    ],
)
def test_feature_names_that_would_be_misread(name, supervision):
    with pytest.raises(DataError, match=f"a feature is named '{name}'"):
        to_frame(rw.Queries([[1.0]], supervision, feature_names=[name]), "pyarrow")


@pytest.mark.parametrize("ids", [[7, "7"], [(1, 2), (3, 4)], [object(), object()]])
def test_query_ids_that_no_column_can_hold(ids):
    qid = np.empty(2, dtype=object)
    qid[:] = ids
    with pytest.raises(DataError, match="turn them into strings"):
        to_frame(rw.Queries([[1.0], [2.0]], [0, 1], qid), "pyarrow")


def test_unknown_backend():
    with pytest.raises(ParameterError, match="backend must be one of 'pandas', 'polars', 'pyarrow', not 'dask'"):
        to_frame(rw.Queries([[1.0]], [0]), "dask")


@pytest.mark.parametrize("backend", ["pandas", "polars"])
def test_a_backend_that_is_not_installed(backend, monkeypatch):
    monkeypatch.setitem(sys.modules, backend, None)
    with pytest.raises(ParameterError, match=f"needs the package {backend}"):
        to_frame(rw.Queries([[1.0]], [0]), backend)


def test_frames_that_were_put_together_have_several_arrays_for_a_column():
    frame = pd.DataFrame({"qid": ["a", "a", "b", "b"], "label": [0, 1, 1, 0], "x": [0.5, 1.5, 2.5, 3.5]})
    frame["qid"] = frame["qid"].astype("string[pyarrow]")
    together = rw.from_frame(pd.concat([frame[:3], frame[3:]]))
    assert together.query_ids.tolist() == ["a", "b"]
    np.testing.assert_array_equal(together.X[:, 0], frame["x"])
