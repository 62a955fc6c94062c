"""`Laboratory` against measures in plain fractions, expected losses written out, and other solvers."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import rankwright as rw
from rankwright.errors import ParameterError
from rankwright.losses import (
    ListwiseHinge,
    OrderPreservingLoss,
    PreorderLoss,
    SquaredLoss,
    StructuredHinge,
)
from rankwright.theory.consistency import Laboratory
from tests.measures import reference

# Measures of grades along an order, in fractions


def average_precision(grades):
    hits = [place for place, grade in enumerate(grades, 1) if grade >= 1]
    return sum((Fraction(k, place) for k, place in enumerate(hits, 1)), Fraction(0)) / max(1, len(hits))


def err(grades, greatest):
    total, left = Fraction(0), Fraction(1)
    for place, grade in enumerate(grades, 1):
        stop = Fraction(2**grade - 1, 2**greatest)
        total += left * stop / place
        left *= 1 - stop
    return total


def reciprocal_rank(grades):
    return next((Fraction(1, place) for place, grade in enumerate(grades, 1) if grade >= 1), Fraction(0))


def pairwise_error(grades):
    pairs = [(a, b) for a, b in itertools.combinations(grades, 2) if a != b]
    return Fraction(sum(a < b for a, b in pairs), max(1, len(pairs)))


def disagreement(grades):
    return Fraction(sum(max(0, b - a) for a, b in itertools.combinations(grades, 2)))


def expectation(measure, order, supervisions, chances):
    values = (measure([grades[item] for item in order]) for grades in supervisions)
    return sum((p * value for p, value in zip(chances, values, strict=True)), Fraction(0))


@st.composite
def distributions(draw, greatest=2):
    n, count = draw(st.integers(2, 4)), draw(st.integers(1, 4))
    vectors = st.lists(st.integers(0, greatest), min_size=n, max_size=n)
    supervisions = draw(st.lists(vectors, min_size=count, max_size=count))
    shares = draw(st.lists(st.integers(1, 9), min_size=count, max_size=count))
    return supervisions, [Fraction(share, sum(shares)) for share in shares]


@settings(max_examples=20)
@given(distributions())
def test_expectations_and_optimal_orders_are_those_of_plain_fractions(drawn):
    supervisions, chances = drawn
    laboratory = Laboratory(supervisions, chances)
    greatest = max(map(max, supervisions))
    for measure, plain, better in [
        (rw.AP, average_precision, max),
        (rw.ERR, lambda grades: err(grades, greatest), max),
        (rw.RR, reciprocal_rank, max),
        (rw.P @ 2, lambda grades: Fraction(sum(g >= 1 for g in grades[:2]), 2), max),
        (rw.PairwiseError, pairwise_error, min),
        (rw.WPD, disagreement, min),
    ]:
        expected = {
            order: expectation(plain, order, supervisions, chances)
            for order in itertools.permutations(range(len(supervisions[0])))
        }
        assert laboratory.expected_by_order(measure) == expected
        best = better(expected.values())
        assert laboratory.optimal_orders(measure) == [order for order, value in expected.items() if value == best]


@settings(max_examples=20)
@given(distributions(), st.lists(st.integers(0, 2), min_size=4, max_size=4))
def test_tied_scores_count_as_the_mean_of_their_orders(drawn, scores):
    supervisions, chances = drawn
    scores = scores[: len(supervisions[0])]
    laboratory = Laboratory(supervisions, chances)
    exact = sum(
        p * sum(map(average_precision, orders)) / len(orders)
        for p, orders in ((p, reference.orders(scores, y)) for p, y in zip(chances, supervisions, strict=True))
    )
    assert laboratory.expected("ap", scores) == exact
    queries = rw.Queries(None, np.ravel(supervisions), np.repeat(np.arange(len(supervisions)), len(scores)))
    values = rw.evaluate(np.tile(scores, len(supervisions)), queries, rw.DCG).values[rw.DCG]
    assert laboratory.expected(rw.DCG, scores) == pytest.approx(float(np.dot(chances, values)), abs=1e-12)


def test_rankings_and_graphs():
    rankings = [rw.FullRanking(np.array(ranks)) for ranks in ((1, 2, 3), (3, 1, 2), (2, 3, 1))]
    laboratory = Laboratory(rankings, ["1/2", "1/4", "1/4"])
    expected = laboratory.expected_by_order(rw.ZeroOne)
    assert expected[0, 1, 2] == Fraction(1, 2)  # items by rank: 1 ≻ 2 ≻ 3
    assert expected[1, 2, 0] == expected[2, 0, 1] == Fraction(3, 4)
    assert expected[0, 2, 1] == 1
    graphs = [rw.PreferenceGraph(3, [0], [1], [2.0]), rw.PreferenceGraph(3, [1, 2], [2, 0])]
    laboratory = Laboratory(graphs, [0.4, 0.6])
    assert laboratory.expected_by_order(rw.WPD)[1, 2, 0] == Fraction(4, 5)
    assert laboratory.optimal_orders(rw.WPD) == [(0, 1, 2), (2, 0, 1)]


def test_regret_is_exact_and_never_negative():
    laboratory = Laboratory([[1, 1, 0, 0], [0, 0, 1, 1]])
    assert laboratory.regret(rw.ERR, [4, 2, 3, 1]) == 0
    assert laboratory.regret(rw.ERR, [4, 3, 2, 1]) == Fraction(1, 48)
    assert laboratory.regret(rw.AP, [4, 2, 3, 1]) == Fraction(1, 24)
    assert laboratory.regret(rw.PairwiseError, [1, 1, 1, 1]) == 0


# Losses

PHI = {
    "squared-hinge": lambda t: max(0.0, 1 - t) ** 2,
    "hinge": lambda t: max(0.0, 1 - t),
    "huber-hinge": lambda t: 0.0 if t >= 1.5 else (1.5 - t) ** 2 / 2 if t >= 0.5 else 1 - t,
    "logistic": lambda t: math.log1p(math.exp(-t)),
}
GRADES, CHANCES = [[1, 2, 0], [2, 0, 1], [0, 2, 2]], [0.5, 0.3, 0.2]


def expected_preorder(phi, scores, grades=GRADES, chances=CHANCES):
    pairs = itertools.permutations(range(len(scores)), 2)
    return sum(
        p * PHI[phi](scores[i] - scores[j])
        for i, j in pairs
        for y, p in zip(grades, chances, strict=True)
        if y[i] > y[j]
    )


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge", "logistic"])
def test_minimiser_is_the_best_that_another_solver_finds(phi):
    found = Laboratory(GRADES, CHANCES).minimiser(PreorderLoss(phi))
    assert found.value == pytest.approx(expected_preorder(phi, found.scores), abs=1e-12)
    assert found.value == pytest.approx(found.lower, abs=1e-7)
    starts = np.random.default_rng(0).normal(size=(4, 3))
    others = [minimize(lambda s: expected_preorder(phi, s), start, method="Nelder-Mead").fun for start in starts]
    assert found.lower <= min(others) + 1e-12
    assert found.value <= min(others) + 1e-7


def test_minimum_of_the_plain_hinge_is_that_of_a_linear_programme():
    pairs = [(i, j, p) for y, p in zip(GRADES, CHANCES, strict=True) for i in range(3) for j in range(3) if y[i] > y[j]]
    rows = np.zeros((len(pairs), 3 + len(pairs)))
    for row, (i, j, _) in enumerate(pairs):  # slack ≥ 1 − (s_i − s_j)
        rows[row, [i, j, 3 + row]] = -1, 1, -1
    cost = np.concatenate([np.zeros(3), [p for *_, p in pairs]])
    bounds = [(None, None)] * 3 + [(0, None)] * len(pairs)
    best = linprog(cost, A_ub=rows, b_ub=-np.ones(len(pairs)), bounds=bounds).fun
    found = Laboratory(GRADES, CHANCES).minimiser(PreorderLoss("hinge"))
    assert found.value == pytest.approx(best, abs=1e-8)
    assert found.value == pytest.approx(expected_preorder("hinge", found.scores), abs=1e-12)


def test_an_infimum_that_no_scores_reach():
    found = Laboratory([[1, 0]]).minimiser(PreorderLoss("logistic"))  # log(1 + e^−t) falls for ever
    assert found.value < 1e-9
    assert found.scores[0] > found.scores[1] + 20


@pytest.mark.parametrize("grade", [1, 7])
def test_squared_loss_has_its_minimum_at_the_mean(grade):
    grades = [[0, grade, 1], [grade, 0, 1]]
    found = Laboratory(grades, [0.25, 0.75]).minimiser(SquaredLoss(standardize="dcg"))
    np.testing.assert_allclose(found.scores, [0.25, 0.75] @ (np.exp2(grades) - 1), atol=1e-5)
    assert found.value - found.lower < 1e-6 * max(1, found.value)


@pytest.mark.parametrize(
    "loss",
    [StructuredHinge("ndcg@3"), ListwiseHinge("ndcg@3", "sum"), StructuredHinge("ap")],
    ids=["ndcg", "sum", "ap"],
)
def test_structured_losses_are_minimised_too(loss):
    grades = [[1, 0, 1], [0, 1, 0]]
    found = Laboratory(grades, [0.5, 0.5]).minimiser(loss)
    queries = rw.Queries(None, np.ravel(grades), [0, 0, 0, 1, 1, 1])
    on = loss.on(queries, [0.5, 0.5])
    tried = np.random.default_rng(0).normal(size=(2000, 3)) * np.logspace(-2, 1, 2000)[:, None]
    assert found.value == pytest.approx(on.at(np.tile(found.scores, 2)).value, abs=1e-12)
    assert found.lower <= min(on.at(np.tile(scores, 2)).value for scores in tried) + 1e-12
    assert found.value - found.lower <= 1e-7


# Consistency


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge"])
def test_no_wrong_scores_come_nearer_than_the_gap(phi):
    laboratory = Laboratory(GRADES, CHANCES)
    gap = laboratory.surrogate_gap(OrderPreservingLoss(phi, "dcg"), "dcg")
    assert gap.is_consistent
    assert gap.lower == pytest.approx(gap.value, abs=1e-7)
    gains = np.array(CHANCES) @ (np.exp2(GRADES) - 1)
    rng = np.random.default_rng(0)

    def expected(scores):
        return sum(gains[i] * PHI[phi](scores[i] - scores[j]) for i in range(3) for j in range(3))

    nearest = np.inf
    for scale in (0.01, 0.1, 1.0):
        for scores in gap.wrong.scores + scale * rng.normal(size=(1500, 3)):
            if (np.argsort(-scores) != np.argsort(-gains)).any():
                nearest = min(nearest, expected(scores) - expected(gap.minimum.scores))
    assert gap.lower <= nearest <= gap.value + 0.05
    assert laboratory.regret("dcg", gap.wrong.scores) > 0


def test_gap_is_zero_if_the_minimiser_ranks_wrongly():
    laboratory = Laboratory([[1, 0], [1, 2]], [0.6, 0.4])  # 1 is better more often, 2 by more
    for phi in PHI:
        gap = laboratory.surrogate_gap(PreorderLoss(phi), rw.DCG)
        assert gap.minimum.scores[0] > gap.minimum.scores[1]
        assert laboratory.optimal_orders(rw.DCG) == [(1, 0)]
        assert (gap.value < 1e-8, gap.is_consistent) == (True, False)
        assert gap.regret == pytest.approx(0.2 * (1 - 1 / math.log2(3)))
    assert laboratory.surrogate_gap(PreorderLoss("hinge", "gain-per-query"), rw.DCG).is_consistent


def test_every_loss_is_consistent_if_all_orders_are_optimal():
    gap = Laboratory([[1, 1, 1]]).surrogate_gap(PreorderLoss(), rw.nDCG)
    assert (gap.value, gap.wrong, gap.regret, gap.is_consistent) == (np.inf, None, 0, True)


def test_order_preserving_loss_ranks_best_by_ndcg_whatever_the_distribution():
    rng = np.random.default_rng(1)
    loss = OrderPreservingLoss(standardize="ndcg")
    preorder_regrets = []
    for _ in range(10):
        grades = rng.integers(0, 3, size=(4, 4)).tolist()
        chances = rng.dirichlet(np.ones(4))
        laboratory = Laboratory(grades, chances)
        best = max(
            sum(float(p) * reference.ndcg([y[i] for i in order]) for p, y in zip(chances, grades, strict=True))
            for order in itertools.permutations(range(4))
        )
        scores = laboratory.minimiser(loss).scores
        assert float(laboratory.expected(rw.nDCG, scores)) == pytest.approx(best, abs=1e-6)
        preorder_regrets.append(laboratory.regret(rw.nDCG, laboratory.minimiser(PreorderLoss()).scores))
    assert max(preorder_regrets) > 1e-3


# What is refused


@pytest.mark.parametrize(
    ("supervisions", "chances", "problem"),
    [
        ([], None, "at least one"),
        ([[1, 0], [1, 0, 2]], None, "same items"),
        ([[1, 0], rw.FullRanking(np.array([1, 2]))], None, "one kind"),
        ([[0] * 7], None, r"n!"),
        ([[1, 0]], [0.5, 0.5], "1 supervisions, but 2"),
        ([[1, 0], [0, 1]], [0.5, 0.4], "add up to 1"),
        ([[1, 0], [0, 1]], [1.5, -0.5], "at least 0"),
        ([[1, 0], [0, 1]], [math.nan, 1], "must be numbers"),
    ],
)
def test_bad_laboratories(supervisions, chances, problem):
    with pytest.raises(ParameterError, match=problem):
        Laboratory(supervisions, chances)


def test_bad_scores_and_measures():
    laboratory = Laboratory([[1, 0, 0]])
    with pytest.raises(ParameterError, match="3 numbers"):
        laboratory.expected("ap", [1, 2])
    with pytest.raises(ParameterError, match="give one"):
        laboratory.optimal_orders("ap, err")
    with pytest.raises(rw.DataError):
        Laboratory([[1, math.nan]])


def test_minima_far_away_are_found():
    minimum = Laboratory([[13, 0]]).minimiser(rw.losses.SquaredLoss(standardize="dcg"))
    np.testing.assert_allclose(minimum.scores, [8191.0, 0.0], rtol=1e-6)
    assert minimum.lower <= minimum.value <= 1e-6


@pytest.mark.parametrize(
    "loss",
    [rw.losses.StructuredHinge("ndcg@1", bound="tight"), rw.losses.StructuredHinge("ndcg@1", rescale="slack")],
    ids=["tight", "slack"],
)
def test_a_loss_that_is_not_convex_is_refused(loss):
    with pytest.raises(rw.ParameterError, match="convex"):
        Laboratory([[1, 0], [0, 1]], ["2/3", "1/3"]).minimiser(loss)
