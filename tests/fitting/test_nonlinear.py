"""Rankers that are not linear on the leaderboard of a fit: drawn settings, the same splits, the rule of simplicity."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import wilcoxon

import rankwright as rw
from rankwright.data.inspection import inspect
from rankwright.errors import DataError, ParameterError
from rankwright.fitting import nonlinear
from rankwright.fitting.choice import Entry, choose
from rankwright.fitting.families import FAMILIES
from rankwright.fitting.family import BLACK_BOX, FORMULA, LINEAR, Drawn, Setting
from rankwright.fitting.fit import NONLINEAR_RANKERS, RANKERS, fit
from rankwright.fitting.nonlinear import NONLINEAR, Formulas, KernelMaps
from rankwright.fitting.report_data import report_data
from rankwright.fitting.work import Work
from rankwright.report.page import render_report
from tests.choosing import as_good_as_the_best
from tests.fitting.curved import curved_queries

MEASURE = rw.nDCG @ 10
REPRODUCE = {"command": None, "versions": {}, "data": [], "seed": 0}


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    """Two draws of each ranker, from small spaces."""
    monkeypatch.setattr(nonlinear, "_MOST_DRAWS", 2)
    monkeypatch.setattr(Formulas, "space", {"hinges": (3, 0), "products": (True, False), "rule": ("best",)})
    small = {"components": (60, 30), "loss": ("rankrls",), "scaling": ("standard",), "kind": ("orthogonal",)}
    monkeypatch.setattr(KernelMaps, "space", small)


@pytest.fixture(scope="module", name="curved")
def made_curved():
    return curved_queries()


@pytest.fixture(name="result")
def fitted(curved):
    return fit(curved[:40], test=curved[40:], rankers=["rankrls", "kernel-map", "basis"], folds=3)


# Draws


def test_only_losses_of_ours_are_trained_on_some_of_the_queries():
    assert [kind.name for kind in NONLINEAR if "query_share" in kind.space] == ["boosted"]


@pytest.mark.parametrize("kind", NONLINEAR)
def test_draws_begin_with_the_usual_and_are_the_same_for_a_seed(kind):
    family = kind(MEASURE, "default", seed=3)
    assert family.most_draws == 2
    (first, *_), (second, *_) = (family.draw(number) for number in range(2))
    assert all(first.told[option] == values[0] for option, values in kind.space.items())
    assert first != second
    assert all(second.told[option] in values for option, values in kind.space.items())
    assert family.draw(1) == kind(MEASURE, "default", seed=3).draw(1)


def test_nothing_is_drawn_twice(monkeypatch):
    monkeypatch.setattr(nonlinear, "_MOST_DRAWS", 100)
    family = Formulas(MEASURE, "default")
    drawn = {family.draw(number)[0] for number in range(family.most_draws)}
    assert len(drawn) == family.most_draws == 4


# Judging


def test_values_are_those_of_training_without_the_fold(curved):
    result = fit(curved, rankers=["basis"], folds=3, seed=4)
    entry = result.entries[0]
    fold = np.random.default_rng(4).permutation(np.arange(curved.n_queries) % 3)
    by_hand, scores = np.empty(curved.n_queries), np.empty(curved.n_documents)
    for number in range(3):
        chosen = {"hinges": entry.setting.told["hinges"], "products": entry.setting.told["products"]}
        ranker = rw.BasisRanker(rw.search(), rw.search(), **chosen).fit(curved[fold != number])
        left_out = curved[fold == number]
        by_hand[fold == number] = rw.evaluate(ranker, left_out, MEASURE).values[MEASURE]
        rows = np.isin(curved.qid, left_out.query_ids)
        scores[rows] = ranker.predict(curved)[rows]
    np.testing.assert_allclose(entry.values, by_hand, atol=1e-12)
    np.testing.assert_allclose(result.held_out_scores, scores, atol=1e-9)


def test_the_model_is_trained_on_all_queries_and_takes_features_as_given(curved):
    result = fit(curved[:30], valid=curved[30:45], rankers=["kernel-map"])
    assert len(result.entries[0].values) == 15
    setting = result.entries[0].setting.told
    whole = rw.Queries(
        np.vstack([curved[:30].X, curved[30:45].X]),
        np.concatenate([curved[:30].y, curved[30:45].y]),
        np.concatenate([curved[:30].qid, curved[30:45].qid]),
        feature_names=curved.feature_names,
    )
    kernel = rw.KernelMap("orthogonal", setting["components"])
    again = rw.MappedRanker(kernel, rw.RankRLS(rw.search(), measures="ndcg@10")).fit(whole)
    np.testing.assert_allclose(result.model.predict(curved[45:]), again.predict(curved[45:]), rtol=1e-6, atol=1e-8)


def test_curved_truth_is_found_and_the_leaderboard_has_all(result, curved):
    assert [entry.family.title for entry in result.entries] == ["RankRLS", "formula", "kernel map"]
    chosen = result.entries[result.chosen]
    assert chosen.family.complexity != LINEAR
    told = rw.evaluate(result.model, curved[40:], MEASURE).means[MEASURE]
    assert result.on_test.means[chosen.family.title] == pytest.approx(told, abs=1e-12)
    assert told > result.on_test.means["RankRLS"] + 0.05
    text = str(result)
    assert "The best linear ranker, RankRLS, is worse by" in text
    assert "Settings tried, drawn at random: 2 of formula, 2 of kernel map." in text


def test_a_certificate_knows_what_a_nonlinear_ranker_was_trained_on(result, curved):
    assert result.certificates[0].guaranteed
    doubted = rw.theory.certificate(result.model, curved[:40], "ndcg@10")
    assert not doubted.guaranteed


def test_a_linear_truth_keeps_a_linear_ranker():
    made = rw.datasets.make_queries(90, 12, 5, n_informative=3, n_correlated=1, noise=0.3, seed=2).queries
    result = fit(made, rankers=["rankrls", "basis"], folds=3)
    assert result.entries[result.chosen].family.complexity == LINEAR


# The rule


def entries_with(differences, complexities, costs):
    """Entries whose values differ from the first by a mean, and a standard error of that mean."""
    kinds = {LINEAR: FAMILIES[0], FORMULA: Formulas, BLACK_BOX: KernelMaps}
    hard, noise = np.tile([0.2, 0.8], 8), np.repeat([1.0, -1.0], 8) * np.sqrt(15)
    settings = {LINEAR: Setting(1.0), FORMULA: Drawn(()), BLACK_BOX: Drawn(())}
    return [
        Entry(kinds[kind](MEASURE, "default"), settings[kind], hard + mean + error * noise, cost, cost)
        for (mean, error), kind, cost in zip(differences, complexities, costs, strict=True)
    ]


@pytest.mark.parametrize(
    ("differences", "chosen"),
    [
        ([(0, 0), (-0.01, 0.02), (-0.01, 0.02)], 2),  # all are as good: the linear one
        ([(0, 0), (-0.01, 0.02), (-0.03, 0.02)], 1),  # the linear one is worse: the formula
        ([(0, 0), (-0.03, 0.02), (-0.03, 0.02)], 0),  # both are worse: the black box
        ([(0, 0), (-0.03, 0.02), (-0.01, 0.02)], 2),
    ],
)
def test_the_simplest_kind_that_is_as_good_whatever_its_features(differences, chosen):
    entries = entries_with(differences, (BLACK_BOX, FORMULA, LINEAR), (1, 5, 20))
    assert choose(entries, MEASURE, "one-standard-error") == chosen
    assert choose(entries, MEASURE, "best") == 0
    close, _ = as_good_as_the_best([entry.values for entry in entries])
    assert chosen == max(close)  # they stand from complex to simple


def test_within_a_kind_the_fewest_features():
    entries = entries_with([(0, 0), (-0.01, 0.02), (-0.01, 0.02)], (BLACK_BOX, BLACK_BOX, BLACK_BOX), (9, 3, 5))
    assert choose(entries, MEASURE, "one-standard-error") == 1


def test_what_a_simpler_ranker_gives_up_is_told(curved, monkeypatch):
    """With grades that are nearly noise, the linear ranker is as good."""
    rng = np.random.default_rng(1)
    noisy = rw.Queries(curved.X, rng.integers(0, 3, curved.n_documents), curved.qid)
    result = fit(noisy, rankers=["rankrls", "basis"], folds=3)
    assert result.entries[result.chosen].family.complexity == LINEAR
    if result.given_up is not None and result.given_up.best.family.complexity == FORMULA:
        assert "A linear ranker, which is easier to run and to explain, instead of formula with" in str(result)


# What is left out


def test_what_is_not_installed_is_named_with_the_extra(curved, monkeypatch):
    monkeypatch.setattr(nonlinear, "find_spec", lambda name: None)
    monkeypatch.setattr(nonlinear, "NONLINEAR", NONLINEAR)
    result = fit(curved, rankers=["rankrls", "lambdarank", "neural"], folds=3)
    assert [each.family.name for each in result.left_out] == ["lambdarank", "neural"]
    assert "Left out: LambdaMART, lightgbm is not installed: pip install 'rankwright[lightgbm]'." in str(result)
    assert "rankwright[torch]" in result.left_out[1].reason
    assert not result.ended_for_time
    with pytest.raises(DataError, match=r"no ranker could be trained: torch is not installed"):
        fit(curved, rankers=["neural"], folds=3)


def test_a_budget_ends_the_search(curved):
    result = fit(curved, rankers=["rankrls", "basis"], folds=3, budget=1e-9)
    assert [each.family.name for each in result.left_out] == ["basis"]
    assert result.left_out[0].reason == "not finished within 1e-09 s: raise the budget to try it"
    assert result.ended_for_time


def test_time_that_ends_between_rounds_keeps_what_is_done(curved, monkeypatch):
    from rankwright.fitting.job import Job

    asked = iter([False] * 3 + [True] * 100)  # three splits of the first draw
    monkeypatch.setattr(Job, "_is_late", lambda self: next(asked))
    result = fit(curved, rankers=["basis"], folds=3)
    (judged,) = result.judged
    assert len(judged.settings) == 1
    assert judged.ended_for_time
    assert "Time was out: a larger budget tries more." in str(result)


def test_a_ranker_that_refuses_the_data_is_left_out_with_its_reason(curved, monkeypatch):
    def refuse(self, queries, setting, progress):
        raise DataError("it does not like these queries.")

    monkeypatch.setattr(Formulas, "trained", refuse)
    result = fit(curved, rankers=["rankrls", "basis"], folds=3)
    assert [(each.family.name, each.reason) for each in result.left_out] == [
        ("basis", "it does not like these queries")
    ]


def test_settings_that_are_refused_later_are_told_and_the_others_count(curved, monkeypatch):
    usual = Formulas.trained

    def refuse_others(self, queries, setting, progress):
        if setting != self.draw(0)[0].told:
            raise DataError("this is too much")
        return usual(self, queries, setting, progress)

    monkeypatch.setattr(Formulas, "trained", refuse_others)
    result = fit(curved, rankers=["basis"], folds=3)
    assert len(result.judged[0].settings) == 1
    assert f"Left out: formula, with {result.judged[0].family.draw(1)[0]}: this is too much." in str(result)


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("no convergence."), ValueError("odd"), MemoryError("1 GB")])
def test_a_draw_that_fails_in_a_library_ends_no_fit(curved, monkeypatch, error):
    """Even the first one: other settings may do."""
    usual = Formulas.trained

    def fail_at_first(self, queries, setting, progress):
        if setting == self.draw(0)[0].told:
            raise error
        return usual(self, queries, setting, progress)

    monkeypatch.setattr(Formulas, "trained", fail_at_first)
    result = fit(curved, rankers=["rankrls", "basis"], folds=3)
    formula = result.judged[1]
    assert formula.settings == tuple(formula.family.draw(1))
    told = f"{type(error).__name__}: {error}".rstrip(".")
    assert f"Left out: formula, with {formula.family.draw(0)[0]}: {told}." in str(result)


def test_a_ranker_all_of_whose_draws_fail_is_not_waited_for(curved, monkeypatch):
    def fail(self, queries, setting, progress):
        raise FloatingPointError("overflow")

    monkeypatch.setattr(Formulas, "trained", fail)
    result = fit(curved, rankers=["rankrls", "basis"], folds=3)
    assert [entry.family.name for entry in result.entries] == ["rankrls"]
    assert [each.reason.partition(": ")[2] for each in result.left_out] == ["FloatingPointError: overflow"] * 2
    with pytest.raises(DataError, match=r"no ranker could be trained: with hinges 3, .*FloatingPointError: overflow"):
        fit(curved, rankers=["basis"], folds=3)


def test_files_that_cannot_be_read_or_written_end_a_fit(curved, monkeypatch):
    def fail(self, queries, setting, progress):
        raise OSError("no space left on device")

    monkeypatch.setattr(Formulas, "trained", fail)
    with pytest.raises(OSError, match="no space left"):
        fit(curved, rankers=["rankrls", "basis"], folds=3)


# Options


def test_seed_and_missing_reach_a_kernel_map(curved):
    result = fit(curved, rankers=["kernel-map"], folds=3, missing="query-mean", seed=5)
    kernel = rw.KernelMap(
        "orthogonal", result.entries[0].setting.told["components"], missing="query-mean", random_state=5
    )
    by_hand = rw.MappedRanker(kernel, rw.RankRLS(rw.search(), measures="ndcg@10")).fit(curved)
    scores = result.model.predict(curved)
    np.testing.assert_allclose(scores, by_hand.predict(curved), rtol=1e-6, atol=1e-8)
    for other in ({"missing": "query-mean"}, {"seed": 5}):
        assert not np.allclose(scores, fit(curved, rankers=["kernel-map"], folds=3, **other).model.predict(curved))


@pytest.mark.peers
@pytest.mark.parametrize("name", ["boosted", "lambdarank", "xendcg", "neural"])
def test_seed_and_missing_reach_trees_and_networks(curved, name, monkeypatch):
    kind = next(kind for kind in NONLINEAR if kind.name == name)
    small = {"epochs": (2,), "hidden": ((4,),)} if name == "neural" else {}
    monkeypatch.setattr(kind, "space", {**kind.space, **small})
    monkeypatch.setattr(nonlinear, "_FIRST_TREES", (5,))
    monkeypatch.setattr(nonlinear, "_MOST_DRAWS", 1)
    result = fit(curved, rankers=[name], folds=2, missing="query-mean", seed=2**32 + 7)
    assert result.model.parameters_["random_state"] == 7
    if name == "neural":
        assert result.model.parameters_["missing"] == "query-mean"


def test_all_nonlinear_rankers_join_by_one_word(monkeypatch):
    from rankwright.fitting.fit import _checked_rankers

    assert _checked_rankers(RANKERS, True) == [*RANKERS, *NONLINEAR_RANKERS]
    assert _checked_rankers(["rankrls"], True) == ["rankrls", *NONLINEAR_RANKERS]
    assert _checked_rankers(["neural", "rankrls"], False) == ["rankrls", "neural"]
    with pytest.raises(ParameterError, match="nonlinear must be True or False, not 'yes'"):
        _checked_rankers(RANKERS, "yes")
    with pytest.raises(ParameterError, match=r"rankers must be some of .*kernel-map"):
        _checked_rankers(["trees"], False)


# Going on


def test_what_is_finished_is_not_trained_again(curved, tmp_path, monkeypatch):
    options = {"rankers": ["rankrls", "basis"], "folds": 3}
    first = fit(curved, **options, work=Work(tmp_path, "a" * 16))

    def never(self, queries, setting, progress):
        raise AssertionError

    monkeypatch.setattr(Formulas, "trained", never)
    again = fit(curved, **options, work=Work(tmp_path, "a" * 16))
    assert again.chosen == first.chosen
    for one, two in zip(first.entries, again.entries, strict=True):
        np.testing.assert_array_equal(one.values, two.values)
    for one, two in zip(first.models, again.models, strict=True):
        np.testing.assert_array_equal(one.predict(curved), two.predict(curved))
    np.testing.assert_array_equal(first.held_out_scores, again.held_out_scores)


# The report


def test_the_report_compares_with_the_best_linear_ranker(result, curved):
    told = report_data(result, inspect(curved[:40]), reproduce=REPRODUCE)
    rows = {row["ranker"]: row for row in told["beyond_linear"]["rows"]}
    assert told["beyond_linear"]["linear"] == "RankRLS"
    assert set(rows) == {"RankRLS", "kernel map", "formula"}
    assert rows["RankRLS"]["difference"] is None
    values = result.on_test.values
    raw = {}
    for name in ("kernel map", "formula"):
        differences = values[name] - values["RankRLS"]
        assert rows[name]["difference"] == pytest.approx(np.nanmean(differences))
        raw[name] = wilcoxon(differences[np.abs(differences) > 1e-12], method="exact").pvalue
        assert rows[name]["seconds"] > 0
    smaller, larger = sorted(raw, key=raw.get)
    assert rows[smaller]["p_value"] <= rows[larger]["p_value"]
    assert rows[smaller]["p_value"] == pytest.approx(min(1, 2 * raw[smaller]), rel=1e-6)
    assert set(rows["RankRLS"]["targets"]) > {"solr", "sql", "python"}
    assert "solr" not in rows["kernel map"]["targets"]
    assert json.loads(json.dumps(told, allow_nan=False)) == told


def test_the_logarithm_of_a_formula_is_explained(curved, monkeypatch):
    """In the words of the summary and on the page, and only there where the formula has one."""
    monkeypatch.setattr(Formulas, "space", {"hinges": (0,), "products": (False,), "rule": ("best",)})
    X = np.sinh(2 * np.nan_to_num(curved.X))
    counts = rw.Queries(X, np.clip(np.round(np.arcsinh(X[:, 0])), 0, 4), curved.qid, feature_names=list("abcde"))
    result = fit(counts, rankers=["basis"], folds=3)
    assert "slog(a" in result.formula_text
    told = ", where slog(x) = sign(x)·log(1 + |x|)"
    assert f"The formula: {result.formula_text}{told}\n" in str(result)
    page = render_report(report_data(result, inspect(counts), reproduce=REPRODUCE))
    assert f"</code>{told}</p>" in page


DOUBT = "These queries also chose the settings, so p is too small."


def test_p_values_of_queries_that_chose_the_settings_are_doubted(result, curved):
    """The table of the summary always has p of held-out queries, the report of test queries if there are any."""
    assert DOUBT in str(result)
    assert DOUBT not in render_report(report_data(result, inspect(curved[:40]), reproduce=REPRODUCE))
    untested = fit(curved, rankers=["rankrls", "basis"], folds=3)
    assert DOUBT in str(untested)
    assert DOUBT in render_report(report_data(untested, inspect(curved), reproduce=REPRODUCE))
    assert DOUBT not in str(fit(curved, rankers=["rankrls"], folds=3))


def test_the_page_of_a_nonlinear_ranker(result, curved):
    told = report_data(result, inspect(curved[:40]), reproduce=REPRODUCE)
    page = render_report(told)
    assert "Linear or not" in page
    if result.entries[result.chosen].family.name == "basis":
        assert result.formula_text.replace("<", "&lt;") in page
        assert f"The formula: {result.formula_text}" in str(result)
    else:
        assert "The chosen ranker, kernel map, is no weighted sum of features" in page
    assert told["weights"] == []
    named = {
        name for query in told["worst"] for document in query["documents"] for name, _ in document["contributions"]
    }
    assert any("bm25" in name for name in named)


@pytest.mark.parametrize("name", ["rankrls", "kernel-map", "basis"])
def test_contributions_add_up_to_the_score(curved, name):
    result = fit(curved, rankers=[name], folds=3)
    for q in (0, 7):
        columns = result.final_columns[q : q + 1]
        names, parts = result.learned_for(q).contributions(curved[q : q + 1], columns)
        scores = result.held_out_scores[curved.qid == curved.query_ids[q]]
        assert parts.shape == (len(scores), len(names))
        np.testing.assert_allclose(parts.sum(axis=1), scores - scores.mean(), atol=1e-6)


def test_a_linear_fit_has_no_such_section(curved):
    result = fit(curved, rankers=["rankrls", "greedy-rankrls"], folds=3)
    told = report_data(result, inspect(curved), reproduce=REPRODUCE)
    assert told["beyond_linear"] is None
    assert "Linear or not" not in render_report(told)


# Trees and networks


@pytest.mark.peers
@pytest.mark.parametrize("name", ["boosted", "lambdarank", "xendcg"])
def test_first_trees_are_those_of_fewer_rounds(curved, name, monkeypatch):
    kind = next(kind for kind in NONLINEAR if kind.name == name)
    family = kind(MEASURE, "default")
    monkeypatch.setattr(nonlinear, "_FIRST_TREES", (5, 20))
    settings = family.draw(0)
    learned = family.learn(None, curved, settings)
    for setting, model in zip(settings, learned.models, strict=True):
        alone = family.trained(curved, setting.told, None)
        np.testing.assert_allclose(model.predict(curved), alone.predict(curved), rtol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("name", ["boosted", "lambdarank", "xendcg", "neural"])
def test_every_extra_is_fitted_saved_and_read(curved, name, tmp_path):
    result = fit(curved[:40], test=curved[40:], rankers=["rankrls", name], folds=3, rule="best")
    result.save(tmp_path / "out")
    model = rw.load_model(tmp_path / "out" / "model.json")
    np.testing.assert_allclose(model.predict(curved[40:]), result.model.predict(curved[40:]), rtol=1e-6)
    assert not result.left_out
