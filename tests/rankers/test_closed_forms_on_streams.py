"""Rankers with a closed form on queries that are read part by part, against the same queries in memory."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from tests.streaming import query_by_query, streamed

ALPHAS = 2.0 ** np.array([-15, -5, 0, 5, 15])
RANKERS = [rw.RankRLS, rw.RegressionRanker]
LAYOUTS = ["dense", "float32", "csr", "offset", "missing", "outweighs"]


def dirty(layout):
    """Text ids in no order, queries of one document, without relevant documents, columns that are constant or equal."""
    rng = np.random.default_rng(LAYOUTS.index(layout))
    sizes = rng.integers(1, 40, 60)
    sizes[::7] = 1
    rows = int(sizes.sum())
    X = np.round(rng.standard_normal((rows, 8)), 3)
    X[:, 3], X[:, 4] = 2.5, X[:, 0]
    X[rng.random(X.shape) < 0.3] = 0
    qid = rng.permutation(np.repeat([f"q{number}" for number in rng.permutation(60)], sizes))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(rows) + 0.5), 0, 3)
    y[qid == qid[0]] = 0
    if layout == "offset":
        X[:, 5] = 1.7e9 + rng.integers(0, 1000, rows)
    if layout == "missing":
        X[rng.random(rows) < 0.3, 2] = np.nan
    if layout == "outweighs":
        X[qid == qid[len(qid) // 2]] *= 1e7
    if layout == "float32":
        X = X.astype(np.float32)
    return rw.Queries(sp.csr_array(X) if layout in ("csr", "offset") else X, y, qid)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_weights_and_measures_are_those_of_memory(ranker, layout):
    whole = query_by_query(dirty(layout))
    stream = streamed(whole)
    searching = ranker(rw.search(*ALPHAS), measures="ndcg@5, map")
    theirs, ours = searching.fit(whole), ranker(rw.search(*ALPHAS), measures="ndcg@5, map").fit(stream)
    assert ours.alpha_ == theirs.alpha_
    scale = np.abs(theirs.path_.weights).max(axis=1, keepdims=True)
    np.testing.assert_allclose(ours.path_.weights / scale, theirs.path_.weights / scale, rtol=0, atol=1e-8)
    for measure, told in theirs.path_.lqo.items():
        np.testing.assert_allclose(ours.path_.lqo[measure], told, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.predict(whole), theirs.predict(whole), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_four_readings_are_enough(ranker, layout, monkeypatch):
    """A first look, the sums, a correction, and the queries left out; 31 λ or one."""
    stream = streamed(dirty(layout))
    readings, parts = [], rw.StreamedQueries.parts
    monkeypatch.setattr(rw.StreamedQueries, "parts", lambda *arguments: readings.append(1) or parts(*arguments))
    ranker(rw.search()).fit(stream)
    assert len(readings) == 4
    readings.clear()
    ranker(1.0).fit(stream)
    assert len(readings) == 3


@pytest.mark.parametrize("ranker", RANKERS)
def test_validation_queries_and_paths(ranker):
    whole = query_by_query(dirty("dense"))
    stream = streamed(whole)
    ours = ranker(rw.search(*ALPHAS)).fit(stream[:40], valid=stream[40:])
    theirs = ranker(rw.search(*ALPHAS)).fit(whole[:40], valid=whole[40:])
    assert ours.alpha_ == theirs.alpha_
    np.testing.assert_allclose(*([one.path_.valid[rw.nDCG @ 10] for one in (ours, theirs)]), rtol=1e-12)
    np.testing.assert_allclose(ranker().path(stream, ALPHAS), ranker().path(whole, ALPHAS), rtol=0, atol=1e-10)


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_leave_query_out_is_measured_part_by_part(ranker, layout):
    whole = query_by_query(dirty(layout))
    stream = streamed(whole)
    ours, theirs = (rw.leave_query_out(ranker(), queries, ALPHAS) for queries in (stream, whole))
    with pytest.raises(rw.ParameterError, match=r"use HeldOut\.evaluate"):
        _ = ours.scores
    for one, other in zip(
        ours.evaluate("err, ndcg@3", "letor4"), theirs.evaluate("err, ndcg@3", "letor4"), strict=True
    ):
        assert one.query_ids.tolist() == other.query_ids.tolist()
        assert one.measures == other.measures
        for measure in one.measures:
            np.testing.assert_allclose(one.values[measure], other.values[measure], rtol=0, atol=1e-12)


@pytest.mark.parametrize("ranker", RANKERS)
def test_more_features_than_documents(ranker):
    rng = np.random.default_rng(3)
    queries = rw.Queries(rng.standard_normal((50, 70)), rng.integers(0, 3, 50), np.arange(50) % 12)
    whole = query_by_query(queries)
    stream = streamed(whole)
    ours, theirs = (ranker(rw.search(0.1, 10)).fit(data) for data in (stream, whole))
    np.testing.assert_allclose(ours.path_.weights, theirs.path_.weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ours.path_.lqo[rw.nDCG @ 10], theirs.path_.lqo[rw.nDCG @ 10], rtol=0, atol=1e-12)


def wide_sparse():
    rng = np.random.default_rng(4)
    x = sp.random_array((300, 50), density=0.1, random_state=rng, format="csr")
    return rw.Queries(x, rng.integers(0, 3, 300), np.arange(300) % 12)


@pytest.mark.parametrize("ranker", RANKERS)
def test_wide_sparse_queries_are_solved_by_iteration(ranker, monkeypatch):
    monkeypatch.setattr("rankwright.solvers.ridge._MOST_FEATURES_OF_MATRIX", 20)
    whole = query_by_query(wide_sparse())
    stream = streamed(whole)
    np.testing.assert_allclose(ranker().fit(stream).coef_, ranker().fit(whole).coef_, rtol=0, atol=1e-10)


def test_wide_sparse_queries_are_left_out_by_their_kernel_matrix_or_not_at_all(monkeypatch):
    whole = query_by_query(wide_sparse())
    stream = streamed(whole)
    expected = rw.leave_query_out(rw.RankRLS(), whole).evaluate("map")[0]
    monkeypatch.setattr("rankwright.rankers.rankrls._LARGEST_MATRIX", 20)
    with pytest.raises(rw.ParameterError, match="use validation queries"):
        rw.RankRLS(rw.search()).fit(stream)
    monkeypatch.setattr("rankwright.rankers.rankrls._Solution._has_small_gram", False)
    monkeypatch.setattr("rankwright.rankers.rankrls._LARGEST_MATRIX", 300)
    told = rw.leave_query_out(rw.RankRLS(), stream).evaluate("map")[0]
    np.testing.assert_allclose(told.values[rw.AP], expected.values[rw.AP], rtol=0, atol=1e-12)


def test_kernels_are_refused_before_anything_is_read(monkeypatch):
    whole = query_by_query(dirty("dense"))
    stream = streamed(whole)
    monkeypatch.setattr(rw.StreamedQueries, "parts", None)
    for attempt in (
        lambda: rw.KernelRankRLS().fit(stream),
        lambda: rw.KernelRankRLS(rw.search()).fit(whole, valid=stream),
    ):
        with pytest.raises(rw.ParameterError, match=r"KernelRankRLS needs all documents in memory.*use RankRLS"):
            attempt()


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_features_that_are_not_finite_are_told_with_their_query(ranker, layout):
    queries = dirty(layout)
    X = (queries.X.toarray() if sp.issparse(queries.X) else queries.X).copy()
    X[700, 1] = np.inf
    bad = rw.Queries(sp.csr_array(X) if layout == "csr" else X, queries.y, queries.qid)
    with pytest.raises(rw.DataError, match=rf"query '{queries.qid[700]}'.*feature 'f2'.*inf"):
        ranker().fit(streamed(bad))


@pytest.mark.parametrize("offset", [0, 1e6])
def test_regression_on_many_documents_is_ridge_regression(offset):
    """Enough for several groups in a part, in memory and in parts."""
    from sklearn.linear_model import Ridge

    made = rw.datasets.make_queries(n_queries=300, documents=30, n_features=10, seed=2).queries
    X = made.X + offset * (np.arange(10) == 2)
    expected = Ridge(3.0).fit(X - offset * (np.arange(10) == 2), made.y)
    for queries in (rw.Queries(X, made.y, made.qid), streamed(rw.Queries(X, made.y, made.qid))):
        ranker = rw.RegressionRanker(3.0).fit(queries)
        np.testing.assert_allclose(ranker.coef_, expected.coef_, rtol=1e-7, atol=1e-9)
        told = ranker.predict(rw.Queries(X, made.y, made.qid))
        np.testing.assert_allclose(told, expected.predict(made.X), rtol=0, atol=1e-6)
