"""`fit` on missing values and heavy tails: what is tried, what is chosen, and that everything tells the same story."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.fitting.preparing import preparations_of
from rankwright.fitting.report_data import report_data
from rankwright.preparation.preparation import prepare
from rankwright.report.page import render_report

FAST = ["regression", "rankrls", "greedy-rankrls"]
REPRODUCE = {"command": "rankwright fit", "versions": {}, "data": [], "seed": 0}
NAMES = ["bm25", "age", "clicks", "noise", "price"]


def collection(n_queries=60, seed=0, store=np.asarray, names=NAMES):
    """bm25 is linear, clicks count by their logarithm, prices of bad documents are missing, and noise at random.

    Queries differ in size, their rows are in no order, and one has nothing relevant.
    """
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 16, n_queries)
    qid = rng.permutation(np.repeat([f"q{q}" for q in range(n_queries)], sizes))
    x = rng.standard_normal((len(qid), 5))
    strength = 1.5 * rng.standard_normal(len(qid))
    x[:, 2] = np.floor(np.exp(3 + 2 * strength))
    utility = x[:, 0] + strength + 0.5 * rng.standard_normal(len(qid))
    y = np.digitize(utility, [0.5, 2.0]).astype(float) * (qid != "q1")
    x[(rng.random(len(qid)) < 0.7) & (y == 0), 4] = np.nan
    x[rng.random(len(qid)) < 0.4, 3] = np.nan
    return rw.Queries(store(x), y, qid, feature_names=names)


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return collection()


@pytest.fixture(scope="module", name="result")
def fitted(queries):
    return rw.fit(queries[:45], test=queries[45:], rankers=FAST)


def test_only_what_data_give_a_reason_for_is_tried(queries):
    plain = rw.Queries(np.nan_to_num(queries.X[:, [0, 1, 3, 4]]), queries.y, queries.qid)
    assert [how.name for how in preparations_of({"train": plain}, "auto", "auto")] == ["mean-none"]
    holes = rw.Queries(queries.X[:, [0, 1, 3, 4]], queries.y, queries.qid)
    assert [how.name for how in preparations_of({"train": holes}, "auto", "auto")] == ["mean-none", "query-mean-none"]
    assert [how.has_missing for how in preparations_of({"train": plain, "valid": holes}, "auto", "auto")] == [
        True,
        True,
    ]
    (only,) = preparations_of({"train": plain, "test": holes}, "auto", "auto")  # test queries decide nothing
    assert only.has_missing
    names = [how.name for how in preparations_of({"train": queries}, "auto", "auto")]
    assert names[0] == "mean-none"  # the simplest comes first
    assert sorted(names) == sorted(f"{m}-{t}" for m in ("mean", "query-mean") for t in ("none", "log", "quantile"))
    assert [how.name for how in preparations_of({"train": queries}, "query-mean", "log")] == ["query-mean-log"]


@pytest.mark.parametrize("option", [{"missing": "median"}, {"transform": "sqrt"}])
def test_options_that_are_none_are_named(queries, option):
    (name,) = option
    with pytest.raises(rw.ParameterError, match=f"{name} must be one of 'auto', "):
        rw.fit(queries, **option)


def test_clicks_are_taken_as_they_count_and_a_missing_price_is_seen(result):
    assert result.data.how.transform in ("log", "quantile")
    assert len(result.tried) == 6
    formula = rw.fit(result.request.queries["train"], rankers=["rankrls"], rule="best").model.formula()
    assert 2 in formula.transforms
    assert formula.weights[2] > 0
    assert formula.weights[4] * formula.filling.values[4] + formula.extra[4] < 0  # a bad sign


def test_held_out_values_are_those_of_rankers_trained_again(queries):
    """One preparation of all training queries, and RankRLS on the columns of the others."""
    result = rw.fit(queries, rankers=["rankrls"], missing="query-mean", transform="log")
    _, columns = prepare(queries, missing="query-mean", transform="log")
    entry = result.entries[0]
    fold = result.data.split_of_query
    expected = np.empty(queries.n_queries)
    for part in range(5):
        ranker = rw.RankRLS(entry.setting.alpha).fit(columns[fold != part])
        expected[fold == part] = rw.evaluate(ranker, columns[fold == part], "ndcg@10").values[rw.nDCG @ 10]
    np.testing.assert_allclose(entry.values, expected, atol=1e-9)


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("transform", ["none", "log", "quantile"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, lambda x: x.astype(np.float32)])
def test_models_score_features_as_the_weights_score_columns(missing, transform, store):
    queries = collection(30, store=store)
    result = rw.fit(queries[:20], test=queries[20:], rankers=["rankrls"], missing=missing, transform=transform)
    expected = result.final_columns.X @ result.column_weights
    np.testing.assert_allclose(result.model.predict(queries[20:]), expected, atol=2e-5 * np.ptp(expected))


def test_the_report_adds_up(result):
    told = report_data(result, inspect(result.request.queries["train"]), reproduce=REPRODUCE)
    rows = {row["name"]: row for row in told["preparation"]["features"]}
    assert set(rows) == {"clicks", "noise", "price"}
    x = result.request.queries["train"].X
    assert rows["price"]["missing_share"] == pytest.approx(np.isnan(x[:, 4]).mean())
    assert [each["is_chosen"] for each in told["preparation"]["tried"]].count(True) == 1
    scores = result.model.predict(result.test)
    for query in told["worst"]:
        rows = result.test.qid == query["query"]
        for document in query["documents"]:
            assert {name for name, _ in document["contributions"]} <= set(NAMES)
            total = sum(value for _, value in document["contributions"])  # there are but five features
            assert total == pytest.approx(document["score"] - scores[rows].mean(), abs=1e-9)
    page = render_report(told)
    assert "How features were prepared" in page
    assert "missing values filled in" in page


def test_a_baseline_is_a_feature(result):
    assert result.baseline.name.removeprefix("-") in NAMES
    with pytest.raises(rw.ParameterError, match="baseline: there is no feature 'price is missing'"):
        rw.fit(result.request.queries["train"], baseline="price is missing", rankers=["rankrls"])


def test_costs_count_a_feature_once(queries):
    costs = [1.0, 2.0, 4.0, 8.0, 16.0]
    result = rw.fit(queries, rankers=["rankrls", "greedy-rankrls"], costs=costs, rule="best")
    entry = next(entry for entry in result.entries if entry.family.name == "rankrls")
    assert entry.cost == sum(costs)
    assert all(cost <= sum(costs) for judged in result.judged for cost in judged.costs)


def test_complete_training_data_and_test_data_with_holes(queries):
    complete = rw.Queries(np.nan_to_num(queries.X), queries.y, queries.qid, feature_names=NAMES)
    result = rw.fit(complete[:40], test=queries[40:], rankers=["rankrls"], transform="none")
    means = complete[:40].X.mean(axis=0)
    x = queries[40:].X
    filled = np.where(np.isnan(x), means, x)
    np.testing.assert_allclose(result.model.predict(queries[40:]), filled @ result.model.coef_, atol=1e-9)


def test_it_is_saved_loaded_explained_and_certified(result, tmp_path):
    result.save(tmp_path / "out")
    model = rw.load_model(tmp_path / "out" / "model.json")
    np.testing.assert_array_equal(model.predict(result.test), result.model.predict(result.test))
    assert model.parameters_["transform"] == result.data.how.transform
    told = rw.explain(model, result.test, result.test.query_ids[0])
    assert np.isfinite(told.contributions).all()
    assert rw.theory.certificate(model, result.test, "ndcg@10").guaranteed
    assert not rw.theory.certificate(model, result.request.queries["train"], "ndcg@10").guaranteed
    assert "Features were prepared: " in str(result)


def test_the_work_of_another_preparation_is_not_taken_up(queries, tmp_path):
    from rankwright.fitting.work import Work

    folder = tmp_path / "work"
    folder.mkdir()
    hurried = rw.fit(queries, rankers=["rankrls"], budget=1e-9, work=Work(folder, "a"))
    assert hurried.data.how.name == "mean-none"
    whole = rw.fit(queries, rankers=["rankrls"], work=Work(folder, "a"))
    expected = rw.fit(queries, rankers=["rankrls"])
    assert whole.data.how == expected.data.how
    np.testing.assert_array_equal(whole.model.coef_, expected.model.coef_)


def test_features_are_counted_and_not_columns(queries):
    """Greedy selection takes what tells that a price is missing as a column of its own."""
    result = rw.fit(queries, rankers=["greedy-rankrls"], transform="none", missing="mean", rule="best")
    entry, n_used = result.entries[0], len(result.model.formula().used)
    judged = result.judged[0]
    counts = [(setting.n_features, n) for setting, n in zip(judged.settings, judged.n_features, strict=True)]
    assert all(n <= columns for columns, n in counts)
    assert any(n <= columns - 1 for columns, n in counts)
    assert f"; {n_used} of 5 features used." in str(result)
    assert result.n_features_of(entry) == n_used
    assert all(n <= 5 for _, n in counts)


def test_progress_comes_to_its_end_if_time_is_out(queries):
    told = []
    rw.fit(queries, rankers=["rankrls"], budget=1e-9, progress=lambda now: told.append((now.done, now.total)))
    done, total = told[-1]
    assert done + 1 >= total


def test_text_files_of_different_widths_are_read_alike(tmp_path):
    """Text does not tell of a last feature that is 0 in all its lines."""
    made = rw.datasets.make_queries(n_queries=30, n_features=8, n_correlated=2, seed=0).queries
    x = made.X.copy()
    x[made.grouping.codes >= 20, 7] = 0
    narrow = rw.Queries(x, made.y, made.qid)
    rw.write_svmlight(narrow[:20], tmp_path / "train.txt")
    rw.write_svmlight(narrow[20:], tmp_path / "test.txt")
    result = rw.fit(tmp_path / "train.txt", test=tmp_path / "test.txt", rankers=["rankrls"])
    assert result.test.n_features == result.model.n_features_in_ == 8


def test_the_price_of_a_simpler_preparation_is_told(queries):
    few = queries[30:40]
    result = rw.fit(few, rankers=["rankrls"])
    means = {each.how: each.estimate.mean for each in result.tried}
    best = max(means, key=means.__getitem__)
    assert means[best] > means[result.data.how]  # which the rule takes as it is simpler
    told = f"RankRLS would be {means[best] - means[result.data.how]:.4f} better"
    assert told in str(result)
    assert f"with {best}. Use rule=" in str(result)
    assert rw.fit(few, rankers=["rankrls"], rule="best").preparation_given_up is None


@pytest.mark.parametrize("ranker", ["ranksvm", "order-preserving", "rankrls"])
def test_features_that_rank_nothing_have_no_weight(queries, ranker):
    """Solvers may leave them a weight of rounding, which would count as a feature and be exported."""
    x = np.column_stack([queries.X, np.full(queries.n_documents, 3.0), queries.grouping.codes * 1000.0])
    more = rw.Queries(x, queries.y, queries.qid)
    result = rw.fit(more, rankers=[ranker], rule="best", transform="none", missing="mean")
    assert result.model.formula().used.tolist() == [0, 1, 2, 3, 4]
    assert result.n_features_of(result.entries[0]) == 5
