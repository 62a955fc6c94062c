"""Paired tests, intervals and the comparison of systems."""

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers, lists, sampled_from, tuples
from scipy.stats import wilcoxon

import rankwright as rw
from rankwright.evaluation.significance import bootstrap_interval, holm, randomisation_test, wilcoxon_test


def test_randomisation_test_against_full_enumeration():
    differences = np.array([0.3, -0.1, 0.25, 0.4, -0.05, 0.2, 0.31, 0.02, 0.11, -0.2])
    observed = abs(differences.sum())
    flips = [abs(np.dot(signs, differences)) for signs in itertools.product([-1, 1], repeat=len(differences))]
    exact = np.mean(np.array(flips) >= observed - 1e-12)
    assert randomisation_test(differences) == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 10_000))


def test_randomisation_test_has_its_level():
    """Under no difference, a p-value below 0.1 comes up in one of ten samples."""
    rng = np.random.default_rng(5)
    p = [randomisation_test(rng.standard_normal(25), seed=i) for i in range(400)]
    assert np.mean(np.array(p) < 0.1) == pytest.approx(0.1, abs=0.05)


def test_a_p_value_is_never_zero():
    assert randomisation_test(np.ones(200)) == pytest.approx(1 / 10_001)


def test_bootstrap_interval_is_the_normal_one_for_many_queries():
    values = np.random.default_rng(1).beta(2, 5, 4000)
    half = 1.959964 * values.std() / np.sqrt(len(values))
    low, high = bootstrap_interval(values)
    assert low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_nothing_differs():
    assert randomisation_test(np.zeros(9)) == 1
    assert wilcoxon_test(np.zeros(9)) == 1


def test_wilcoxon_by_hand():
    # Signed ranks 1 … 6, all positive: only the two extreme of 2^6 sign patterns are as extreme.
    assert wilcoxon_test(np.array([1.0, 2, 3, 4, 5, 6])) == pytest.approx(2 / 64)


def wilcoxon_by_enumeration(differences):
    """p from all 2^n choices of signs, in fractions: |d| are ranked exactly, ties share the mean of their ranks."""
    differences = [d for d in differences if d]
    sizes = [abs(d) for d in differences]
    ranks = [Fraction(sum(b < a for b in sizes)) + Fraction(sizes.count(a) + 1, 2) for a in sizes]
    sums = [
        sum(r for r, sign in zip(ranks, signs, strict=True) if sign)
        for signs in itertools.product((0, 1), repeat=len(ranks))
    ]
    observed = sum(r for r, d in zip(ranks, differences, strict=True) if d > 0)
    smaller = min(observed, sum(ranks) - observed)
    return min(1.0, 2 * sum(w <= smaller for w in sums) / len(sums))


@given(lists(tuples(integers(0, 10), integers(0, 10)), min_size=1, max_size=9), sampled_from([1, 3, 1000]))
def test_equal_differences_are_tied_however_they_are_rounded(pairs, unit):
    """Values in tenths, thirds or thousands: a − b is equal for many pairs, but not to the last digit."""
    a, b = np.array(pairs, dtype=np.float64).T * unit / 10
    exact = wilcoxon_by_enumeration([Fraction(x - y, 10) for x, y in pairs])
    assert wilcoxon_test(a - b, np.maximum(a, b)) == pytest.approx(exact, rel=1e-12)


def test_a_case_that_rounding_used_to_decide():
    a = np.array([0.9, 0.5, 0.4, 0.8, 0.1, 0.6, 0.7, 0.2, 0.3, 1.0, 0.4, 0.7])
    b = np.array([0.6, 0.2, 0.1, 0.5, 0.4, 0.9, 1.0, 0.5, 0.2, 0.9, 0.8, 0.3])
    assert len(set(np.abs(a - b))) > 3  # though the differences are 0.1, 0.3 and 0.4
    exact = wilcoxon_by_enumeration([Fraction(round(10 * x) - round(10 * y), 10) for x, y in zip(a, b, strict=True)])
    assert wilcoxon_test(a - b) == pytest.approx(exact, rel=1e-12)
    assert wilcoxon(a - b).pvalue != pytest.approx(exact, rel=0.01)  # ranks of rounding errors


def test_small_differences_beside_large_values_count_where_values_are_small():
    """DCG of one query is a billion; the others differ by thousandths, and each by another one."""
    a = np.array([1e9, 0.501, 0.702, 0.903, 0.304, 0.105])
    b = np.array([1e9 - 1, 0.5, 0.7, 0.9, 0.3, 0.1])
    assert wilcoxon_test(a - b, np.maximum(a, b)) == pytest.approx(2 / 64)
    noise = np.array([1e9 * (1 + 1e-14), 0.5, 0.7, 0.9, 0.3, 0.1])
    assert wilcoxon_test(noise - np.array([1e9, 0.5, 0.7, 0.9, 0.3, 0.1]), noise) == 1


@pytest.mark.parametrize("n", [5, 50, 51, 300])
def test_wilcoxon_as_scipy_has_it(n):
    rng = np.random.default_rng(n)
    untied = rng.standard_normal(n) + 0.2
    assert wilcoxon_test(untied) == pytest.approx(wilcoxon(untied).pvalue, rel=1e-9)
    if n > 50:
        tied = (rng.integers(1, 5, n) - 5 * rng.integers(0, 2, n)) / 8  # no zeros, and exact in floating point
        assert wilcoxon_test(tied) == pytest.approx(wilcoxon(tied).pvalue, rel=1e-9)


def test_compare_ranks_equal_differences_alike():
    """P@10 of 12 queries: all differences are tenths. The table's p-value is that of exact enumeration."""
    rng = np.random.default_rng(3)
    y, qid = rng.integers(0, 2, 12 * 20), np.repeat(np.arange(12), 20)
    queries = rw.Queries(None, y, qid)
    told = rw.compare({"a": rng.random(240), "b": rng.random(240) + 0.3 * y}, queries, "p@10")
    tenths = {name: np.rint(10 * values).astype(int).tolist() for name, values in told.values.items()}
    exact = wilcoxon_by_enumeration([Fraction(x - z, 10) for x, z in zip(tenths["a"], tenths["b"], strict=True)])
    assert told.p_values["a"] == pytest.approx(exact, rel=1e-12)


def test_holm():
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.6, 0.5])), [1.0, 1.0])
    assert holm(np.zeros(0)).shape == (0,)


def test_bootstrap_interval_covers_the_mean_as_often_as_it_says():
    rng = np.random.default_rng(2)
    inside = 0
    for i in range(300):
        low, high = bootstrap_interval(rng.beta(2, 5, 60), seed=i)
        inside += low <= 2 / 7 <= high
    assert inside / 300 == pytest.approx(0.95, abs=0.04)


@pytest.fixture(scope="module")
def systems():
    rng = np.random.default_rng(0)
    qid = np.repeat(np.arange(150), 12)
    grades = rng.integers(0, 4, len(qid))
    good = grades + rng.standard_normal(len(qid))
    return rw.Queries(None, grades, qid), {
        "noise": rng.standard_normal(len(qid)),
        "good": good,
        "nearly as good": good + 0.05 * rng.standard_normal(len(qid)),
    }


@pytest.mark.parametrize("test", ["wilcoxon", "randomisation"])
def test_compare_marks_what_is_worse_than_the_best(systems, test):
    queries, scores = systems
    comparison = rw.compare(scores, queries, rw.nDCG @ 5, test=test)
    assert comparison.reference in ("good", "nearly as good")
    assert list(comparison.means) == sorted(comparison.means, key=comparison.means.get, reverse=True)
    assert comparison.mark("noise") == "▼"
    assert {comparison.mark("good"), comparison.mark("nearly as good")} == {""}
    assert "▼" in str(comparison)
    assert json.loads(json.dumps(comparison.to_dict()))["systems"][2]["system"] == "noise"


def test_compare_with_a_baseline_and_an_error_measure(systems):
    queries, scores = systems
    comparison = rw.compare(scores, queries, "pairwiseerror", baseline="noise")
    assert comparison.mark("good") == "▲"
    assert comparison.mark("noise") == ""
    assert comparison.differences["good"].mean() < 0
    assert next(iter(comparison.means)) != "noise"
    low, high = comparison.difference_intervals["good"]
    assert low < comparison.differences["good"].mean() < high < 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"measure": "ndcg@5,map"}, "measure"),
        ({"baseline": "unknown"}, "baseline"),
        ({"test": "t"}, "test"),
        ({"level": 1.5}, "level"),
    ],
)
def test_compare_names_a_bad_parameter(systems, arguments, named):
    queries, scores = systems
    with pytest.raises(rw.ParameterError, match=named):
        rw.compare(scores, queries, **arguments)


def test_compare_needs_two_systems(systems):
    queries, scores = systems
    with pytest.raises(rw.ParameterError, match="at least two"):
        rw.compare({"good": scores["good"]}, queries)


@pytest.mark.filterwarnings("error")
def test_compare_where_no_query_counts():
    queries = rw.Queries(None, [0, 0])
    comparison = rw.compare({"a": [1, 0], "b": [0, 1]}, queries, "pairwiseerror")
    assert json.dumps(comparison.to_dict(), allow_nan=False)
    assert "nan" in str(comparison)
