"""The report pairs every figure with what it is a figure of: names, numbers of features, contributions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.fitting.data import varies_within_queries, within_query_spread
from rankwright.fitting.fit import fit
from rankwright.fitting.report_data import report_data

MEASURE = rw.nDCG @ 10
REPRODUCE = {"command": "", "versions": {}, "data": [], "seed": 0}


@pytest.fixture(scope="module", name="queries")
def noisy_queries():
    """Features that are much alike and grades with much noise, so that other queries lead to other features."""
    made = rw.datasets.make_queries(50, 9, 10, n_informative=2, n_correlated=6, noise=1.5, seed=11, dtype=np.float64)
    return made.queries


def told_of(result):
    return report_data(result, inspect(result.data.train), title="t", reproduce=REPRODUCE)


def retrained_mean(train, judged, names, alpha):
    """RankRLS on the named features alone."""
    columns = [train.feature_names.index(name) for name in names]
    scale = within_query_spread(train)[columns]
    ranker = rw.RankRLS(alpha=alpha).fit(train.X[:, columns] / scale, train.y, qid=train.qid)
    return rw.evaluate(judged.X[:, columns] / scale @ ranker.coef_, judged, MEASURE).means[MEASURE]


def test_validated_means_are_those_of_the_features_that_stand_beside_them(queries):
    train, valid = queries[:15], queries[15:]
    result = fit(train, valid=valid, rankers=["greedy-rankrls"])
    path = told_of(result)["feature_path"]
    alpha = result.entries[0].setting.alpha
    for point in path["points"]:
        assert len(point["selected"]) == point["features"]
        assert retrained_mean(train, valid, point["selected"], alpha) == pytest.approx(point["mean"], abs=1e-9)
    on_all = [result.selected_features(point["features"]) for point in path["points"]]
    assert any(set(point["selected"]) != set(names) for point, names in zip(path["points"], on_all, strict=True))


def test_cross_validated_means_tell_how_many_of_the_named_features_the_parts_took(queries):
    result = fit(queries, rankers=["greedy-rankrls"], folds=3)
    path = told_of(result)["feature_path"]
    alpha = result.entries[0].setting.alpha
    fold = np.random.default_rng(0).permutation(np.arange(queries.n_queries) % 3)
    scale = within_query_spread(queries)
    shares = np.zeros(len(path["points"]))
    for number in range(3):
        part = queries[fold != number]
        taken = rw.GreedyRankRLS(alpha, 10, measures=()).fit(part.X / scale, part.y, qid=part.qid).selected_features_
        for i, point in enumerate(path["points"]):
            names = {queries.feature_names[column] for column in taken[: i + 1]}
            shares[i] += len(names & set(point["selected"])) / (i + 1) / 3
    np.testing.assert_allclose([point["shared"] for point in path["points"]], shares)
    assert shares.min() < 1.0 == shares[-1]


@pytest.mark.parametrize("is_validated", [True, False])
def test_features_without_a_use_are_not_counted(queries, is_validated):
    """Columns that are constant within every query can have no weight, however they are written."""
    constants = [np.zeros(queries.n_documents), np.full(queries.n_documents, 0.1), 1e6 / (3 + queries.grouping.codes)]
    X = np.column_stack([constants[0], queries.X[:, :5], constants[1], queries.X[:, 5:], constants[2]])
    dirty = rw.Queries(X, queries.y, queries.qid)
    parts = {"valid": dirty[30:]} if is_validated else {"folds": 3}
    result = fit(dirty[:30], rankers=["greedy-rankrls"], rule="best", **parts)
    told = told_of(result)
    assert [point["features"] for point in told["feature_path"]["points"]] == list(range(1, 11))
    for point in told["feature_path"]["points"]:
        assert len(point["selected"]) == len(result.selected_features(point["features"])) == point["features"]
    n_chosen = result.entries[0].setting.n_features
    used = {dirty.feature_names[column] for column in np.flatnonzero(result.model.coef_)}
    assert set(result.selected_features(n_chosen)) == used
    assert f"{n_chosen} features; {n_chosen} of 13 features used" in str(result)
    assert told["leaderboard"][0]["features"] == len(told["weights"]) == n_chosen


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_a_time_that_varies_by_seconds_is_a_feature(queries, stored):
    """However little it varies beside how large it is; absent cells are zeros."""
    seconds = np.random.default_rng(0).integers(0, 100, queries.n_documents).astype(float)
    X = np.column_stack([1.7e9 + seconds, np.where(seconds > 50, seconds, 0.0), np.full(len(seconds), 0.1)])
    timed = rw.Queries(stored(X), queries.y, queries.qid)
    centred = [rows - rows.mean(axis=0) for rows in (X[queries.grouping.codes == q] for q in range(len(queries)))]
    expected = np.concatenate(centred).std(axis=0)
    np.testing.assert_allclose(within_query_spread(timed), [*expected[:2], 1.0], rtol=1e-9)
    assert varies_within_queries(timed).tolist() == [True, True, False]


def test_a_feature_that_varies_only_in_some_parts_is_counted_where_it_does(queries):
    """Trained without the one query where a feature varies, a ranker has one feature fewer."""
    rare = np.where(queries.grouping.codes == 0, queries.X[:, 0], 0.0)
    X = np.column_stack([queries.X[:, :2], rare])
    result = fit(rw.Queries(X, queries.y, queries.qid), rankers=["greedy-rankrls"], folds=5)
    assert len(result.selected_features(None)) == 3
    assert np.isfinite(result.judged[0].values).all()


@pytest.mark.parametrize("role", ["valid", "folds", "test"])
def test_contributions_add_up_to_scores(queries, role):
    few = rw.Queries(queries.X[:, :4], queries.y, queries.qid)
    parts = {"folds": 3} if role == "folds" else {role: few[30:]}
    result = fit(few[:30], rankers=["rankrls"], **parts)
    for query in told_of(result)["worst"]:
        scores = np.array([document["score"] for document in query["documents"]])
        sums = [sum(value for _, value in document["contributions"]) for document in query["documents"]]
        np.testing.assert_allclose(sums, scores - scores.mean(), atol=1e-9)


def test_features_that_vary_in_no_query_teach_nothing(queries):
    result = fit(rw.Queries(np.ones((queries.n_documents, 2)), queries.y, queries.qid), rankers=["greedy-rankrls"])
    assert not result.model.coef_.any()
