"""Every ranker judged on held-out queries, one chosen."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import rankdata

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.data.streams.chained import chained
from rankwright.errors import DataError, ParameterError
from rankwright.fitting.choice import Entry, Judged, choose
from rankwright.fitting.data import FitData
from rankwright.fitting.families import FAMILIES, Setting
from rankwright.fitting.fit import RANKERS, fit
from rankwright.fitting.preparing import How
from rankwright.fitting.report_data import report_data
from rankwright.preparation.spread import within_query_spread
from tests.choosing import cheapest_as_good

FAST = ("regression", "rankrls", "greedy-rankrls")
MEASURE = rw.nDCG @ 10


@pytest.fixture(scope="module", name="made")
def made_collection():
    return rw.datasets.make_queries(120, 12, 8, n_informative=3, n_correlated=2, seed=3, dtype=np.float64)


@pytest.fixture(scope="module", name="queries")
def made_queries(made):
    return made.queries


@pytest.fixture(scope="module", name="result")
def fitted(queries):
    return fit(queries[:80], test=queries[80:], folds=4)


def mean(scores, queries):
    return rw.evaluate(scores, queries, MEASURE).means[MEASURE]


def test_all_rankers_are_tried(result):
    assert [entry.family.name for entry in result.entries] == list(RANKERS)
    assert not result.left_out


def test_cross_validated_values_are_those_of_training_without_the_fold(queries):
    """RankRLS, trained by hand on each part with the features that the part's spread would not give: those of all."""
    result = fit(queries, rankers=["rankrls"], folds=3, seed=5)
    entry = result.entries[0]
    scale = within_query_spread(queries)[0]
    fold = np.random.default_rng(5).permutation(np.arange(120) % 3)
    by_hand = np.empty(120)
    for number in range(3):
        train, left_out = queries[fold != number], queries[fold == number]
        ranker = rw.RankRLS(alpha=entry.setting.alpha).fit(train.X / scale, train.y, qid=train.qid)
        by_hand[fold == number] = rw.evaluate(left_out.X / scale @ ranker.coef_, left_out, MEASURE).values[MEASURE]
    np.testing.assert_allclose(entry.values, by_hand, atol=1e-12)
    np.testing.assert_allclose(rw.evaluate(result.held_out_scores, queries, MEASURE).values[MEASURE], by_hand)


def test_settings_of_every_ranker_on_validation_queries_are_those_of_the_ranker_itself(queries):
    train, valid = queries[:60], queries[60:90]
    data = FitData.of(train, valid, How("mean", "none", False), 5, 0)
    for kind in FAMILIES:
        family = kind(MEASURE, "default")
        settings = family.settings(data.train)
        few = [settings[0], settings[-1]]
        weights = family.weights(data.train, few)
        assert weights.shape == (2, 8)
        if kind.name in ("regression", "rankrls"):
            for row, setting in zip(weights, few, strict=True):
                alone = kind.ranker(alpha=setting.alpha).fit(data.train)
                np.testing.assert_allclose(row, alone.coef_, rtol=1e-9, atol=1e-12)
        if kind.name == "greedy-rankrls":
            assert np.count_nonzero(weights, axis=1).tolist() == [few[0].n_features, few[1].n_features]


def test_the_model_ranks_features_as_given(result, queries):
    """Scaling is folded into the weights."""
    entry = result.entries[1]
    scale = within_query_spread(queries[:80])[0]
    train = queries[:80]
    again = rw.RankRLS(alpha=entry.setting.alpha).fit(train.X / scale, train.y, qid=train.qid)
    np.testing.assert_allclose(result.models[1].coef_, again.coef_ / scale, rtol=1e-9)
    assert mean(result.models[1].predict(queries[80:].X), queries[80:]) == pytest.approx(
        result.on_test.means["RankRLS"], abs=1e-12
    )


@pytest.mark.parametrize("factor", [1e-3, 1e4])
def test_the_scale_of_a_feature_does_not_matter(queries, factor):
    X = queries.X.copy()
    X[:, 2] *= factor
    scaled = rw.Queries(X, queries.y, queries.qid)
    plain, other = (fit(q, rankers=FAST, folds=3) for q in (queries, scaled))
    for one, two in zip(plain.entries, other.entries, strict=True):
        np.testing.assert_allclose(one.values, two.values, atol=1e-9)


def test_validation_queries_decide_and_are_trained_on_in_the_end(queries):
    train, valid = queries[:60], queries[60:90]
    result = fit(train, valid=valid, rankers=["rankrls"])
    assert len(result.entries[0].values) == 30
    scale = within_query_spread(train)[0]
    whole = chained(train, valid)
    again = rw.RankRLS(alpha=result.entries[0].setting.alpha).fit(whole.X / scale, whole.y, qid=whole.qid)
    np.testing.assert_allclose(result.model.coef_, again.coef_ / scale, rtol=1e-9)
    assert result.evaluated_on == "validation"


def test_queries_of_the_same_id_in_both_parts_stay_apart():
    first = rw.Queries([[1.0], [2.0]], [0, 1], qid=["a", "a"])
    both = chained(first, rw.Queries([[3.0], [4.0]], [1, 0], qid=["a", "b"]))
    assert both.sizes.tolist() == [2, 1, 1]


def judged_with(differences, costs):
    """Settings whose values differ from those of the first by a mean and a standard error of that mean."""
    hard = np.tile([0.1, 0.9], 8)
    noise = np.repeat([1.0, -1.0], 8) * np.sqrt(15)  # its mean has standard error 1
    values = np.stack([hard + mean + error * noise for mean, error in differences])
    settings = tuple(Setting(1.0) for _ in differences)
    sizes = np.array(costs, dtype=float)
    return Judged(FAMILIES[0](MEASURE, "default"), settings, values, sizes, sizes)


@pytest.mark.parametrize(
    ("differences", "costs", "rule", "chosen"),
    [
        ([(0, 0), (-0.02, 0.01), (-0.01, 0.02)], [3, 1, 2], "best", 0),
        ([(0, 0), (-0.02, 0.01), (-0.01, 0.02)], [3, 1, 2], "one-standard-error", 2),
        ([(0, 0), (-0.02, 0.03), (-0.01, 0.02)], [3, 1, 2], "one-standard-error", 1),
        ([(0, 0), (-0.02, 0.03), (-0.01, 0.02)], [2, 2, 2], "one-standard-error", 0),
        ([(0, 0), (-0.001, 0)], [2, 1], "one-standard-error", 0),
    ],
)
def test_the_cheapest_within_one_standard_error_of_the_difference(differences, costs, rule, chosen):
    judged = judged_with(differences, costs)
    assert judged.chosen(MEASURE, rule) == chosen
    entries = [
        Entry(judged.family, setting, row, cost, round(cost))
        for setting, row, cost in zip(judged.settings, judged.values, judged.costs, strict=True)
    ]
    assert choose(entries, MEASURE, rule) == chosen


@pytest.mark.parametrize("measure", [rw.nDCG @ 3, rw.PairwiseError])
@pytest.mark.parametrize("with_valid", [False, True])
def test_the_rule_query_by_query_for_settings_and_then_for_rankers(measure, with_valid):
    rng = np.random.default_rng(2)
    X, number = rng.standard_normal((300, 5)), rng.integers(0, 30, 300)
    X[:, 4], X[rng.random(300) < 0.1, 2] = 1.5, np.nan
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(300)), 0, 3)
    y[number < 3], number[:3] = 0, [97, 98, 99]  # queries without relevant documents, and of one document
    dirty = rw.Queries(X, y, [f"query {each}" for each in number])
    valid = dirty[20:] if with_valid else None
    result = fit(dirty[:20], valid=valid, rankers=FAST, folds=3, measure=measure, missing="mean", transform="none")
    lower = measure.lower_is_better
    for judged, entry in zip(result.judged, result.entries, strict=True):
        assert np.isnan(judged.values).any() == (measure == rw.PairwiseError)
        at = cheapest_as_good(judged.values, judged.costs, lower_is_better=lower)
        assert (entry.setting, entry.cost) == (judged.settings[at], judged.costs[at])
    values, costs = [entry.values for entry in result.entries], [entry.cost for entry in result.entries]
    assert result.chosen == cheapest_as_good(values, costs, lower_is_better=lower)


def test_an_error_is_to_be_small():
    judged = judged_with([(0.1, 0.01), (0, 0)], [1, 1])
    assert judged.chosen(rw.PairwiseError, "best") == 1
    assert judged.chosen(rw.PairwiseError, "one-standard-error") == 1


def test_few_features_are_chosen_where_few_matter(result):
    entry = result.entries[result.chosen]
    assert entry.family.name == "greedy-rankrls"
    assert np.count_nonzero(result.model.coef_) == entry.setting.n_features < 8


def test_costs_lead_to_cheap_features(queries):
    X = np.hstack([queries.X, queries.X])
    twice = rw.Queries(X, queries.y, queries.qid)
    result = fit(twice, rankers=["greedy-rankrls"], costs=[10.0] * 8 + [1.0] * 8, folds=3)
    assert np.count_nonzero(result.model.coef_[:8]) <= 1 < np.count_nonzero(result.model.coef_[8:])


def test_the_baseline_is_the_best_single_feature(result, queries):
    train = queries[:80]
    values = [mean(sign * train.X[:, j], train) for j in range(8) for sign in (1, -1)]
    baseline = result.baseline
    assert mean(baseline.sign * train.X[:, baseline.column], train) == pytest.approx(max(values))


def test_a_baseline_can_be_named(queries):
    result = fit(queries, rankers=["rankrls"], baseline="-f3", folds=3)
    assert (result.baseline.column, result.baseline.sign) == (2, -1.0)
    with pytest.raises(ParameterError, match="baseline"):
        fit(queries, rankers=["rankrls"], baseline="bm25", folds=3)


def test_sparse_features_give_the_same(queries):
    sparse = rw.Queries(sp.csr_array(queries.X), queries.y, queries.qid)
    dense, other = (fit(q, rankers=["rankrls", "greedy-rankrls"], folds=3) for q in (queries, sparse))
    for one, two in zip(dense.entries, other.entries, strict=True):
        np.testing.assert_allclose(one.values, two.values, atol=1e-9)


def test_a_budget_leaves_out_all_but_the_first(queries):
    result = fit(queries, rankers=FAST, folds=3, budget=1e-9)
    assert [entry.family.name for entry in result.entries] == ["regression"]
    assert [each.family.name for each in result.left_out] == ["rankrls", "greedy-rankrls"]
    assert "budget" in result.left_out[0].reason


def test_the_certificate_is_for_test_queries(result, queries):
    test = queries[80:]
    alone = rw.theory.certificate(result.model.predict(test.X), test, MEASURE)
    assert result.certificates[0].bound == alone.bound
    assert result.certificates[1].gain


def test_constant_features_and_empty_queries_do_no_harm(queries):
    X = np.hstack([queries.X, np.full((len(queries.X), 1), 3.0)])
    y = queries.y.copy()
    y[queries.qid == queries.query_ids[0]] = 0
    result = fit(rw.Queries(X, y, queries.qid), rankers=FAST, folds=3)
    assert all(np.isfinite(model.coef_).all() for model in result.models)


def test_the_report_is_plain_data_and_the_same_each_time(queries):
    def reported():
        result = fit(queries[:60], test=queries[60:80], rankers=FAST, folds=3)
        reproduce = {"command": "rankwright fit", "versions": {}, "data": [], "seed": 0}
        told = report_data(result, inspect(queries[:60]), reproduce=reproduce)
        assert told["cost"].pop("seconds") > 0  # which is measured anew
        return json.dumps(told, allow_nan=False)

    first = reported()
    assert first == reported()
    told = json.loads(first)
    assert [row["ranker"] for row in told["leaderboard"]][-1].startswith("single feature")
    assert sum(row["is_chosen"] for row in told["leaderboard"]) == 1
    assert len(told["queries"]["ids"]) == told["n_queries"] == 20
    worst = told["worst"][0]
    has_relevant = zip(told["queries"]["chosen"], told["queries"]["relevant"], strict=True)
    assert worst["value"] == min(value for value, n_relevant in has_relevant if n_relevant)
    places = range(1, len(worst["documents"]) + 1)
    assert [document["ranks"] for document in worst["documents"]] == [[place, place] for place in places]


# What is refused


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rankers": ["svm"]}, "rankers"),
        ({"rankers": []}, "rankers"),
        ({"measure": "ndcg@10, map"}, "measure"),
        ({"rule": "worst"}, "rule"),
        ({"convention": "mine"}, "convention"),
    ],
)
def test_bad_parameters_are_named(queries, options, named):
    with pytest.raises(ParameterError, match=named):
        fit(queries, **options)


def test_data_that_cannot_be_fitted(queries):
    ranking = rw.Queries(queries.X[:3], rw.FullRanking([1, 2, 3]))
    with pytest.raises(DataError, match="grades"):
        fit(ranking)
    with pytest.raises(DataError, match="one query"):
        fit(queries[:1])
    missing = queries.X.copy()
    missing[3, 1] = np.inf
    with pytest.raises(DataError, match="infinite"):
        fit(rw.Queries(missing, queries.y, queries.qid))
    with pytest.raises(DataError, match="test data have 5"):
        fit(queries, test=rw.Queries(queries.X[:, :5], queries.y, queries.qid))


def test_rows_of_a_query_need_not_stand_together(queries):
    shuffled = np.random.default_rng(0).permutation(queries.n_documents)
    mixed = rw.Queries(queries.X[shuffled], queries.y[shuffled], queries.qid[shuffled])
    result = fit(mixed, rankers=["rankrls", "greedy-rankrls"], folds=3)
    values = rw.evaluate(result.held_out_scores, mixed, MEASURE).values[MEASURE]
    np.testing.assert_allclose(values, result.entries[result.chosen].values, atol=1e-12)


def test_the_p_value_is_that_of_the_chosen_ranker(queries):
    result = fit(queries[:60], test=queries[60:], rankers=FAST, folds=3)
    reproduce = {"command": "", "versions": {}, "data": [], "seed": 0}
    told = report_data(result, inspect(queries[:60]), reproduce=reproduce)
    differences = np.array(told["queries"]["chosen"]) - np.array(told["queries"]["baseline"])
    differences = np.round(differences[np.abs(differences) > 1e-12], 12)
    ranks = rankdata(np.abs(differences))
    ways = {0.0: 1}  # how many choices of signs give each sum of ranks
    for rank in ranks.tolist():
        ways = Counter(ways) + Counter({total + rank: count for total, count in ways.items()})
    smaller = min(ranks[differences > 0].sum(), ranks[differences < 0].sum())
    exact = 2 * Fraction(sum(count for total, count in ways.items() if total <= smaller), 2 ** len(ranks))
    assert told["summary"]["p_value"] == pytest.approx(float(exact), rel=1e-9)


def test_features_in_another_order_are_refused(queries):
    names = [f"name{j}" for j in range(8)]
    train = rw.Queries(queries.X, queries.y, queries.qid, feature_names=names)
    other = rw.Queries(queries.X[:, ::-1], queries.y, queries.qid, feature_names=names[::-1])
    for role in ("valid", "test"):
        with pytest.raises(DataError, match="another order"):
            fit(train, **{role: other})


def test_selection_is_left_out_where_there_is_one_query_to_train_on(queries):
    result = fit(queries[:1], valid=queries[1:10], rankers=["rankrls", "greedy-rankrls"])
    assert [each.family.name for each in result.left_out] == ["greedy-rankrls"]
    with pytest.raises(DataError, match="no ranker could be trained"):
        fit(queries[:2], rankers=["greedy-rankrls"])


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"folds": 1}, "folds"),
        ({"budget": -1}, "budget"),
        ({"costs": [1.0]}, "costs"),
        ({"costs": [0.0] * 8}, "costs"),
        ({"delta": 2}, "delta"),
    ],
)
def test_numbers_that_cannot_be_are_named(queries, options, named):
    with pytest.raises(ParameterError, match=named):
        fit(queries, **options)


def test_grades_that_teach_nothing_are_refused(queries):
    with pytest.raises(DataError, match="nothing to learn"):
        fit(rw.Queries(queries.X, np.zeros(queries.n_documents), queries.qid))


def test_the_path_of_features_tells_what_each_step_takes(queries):
    result = fit(queries[:60], test=queries[60:], rankers=["greedy-rankrls"], folds=3)
    reproduce = {"command": "", "versions": {}, "data": [], "seed": 0}
    told = report_data(result, inspect(queries[:60]), reproduce=reproduce)["feature_path"]
    sets = [set(point["selected"]) for point in told["points"]]
    assert [len(names) for names in sets] == [point["features"] for point in told["points"]]
    assert all(one < other for one, other in pairwise(sets))
    used = {queries.feature_names[j] for j in np.flatnonzero(result.model.coef_)}
    assert sets[told["chosen"]] == used


def test_all_documents_of_the_worst_queries_are_told():
    long = rw.datasets.make_queries(12, 60, 4, n_informative=2, n_correlated=0, seed=1).queries
    result = fit(long, rankers=["rankrls"], folds=3)
    reproduce = {"command": "", "versions": {}, "data": [], "seed": 0}
    told = report_data(result, inspect(long), reproduce=reproduce)
    sizes = dict(zip(told["queries"]["ids"], told["queries"]["documents"], strict=True))
    assert all(len(query["documents"]) == sizes[query["query"]] for query in told["worst"])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e6])
def test_a_feature_that_is_constant_within_queries_keeps_its_scale(queries, size):
    constant = size * (1 + np.arange(120.0))[queries.grouping.codes]
    tiny = 1e-13 * queries.X[:, 0]
    X = np.column_stack([queries.X, constant, tiny])
    for form in (X, sp.csr_array(X)):
        spread = within_query_spread(rw.Queries(form, queries.y, queries.qid))[0]
        assert spread[8] == 1.0
        assert spread[9] == pytest.approx(1e-13 * spread[0], rel=1e-6)
