"""Linear rankers on data with missing values, against the same rankers on columns that were filled in by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from tests.preparation.test_preparation import by_hand, dense, holey, known, mean

RANKERS = [
    rw.RankRLS(2.0),
    rw.RegressionRanker(2.0),
    rw.GreedyRankRLS(1.0, 4),
    rw.RankSVM(0.5, tol=1e-9),
    rw.OrderPreservingRanker(0.5, tol=1e-9),
    rw.StructuredRanker("ndcg@5", 0.5, tol=1e-7),
]
NAMES = [type(ranker).__name__ for ranker in RANKERS]


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("ranker", RANKERS, ids=NAMES)
def test_a_ranker_learns_from_columns_filled_in(ranker, missing):
    queries = holey(seed=3, n_queries=20)
    columns, _ = by_hand(queries, missing)
    expected = ranker.__class__(**ranker.get_params()).fit(columns, queries.y, qid=queries.qid)
    found = ranker.__class__(**{**ranker.get_params(), "missing": missing}).fit(queries)
    assert found.n_features_in_ == 5
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=0, atol=1e-5 * np.abs(expected.coef_).max())
    scale = np.ptp(expected.predict(columns))
    np.testing.assert_allclose(found.predict(queries), expected.predict(columns), rtol=0, atol=1e-5 * scale)
    assert found.score(queries) == pytest.approx(expected.score(columns, queries.y, qid=queries.qid), abs=1e-6)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_new_documents_are_filled_in_by_what_training_knew(store):
    train, new = holey(seed=1, store=store), holey(seed=2, store=store)
    ranker = rw.RankRLS(1.0).fit(train)
    x = dense(new.X)
    expected = np.where(np.isnan(x), by_hand_means(train), x) @ ranker.coef_[:5]
    for place, j in enumerate(ranker.preparation_.indicated):
        expected += np.isnan(x[:, j]) * ranker.coef_[5 + place]
    np.testing.assert_allclose(ranker.predict(new), expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(new.X), expected, rtol=0, atol=1e-12)


def by_hand_means(queries):
    return np.array([mean(known(column)) for column in dense(queries.X).T])


def test_query_means_need_queries():
    queries = holey()
    ranker = rw.RankRLS(1.0, missing="query-mean").fit(queries)
    with pytest.raises(rw.DataError, match="fills in a missing value by the mean of its query"):
        ranker.predict(queries.X)
    assert (ranker.rank(queries.X, queries.qid) == ranker.rank(queries)).all()
    assert ranker.score(queries.X, queries.y, qid=queries.qid) == ranker.score(queries)
    complete = np.nan_to_num(queries.X, nan=1.0)  # nothing is missing, so no query is asked for
    np.testing.assert_allclose(ranker.predict(complete), complete @ ranker.coef_[:5], atol=1e-12)


def test_a_ranker_trained_on_complete_data_refuses_missing_values():
    queries = rw.datasets.make_queries(n_queries=8, seed=0).queries
    ranker = rw.RankSVM(1.0).fit(queries)
    assert ranker.preparation_ is None
    x = queries.X.copy()
    x[5, 3] = np.nan
    with pytest.raises(
        rw.DataError, match=r"row 5: feature 'f4' is missing \(NaN\)\. The training data had none missing"
    ):
        ranker.predict(x)
    with pytest.raises(rw.ParameterError, match="missing must be one of 'mean', 'query-mean', not 'median'"):
        rw.RankSVM(1.0, missing="median").fit(queries)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_features_without_a_weight_may_be_missing(store):
    queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    ranker = rw.GreedyRankRLS(1.0, 3).fit(queries)
    x = queries.X.copy()
    x[:, [j for j in range(20) if j not in ranker.selected_features_]] = np.nan
    np.testing.assert_allclose(ranker.predict(store(x)), ranker.predict(queries), rtol=1e-6)


def test_a_feature_may_be_named_as_a_column_would_be():
    queries = holey(seed=3, n_queries=20)
    names = ["price", "price is missing", "c", "d", "e"]
    ranker = rw.RankRLS(1.0).fit(rw.Queries(queries.X, queries.y, queries.qid, feature_names=names))
    np.testing.assert_array_equal(ranker.coef_, rw.RankRLS(1.0).fit(queries).coef_)


def test_means_of_huge_values_do_not_overflow():
    x = np.array([[1e307, 1.0], [9e306, 2.0], [np.nan, 3.0]] * 40)
    by = rw.RankRLS(1.0)
    by._note_preparation(rw.Queries(x, np.arange(120) % 3, np.arange(120) // 6), has_missing=True)
    assert by.preparation_.filling.values[0] == pytest.approx(9.5e306)


def test_validation_queries_are_prepared_like_those_of_training():
    train, valid = holey(seed=1, n_queries=25), holey(seed=2, n_queries=25)
    for ranker in (rw.RankRLS(rw.search(0.1, 10.0)), rw.RankSVM(rw.search(0.1, 10.0), tol=1e-8)):
        ranker.fit(train, valid=valid)
        told = ranker.path_.valid[rw.nDCG @ 10][ranker.path_.alphas.tolist().index(ranker.alpha_)]
        assert told.mean == pytest.approx(rw.evaluate(ranker, valid, "ndcg@10").means[rw.nDCG @ 10], abs=1e-9)


def test_leave_query_out_of_missing_values_is_that_of_the_columns():
    queries = holey(seed=5, n_queries=15)
    columns, _ = by_hand(queries, "mean")
    filled = rw.Queries(columns, queries.y, queries.qid)
    found = rw.leave_query_out(rw.RankRLS(), queries, alphas=[0.5, 5.0])
    expected = rw.leave_query_out(rw.RankRLS(), filled, alphas=[0.5, 5.0])
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=1e-9)


def test_costs_and_centers_are_those_of_features():
    queries = holey(seed=3, n_queries=20)
    center = np.arange(5.0)
    huge = rw.RankSVM(1e9, center=center).fit(queries)
    np.testing.assert_allclose(huge.coef_[:5], center, atol=1e-4)
    np.testing.assert_allclose(huge.coef_[5:], 0, atol=1e-4)
    costs = np.array([1.0, 20, 300, 4000, 50000])
    costly = rw.GreedyRankRLS(1.0, 6, feature_costs=costs).fit(queries)
    for step in costly.path_:
        assert step.cost == costs[costly.preparation_.sources[list(step.selected)]].sum()
    assert costly.selected_columns_.max() >= 5  # one that tells what is missing is among them
    sources = costly.preparation_.sources[costly.selected_columns_].tolist()
    assert costly.selected_features_.tolist() == sorted(set(sources), key=sources.index)
    with pytest.raises(rw.ParameterError, match="feature_costs must be 5 finite numbers above 0, one for each feature"):
        rw.GreedyRankRLS(1.0, 3, feature_costs=np.ones(9)).fit(queries)


def test_streams_fill_in_what_the_first_queries_told():
    first, more = holey(seed=1), holey(seed=2)
    ranker = rw.RankSVM(1.0, solver="sgd", random_state=0).partial_fit(first)
    means = ranker.preparation_.filling.values.copy()
    ranker.partial_fit(more)
    np.testing.assert_array_equal(ranker.preparation_.filling.values, means)
    assert np.isfinite(ranker.predict(more)).all()


def test_scikit_learn_searches_over_the_way_of_filling_in():
    from sklearn.model_selection import GridSearchCV

    queries = holey(seed=4, n_queries=24)
    found = GridSearchCV(rw.RankRLS(), {"missing": ["mean", "query-mean"], "alpha": [0.1, 10.0]}, cv=3).fit(queries)
    assert found.best_params_["missing"] in ("mean", "query-mean")
    assert not np.isnan(found.cv_results_["mean_test_score"]).any()
