"""Greedy selection on queries that are read part by part, against queries in memory, and against retraining."""

import gc
import tempfile
from tempfile import SpooledTemporaryFile

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.selection import recorder
from rankwright.selection.pair_selector import PairSelector
from rankwright.selection.selectors import GramSelector
from tests import retraining
from tests.streaming import streamed


def dirty(seed=0, n_queries=40, rows=400, n=9, store=np.asarray, dtype=np.float64):
    """Text qids in no order, queries of one document and without relevant ones, constant, equal and scaled columns."""
    rng = np.random.default_rng(seed)
    qid = np.concatenate([np.arange(n_queries), rng.integers(0, n_queries - 5, rows - n_queries)])
    X = rng.standard_normal((rows, n)) * (rng.random((rows, n)) < 0.7)
    X[:, 2], X[:, 5], X[:, 6] = 3.5, X[:, 1], 100 * X[:, 6]
    y = np.clip(np.round(X[:, 1] - X[:, 3] + 0.5 * X[:, 4] + rng.standard_normal(rows)), 0, 3)
    y[np.isin(qid, [1, 4, 9])] = 0
    order = rng.permutation(rows)
    names = np.array([f"query {number:03d}" for number in range(n_queries)])
    return rw.Queries(store(X[order].astype(dtype)), y[order], names[qid[order]])


def assert_same_paths(found, expected, rtol=1e-9):
    assert len(found.paths_) == len(expected.paths_)
    for ours, theirs in zip(found.paths_, expected.paths_, strict=True):
        assert [(step.action, step.selected) for step in ours] == [(step.action, step.selected) for step in theirs]
        for one, other in zip(ours, theirs, strict=True):
            assert one.criterion == pytest.approx(other.criterion, rel=rtol)
            assert one.cost == other.cost
            np.testing.assert_allclose(one.weights, other.weights, rtol=1e-8, atol=1e-10)
            np.testing.assert_allclose(one.squared_error, other.squared_error, rtol=1e-8)
            for kind in ("lqo", "valid"):
                told = getattr(other, kind)
                assert getattr(one, kind).keys() == told.keys()
                for measure, estimate in told.items():
                    np.testing.assert_allclose(getattr(one, kind)[measure], estimate, rtol=1e-9)
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8, atol=1e-10)
    assert found.alpha_ == expected.alpha_


STORES = [np.asarray, sp.csr_array]
OPTIONS = [
    {},
    {"method": "stream"},
    {"method": "gram"},
    {"method": "direct"},
    {"fitting": "back"},
    {"floating": True},
    {"floating": True, "method": "direct"},
    {"alpha": rw.search(0.01, 1, 100), "n_features": rw.search(), "rule": "one-standard-error"},
    {"feature_costs": [1, 9, 1, 2, 3, 1, 1, 5, 1]},
    {"candidates": 3, "random_state": 4},
    {"measures": ()},
    {"measures": "map, wpd", "tell": "deciding"},
]


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_as_in_memory(options, store):
    queries = dirty(store=store)
    wanted = {"alpha": 0.5, "n_features": 6, **options}
    found = rw.GreedyRankRLS(**wanted).fit(streamed(queries, 5))
    assert_same_paths(found, rw.GreedyRankRLS(**wanted).fit(queries))


@pytest.mark.parametrize("measures", ["ndcg@5", ()])
@pytest.mark.parametrize("with_valid", [False, True])
def test_values_that_are_kept_for_the_rule_may_lie_in_a_file(measures, with_valid, monkeypatch):
    made = []

    def making(size):
        made.append(SpooledTemporaryFile(size))  # noqa: SIM115 - it is closed in the end
        return made[-1]

    monkeypatch.setattr(recorder, "_WAITING_BYTES", 1000)
    monkeypatch.setattr(recorder, "_WAITING_SHARE", 1 << 40)
    monkeypatch.setattr(recorder, "SpooledTemporaryFile", making)
    wanted = {"alpha": rw.search(0.01, 1, 100), "n_features": rw.search(), "measures": measures}
    queries, valid = dirty(), dirty(seed=1) if with_valid else None
    found = rw.GreedyRankRLS(rule="one-standard-error", **wanted).fit(streamed(queries, 5), valid=valid)
    assert made[-1]._rolled  # it is on disk
    assert made[-1].closed
    expected = rw.GreedyRankRLS(rule="one-standard-error", **wanted).fit(queries, valid=valid)
    assert not made[-1]._rolled
    assert_same_paths(found, expected)
    assert found.selected_features_.tolist() == expected.selected_features_.tolist()
    best = rw.GreedyRankRLS(**wanted).fit(streamed(queries, 5), valid=valid)
    assert not made[-1]._rolled  # nothing is kept for the best
    assert len(found.selected_features_) < len(best.selected_features_)


@pytest.mark.parametrize("store", STORES)
def test_float32_as_in_memory(store):
    queries = dirty(store=store, dtype=np.float32)
    found = rw.GreedyRankRLS(n_features=9).fit(streamed(queries, 3))
    assert_same_paths(found, rw.GreedyRankRLS(n_features=9).fit(queries))


@pytest.mark.parametrize("n_parts", [1, 2, 7, 40])
def test_any_cut_comes_to_the_errors_of_retraining(n_parts):
    queries = dirty()
    ranker = rw.GreedyRankRLS(0.7, 4, measures=()).fit(streamed(queries, n_parts))
    X, y, qid = queries.X, queries.y, queries.qid
    selected = []
    for step in ranker.path_:
        left = [i for i in range(9) if i not in selected]
        errors = {i: retraining.held_out_error(X[:, [*selected, i]], y, qid, 0.7) for i in left}
        assert step.feature == min(left, key=lambda i: (round(errors[i], 9), i))
        assert step.criterion == pytest.approx(errors[step.feature], rel=1e-9)
        selected.append(step.feature)
        np.testing.assert_allclose(step.weights, retraining.rankrls(X[:, selected], y, qid, 0.7), rtol=1e-8)


@pytest.mark.parametrize("as_stream", [False, True])
def test_validation_queries_in_memory_or_not(as_stream):
    queries, valid = dirty(), dirty(seed=1)
    options = {"n_features": rw.search(), "alpha": rw.search(0.1, 10), "measures": "map, ndcg@5"}
    expected = rw.GreedyRankRLS(**options).fit(queries, valid=valid)
    given = streamed(valid, 4) if as_stream else valid
    assert_same_paths(rw.GreedyRankRLS(**options).fit(streamed(queries, 3), valid=given), expected)
    assert_same_paths(rw.GreedyRankRLS(**options).fit(queries, valid=given), expected)


def test_missing_values_as_in_memory():
    whole = dirty()
    X = whole.X.copy()
    X[::7, 1] = np.nan
    queries = rw.Queries(X, whole.y, whole.qid)
    found = rw.GreedyRankRLS(n_features=5).fit(streamed(queries, 3))
    expected = rw.GreedyRankRLS(n_features=5).fit(queries)
    assert_same_paths(found, expected)
    assert found.selected_features_.tolist() == expected.selected_features_.tolist()


def test_a_query_that_outweighs_all_others():
    queries = dirty()
    X = queries.X * np.where(queries.qid == "query 007", 1e6, 1)[:, None]
    selected, errors = retraining.greedy(X, queries.y, queries.qid, 1.0, 3)
    path = rw.GreedyRankRLS(1.0, 3, measures=()).fit(streamed(rw.Queries(X, queries.y, queries.qid), 6)).path_
    assert [step.feature for step in path] == selected
    np.testing.assert_allclose([step.criterion for step in path], errors, rtol=1e-7)


def test_copies_of_features_with_a_lambda_below_rounding():
    queries = dirty()
    X = np.column_stack([queries.X, queries.X]) * 1e8
    ranker = rw.GreedyRankRLS(2.0**-15, 5, floating=True, measures=())
    ranker.fit(streamed(rw.Queries(X, queries.y, queries.qid), 3))
    assert len(ranker.selected_features_) == 5
    assert np.isfinite(ranker.coef_).all()


def test_few_readings_where_features_matter():
    """One for X̂ᵀX̂, one for the pairs that were foreseen, one for the measures; other λ take none but the last."""
    queries = rw.datasets.stream_queries(n_queries=4000, documents=10, n_features=30, n_informative=6, memory="20MB")
    assert rw.GreedyRankRLS(n_features=5).fit(queries).passes_ == 3
    assert rw.GreedyRankRLS(n_features=5, measures=()).fit(queries).passes_ == 2
    assert rw.GreedyRankRLS(alpha=rw.search(1, 2, 4), n_features=5, measures=()).fit(queries).passes_ == 2


def test_pairs_beyond_the_limit_of_memory_lie_in_files_that_go_with_the_selector(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    queries = rw.datasets.stream_queries(n_queries=4000, documents=3, n_features=12, memory="1MB")
    selector = PairSelector(CentredSums(engine_of(queries)), 8)
    selector.start(1.0)
    for feature in range(8):
        selector.add(feature)
    # 44 vectors of 4000 numbers take more than a quarter of a megabyte.
    assert sum(file.stat().st_size for file in tmp_path.rglob("*") if file.is_file()) > 500_000
    expected = GramSelector(CentredSums(engine_of(queries.in_memory())), 8)
    expected.start(1.0)
    for feature in range(8):
        expected.add(feature)
    np.testing.assert_allclose(selector.selected.query_errors, expected.selected.query_errors, rtol=1e-9, atol=1e-12)
    del selector
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_what_is_refused_says_what_to_use_instead():
    queries = streamed(dirty(n_queries=100, rows=2000, n=60), 3)
    with pytest.raises(rw.ParameterError, match=r"criterion='ndcg@10' .* use criterion='squared-error'"):
        rw.GreedyRankRLS(n_features=2, criterion="ndcg@10").fit(queries)
    with pytest.raises(rw.ParameterError, match=r"keeps 2.88 MB .* limit of memory is 1 MB: use method='stream'"):
        rw.GreedyRankRLS(n_features=2, method="gram").fit(queries)


def test_wide_queries_are_worked_through_directly():
    """X̂ᵀX̂ of 150 features takes more than an eighth of a megabyte."""
    rng = np.random.default_rng(0)
    queries = rw.Queries(rng.standard_normal((60, 150)), rng.integers(0, 3, 60), np.arange(60) // 6)
    found = rw.GreedyRankRLS(n_features=3).fit(streamed(queries, 2))
    assert_same_paths(found, rw.GreedyRankRLS(n_features=3).fit(queries))


def test_a_value_that_is_not_finite_is_named():
    whole = dirty()
    X = whole.X.copy()
    X[7, 3] = np.inf
    with pytest.raises(rw.DataError, match=r"feature 'f4': the value is inf"):
        rw.GreedyRankRLS(n_features=2).fit(streamed(rw.Queries(X, whole.y, whole.qid), 3))
