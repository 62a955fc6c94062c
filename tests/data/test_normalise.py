"""Both scalers against plain NumPy loops and scikit-learn's scalers, and as members of a pipeline."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import rankwright as rw
from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler, normalised
from rankwright.errors import DataError

SCALERS = [QueryMinMaxScaler(), GlobalStandardScaler(), GlobalStandardScaler(with_mean=False)]
DTYPES = st.sampled_from([np.float32, np.float64])
unhurried = settings(deadline=None, max_examples=60)  # the first example may have to compile a kernel


@st.composite
def features(draw, *, least=-100.0):
    """Rows with ties, constants, zeros and NaN, of queries in any order."""
    rows, columns = draw(st.integers(1, 20)), draw(st.integers(1, 4))
    numbers = st.one_of(st.just(0.0), st.floats(least, 100, width=32).map(lambda v: round(v, 2)), st.just(np.nan))
    x = draw(hnp.arrays(draw(DTYPES), (rows, columns), elements=numbers))
    qid = draw(st.lists(st.sampled_from(["b", "a", "c"]), min_size=rows, max_size=rows))
    return x, np.array(qid)


def min_max_by_loops(x, qid):
    expected = x.astype(np.float64)
    for query in set(qid.tolist()):
        for j in range(x.shape[1]):
            values = expected[qid == query, j]
            present = values[~np.isnan(values)]
            if len(present):
                spread = present.max() - present.min()
                expected[qid == query, j] = (values - present.min()) / (spread if spread > 0 else 1)
    return expected


def closeness(dtype):
    return {"rtol": 1e-5, "atol": 2e-5} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-11}


@unhurried
@given(features())
def test_query_min_max_is_the_formula(case):
    x, qid = case
    before = x.copy()
    scaled = QueryMinMaxScaler().fit_transform(x, qid=qid)
    assert scaled.dtype == x.dtype
    np.testing.assert_array_equal(x, before)
    np.testing.assert_allclose(scaled, min_max_by_loops(x, qid), **closeness(x.dtype))
    present = scaled[~np.isnan(scaled)]
    assert ((present >= 0) & (present <= 1)).all()


@unhurried
@given(features())
def test_query_min_max_is_scikit_learns_within_each_query(case):
    x, qid = case
    scaled = QueryMinMaxScaler().fit_transform(x.astype(np.float64), qid=qid)
    for query in np.unique(qid):
        rows = qid == query
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # columns of nothing but NaN
            expected = MinMaxScaler().fit_transform(x[rows].astype(np.float64))
        np.testing.assert_allclose(scaled[rows], expected, atol=1e-9)


@unhurried
@given(features(least=0.0))
def test_query_min_max_of_csr_is_that_of_its_dense_form(case):
    x, qid = case
    sparse = sp.csr_array(x)
    before = sparse.copy()
    scaled = QueryMinMaxScaler().fit_transform(sparse, qid=qid)
    assert isinstance(scaled, sp.csr_array)
    assert scaled.dtype == x.dtype
    assert scaled.nnz == sparse.nnz
    np.testing.assert_array_equal(scaled.toarray(), QueryMinMaxScaler().fit_transform(x, qid=qid))
    np.testing.assert_array_equal(sparse.toarray(), before.toarray())


def test_query_min_max_of_csr_where_every_document_has_the_feature():
    x = np.array([[-4.0, 0], [-2, 1], [-3, 0]])
    scaled = QueryMinMaxScaler().fit_transform(sp.csr_matrix(x))
    assert isinstance(scaled, sp.csr_matrix)
    np.testing.assert_array_equal(scaled.toarray(), [[0, 0], [1, 1], [0.5, 0]])


def test_query_min_max_of_csr_that_would_have_to_be_filled_in():
    x = sp.csr_array(np.array([[1.0, 5], [0, -4], [3, 0]]))
    qid = ["a", "b", "b"]
    with pytest.raises(DataError, match=r"query 'b', column 1: the least value is -4 and some documents"):
        QueryMinMaxScaler().fit_transform(x, qid=qid)
    QueryMinMaxScaler().fit_transform(x, qid=["a", "b", "a"])


def test_duplicate_entries_of_csr_are_added_up():
    twice = sp.csr_array((np.array([1.0, 2, 6]), np.array([0, 0, 0]), np.array([0, 2, 3, 3])), shape=(3, 1))
    np.testing.assert_array_equal(QueryMinMaxScaler().fit_transform(twice).toarray().ravel(), [0.5, 1, 0])
    assert GlobalStandardScaler(with_mean=False).fit(twice).mean_ == [3]
    assert twice.nnz == 3


@pytest.mark.parametrize("sparse", [False, True])
def test_many_threads_are_one_result(sparse, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.random((20_000, 3), dtype=np.float32) * (rng.random((20_000, 3)) < 0.5)
    qid = rng.integers(0, 300, 20_000)
    given_x = sp.csr_array(x) if sparse else x
    monkeypatch.setenv("RANKWRIGHT_THREADS", "4")
    scaled = QueryMinMaxScaler().fit_transform(given_x, qid=qid)
    scaled = scaled.toarray() if sparse else scaled
    np.testing.assert_allclose(scaled, min_max_by_loops(x, qid), rtol=1e-6)
    fitted = GlobalStandardScaler(with_mean=False).fit(given_x)
    np.testing.assert_allclose(fitted.scale_, x.std(axis=0, dtype=np.float64), rtol=1e-12)
    np.testing.assert_allclose(fitted.mean_, x.mean(axis=0, dtype=np.float64), rtol=1e-12)


@unhurried
@given(features(), st.booleans())
def test_the_standard_scaler_is_scikit_learns(case, with_mean):
    x, qid = case
    before = x.copy()
    ours = GlobalStandardScaler(with_mean=with_mean).fit(x, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns of nothing but NaN
        theirs = StandardScaler(with_mean=with_mean).fit(x.astype(np.float64))
        expected = theirs.transform(x.astype(np.float64))
    some = ~np.isnan(x).all(axis=0)
    expected_mean = x[:, some].astype(np.float64).mean(0, where=~np.isnan(x[:, some]))
    rounding = 1e-14 * np.nanmax(np.abs(x[:, some]), initial=0.0)  # of a sum whose terms cancel
    np.testing.assert_allclose(ours.mean_[some], expected_mean, atol=rounding)
    np.testing.assert_allclose(ours.scale_, np.where(some, theirs.scale_, 1), rtol=1e-9)
    scaled = ours.transform(x, qid=qid)
    assert scaled.dtype == x.dtype
    np.testing.assert_allclose(scaled, expected, **closeness(x.dtype))
    np.testing.assert_array_equal(x, before)


@unhurried
@given(features())
def test_the_standard_scaler_of_csr_is_that_of_its_dense_form(case):
    x, _ = case
    sparse = sp.csr_array(x)
    ours, dense = (GlobalStandardScaler(with_mean=False).fit(form) for form in (sparse, x))
    np.testing.assert_allclose(ours.scale_, dense.scale_, rtol=1e-12)
    np.testing.assert_allclose(ours.mean_, dense.mean_, rtol=1e-12, atol=1e-13)
    scaled = ours.transform(sparse)
    assert isinstance(scaled, sp.csr_array)
    assert scaled.dtype == x.dtype
    np.testing.assert_allclose(scaled.toarray(), dense.transform(x), **closeness(x.dtype))


def test_float32_is_summed_in_float64():
    x = (16_777_216 + np.arange(5000) % 7 * 2).astype(np.float32)[:, None]  # 2²⁴: the sum of two rounds in float32
    fitted = GlobalStandardScaler().fit(x)
    np.testing.assert_allclose(fitted.mean_, x.astype(np.float64).mean(), rtol=1e-15)
    np.testing.assert_allclose(fitted.scale_, x.astype(np.float64).std(), rtol=1e-12)
    np.testing.assert_allclose(fitted.transform(x).mean(dtype=np.float64), 0, atol=1e-6)


@pytest.mark.parametrize("value", [0.1, 1e308, -3.3])
def test_a_constant_becomes_zero_exactly(value):
    x = np.full((1001, 1), value)
    fitted = GlobalStandardScaler().fit(x)
    assert (fitted.mean_, fitted.scale_) == (value, 1)
    assert not fitted.transform(x).any()
    assert not QueryMinMaxScaler().fit_transform(x, qid=np.arange(1001) % 5).any()


def test_what_is_learned_of_nothing_leaves_values_alone():
    fitted = GlobalStandardScaler().fit([[np.nan, 1.0], [np.nan, 3.0]])
    np.testing.assert_array_equal(fitted.transform([[7.0, 2.0]]), [[7, 0]])


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinity_is_an_error_with_its_place(sparse, bad):
    x = np.ones((6, 3), dtype=np.float32)
    x[4, 1] = bad
    given_x = sp.csr_array(x) if sparse else x
    with pytest.raises(DataError, match=rf"row 4 \(query 'b', column 1\): the value is {bad:g}"):
        QueryMinMaxScaler().fit_transform(given_x, qid=list("abcabc"))
    scaler = GlobalStandardScaler(with_mean=not sparse)
    with pytest.raises(DataError, match=rf"row 4, column 1: the value is {bad:g}"):
        scaler.fit(given_x)
    scaler.fit(given_x[:4])
    with pytest.raises(DataError, match="row 4, column 1"):
        scaler.transform(given_x)
    with pytest.raises(DataError, match="row 4, column 'y'"):
        GlobalStandardScaler().fit(pd.DataFrame(x, columns=["x", "y", "z"]))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_ranges_too_wide_for_their_type(form):
    x = form(np.array([[1.0, -1.5e308], [2.0, 1.5e308]]))
    with pytest.raises(DataError, match=r"column 1: the difference of -1.5e\+308 and 1.5e\+308 overflows float64"):
        QueryMinMaxScaler().fit_transform(x)
    with pytest.raises(DataError, match=r"column 1: the standard deviation of values from -1.5e\+308"):
        GlobalStandardScaler(with_mean=False).fit(x)


def test_csr_cannot_be_centred():
    with pytest.raises(DataError, match=r"with_mean=False"):
        GlobalStandardScaler().fit(sp.csr_array(np.eye(3)))


def test_query_ids_of_any_type_and_none():
    x = np.array([[1.0], [5], [3], [9]])
    expected = [0, 0, 1, 1]
    for qid in (["7", 7, "7", 7], pd.Series(["u", "v", "u", "v"]), pl.Series([2, 1, 2, 1]), (1.5, 0, 1.5, 0)):
        np.testing.assert_array_equal(QueryMinMaxScaler().fit_transform(x, qid=qid).ravel(), expected)
    np.testing.assert_array_equal(QueryMinMaxScaler().fit_transform(x).ravel(), (x.ravel() - 1) / 8)
    for call in (QueryMinMaxScaler().fit, QueryMinMaxScaler().transform):
        with pytest.raises(DataError, match="one query id for each of the 4 rows"):
            call(x, qid=[1, 2])


# The estimator contract


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_frames_are_kept(scaler, frame):
    scaler = clone(scaler)
    data = frame({"bm25": [1.0, 2, 4], "length": [3.0, 3, 0]})
    backend = "pandas" if frame is pd.DataFrame else "polars"
    scaled = scaler.set_output(transform=backend).fit_transform(data, qid=[1, 1, 2])
    assert isinstance(scaled, frame)
    assert list(scaled.columns) == list(scaler.get_feature_names_out()) == ["bm25", "length"]
    assert list(scaler.feature_names_in_) == ["bm25", "length"]
    assert scaler.n_features_in_ == 2
    plain = clone(scaler).set_output(transform="default").fit_transform(data.to_numpy(), qid=[1, 1, 2])
    np.testing.assert_array_equal(scaled.to_numpy(), plain)
    with pytest.raises(ValueError, match="feature names should match"):
        scaler.transform(frame({"other": [1.0], "length": [3.0]}))


def test_only_the_stateless_scaler_works_unfitted():
    assert QueryMinMaxScaler().transform([[1.0], [3.0]]).tolist() == [[0.0], [1.0]]
    with pytest.raises(NotFittedError):
        GlobalStandardScaler().transform([[1.0]])


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_pipeline_hands_qid_on(scaler):
    rng = np.random.default_rng(1)
    x, y, qid = rng.random((30, 3)), rng.random(30), rng.integers(0, 4, 30)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(clone(scaler), Ridge()).fit(x, y, qid=qid)
        predicted = pipeline.predict(x, qid=qid)
        scaled = make_pipeline(clone(scaler)).fit_transform(x, y, qid=qid)
    expected = clone(scaler).fit_transform(x, qid=qid)
    np.testing.assert_array_equal(scaled, expected)
    np.testing.assert_allclose(predicted, Ridge().fit(expected, y).predict(expected))


@unhurried
@given(features())
def test_whole_queries_are_normalised(case):
    x, qid = case
    documents = [f"d{row}" for row in range(len(x))]
    queries = rw.Queries(x, np.arange(len(x)), qid, feature_names=list("wxyz")[: x.shape[1]], doc_ids=documents)
    scaled = normalised(queries, QueryMinMaxScaler())
    np.testing.assert_array_equal(scaled.X, QueryMinMaxScaler().fit_transform(x, qid=qid))
    np.testing.assert_array_equal(scaled.y, queries.y)
    np.testing.assert_array_equal(scaled.qid, qid)
    assert scaled.feature_names == queries.feature_names
    assert scaled.doc_ids.tolist() == documents


@pytest.mark.parametrize("names", [None, ["bm25", "age"]], ids=["unnamed", "named"])
@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_scalers_take_queries_as_rankers_do(scaler, names):
    x, qid = np.array([[1.0, 5.0], [4.0, 5.0], [2.0, 7.0], [3.0, 7.5]]), ["b", "a", "b", "a"]
    queries = rw.Queries(x, [0, 1, 2, 0], qid, feature_names=names, doc_ids=list("wxyz"))
    fitted = clone(scaler).fit(queries)
    expected = clone(scaler).fit_transform(x, qid=qid)
    for scaled in (fitted.transform(queries), clone(scaler).fit_transform(queries), normalised(queries, fitted)):
        np.testing.assert_array_equal(scaled.X, expected)
        assert (scaled.y.tolist(), scaled.qid.tolist(), scaled.doc_ids.tolist()) == ([0, 1, 2, 0], qid, list("wxyz"))
        assert scaled.has_feature_names == (names is not None)
        assert scaled.feature_names == queries.feature_names
    assert list(getattr(fitted, "feature_names_in_", [])) == (names or [])
    with pytest.raises(rw.ParameterError, match="y and qid are part of the Queries"):
        clone(scaler).fit(queries, qid=qid)
    with pytest.raises(rw.DataError, match="X has 1 features, but the data that the scaler was fitted on have 2"):
        fitted.transform(rw.Queries(x[:, :1], queries.y, qid))
    if names is not None:
        with pytest.raises(rw.DataError, match="X has other features than the data that the scaler was fitted on"):
            fitted.transform(rw.Queries(x, queries.y, qid, feature_names=["age", "bm25"]))


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_ranker_of_normalised_unnamed_features_takes_named_ones(scaler):
    train = rw.datasets.make_queries(12, 5, 4, n_informative=2, n_correlated=1).queries
    ranker = rw.RankRLS().fit(normalised(train, clone(scaler).fit(train)))
    assert not hasattr(ranker, "feature_names_in_")
    named = rw.Queries(train.X, train.y, train.qid, feature_names=list("abcd"))
    np.testing.assert_array_equal(ranker.predict(named), ranker.predict(train.X))


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_a_pipeline_takes_queries(scaler):
    queries = rw.datasets.make_queries(12, 5, 4, n_informative=2, n_correlated=1).queries
    pipeline = make_pipeline(clone(scaler), rw.RankRLS()).fit(queries)
    scaled = clone(scaler).fit_transform(queries)
    np.testing.assert_array_equal(pipeline.predict(queries), rw.RankRLS().fit(scaled).predict(scaled))
