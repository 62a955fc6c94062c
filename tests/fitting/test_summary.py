"""What a fit prints: every figure held against the library's own, in a table that fits its window."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console

import rankwright as rw
from rankwright.fitting.fit import fit
from rankwright.fitting.report_data import leaderboard
from rankwright.fitting.summary import ON_COMMAND_LINE, FitSummary, gave_up_json

MEASURE = rw.nDCG @ 10
FAST = ("regression", "rankrls", "greedy-rankrls")


@pytest.fixture(scope="module", name="queries")
def made_queries():
    return rw.datasets.make_queries(120, 12, 8, n_informative=3, n_correlated=2, seed=3, dtype=np.float64).queries


@pytest.fixture(scope="module", name="tested")
def fitted_with_test_queries(queries):
    return fit(queries[:80], test=queries[80:], rankers=FAST, folds=4)


@pytest.fixture(scope="module", name="thrifty")
def fitted_with_something_given_up():
    """Twelve features, of which five do nearly as well."""
    queries = rw.datasets.make_queries(160, 25, 12, n_informative=4, n_correlated=4, seed=3).queries
    return fit(queries[:120], rankers=FAST)


def printed(summary, width):
    console = Console(file=io.StringIO(), width=width, highlight=False, markup=False)
    console.print(summary)
    return console.file.getvalue().splitlines()


def table_of(lines):
    """The rows below the rule, as lists of cells; two blanks or more part them."""
    rule = next(i for i, line in enumerate(lines) if line.startswith("───"))
    rows = []
    for line in lines[rule + 1 :]:
        if not line.strip():
            break
        rows.append(re.split(r" {2,}", line.strip()))
    return rows


def test_a_row_has_the_figures_of_its_ranker(tested, queries):
    rows = table_of(printed(FitSummary(tested), 80))
    assert len(rows) == 4
    held_out = {entry.family.title: entry.values.mean() for entry in tested.entries}
    baseline = rw.evaluate(queries[:80].X[:, tested.baseline.column] * tested.baseline.sign, queries[:80], MEASURE)
    means = {**held_out, "baseline": baseline.means[MEASURE]}
    best = max(means, key=means.get)
    p_values = tested.held_out.p_values
    for row, name in zip(rows, sorted(means, key=means.get, reverse=True), strict=True):
        entry = next((e for e in tested.entries if e.family.title == name), None)
        model = None if entry is None else tested.models[tested.entries.index(entry)]
        is_chosen = entry is tested.entries[tested.chosen]
        title = f"baseline {tested.baseline.name}" if entry is None else name
        scores = tested.baseline.scores(queries[80:]) if model is None else model.predict(queries[80:])
        p = p_values.get(tested.baseline_title if entry is None else name)
        expected = [
            f"▶ {title}" if is_chosen else title,
            f"{means[name]:.4f}",
            f"{rw.evaluate(scores, queries[80:], MEASURE).means[MEASURE]:.4f}",
            *([] if entry is None else [f"{means[name] - means['baseline']:+.4f}"]),
            "best" if name == best else f"{means[name] - means[best]:+.4f}",
            *([] if name == best else ["< 0.001" if p < 0.001 else f"{p:.3f}"]),
            "1" if model is None else str(np.count_nonzero(model.coef_)),
        ]
        assert row[: len(expected)] == expected
        if entry is not None:
            assert float(re.sub(r"2\^(.*)", lambda found: str(2 ** float(found[1])), row[-1])) == entry.setting.alpha


def test_p_values_are_of_differences_from_the_best_on_held_out_queries(tested):
    best, *others = sorted(tested.entries, key=lambda entry: -entry.estimate.mean)
    rows = {row["ranker"]: row for row in leaderboard(tested)}
    assert rows[best.family.title]["p_value"] is None
    for entry in others:
        row = rows[entry.family.title]
        assert row["difference_from_best"] == pytest.approx((entry.values - best.values).mean(), abs=1e-12)
        assert 0 <= row["p_value"] <= 1


@pytest.mark.parametrize("width", [80, 100, 120])
def test_it_fits_the_window(tested, thrifty, width):
    for result in (tested, thrifty):
        for names in (FitSummary(result), FitSummary(result, ON_COMMAND_LINE)):
            lines = printed(names, width)
            assert max(map(len, lines)) <= width
            assert len(table_of(lines)) == 4
            assert not any("…" in cell for row in table_of(lines) for cell in row)


def test_all_rankers_and_test_queries_fit_80_columns(queries):
    result = fit(queries[:40], test=queries[80:], folds=2)
    lines = printed(FitSummary(result), 80)
    rows = table_of(lines)
    assert {row[0].removeprefix("▶ ") for row in rows} >= {"order-preserving", "greedy RankRLS", "structured"}
    rule = next(i for i, line in enumerate(lines) if line.startswith("───"))
    assert len({len(line) for line in lines[rule - 2 : rule + 1 + len(rows)]}) == 1


def test_long_names_are_cut_and_figures_are_not(queries):
    name = "click-through rate of the last thirty days, smoothed by position"
    names = [name, *(f"f{j}" for j in range(2, 9))]
    named = rw.Queries(queries.X, queries.y, queries.qid, feature_names=names)
    result = fit(named[:60], test=named[60:], rankers=["rankrls"], folds=3, baseline=name)
    lines = printed(FitSummary(result), 80)
    assert max(map(len, lines)) <= 80
    (row,) = (line for line in lines if line.startswith("  baseline click"))
    assert "…" in row
    assert f"{result.held_out.means[result.baseline_title]:.4f}" in row
    assert name in " ".join(" ".join(lines).split())  # below the table it is whole


def test_values_that_are_large(queries):
    result = fit(queries[:60], test=queries[60:], rankers=["rankrls"], folds=3, measure="dcg")
    lines = printed(FitSummary(result), 80)
    assert max(map(len, lines)) <= 80
    assert f"{result.held_out.means['RankRLS']:.4f}" in "\n".join(lines)


# What the rule gave up


def test_what_the_rule_gave_up_is_measured_from_the_best_setting_of_all(thrifty):
    every = [(j, i) for j, judged in enumerate(thrifty.judged) for i in range(len(judged.settings))]
    j, i = max(every, key=lambda at: thrifty.judged[at[0]].values[at[1]].mean())
    best, chosen = thrifty.judged[j], thrifty.entries[thrifty.chosen]
    difference = chosen.values - best.values[i]
    told = gave_up_json(thrifty)
    assert (told["ranker"], told["alpha"]) == (best.family.title, best.settings[i].alpha)
    assert told["difference"] == pytest.approx(difference.mean(), abs=1e-12)
    assert told["standard_error"] == pytest.approx(difference.std(ddof=1) / np.sqrt(len(difference)))
    assert told["held_out_mean"] == pytest.approx(best.values[i].mean())


def test_what_the_rule_gave_up_is_told(thrifty):
    told = gave_up_json(thrifty)
    n_used = np.count_nonzero(thrifty.model.coef_)
    assert n_used < told["features"]
    expected = f"{n_used} features instead of the {told['features']} of {told['ranker']}"
    for names, option in (({}, 'rule="best"'), ({"names": ON_COMMAND_LINE}, "--rule best")):
        text = str(FitSummary(thrifty, **names))
        (line,) = (line for line in text.splitlines() if line.startswith(expected))
        assert f"is {abs(told['difference']):.4f} lower (within one standard error)" in line
        assert line.endswith(f"Use {option} for the best.")
    best = fit(thrifty.request.queries["train"], rankers=FAST, rule="best")
    assert best.given_up is None
    assert "instead of" not in str(best)
    entry = best.entries[best.chosen]
    assert (entry.family.title, entry.setting.alpha) == (told["ranker"], told["alpha"])


def test_of_an_error_more_is_worse(thrifty):
    result = fit(thrifty.request.queries["train"][:20], rankers=FAST[1:], measure="PairwiseError")
    told = gave_up_json(result)
    assert told["difference"] > 0
    assert f"is {told['difference']:.4f} higher" in str(result)


def test_costs_are_told_where_they_decide(thrifty):
    queries = thrifty.request.queries["train"]
    result = fit(queries, rankers=FAST, costs=[3.0] * 12)
    told = gave_up_json(result)
    assert told["cost"] == pytest.approx(3.0 * told["features"])
    assert f"A cost of {result.entries[result.chosen].cost:.4g} instead of {told['cost']:.4g}, and" in str(result)


# Words


def test_without_test_queries_it_is_an_estimate(thrifty):
    told = "Estimate only: these queries were also used to choose the model. Pass "
    assert f"{told}test=… for a guarantee." in str(thrifty)
    assert f"{told}--test for a guarantee." in str(FitSummary(thrifty, ON_COMMAND_LINE))
    assert "certificate" not in str(thrifty)


def test_words_of_the_trade_are_explained(tested):
    lines = str(tested).splitlines()
    for word in ("held out", "baseline", "p", "λ", "95 % interval", "at least"):
        assert any(line.startswith(f"{word}: ") for line in lines), word
    assert "Holm" in str(tested)
    assert "bootstrap" in str(tested)
    assert "Estimate" not in str(tested)
