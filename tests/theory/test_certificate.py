"""Certificates: which values are bounded, from which side, and what is said about it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import rankwright as rw
from rankwright.theory.certificates import Certificate, certificate
from rankwright.theory.mean_bounds import betting_bound, clopper_pearson_bound, hoeffding_bound


@pytest.fixture(scope="module", name="drawn")
def drawn_queries():
    return rw.datasets.make_queries(260, 8, 6, n_informative=3, n_correlated=2, noise=0.6, seed=3, dtype=np.float64)


@pytest.fixture(scope="module", name="queries")
def judged_queries(drawn):
    return drawn.queries[60:]


@pytest.fixture(scope="module", name="ranker")
def fitted_ranker(drawn):
    return rw.RankRLS().fit(drawn.queries[:60])


@pytest.fixture(scope="module", name="scores")
def ranker_scores(ranker, queries):
    return ranker.predict(queries)


def values_of(scores, queries, measure, convention="default"):
    """By the text of the ids, as certificates take them."""
    (values,) = rw.evaluate(scores, queries, measure, convention).values.values()
    order = sorted(range(len(values)), key=lambda q: str(queries.query_ids[q]))
    return values[order]


def queries_of(*grades, ids=None):
    """Queries with these grades."""
    ids = range(len(grades)) if ids is None else ids
    qid = np.repeat(np.array(list(ids)), [len(g) for g in grades])
    return rw.Queries(None, np.concatenate(grades), qid)


# Which values


def test_the_bound_of_the_values(ranker, queries, scores):
    values = values_of(scores, queries, "ndcg@10")
    for given in (ranker, scores):
        certified = certificate(given, queries)
        assert (certified.measure, certified.method, certified.delta) == (rw.nDCG @ 10, "betting", 0.05)
        assert certified.mean == pytest.approx(values.mean())
        assert certified.bound == certified.bounds["betting"] == pytest.approx(betting_bound(values, 0.05))
        assert certified.bounds["hoeffding"] == pytest.approx(values.mean() - math.sqrt(math.log(20) / 400))
        assert (certified.n_queries, certified.n_left_out, certified.n_tied) == (200, 0, 0)
        assert (certified.is_lower, certified.gain, certified.guaranteed) == (True, False, True)
        assert certified.notes == ()


def test_errors_are_bounded_from_above(scores, queries):
    values = values_of(scores, queries, "PairwiseError")
    certified = certificate(scores, queries, "PairwiseError", 0.1)
    counted = values[~np.isnan(values)]
    assert not certified.is_lower
    assert certified.bound == pytest.approx(1 - betting_bound(1 - counted, 0.1))
    assert certified.mean < certified.bound < certified.bounds["hoeffding"] < 1
    assert "at most" in str(certified)


def test_kendalls_tau_lies_between_minus_one_and_one(scores, queries):
    values = values_of(-scores, queries, "tau")
    counted = values[~np.isnan(values)]
    certified = certificate(-scores, queries, "tau")
    assert certified.mean < 0
    assert certified.bound == pytest.approx(2 * betting_bound((counted + 1) / 2, 0.05) - 1)


def test_queries_without_a_value_are_left_out_and_told():
    grades = [[1, 0]] * 30 + [[0, 0]] * 7 + [[2]] * 3
    queries = queries_of(*grades)
    scores = np.concatenate([np.arange(len(g)) for g in grades])
    certified = certificate(scores, queries, "ndcg(empty=None)@10")
    assert (certified.n_queries, certified.n_left_out) == (33, 7)
    assert certificate(scores, queries, "ndcg@10").n_left_out == 0
    assert certificate(scores, queries, "PairwiseError").n_left_out == 10
    assert "undefined for 7 queries" in str(certified)


def test_no_query_counts():
    queries = queries_of([0, 0], [0], [0, 0, 0])
    with pytest.raises(rw.DataError, match="PairwiseError is undefined for all 3 queries"):
        certificate(np.arange(6.0), queries, "PairwiseError")


def test_one_query():
    certified = certificate([2.0, 1.0], queries_of([1, 0]), "ndcg@10")
    assert (certified.mean, certified.n_queries) == (1, 1)
    assert certified.bound == pytest.approx(0.05)
    assert certified.bounds["bernstein"] == certified.bounds["hoeffding"] == 0


def test_all_perfect(drawn):
    queries = drawn.queries
    certified = certificate(queries.y, queries, "ndcg(empty=1)@10")
    assert certified.mean == 1
    assert 0.98 < certified.bound <= 0.05 ** (1 / 260)


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("measure", ["ndcg@10", "tau", "p@1"])
def test_the_order_of_rows_does_not_matter(scores, queries, measure, as_text):
    ids = queries.qid.astype(str) if as_text else queries.qid
    shuffle = np.random.default_rng(0).permutation(queries.n_documents)
    given = certificate(scores, rw.Queries(None, queries.y, ids), measure)
    mixed = certificate(scores[shuffle], rw.Queries(None, queries.y[shuffle], ids[shuffle]), measure)
    assert mixed.bounds == given.bounds == certificate(scores, queries, measure).bounds


# Two-valued measures


@pytest.mark.parametrize("measure", ["p@1", "mrr@1", "ZeroOne", "ap(ap_divisor='reachable')@1"])
def test_measures_that_are_0_or_1_have_an_exact_bound(scores, queries, measure):
    values = values_of(scores, queries, measure)
    certified = certificate(scores, queries, measure)
    assert certified.method == "clopper-pearson"
    if certified.is_lower:
        assert certified.bound == clopper_pearson_bound(int(values.sum()), 200, 0.05)
    else:
        assert certified.bound == pytest.approx(1 - clopper_pearson_bound(int(200 - values.sum()), 200, 0.05))
    assert abs(certified.bound - certified.mean) < abs(certified.bounds["betting"] - certified.mean)
    assert certificate(scores, queries, measure, method="betting").method == "betting"


@pytest.mark.parametrize("measure", ["ndcg@1", "p@2", "recall@1", "map", "ap@1", "err(max_grade=2)@1", "tau"])
def test_measures_that_can_have_other_values_do_not(scores, queries, measure):
    assert certificate(scores, queries, measure).method == "betting"
    with pytest.raises(rw.ParameterError, match="method: clopper-pearson is for measures that are 0 or 1"):
        certificate(scores, queries, measure, method="clopper-pearson")


def test_ties_count_as_the_worst_for_the_exact_bound():
    queries = queries_of(*[[1, 0]] * 40)
    scores = np.array([2.0, 1.0] * 30 + [1.0, 1.0] * 10)
    certified = certificate(scores, queries, "p@1")
    assert (certified.mean, certified.n_tied) == (0.875, 10)
    assert certified.bound == clopper_pearson_bound(30, 40, 0.05)
    assert certified.bound == certificate(scores, queries, "p(ties='worst')@1").bound
    assert "10 queries with tied documents" in str(certified)
    error = certificate(scores, queries, "ZeroOne")
    assert error.mean == pytest.approx(0.125)
    assert error.bound == pytest.approx(1 - clopper_pearson_bound(30, 40, 0.05))


# Gains


def test_gains_over_a_baseline(ranker, queries, scores):
    other = np.random.default_rng(1).standard_normal(len(scores))
    differences = values_of(scores, queries, "map") - values_of(other, queries, "map")
    certified = certificate(ranker, queries, "map", baseline=other)
    assert certified.gain
    assert certified.is_lower
    assert certified.mean == pytest.approx(differences.mean())
    assert certified.bound == pytest.approx(2 * betting_bound((differences + 1) / 2, 0.05) - 1)
    assert certified.bounds["hoeffding"] == pytest.approx(2 * hoeffding_bound((differences + 1) / 2, 0.05) - 1)
    assert certified.bound > 0
    assert "gain in AP over the baseline is at least +0." in str(certified)


@pytest.mark.parametrize("measure", ["PairwiseError", "ZeroOne", "tau", "p@1"])
def test_a_gain_above_0_is_an_improvement_whatever_the_measure(scores, queries, measure):
    better = certificate(scores, queries, measure, baseline=-scores)
    worse = certificate(-scores, queries, measure, baseline=scores)
    assert better.is_lower
    assert better.bound > 0 > worse.mean == pytest.approx(-better.mean)
    assert worse.bound < worse.mean
    assert worse.notes[-1] == "The bound is not above 0, so an improvement is not certified."
    assert better.method == "betting"


def test_a_gain_has_no_exact_bound(scores, queries):
    with pytest.raises(rw.ParameterError, match="a gain in P @ 1 has other values"):
        certificate(scores, queries, "p@1", method="clopper-pearson", baseline=-scores)


def test_no_gain_over_itself(scores, queries):
    certified = certificate(scores, queries, baseline=scores)
    assert certified.mean == 0
    assert -0.05 < certified.bound < 0


# Leave-query-out


def test_leave_query_out_is_approximate(drawn):
    held_out = rw.leave_query_out(rw.RankRLS(), drawn.queries, alphas=[1.0])
    certified = certificate(held_out)
    assert not certified.guaranteed
    same = certificate(held_out.scores[0], drawn.queries)
    assert (certified.bound, certified.mean) == (same.bound, same.mean)
    assert same.guaranteed
    assert "the confidence of 95 % is not guaranteed" in str(certified)
    assert "No guarantee" in str(certified)
    assert "certified" not in str(certified).replace("not certified", "")
    assert not certificate(same_scores(drawn), drawn.queries, baseline=held_out).guaranteed
    assert certificate(held_out, drawn.queries) == certified


def same_scores(drawn):
    return drawn.queries.X @ drawn.best_weights


def test_leave_query_out_that_does_not_fit(drawn, queries, scores):
    several = rw.leave_query_out(rw.RankRLS(), drawn.queries, alphas=[1.0, 2.0])
    with pytest.raises(rw.ParameterError, match="2 values of alpha"):
        certificate(several)
    with pytest.raises(rw.ParameterError, match="queries"):
        certificate(several, queries)
    with pytest.raises(rw.DataError, match=r"baseline: .* other queries"):
        certificate(scores, queries, baseline=several)


# What is told


def test_the_text(scores, queries):
    lines = str(certificate(scores, queries, delta=0.01)).splitlines()
    assert lines[0].startswith("On new queries nDCG @ 10 is at least 0.")
    assert lines[0].endswith("on average, with confidence 99 %.")
    assert lines[1].endswith("over 200 queries (convention: default)")
    assert [line.split()[0] for line in lines[4:7]] == ["betting", "bernstein", "hoeffding"]
    assert [("certified" in line) for line in lines[4:7]] == [True, False, False]


def test_bounds_are_shown_rounded_to_the_safe_side():
    about = {"measure": rw.nDCG @ 10, "convention": "default", "delta": 0.05, "method": "betting", "n_queries": 9}
    about |= {"n_left_out": 0, "n_tied": 0, "gain": False, "doubts": ()}
    lower = Certificate(mean=0.6, bound=0.12349, is_lower=True, bounds={"betting": 0.12349}, **about)
    upper = Certificate(mean=0.6, bound=0.76541, is_lower=False, bounds={"betting": 0.76541}, **about)
    assert "at least 0.1234 on" in str(lower)
    assert "at most 0.7655 on" in str(upper)


def test_on_a_terminal(scores, queries):
    from rich.console import Console

    console = Console(width=100)
    with console.capture() as printed:
        console.print(certificate(scores, queries))
    assert "On new queries nDCG @ 10 is at least" in printed.get()
    assert "◀ certified" in printed.get()


def test_as_json(scores, queries):
    certified = certificate(scores, queries, "map")
    told = json.loads(json.dumps(certified.to_dict(), allow_nan=False))
    assert (told["measure"], told["side"], told["method"], told["queries"]) == ("AP", "lower", "betting", 200)
    assert told["bound"] == certified.bound == told["bounds"]["betting"]
    assert told["queries_needed"]["0.01"] == certified.queries_needed(0.01)


def test_how_many_queries_are_needed(drawn):
    """What is told from few queries is about what many need."""
    many = rw.datasets.make_queries(6_000, 8, 6, n_informative=3, n_correlated=2, noise=0.6, seed=3)
    scores = many.queries.X @ many.best_weights
    ids = np.arange(400)
    few = certificate(scores[np.isin(many.queries.qid, many.queries.query_ids[ids])], many.queries[:400])
    all_of_them = certificate(scores, many.queries)
    within = all_of_them.mean - all_of_them.bound
    assert 0.7 * 6_000 < few.queries_needed(within) < 1.5 * 6_000
    with pytest.raises(rw.ParameterError, match="within"):
        few.queries_needed(0)


# Errors


@pytest.mark.parametrize(("measure", "instead"), [("dcg@10", "ndcg@10"), ("wpd", "PairwiseError")])
def test_measures_without_a_greatest_value(scores, queries, measure, instead):
    with pytest.raises(rw.ParameterError, match=f"has no largest possible value.*{instead}"):
        certificate(scores, queries, measure)


def test_err_must_be_told_its_greatest_grade(scores, queries):
    with pytest.raises(rw.ParameterError, match=r"err\(max_grade=4\)"):
        certificate(scores, queries, "err@10")
    convention = rw.Convention("mine", max_grade=4)
    told = certificate(scores, queries, "err@10", convention=convention)
    assert told.bound == certificate(scores, queries, "err(max_grade=4)@10").bound
    assert told.convention == "mine"


def test_every_measure_is_either_bounded_or_refused(scores, queries):
    for measure in rw.MEASURES:
        chosen = measure(max_grade=2) if measure.name == "ERR" else measure
        chosen = chosen @ 3 if measure.name in ("P", "Recall") else chosen
        if measure.name in ("DCG", "WPD"):
            continue
        certified = certificate(scores, queries, chosen)
        assert -1 <= min(certified.bound, certified.mean) <= max(certified.bound, certified.mean) <= 1
        assert (certified.bound < certified.mean) == certified.is_lower


@pytest.mark.parametrize("convention", rw.CONVENTIONS)
@pytest.mark.parametrize("measure", ["ndcg@3", "MeanNDCG", "p@3", "recall@2", "mrr", "ap"])
def test_values_stay_in_their_range_under_every_convention(scores, queries, measure, convention):
    rounded = np.round(scores)  # with ties
    values = values_of(rounded, queries, measure, convention)
    counted = values[~np.isnan(values)]
    assert counted.min() >= 0
    assert counted.max() <= 1 + 1e-12
    assert certificate(rounded, queries, measure, convention=convention).bound < counted.mean()


@pytest.mark.parametrize("delta", [0, 1, math.nan, "0.05", None])
def test_what_is_no_delta(scores, queries, delta):
    with pytest.raises(rw.ParameterError, match="delta"):
        certificate(scores, queries, delta=delta)


def test_what_is_no_method(scores, queries):
    with pytest.raises(rw.ParameterError, match="method must be one of 'auto', 'clopper-pearson', 'betting'"):
        certificate(scores, queries, method="student")


def test_one_measure_at_a_time(scores, queries):
    with pytest.raises(rw.ParameterError, match="one measure, not 2"):
        certificate(scores, queries, "ndcg@10, map")


def test_scores_that_do_not_fit(scores, queries):
    with pytest.raises(rw.DataError, match=r"documents, but \d+ scores"):
        certificate(scores[1:], queries)
    with pytest.raises(rw.DataError, match=r"baseline: there are .* documents, but \d+ scores"):
        certificate(scores, queries, baseline=scores[1:])
    broken = scores.copy()
    broken[5] = np.nan
    with pytest.raises(rw.DataError, match=r"row 5 \(query .*the score is NaN"):
        certificate(broken, queries)
    with pytest.raises(rw.ParameterError, match="queries must be Queries, not NoneType"):
        certificate(scores)
    with pytest.raises(rw.DataError, match="no queries"):
        certificate(np.zeros(0), rw.Queries(None, np.zeros(0), np.zeros(0)))
