"""Leave-query-out in closed form against retraining without each query."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.solvers import leave_out
from tests import retraining

ALPHAS = 2.0 ** np.array([-15, -5, 0, 5, 15])


@st.composite
def collections(draw):
    """Queries of one document and more, rows apart, features that are constant, zero, equal or nearly so."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_queries, n = draw(st.integers(2, 9)), draw(st.integers(1, 8))
    qid = np.concatenate([np.arange(n_queries), rng.integers(0, n_queries, draw(st.integers(0, 40)))])
    X = np.round(rng.standard_normal((len(qid), n)), draw(st.integers(0, 3))) * (rng.random((len(qid), n)) < 0.8)
    if n > 2 and draw(st.booleans()):
        X[:, 1], X[:, 2] = X[:, 0], 3.0
    return X, rng.integers(0, 4, len(qid)).astype(float), rng.permutation(qid)


@settings(max_examples=60)
@given(collections(), st.booleans())
def test_rankrls_equals_retraining(collection, sparse):
    X, y, qid = collection
    queries = rw.Queries(sp.csr_array(X) if sparse else X, y, qid)
    held_out = rw.leave_query_out(rw.RankRLS(), queries, ALPHAS)
    for alpha, scores in zip(ALPHAS, held_out.scores, strict=True):
        expected = retraining.held_out_scores(X, y, qid, alpha)
        # With few documents and λ = 2^-15 scores run into the hundreds: 1e-8 is relative to them then.
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-8 * max(1, np.abs(expected).max()))


WAYS = {"_by_features", "_by_query", "_by_series", "_one_by_one"}


@pytest.mark.parametrize("way", sorted(WAYS))
def test_every_way_equals_retraining(way, monkeypatch):
    """However long the queries are and however many λ there are."""
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((300, 12)), np.sort(rng.integers(0, 10, 300))
    y = rng.integers(0, 3, 300).astype(float)
    data = rw.Queries(X, y, qid)
    for other in WAYS - {way}:
        monkeypatch.setattr(leave_out.Leaver, other, getattr(leave_out.Leaver, way))
    held_out = rw.leave_query_out(rw.RankRLS(), data, ALPHAS)
    for alpha, scores in zip(ALPHAS, held_out.scores, strict=True):
        np.testing.assert_allclose(scores, retraining.held_out_scores(X, y, qid, alpha), rtol=0, atol=1e-9)


def test_features_on_very_different_scales():
    """The shortcuts lose digits here, and their residuals tell it: the query is then solved in full."""
    rng = np.random.default_rng(1)
    scale = np.array([1e-3, 1, 1e3, 1e5, 1, 1])
    X, qid = (rng.standard_normal((60, 6)) + 10) * scale, np.repeat(np.arange(10), 6)
    X[:, 4] = X[:, 3] * 2e-5
    y = rng.integers(0, 3, 60).astype(float)
    held_out = rw.leave_query_out(rw.RankRLS(), rw.Queries(X, y, qid), ALPHAS)
    for alpha, scores in zip(ALPHAS, held_out.scores, strict=True):
        np.testing.assert_allclose(scores, retraining.held_out_scores(X, y, qid, alpha), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    "ranker",
    [
        rw.RankRLS(),
        rw.RegressionRanker(),
        rw.KernelRankRLS(kernel="rbf", gamma=0.2),
        rw.KernelRankRLS(kernel="poly", degree=2),
        rw.KernelRankRLS(kernel="linear"),
    ],
    ids=str,
)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_ranker_equals_its_own_retraining(ranker, sparse):
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((70, 5)) + 1, rng.integers(0, 9, 70).astype(str)
    X[rng.random(X.shape) < 0.3] = 0
    y = rng.integers(0, 3, 70).astype(float)
    store = sp.csr_array if sparse else np.asarray
    alphas = 2.0 ** np.array([-10, 0, 10])
    held_out = rw.leave_query_out(ranker, rw.Queries(store(X), y, qid), alphas)
    for alpha, scores in zip(alphas, held_out.scores, strict=True):
        for query in np.unique(qid):
            rows = qid == query
            ranker.set_params(alpha=float(alpha)).fit(store(X[~rows]), y[~rows], qid=qid[~rows])
            np.testing.assert_allclose(scores[rows], ranker.predict(store(X[rows])), rtol=0, atol=1e-8)


def wide_sparse(documents):
    rng = np.random.default_rng(4)
    X = sp.random_array((documents, 6000), density=0.004, random_state=rng, format="csr")
    return X, rng.integers(0, 3, documents).astype(float), np.arange(documents) % 4


def test_wide_sparse_data_use_the_kernel_matrix():
    X, y, qid = wide_sparse(40)
    scores = rw.leave_query_out(rw.RankRLS(), rw.Queries(X, y, qid), [0.5]).scores[0]
    dense = retraining.held_out_scores(X.toarray(), y, qid, 0.5)
    np.testing.assert_allclose(scores, dense, atol=1e-8)


def test_sparse_data_both_wide_and_long_are_retrained(monkeypatch):
    monkeypatch.setattr("rankwright.rankers.rankrls._LARGEST_MATRIX", 30)
    X, y, qid = wide_sparse(40)
    scores = rw.leave_query_out(rw.RankRLS(), rw.Queries(X, y, qid), [0.5]).scores[0]
    np.testing.assert_allclose(scores, retraining.held_out_scores(X.toarray(), y, qid, 0.5), atol=1e-8)


def test_any_measure_of_held_out_scores():
    queries = rw.datasets.make_queries(n_queries=30, documents=8, seed=3).queries
    held_out = rw.leave_query_out(rw.RankRLS(alpha=rw.search(0.5, 8)), queries)
    assert held_out.alphas.tolist() == [0.5, 8]
    for scores, evaluation in zip(held_out.scores, held_out.evaluate("err, map", "letor4"), strict=True):
        told = rw.evaluate(scores, queries, "err, map", "letor4")
        assert evaluation.means == told.means


def test_what_cannot_be_left_out():
    queries = rw.datasets.make_queries(n_queries=3, seed=0).queries
    with pytest.raises(rw.DataError, match="only one query"):
        rw.leave_query_out(rw.RankRLS(), queries[0])
    with pytest.raises(rw.ParameterError, match="closed form"):
        rw.leave_query_out(rw.GreedyRankRLS(), queries)
    for alphas in ([1.0, -1.0], ["a"], [], 3.0):
        with pytest.raises(rw.ParameterError, match="alpha"):
            rw.leave_query_out(rw.RankRLS(), queries, alphas)
    with pytest.raises(rw.ParameterError, match="queries must be Queries"):
        rw.leave_query_out(rw.RankRLS(), queries.X)
    wide = rw.Queries(sp.csr_array(([1.0], ([0], [9999])), shape=(4, 10_000)), [0, 1, 0, 1], [1, 1, 2, 2])
    with pytest.raises(rw.DataError, match="give validation queries"):
        rw.leave_query_out(rw.RegressionRanker(), wide)


def test_a_query_that_outweighs_all_others():
    rng = np.random.default_rng(0)
    X, qid = rng.standard_normal((80, 4)), np.repeat(np.arange(10), 8)
    X[qid == 3] *= 1e7
    y = rng.integers(0, 3, 80).astype(float)
    for store in (np.asarray, sp.csr_array):
        for ranker in (rw.RankRLS(), rw.RegressionRanker()):
            held_out = rw.leave_query_out(ranker, rw.Queries(store(X), y, qid), [1.0]).scores[0]
            for query in range(10):
                rows = qid == query
                expected = ranker.fit(X[~rows], y[~rows], qid=qid[~rows]).predict(X[rows])
                np.testing.assert_allclose(held_out[rows], expected, rtol=1e-7, atol=1e-8 * np.abs(expected).max())


def test_more_features_than_documents():
    rng = np.random.default_rng(1)
    X, qid = rng.standard_normal((60, 200)), np.repeat(np.arange(10), 6)
    y = rng.integers(0, 3, 60).astype(float)
    held_out = rw.leave_query_out(rw.RankRLS(), rw.Queries(X, y, qid), ALPHAS)
    for alpha, scores in zip(ALPHAS, held_out.scores, strict=True):
        np.testing.assert_allclose(scores, retraining.held_out_scores(X, y, qid, alpha), atol=1e-8)


def test_lambdas_stay_in_the_order_given():
    queries = rw.datasets.make_queries(n_queries=5, documents=6, seed=0).queries
    one, two, three = (rw.leave_query_out(rw.RankRLS(), queries, [a]).scores[0] for a in (10.0, 0.1, 10.0))
    together = rw.leave_query_out(rw.RankRLS(), queries, [10.0, 0.1, 10.0])
    assert together.alphas.tolist() == [10.0, 0.1, 10.0]
    np.testing.assert_allclose(together.scores, [one, two, three], rtol=1e-9, atol=1e-12)


def test_a_kernel_on_features_of_large_scale():
    """Dual weights are checked against their equations, and solved for anew where they do not fulfil them."""
    rng = np.random.default_rng(2)
    X, qid = 1e3 * rng.standard_normal((40, 5)), np.repeat(np.arange(8), 5)
    y = rng.integers(0, 3, 40).astype(float)
    scores = rw.leave_query_out(rw.KernelRankRLS(kernel="linear"), rw.Queries(X, y, qid), [1e-2]).scores[0]
    np.testing.assert_allclose(scores, retraining.held_out_scores(X, y, qid, 1e-2), atol=1e-6)
