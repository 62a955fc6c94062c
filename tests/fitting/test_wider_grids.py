"""A best λ at an end of its grid: the grid is widened first, and what is still at an end is told."""

from __future__ import annotations

import numpy as np
import pytest

import rankwright as rw
from rankwright.fitting.choice import Judged
from rankwright.fitting.families import FAMILIES, Greedy, PairwiseLeastSquares, Setting
from rankwright.fitting.fit import fit
from rankwright.fitting.work import Work, fingerprint
from rankwright.preparation.spread import within_query_spread

MEASURE = rw.nDCG @ 10


def hidden_in_a_difference(share, n_queries=40):
    """Grades are in the difference of two features, else equal: the smaller it is, the smaller λ must be."""
    rng = np.random.default_rng(0)
    common, grading = rng.normal(size=(2, 10 * n_queries))
    X = np.column_stack([common + share * grading, common - share * grading])
    qid = np.array([f"q{-q}" for q in np.arange(n_queries)])[np.repeat(np.arange(n_queries), 10)]
    return rw.Queries(X, np.digitize(grading, [0, 1]), qid)


def judged_with(means, alphas, sizes=(None,)):
    """Means of each λ, and of each size in turn."""
    settings = tuple(Setting(alpha, size) for alpha in alphas for size in sizes)
    values = np.array(means, dtype=float).reshape(-1, 1) + np.array([-0.1, 0.0, 0.1])
    return Judged(PairwiseLeastSquares(MEASURE, "default"), settings, values, *np.ones((2, len(settings))))


@pytest.mark.parametrize(
    ("means", "end"),
    [
        ([0.3, 0.2, 0.1], "least"),
        ([0.1, 0.2, 0.3], "largest"),
        ([0.1, 0.3, 0.2], None),
        ([0.3, 0.3, 0.1], None),
        ([0.1, 0.3, 0.3], None),
        ([0.3 + 1e-12, 0.3, 0.1], None),
        ([np.nan, 0.2, 0.3], "largest"),
        ([0.2, 0.2, 0.2], None),
    ],
)
def test_the_end_counts_where_it_is_better_than_all_others(means, end):
    assert judged_with(means, [0.5, 1.0, 2.0]).end_of_grid(MEASURE) == end
    turned = {"least": "largest", "largest": "least", None: None}
    assert judged_with(means[::-1], [0.5, 1.0, 2.0]).end_of_grid(MEASURE) == turned[end]
    assert judged_with([-mean for mean in means], [0.5, 1.0, 2.0]).end_of_grid(rw.PairwiseError) == end


def test_any_number_of_features_counts_for_its_lambda():
    assert judged_with([0.1, 0.2, 0.3, 0.1, 0.2, 0.2], [1.0, 2.0, 4.0], (1, 2)).end_of_grid(MEASURE) is None
    assert judged_with([0.1, 0.2, 0.3, 0.1, 0.2, 0.4], [1.0, 2.0, 4.0], (1, 2)).end_of_grid(MEASURE) == "largest"


def test_a_single_lambda_has_no_end():
    assert judged_with([0.1, 0.2], [1.0], (1, 2)).end_of_grid(MEASURE) is None


@pytest.mark.parametrize("kind", FAMILIES, ids=lambda kind: kind.name)
@pytest.mark.parametrize("end", ["least", "largest"])
def test_a_grid_goes_on_in_its_own_steps(kind, end):
    queries = rw.datasets.make_queries(20, 8, 4, n_informative=2, n_correlated=0, seed=1, dtype=np.float64).queries
    family = kind(MEASURE, "default")
    settings = family.settings(queries)
    beyond = family.beyond(settings, end)
    whole = beyond + settings if end == "least" else settings + beyond
    alphas = sorted({setting.alpha for setting in whole})
    steps = np.diff(np.log2(alphas))
    np.testing.assert_allclose(steps, steps[0], atol=1e-9)
    assert len(alphas) == len({setting.alpha for setting in settings}) + family.n_wider
    assert {setting.n_features for setting in beyond} == {setting.n_features for setting in settings}
    assert whole == sorted(whole, key=lambda setting: (setting.alpha, setting.n_features or 0))


def test_a_wider_grid_is_one_grid():
    """As if all its settings had been judged at once, with features that fill up the narrower of the selections."""
    family = Greedy(MEASURE, "default")
    few = Judged(family, (Setting(2.0, 1),), np.ones((1, 3)), np.array([1.0]), np.array([1.0]), (np.array([[4]]),))
    more = Judged(family, (Setting(1.0, 2),), np.zeros((1, 3)), np.array([2.0]), np.array([2.0]), (np.array([[4, 5]]),))
    for joined in (few.joined(more), more.joined(few)):
        assert joined.settings == (Setting(1.0, 2), Setting(2.0, 1))
        np.testing.assert_array_equal(joined.values, [[0, 0, 0], [1, 1, 1]])
        np.testing.assert_array_equal(joined.costs, [2, 1])
        np.testing.assert_array_equal(joined.selections[0], [[4, 5], [4, -1]])


def by_hand(queries, alphas):
    """The mean over three folds of RankRLS with each λ, trained anew for each."""
    scale = within_query_spread(queries)[0]
    fold = np.random.default_rng(0).permutation(np.arange(queries.n_queries) % 3)
    means = []
    for alpha in alphas:
        values = np.empty(queries.n_queries)
        for number in range(3):
            train, left_out = queries[fold != number], queries[fold == number]
            ranker = rw.RankRLS(alpha=alpha).fit(train.X / scale, train.y, qid=train.qid)
            values[fold == number] = rw.evaluate(left_out.X / scale @ ranker.coef_, left_out, MEASURE).values[MEASURE]
        means.append(values.mean())
    return np.array(means)


def test_the_grid_is_widened_until_the_best_is_inside():
    queries = hidden_in_a_difference(1e-2)
    result = fit(queries, rankers=["rankrls"], folds=3)
    alphas = np.array([setting.alpha for setting in result.judged[0].settings])
    np.testing.assert_array_equal(alphas, 2.0 ** np.arange(-10.0, 15.0))
    means = by_hand(queries, alphas)
    np.testing.assert_allclose([mean for mean, _ in result.judged[0].estimates], means, atol=1e-9)
    assert means[4] > means[5:].max()  # of the grid that it begins with, the least is best
    assert means[0] <= means[1:].max()  # and in the wider one it is not
    assert result.entries[0].setting.alpha == alphas[means.argmax()]
    assert result.notes == ()


def test_what_is_still_at_the_end_is_told():
    result = fit(hidden_in_a_difference(1e-4), rankers=["rankrls"], folds=3)
    alphas = [setting.alpha for setting in result.judged[0].settings]
    assert alphas == [2.0**exponent for exponent in range(-18, 15)]
    assert result.entries[0].setting.alpha == 2.0**-18
    assert result.notes == ("The best λ for RankRLS, 2^-18, is the smallest that was tried.",)
    assert result.notes[0] in str(result)


def test_what_does_not_improve_is_not_widened():
    """With differences below all λ that could be tried, every λ ranks by what the two features share."""
    result = fit(hidden_in_a_difference(1e-7), rankers=["rankrls"], folds=3)
    assert len(result.judged[0].settings) == 21
    assert result.notes == ()


def test_a_selection_with_a_wider_grid_has_its_order_of_features():
    result = fit(hidden_in_a_difference(1e-2), rankers=["greedy-rankrls"], folds=3)
    (judged,) = result.judged
    alphas = sorted({setting.alpha for setting in judged.settings})
    assert alphas[0] < 1.0
    assert all(len(selection) == len(judged.settings) for selection in judged.selections)
    assert sorted(result.selection) == [0, 1]
    assert result.entries[0].setting.alpha == alphas[0]


def test_time_ends_the_widening_and_is_told():
    queries = hidden_in_a_difference(1e-4)
    result = fit(queries, rankers=["rankrls"], folds=3, budget=1e-9)
    assert result.ended_for_time
    assert result.left_out == ()
    told = "The best λ for RankRLS, 2^-6, is the smallest that was tried. More were not tried, as time was out."
    assert result.notes == (told,)
    assert not fit(queries, rankers=["rankrls"], folds=3).ended_for_time


def test_interrupted_while_it_widens_it_goes_on(tmp_path, monkeypatch):
    queries, job = hidden_in_a_difference(1e-3), fingerprint({"job": 1})
    whole = fit(queries, rankers=["rankrls"], folds=3)
    once, computed = Work.once, []

    def interrupted(self, name, compute):
        if len(computed) == 7:
            raise KeyboardInterrupt
        return once(self, name, lambda: computed.append(name) or compute())

    with monkeypatch.context() as patched:
        patched.setattr(Work, "once", interrupted)
        with pytest.raises(KeyboardInterrupt):
            fit(queries, rankers=["rankrls"], folds=3, work=Work(tmp_path, job))
    assert computed[3:] == [f"rankrls-fold{n}-least1" for n in (1, 2, 3)] + ["rankrls-fold1-least2"]
    first = list(computed)
    monkeypatch.setattr(
        Work, "once", lambda self, name, compute: once(self, name, lambda: computed.append(name) or compute())
    )
    told = []
    work = Work(tmp_path, job)
    again = fit(queries, rankers=["rankrls"], folds=3, work=work, progress=lambda now: told.append(now[:3]))
    assert len(set(computed)) == len(computed)
    assert computed[: len(first)] == first
    assert again.judged[0].settings == whole.judged[0].settings
    np.testing.assert_array_equal(again.judged[0].values, whole.judged[0].values)
    np.testing.assert_array_equal(again.model.coef_, whole.model.coef_)
    assert told[-1][1:] == (work.n_finished - 1, work.n_finished)
    work.clear()
    assert not list(tmp_path.iterdir())
