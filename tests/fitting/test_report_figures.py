"""The report pairs every figure with what it is a figure of: names, numbers of features, contributions."""

from __future__ import annotations

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.fitting.fit import fit
from rankwright.fitting.report_data import report_data
from rankwright.measures.conventions import convention_of
from rankwright.preparation.spread import varies_within_queries, within_query_spread
from rankwright.report import render_report

MEASURE = rw.nDCG @ 10
REPRODUCE = {"command": "", "versions": {}, "data": [], "seed": 0}


@pytest.fixture(scope="module", name="queries")
def noisy_queries():
    """Features that are much alike and grades with much noise, so that other queries lead to other features."""
    made = rw.datasets.make_queries(50, 9, 10, n_informative=2, n_correlated=6, noise=1.5, seed=11, dtype=np.float64)
    return made.queries


def told_of(result):
    return report_data(result, inspect(result.data.train), reproduce=REPRODUCE)


def retrained_mean(train, judged, names, alpha):
    """RankRLS on the named features alone."""
    columns = [train.feature_names.index(name) for name in names]
    scale = within_query_spread(train)[0][columns]
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
    scale = within_query_spread(queries)[0]
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
    assert f"; {n_chosen} of 13 features used" in str(result)
    assert told["leaderboard"][0]["features"] == len(told["weights"]) == n_chosen


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_a_time_that_varies_by_seconds_is_a_feature(queries, stored):
    """However little it varies beside how large it is; absent cells are zeros."""
    seconds = np.random.default_rng(0).integers(0, 100, queries.n_documents).astype(float)
    X = np.column_stack([1.7e9 + seconds, np.where(seconds > 50, seconds, 0.0), np.full(len(seconds), 0.1)])
    timed = rw.Queries(stored(X), queries.y, queries.qid)
    centred = [rows - rows.mean(axis=0) for rows in (X[queries.grouping.codes == q] for q in range(len(queries)))]
    expected = np.concatenate(centred).std(axis=0)
    np.testing.assert_allclose(within_query_spread(timed)[0], [*expected[:2], 1.0], rtol=1e-9)
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


# Lists of queries


@pytest.fixture(scope="module", name="dirty")
def dirty_queries():
    """Rows of queries mixed, text ids, a query of one document, some without relevant documents, tied features."""
    made = rw.datasets.make_queries(60, 12, 5, n_informative=2, n_correlated=1, noise=1.0, seed=4).queries
    codes = made.grouping.codes
    y = np.where(codes % 6 == 0, 0.0, made.y)
    X = made.X.copy()
    X[:, 2] = np.round(X[:, 2])  # tied
    kept = (codes != 35) | (np.cumsum(codes == 35) == 1)
    order = np.random.default_rng(4).permutation(np.flatnonzero(kept))
    return rw.Queries(X[order], y[order], np.array([f"q{code:02}" for code in codes[order]]))


def values_by_query(result, told):
    """The measure of each query by its id, evaluated anew."""
    chosen, baseline = (
        rw.evaluate(scores, result.final_queries, result.measure, result.convention).values[result.measure]
        for scores in result.final_scores
    )
    assert told["queries"]["ids"] == [str(query) for query in result.final_queries.query_ids]
    return dict(zip(told["queries"]["ids"], zip(chosen, baseline, strict=True), strict=True))


@pytest.mark.parametrize("role", ["folds", "test"])
@pytest.mark.parametrize("measure", ["ndcg@10", "pairwiseerror", "map"])
def test_improved_and_harmed_queries_are_apart_and_sorted(dirty, measure, role):
    parts = {"folds": 3} if role == "folds" else {"test": dirty[30:]}
    result = fit(dirty[:30], rankers=["rankrls"], measure=measure, baseline="f3", **parts)
    told = told_of(result)
    sign = -1 if result.measure.lower_is_better else 1
    gains = {query: sign * (c - b) for query, (c, b) in values_by_query(result, told).items() if not np.isnan(c)}
    for kind, side in (("improved", 1), ("harmed", -1)):
        expected = sorted((side * gain for gain in gains.values() if side * gain > 1e-9), reverse=True)[:10]
        assert expected
        assert [side * gains[query["query"]] for query in told[kind]] == pytest.approx(expected)
        for query in told[kind]:
            assert query["value"] - query["baseline"] == pytest.approx(sign * gains[query["query"]])


@pytest.mark.parametrize("convention", ["default", "lightgbm", "mslr"])
@pytest.mark.parametrize("measure", ["ndcg@10", "map"])
def test_queries_without_relevant_documents_are_not_the_worst(dirty, measure, convention):
    result = fit(dirty[:30], test=dirty[30:], rankers=["rankrls"], measure=measure, convention=convention)
    told = told_of(result)
    level = 2 if (measure, convention) == ("map", "mslr") else 1  # mslr takes grades from 2 on as relevant
    test = result.test
    relevant = {str(query): int((test.y[test.qid == query] >= level).sum()) for query in test.query_ids}
    assert dict(zip(told["queries"]["ids"], told["queries"]["relevant"], strict=True)) == relevant
    assert 0 in relevant.values()
    values = {query: chosen for query, (chosen, _) in values_by_query(result, told).items() if relevant[query]}
    assert [query["value"] for query in told["worst"]] == pytest.approx(sorted(values.values())[:10])
    assert all(relevant[query["query"]] for query in told["worst"])
    levels = {finding["text"].partition(":")[0]: finding["level"] for finding in told["health"]["findings"]}
    assert levels["queries with nothing relevant"] == "note"


def test_queries_that_the_measure_leaves_out_are_told_without_a_value(dirty):
    result = fit(dirty[:30], test=dirty[30:], rankers=["rankrls"], convention=convention_of("default").but(empty=None))
    told = told_of(result)
    is_left_out = [relevant == 0 for relevant in told["queries"]["relevant"]]
    assert [value is None for value in told["queries"]["chosen"]] == is_left_out
    assert told["n_queries"] == is_left_out.count(False) < len(is_left_out)
    json.dumps(told, allow_nan=False)
    assert "The mean leaves them out, too." in render_report(told)


def test_tied_documents_have_a_range_of_places(dirty):
    result = fit(dirty[:30], test=dirty[30:], rankers=["rankrls"], baseline="f3")
    told, test = told_of(result), result.test
    seen = set()
    for query in (*told["worst"], *told["improved"], *told["harmed"]):
        rows = np.flatnonzero(test.qid == query["query"])
        for document in query["documents"]:
            row = int(document["document"].removeprefix("row "))
            for key, values in (
                ("ranks", result.final_scores[0]),
                ("baseline_ranks", result.final_scores[1]),
                ("ideal_ranks", test.y),
            ):
                above, level = (values[rows] > values[row]).sum(), (values[rows] == values[row]).sum()
                assert document[key] == [above + 1, above + level]
                seen.add((key, bool(level > 1)))
    assert seen >= {("ranks", False), ("baseline_ranks", True), ("ideal_ranks", True)}


# What it costs, and what it is called


@pytest.mark.parametrize("rankers", [["rankrls"], ["greedy-rankrls"]])
def test_the_cost_is_that_of_the_features_used(queries, rankers):
    costs = np.arange(1.0, 11.0)
    result = fit(queries[:30], test=queries[30:], rankers=rankers, costs=costs)
    cost = told_of(result)["cost"]
    used = result.model.coef_ != 0
    assert (cost["features"], cost["of_features"], cost["of_all_features"]) == (used.sum(), costs[used].sum(), 55.0)
    assert cost["seconds"] > 0
    without = told_of(fit(queries[:30], test=queries[30:], rankers=rankers))["cost"]
    assert without["of_features"] is without["of_all_features"] is None


@pytest.mark.parametrize("stored", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
def test_a_thousand_documents_are_scored_for_the_time(queries, stored, monkeypatch):
    """However many there are, in one call, by the model itself."""
    named = rw.Queries(stored(queries.X), queries.y, queries.qid, feature_names=[f"name {j}" for j in range(10)])
    result = fit(named[:30], test=named[30:], rankers=["rankrls"])
    assert 0 < result.test.n_documents < 1000
    told_of(result)  # so that the scores of the report itself are computed
    sizes = []
    predict = type(result.model).predict

    def counted(model, documents):
        scores = predict(model, documents)
        sizes.append(len(scores))
        return scores

    monkeypatch.setattr(type(result.model), "predict", counted)
    cost = told_of(result)["cost"]
    assert (cost["documents"], cost["calls"]) == (1000, 25)
    assert sizes == [1000] * 26  # the first call is not counted


def test_the_title_says_what_was_done(queries):
    result = fit(queries[:30], test=queries[30:], rankers=["greedy-rankrls"])
    data = [{"role": role, "name": f"{role}.csv"} for role in ("test", "train")]
    told = report_data(result, inspect(queries), reproduce=REPRODUCE | {"data": data})
    used = np.count_nonzero(result.model.coef_)
    assert told["title"] == f"greedy RankRLS with {used} of 10 features for nDCG @ 10, from train.csv"
    single = rw.Queries(queries.X[:, :1], queries.y, queries.qid)
    told = report_data(fit(single, rankers=["rankrls"]), inspect(single), reproduce=REPRODUCE)
    assert told["title"] == "RankRLS with 1 of 1 feature for nDCG @ 10"
    assert "<title>RankRLS with 1 of 1 feature for nDCG @ 10</title>" in render_report(told)
