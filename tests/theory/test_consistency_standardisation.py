"""`has_standardization`: its answers, its proofs, and what the proofs are worth."""

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import ParameterError
from rankwright.theory.consistency import all_graphs, all_rankings, has_standardization
from rankwright.theory.consistency.contradictions import Comparison
from tests.measures import reference

EXISTS = [
    *(
        (f"{name}{cut}", labels, n)
        for name in ("dcg", "ndcg")
        for cut in ("", "@1", "@2")
        for labels, n in (("01", 3),)
    ),
    ("dcg", "01", 4),
    ("ndcg@3", "01", 4),
    ("ndcg", "012", 3),
    ("dcg@2", "012", 3),
    ("p@1", "01", 4),
    ("p@2", "012", 3),
    ("recall@2", "01", 4),
    ("pairwiseerror", "01", 4),
    ("wpd", "012", 3),
]
NONE = [
    ("ap", "01", 3),
    ("ap", "01", 4),
    ("err", "01", 3),
    ("err", "01", 4),
    ("rr", "01", 3),
    ("meanndcg", "01", 3),
    ("pairwiseerror", "012", 3),
]
PLAIN = {
    "dcg": reference.dcg,
    "ndcg": reference.ndcg,
    "p": reference.precision,
    "recall": reference.recall,
    "pairwiseerror": lambda grades: -np.nan_to_num(reference.pairwise_error(grades)),
    "wpd": lambda grades: -reference.disagreement(grades),
    "ap": reference.average_precision,
    "rr": reference.reciprocal_rank,
    "err": lambda grades: reference.err(grades, max_grade=1),
}


@cache
def ask(measure, labels, n):
    return has_standardization(measure, map(int, labels), n)


def plain_values(measure, supervisions):
    """The value of each order under each supervision, written out; greater is better."""
    name, _, cutoff = measure.partition("@")
    orders = list(itertools.permutations(range(len(supervisions[0]))))
    cut = (int(cutoff),) if cutoff else ()
    return orders, np.array([[PLAIN[name]([y[i] for i in order], *cut) for y in supervisions] for order in orders])


def is_optimal_for(r, measure, supervisions, distributions):
    """Whether all orders that follow E[r] are best, under each of these distributions."""
    orders, values = plain_values(measure, supervisions)
    means, expected = distributions @ np.array(r, dtype=float), distributions @ values.T
    along = means[:, np.array(orders)]
    follows = (along[:, :, :-1] >= along[:, :, 1:] - 1e-9).all(axis=2)
    return (expected >= expected.max(axis=1, keepdims=True) - 1e-8)[follows].all()


def grades_of(answer):
    return [member.values.tolist() for member in answer.supervisions.members]


@pytest.mark.parametrize(("measure", "labels", "n"), EXISTS)
def test_r_ranks_best_under_random_distributions(measure, labels, n):
    answer = ask(measure, labels, n)
    assert answer.exists is True
    assert answer.verify()
    assert np.min(np.array(answer.r, dtype=float)) >= 0
    supervisions, rng = grades_of(answer), np.random.default_rng(0)
    shares = np.zeros((1000, len(supervisions)))
    for row in shares:
        np.add.at(row, rng.integers(0, len(supervisions), size=5), rng.integers(1, 4, size=5))  # ties happen
    assert is_optimal_for(answer.r, measure, supervisions, shares / shares.sum(axis=1, keepdims=True))


def test_r_of_ndcg_is_the_papers_up_to_a_constant_and_a_factor():
    answer = ask("ndcg", "012", 3)
    factor = float(answer.r[grades_of(answer).index([2, 0, 0])][0])
    for grades, row in zip(grades_of(answer), answer.r, strict=True):
        gains = np.exp2(grades) - 1
        ideal = reference.dcg(sorted(grades, reverse=True))
        expected = (gains - gains.min()) / ideal if ideal else gains
        np.testing.assert_allclose(np.array(row, dtype=float) / factor, expected, atol=1e-9)


@pytest.mark.parametrize(("measure", "labels", "n"), NONE)
def test_there_is_none_and_the_proof_holds(measure, labels, n):
    answer = ask(measure, labels, n)
    assert answer.exists is False
    assert answer.verify()


@pytest.mark.parametrize(("measure", "labels", "n"), [case for case in NONE if case[0] in PLAIN and case[1] == "01"])
def test_comparisons_hold_for_a_small_share_of_the_other_distribution(measure, labels, n):
    """What is said of the limit β → 0 is so at β = 10⁻⁵, by measures written out."""
    answer = ask(measure, labels, n)
    orders, values = plain_values(measure, grades_of(answer))
    for one in answer.comparisons:
        p, towards = (np.array(part or one.p, dtype=float) for part in (one.p, one.towards))
        expected = values @ (p + 1e-5 * (towards - p))
        best = [order for order, value in zip(orders, expected, strict=True) if value > expected.max() - 1e-9]
        assert all(order.index(one.upper) < order.index(one.lower) for order in best)
    assert len({one.p for one in answer.comparisons}) == 1
    around = {(one.upper, one.lower) for one in answer.comparisons}
    assert around == {(i, (i + 1) % n) for i in range(n)}  # so all are equal
    expected = values @ np.array(answer.comparisons[0].p, dtype=float)
    assert expected.min() < expected.max() - 1e-3  # but not all orders are optimal


def test_theorem_3_reads_as_in_the_paper():
    told = str(ask("ap", "01", 4))
    assert "(1, 1, 0, 0) with probability 1/2 or (0, 0, 1, 1) with probability 1/2" in told
    assert "E[AP] is 17/24 for 1 ≻ 2 ≻ 3 ≻ 4, and 2/3 for 1 ≻ 3 ≻ 2 ≻ 4" in told
    told = str(ask("err", "01", 4))
    assert "E[ERR] is 43/96 for 1 ≻ 3 ≻ 2 ≻ 4, and 41/96 for 1 ≻ 2 ≻ 3 ≻ 4" in told


def test_labels_that_the_measure_takes_for_the_same():
    answer = has_standardization("p@1", [0, 1, 2, 3], 3)
    rows = dict(zip(map(tuple, grades_of(answer)), answer.r, strict=True))
    assert rows[3, 0, 1] == rows[1, 0, 1] == [1, 0, 1]
    assert answer.verify()
    against = has_standardization("rr", [0, 1, 2], 3)
    assert (against.exists, against.verify()) == (False, True)
    assert all(len(one.p) == 27 for one in against.comparisons)


def test_rankings_and_graphs():
    zero_one, graphs = has_standardization("zeroone", all_rankings(3)), has_standardization("wpd", all_graphs(3))
    assert (len(zero_one.supervisions), len(graphs.supervisions)) == (6, 25)
    assert (zero_one.exists, graphs.exists) == (False, False)
    assert zero_one.verify()
    assert graphs.verify()
    assert has_standardization("wpd", all_rankings(3)).verify()  # Σ (rank differences): Borda's count will do


def test_an_r_that_swaps_do_not_give():
    supervisions = [(0, 1, 1), (0, 0, 1), (1, 0, 0)]
    answer = has_standardization("rr", supervisions)
    assert answer.exists is True
    assert answer.verify()
    rng = np.random.default_rng(0)
    assert is_optimal_for(answer.r, "rr", supervisions, rng.dirichlet(np.ones(3), size=1000))


# verify() is not fooled


def test_wrong_tables_are_noticed():
    answer = ask("ndcg", "01", 3)
    by_grade = [[Fraction(int(grade)) for grade in grades] for grades in grades_of(answer)]
    assert not replace(answer, r=by_grade).verify()  # that is DCG's
    assert replace(ask("dcg", "01", 3), r=by_grade).verify()
    assert not replace(answer, r=[[-value for value in row] for row in answer.r]).verify()


def test_wrong_contradictions_are_noticed():
    answer = ask("ap", "01", 4)
    assert not replace(answer, comparisons=answer.comparisons[:-1]).verify()
    first = answer.comparisons[0]
    turned = Comparison(first.p, first.towards, first.lower, first.upper)
    assert not replace(answer, comparisons=(turned, *answer.comparisons[1:])).verify()
    assert not replace(answer, measure=rw.DCG).verify()
    assert not replace(answer, comparisons=()).verify()


def test_undecided_says_so():
    answer = replace(ask("ap", "01", 4), comparisons=())
    assert "undecided" in str(answer)
    assert not answer
    assert answer.to_dict()["exists"] is None


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("ap", [0, 1], 7), r"5,040 orders \(n!\)"),
        (("ap", range(10), 6), "too many to enumerate"),
        (("ap", [0, 1], 0), "at least 1"),
        (("frobnicate", [0, 1], 3), "not a measure"),
        (("p", [0, 1], 3), "needs a cutoff"),
    ],
)
def test_what_is_refused(arguments, problem):
    with pytest.raises(ParameterError, match=problem):
        has_standardization(*arguments)


def test_graphs_of_many_items_are_refused():
    with pytest.raises(ParameterError, match="at most 4"):
        all_graphs(5)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda r: r[:-1],
        lambda r: [row[:-1] for row in r],
        lambda r: [[float("nan")] * len(row) for row in r],
        lambda r: [[float("inf")] * len(row) for row in r],
        lambda r: [[-value for value in row] for row in r],
    ],
    ids=["too few rows", "too few items", "NaN", "infinite", "negative"],
)
def test_a_function_of_another_shape_is_no_proof(spoil):
    answer = ask("dcg", "01", 3)
    assert not replace(answer, r=spoil(answer.r)).verify()


def test_comparisons_at_what_is_no_distribution_are_no_proof():
    answer = ask("ap", "01", 4)
    for factor in (0, 2):
        spoiled = [replace(one, p=tuple(factor * share for share in one.p)) for one in answer.comparisons]
        assert not replace(answer, comparisons=tuple(spoiled)).verify()
