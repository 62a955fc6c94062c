"""Conventions: LETOR's rules written out, the defaults, and what each choice does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from tests.measures import reference as ref


def value(measure, grades, scores=None, convention="default"):
    scores = -np.arange(len(grades)) if scores is None else scores
    return rw.evaluate(scores, rw.Queries(None, grades), measure, convention).values[measure][0]


def letor_ndcg(ranked, k):
    """NDCG@k as the LETOR 4.0 evaluation rules have it: nothing for a list that is too short."""
    return 0.0 if len(ranked) < k else ref.ndcg(ranked, k, discount=ref.letor_discount)


@given(
    grades=st.lists(st.integers(0, 2), min_size=1, max_size=15),
    scores=st.lists(st.integers(0, 3), min_size=15, max_size=15),
    k=st.integers(1, 15),
)
def test_letor4_follows_its_rules(grades, scores, k):
    scores = scores[: len(grades)]
    ranked = [grades[i] for i in sorted(range(len(grades)), key=lambda i: -scores[i])]  # ties in input order
    expected = {
        rw.nDCG @ k: letor_ndcg(ranked, k),
        rw.MeanNDCG: np.mean([letor_ndcg(ranked, n) for n in range(1, len(ranked) + 1)]),
        rw.P @ k: sum(y >= 1 for y in ranked[:k]) / k,
        rw.AP: ref.average_precision(ranked),
    }
    for measure, wanted in expected.items():
        assert value(measure, grades, scores, "letor4") == pytest.approx(wanted, abs=1e-12)


def test_letor4_by_hand():
    # Gains 3, 0, 1; discounts 1, 1, 1/log2(3): the best order is 3, 1, 0 with a DCG of 4.
    assert value(rw.nDCG @ 3, [2, 0, 1], convention="letor4") == pytest.approx((3 + 1 / np.log2(3)) / 4, abs=1e-15)
    assert value(rw.nDCG @ 4, [2, 0, 1], convention="letor4") == 0
    assert value(rw.P @ 10, [2, 0, 1], convention="letor4") == pytest.approx(0.2)
    assert value(rw.nDCG @ 1, [0, 0], convention="letor4") == 0


def test_mslr_is_letor4_with_relevance_from_grade_2():
    assert value(rw.AP, [1, 2, 0, 3], convention="mslr") == pytest.approx((1 / 2 + 2 / 4) / 2)
    assert value(rw.AP, [1, 2, 0, 3], convention="letor4") == pytest.approx((1 + 1 + 3 / 4) / 3)
    assert value(rw.nDCG @ 3, [1, 2, 0], convention="mslr") == value(rw.nDCG @ 3, [1, 2, 0], convention="letor4")


@pytest.mark.parametrize("empty", [0, 1, None])
def test_query_without_relevant_documents(empty):
    queries = rw.Queries(None, [0, 0, 1, 0], qid=[1, 1, 2, 2])
    convention = rw.CONVENTIONS["default"].but(empty=empty)
    result = rw.evaluate([2, 1, 2, 1], queries, [rw.nDCG @ 2, rw.AP, rw.Recall @ 1, rw.P @ 1], convention)
    for measure in (rw.nDCG @ 2, rw.AP, rw.Recall @ 1):
        assert result.means[measure] == {0: 0.5, 1: 1.0, None: 1.0}[empty]
    assert result.means[rw.P @ 1] == (1.0 if empty is None else 0.5)
    assert len(result.counted[rw.AP]) == (1 if empty is None else 2)


def test_short_lists():
    assert value(rw.P @ 10, [1, 0]) == 0.5
    assert value(rw.P(short_precision="pad") @ 10, [1, 0]) == 0.1
    assert value(rw.nDCG @ 10, [1, 0]) == 1
    assert value(rw.nDCG(short_ndcg="zero") @ 10, [1, 0]) == 0
    assert value(rw.nDCG(short_ndcg="zero"), [1, 0]) == 1  # no cutoff: no list is too short


@given(st.lists(st.sampled_from([0, 1, 2, 3, 7, 40, 0.3, 2.7]), min_size=1, max_size=30))
def test_perfect_ranking_has_ndcg_of_exactly_one(grades):
    if max(grades) > 0:
        assert value(rw.nDCG, grades, scores=grades) == 1.0
        assert value(rw.nDCG @ 3, grades, scores=grades) == 1.0
        assert value(rw.MeanNDCG, grades, scores=grades) == pytest.approx(1.0, abs=1e-15)


def test_huge_grades():
    assert value(rw.nDCG, [500, 31, 40]) == pytest.approx(ref.ndcg([500, 31, 40]))
    with pytest.raises(rw.DataError, match=r"grade 2000, above 1000: .*gain='linear'"):
        value(rw.nDCG, [2000, 1])
    assert value(rw.nDCG(gain="linear"), [1, 2000]) == pytest.approx(ref.ndcg([1, 2000], gain=ref.linear))


def test_err_needs_a_max_grade_that_no_document_exceeds():
    with pytest.raises(rw.DataError, match="grade 3, above 2"):
        value(rw.ERR(max_grade=2), [3, 0])
    assert value(rw.ERR, [3, 0]) == pytest.approx(7 / 8)  # by default the greatest grade in the data
    assert value(rw.ERR(max_grade=4), [3, 0]) == pytest.approx(7 / 16)


def test_theorem_3_of_paper_o_in_expectation():
    """The papers' counterexample: the two orders differ by 1/48 (ERR) and −1/24 (AP) in expectation."""

    def expected(measure, order):
        scores = np.empty(4)
        scores[list(order)] = [4, 3, 2, 1]
        return np.mean([value(measure, y, scores) for y in ([1, 1, 0, 0], [0, 0, 1, 1])])

    err = rw.ERR(max_grade=1)
    assert expected(err, (0, 2, 1, 3)) - expected(err, (0, 1, 2, 3)) == pytest.approx(1 / 48, abs=1e-15)
    assert expected(rw.AP, (0, 2, 1, 3)) - expected(rw.AP, (0, 1, 2, 3)) == pytest.approx(-1 / 24, abs=1e-15)


@pytest.mark.parametrize(
    ("choice", "named"),
    [
        ({"gain": "cubic"}, "gain"),
        ({"ties": "random"}, "ties"),
        ({"empty": 0.5}, "empty"),
        ({"relevant_from": 0}, "relevant_from"),
        ({"max_grade": -1}, "max_grade"),
    ],
)
def test_a_bad_choice_names_the_parameter(choice, named):
    with pytest.raises(rw.ParameterError, match=named):
        rw.CONVENTIONS["default"].but(**choice)


def test_unknown_convention_lists_the_known():
    with pytest.raises(rw.ParameterError, match="letor4"):
        value(rw.AP, [1], convention="letor5")
