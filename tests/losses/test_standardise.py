"""Standardised supervision: what exists, what is refused, and why."""

from fractions import Fraction

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import OrderPreservingLoss, PreorderLoss, SquaredLoss
from rankwright.losses.standardise import standardised

GRADED = rw.Queries(None, [2, 0, 1, 0, 1], ["a", "b", "a", "b", "a"])
RANKED = rw.Queries(None, rw.FullRanking([2, 1, 1, 2, 3]), ["a", "b", "a", "b", "a"])
GRAPH = rw.Queries(None, rw.PreferenceGraph(5, [0, 2], [2, 4], [1.0, 3.0]), ["a", "b", "a", "b", "a"])


def exact_err(grades):
    """Σ_p 1/p R_p Π (1 − R), R = (2^y − 1)/2^1."""
    total, stay = Fraction(0), Fraction(1)
    for place, y in enumerate(grades, 1):
        total += stay * Fraction(2**y - 1, 2) / place
        stay *= 1 - Fraction(2**y - 1, 2)
    return total


def exact_ap(grades):
    found, total = 0, Fraction(0)
    for place, y in enumerate(grades, 1):
        found += y
        total += y * Fraction(found, place)
    return total / sum(grades)


@pytest.mark.parametrize(("names", "exact", "measure"), [
    (("err", "ERR"), exact_err, rw.ERR(max_grade=1)),
    (("ap", "map", "AP", "MAP"), exact_ap, rw.AP),
])  # fmt: skip
@pytest.mark.parametrize("make", [
    lambda name: OrderPreservingLoss(standardize=name),
    lambda name: SquaredLoss(standardize=name),
    lambda name: rw.OrderPreservingRanker(standardize=name).fit([[1.0], [2.0]], [1, 0]),
])  # fmt: skip
def test_err_and_ap_have_none_and_the_counterexample_is_right(names, exact, measure, make):
    supervisions = [(1, 1, 0, 0), (0, 0, 1, 1)]
    expected = []
    for order in ((1, 3, 2, 4), (1, 2, 3, 4)):
        values = [exact([grades[document - 1] for document in order]) for grades in supervisions]
        expected.append(sum(values) / 2)
        scores = np.empty(4)
        scores[np.array(order) - 1] = [4, 3, 2, 1]
        ours = [rw.evaluate(scores, rw.Queries(None, grades), measure).means[measure] for grades in supervisions]
        assert np.mean(ours) == pytest.approx(float(expected[-1]), rel=1e-14)
    assert expected[0] != expected[1]
    if exact is exact_err:
        assert expected == [Fraction(43, 96), Fraction(41, 96)]
    else:
        assert expected == [Fraction(2, 3), Fraction(17, 24)]
    for name in names:
        with pytest.raises(rw.ParameterError, match="theorem 3") as told:
            make(name)
        message = str(told.value)
        assert message.startswith("standardize")
        assert f"is {expected[0]} for the order 1, 3, 2, 4 and {expected[1]} for 1, 2, 3, 4" in message


@pytest.mark.parametrize("phi", ["logistic", "hinge"])
def test_a_phi_outside_theorem_1_is_refused(phi):
    with pytest.raises(rw.ParameterError, match=r"^loss: .*theorem 1 "):
        OrderPreservingLoss(phi)
    with pytest.raises(rw.ParameterError, match=r"^loss: .*theorem 1 "):
        rw.OrderPreservingRanker(loss=phi).fit([[1.0], [2.0]], [1, 0])


@pytest.mark.parametrize("loss", [OrderPreservingLoss, SquaredLoss])
@pytest.mark.parametrize(("name", "fitting"), [("dcg", GRADED), ("ndcg", GRADED), ("zero-one", RANKED), ("wpd", GRAPH)])
def test_the_wrong_kind_of_supervision_is_named(loss, name, fitting):
    loss(standardize=name).on(fitting)
    for queries, kind, use in ((GRADED, "grades", "'dcg' or 'ndcg'"), (RANKED, "full ranking", "'zero-one'"),
                               (GRAPH, "preference graph", "'wpd'")):  # fmt: skip
        if queries is not fitting:
            with pytest.raises(rw.ParameterError, match=rf"standardize='{name}' needs .*have .*{kind}: use {use}"):
                loss(standardize=name).on(queries)


def test_what_a_preference_graph_or_a_ranking_cannot_give():
    for queries in (RANKED, GRAPH):
        with pytest.raises(rw.ParameterError, match="weights='gain-per-query' needs grades"):
            PreorderLoss(weights="gain-per-query").on(queries)
    with pytest.raises(rw.ParameterError, match="margin='position' needs grades or a full ranking"):
        PreorderLoss(margin="position").on(GRAPH)


def test_grades_whose_gain_overflows_are_named_with_their_query():
    queries = rw.Queries(None, [1, 0, 1, 1100, 3], ["a", "b", "a", "b", "a"])
    for loss in (OrderPreservingLoss(), SquaredLoss("dcg"), PreorderLoss(weights="gain-per-query")):
        with pytest.raises(rw.DataError, match="query 'b' has a document of grade 1100"):
            loss.on(queries)
    assert PreorderLoss().on(queries).at(np.zeros(5)).values.tolist() == [2.0, 1.0]  # no gain, nothing overflows


def test_cutoffs():
    for cutoff in (0, -1, 1.5, "3", True):
        with pytest.raises(rw.ParameterError, match="cutoff must be a whole number of at least 1"):
            OrderPreservingLoss(cutoff=cutoff)
    for name in ("wpd", "zero-one"):
        with pytest.raises(rw.ParameterError, match="cutoff is for 'dcg' and 'ndcg'"):
            SquaredLoss(name, cutoff=3)
    OrderPreservingLoss(cutoff=np.int64(3)).on(GRADED)
    grades = rw.Queries(None, [3, 2, 0, 1])
    # max DCG@1 is 7; the cutoff changes what is divided by, not which documents count
    np.testing.assert_allclose(standardised(grades.judgments, "ndcg", 1), np.array([7, 3, 0, 1]) / 7)
    np.testing.assert_allclose(standardised(grades.judgments, "ndcg", 2), np.array([7, 3, 0, 1]) / (7 + 3 / np.log2(3)))
    for cutoff in (1, 2, None):
        np.testing.assert_array_equal(standardised(grades.judgments, "dcg", cutoff), [7, 3, 0, 1])


def test_bad_names_name_the_parameter():
    for name in ("DCG", "mrr", None, 3):
        with pytest.raises(rw.ParameterError, match=r"^standardize must be one of 'dcg'"):
            OrderPreservingLoss(standardize=name)
    for phi in ("exponential", None, 1):
        with pytest.raises(rw.ParameterError, match=r"^loss must be one of 'squared-hinge'"):
            PreorderLoss(phi)
    with pytest.raises(rw.ParameterError, match=r"^weights must be one of 'unit'"):
        PreorderLoss(weights="none")
    with pytest.raises(rw.ParameterError, match=r"^margin must be one of 'unit'"):
        PreorderLoss(margin=2)


@pytest.mark.parametrize(("standardize", "supervisions"), [
    # A grade that is often 1 and rarely 4 against one that is always 2: E[2^y − 1] is 3.25 against 3.
    ("dcg", [([1, 2, 0], 0.84), ([4, 2, 0], 0.16)]),
    ("ndcg", [([1, 0, 2], 0.5), ([0, 3, 1], 0.3), ([4, 1, 0], 0.2)]),
])  # fmt: skip
@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge"])
def test_in_expectation_the_best_scores_are_in_the_order_of_the_measure(standardize, supervisions, phi):
    """Theorem 1 and eq. 8: of noisy grades, the loss prefers the order with the best expected (n)DCG."""
    from itertools import permutations

    from scipy.optimize import minimize

    losses = [(OrderPreservingLoss(phi, standardize).on(rw.Queries(None, grades)), p) for grades, p in supervisions]

    def expected(scores):
        at = [(loss.at(scores), p) for loss, p in losses]
        return sum(p * a.value for a, p in at), sum(p * a.gradient for a, p in at)

    scores = minimize(expected, np.zeros(3), jac=True, method="BFGS", options={"gtol": 1e-8}).x
    measure = rw.DCG if standardize == "dcg" else rw.nDCG
    worth = {}
    for order in permutations(range(3)):
        places = np.empty(3)
        places[list(order)] = [3, 2, 1]
        told = [p * rw.evaluate(places, rw.Queries(None, g), measure).means[measure] for g, p in supervisions]
        worth[order] = sum(told)
    assert tuple(np.argsort(-scores)) == max(worth, key=worth.get)
