"""Closed forms on streams: how often the data are read, and what is never made dense."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.centred_sparse import SparseQueries
from rankwright.data.streams.streamed import StreamedQueries
from rankwright.solvers import ridge
from tests import retraining

ALPHAS = 2.0 ** np.arange(-15.0, 15.0, 3.0)


@pytest.fixture
def readings(monkeypatch):
    """Counts readings from its first element on."""
    count, plain = [0], StreamedQueries.parts

    def parts(self, *arguments, **options):
        count[0] += 1
        return plain(self, *arguments, **options)

    monkeypatch.setattr(StreamedQueries, "parts", parts)
    return count


def with_rare_features(queries):
    """Features 10 … 19 vary in one query each, which outweighs all others there."""
    ids, x = np.asarray(queries.qid), queries.X.astype(np.float64)
    for column in range(10, 20):
        x[:, column] = np.where(ids == 3 + 7 * column, x[:, column] * 1e3, 0.0)
    return rw.Queries(x, queries.y, queries.qid)


def stream():
    return rw.datasets.stream_queries(n_queries=400, documents=20, n_features=20, memory="1MB", seed=1)


@pytest.mark.parametrize("ranker", [rw.RankRLS, rw.RegressionRanker])
def test_many_queries_that_outweigh_all_others_take_two_readings_together(ranker, readings):
    data = stream()
    assert data.n_parts > 2
    ranker(rw.search(ALPHAS)).fit(data)
    plain, readings[0] = readings[0], 0
    rare = data.mapped(with_rare_features)
    found = ranker(rw.search(ALPHAS)).fit(rare)
    assert readings[0] <= plain + 2
    memory = rare.in_memory()
    expected = ranker(rw.search(ALPHAS)).fit(memory)
    np.testing.assert_allclose(found.path_.weights, expected.path_.weights, rtol=1e-9, atol=1e-12)
    assert found.path_.lqo == expected.path_.lqo
    for alpha, scores in zip(ALPHAS, rw.leave_query_out(ranker(), memory, ALPHAS).scores, strict=True):
        for query in (73, 136, 5):  # two of the rare ones and a plain one
            own = memory.qid == query
            X, y = memory.X[~own], memory.y[~own]
            if ranker is rw.RankRLS:
                retrained = memory.X[own] @ retraining.rankrls(X, y, memory.qid[~own], alpha)
            else:  # not scikit-learn's Ridge, which is off by 2e-6 here
                weights = retraining.ridge(X - X.mean(axis=0), y - y.mean(), alpha)
                retrained = (memory.X[own] - X.mean(axis=0)) @ weights + y.mean()
            np.testing.assert_allclose(scores[own], retrained, rtol=0, atol=1e-8 * max(1, np.abs(retrained).max()))


def test_conjugate_gradients_read_no_more_often_for_many_lambdas(readings, monkeypatch):
    monkeypatch.setattr(ridge, "_MOST_FEATURES_OF_MATRIX", 2)
    data = stream().mapped(lambda queries: rw.Queries(sp.csr_array(queries.X), queries.y, queries.qid))
    rw.RankRLS().path(data, ALPHAS[:1])
    one, readings[0] = readings[0], 0
    weights = rw.RankRLS().path(data, ALPHAS)
    assert readings[0] == one
    np.testing.assert_allclose(weights, rw.RankRLS().path(stream().in_memory(), ALPHAS), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("level", [1.0, 1.7e9])
def test_regression_makes_no_documents_dense_for_a_feature_that_nearly_all_have(level, monkeypatch):
    def block(self, q):
        raise AssertionError("all documents would be made dense")

    rng = np.random.default_rng(0)
    X = (rng.random((30_000, 6)) < 0.2) * rng.random((30_000, 6))
    X[:, 0] = 1.0
    X[:, 1] = level + rng.integers(0, 60, 30_000)
    X[7, 0] = X[70, 1] = 0.0
    y = np.clip(np.round(3 * X[:, 2] + rng.random(30_000)), 0, 3)
    expected = rw.RegressionRanker(0.5).fit(X, y, group=[30_000])
    monkeypatch.setattr(SparseQueries, "block", block)
    found = rw.RegressionRanker(0.5).fit(sp.csr_array(X), y, group=[30_000])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), rtol=1e-9, atol=1e-9)
