"""Low noise, order-preserving spaces, and the figures that the demonstrations show."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

import rankwright as rw
from rankwright.errors import ParameterError
from rankwright.theory.consistency import (
    Laboratory,
    demonstrations,
    is_low_noise,
    is_order_preserving,
    mallows,
    order_preserving_chain,
    plackett_luce,
)


def graph(n, edges):
    ends = np.array([edge[:2] for edge in edges])
    return rw.PreferenceGraph(n, ends[:, 0], ends[:, 1], [float(edge[2]) for edge in edges])


# Low noise


def test_low_noise_is_the_reverse_triangle_inequality():
    chain = [(0, 1, 1), (1, 2, 2)]
    assert is_low_noise(Laboratory([graph(3, [*chain, (0, 2, 3)])]))
    assert not is_low_noise(Laboratory([graph(3, [*chain, (0, 2, 2.9)])]))
    assert not is_low_noise(Laboratory([graph(3, chain)]))
    assert is_low_noise(Laboratory([graph(3, [(0, 1, 1), (0, 2, 5)])]))
    # 1 → 3 outweighs the rest only on average
    mixed = [graph(3, [(0, 2, 8)]), graph(3, chain)]
    assert [is_low_noise(Laboratory(mixed, [p, 1 - p])) for p in (Fraction(1, 2), Fraction(1, 4))] == [True, False]


def test_under_low_noise_the_net_preference_ranks_best():
    rng = np.random.default_rng(0)
    tried = 0
    for _ in range(60):
        # Preferences as differences of worths, plus something for pairs that are far apart
        worth = rng.integers(0, 4, size=4)
        edges = [
            (i, j, worth[i] - worth[j] + rng.integers(-1, 2) * (worth[i] - worth[j] > 1))
            for i, j in itertools.permutations(range(4), 2)
            if worth[i] > worth[j]
        ]
        if not edges:
            continue
        laboratory = Laboratory([graph(4, edges), graph(4, [(1, 0, 1)])], [Fraction(3, 4), Fraction(1, 4)])
        regret = laboratory.regret(rw.WPD, laboratory.expected_standardised("wpd"))
        if is_low_noise(laboratory):
            tried += 1
            assert regret == 0
    assert tried > 10


# Order-preserving spaces


def chances_of(laboratory):
    rankings = [tuple(member.ranks) for member in laboratory.supervisions.members]
    return dict(zip(rankings, laboratory.probabilities, strict=True))


@pytest.mark.parametrize("weights", [(3, 2, 1), (1, 5, 2, 4), (0.1, 0.7, 0.2)])
def test_plackett_luce(weights):
    laboratory = plackett_luce(weights)
    best = tuple(np.argsort([-weight for weight in weights]).tolist())
    assert order_preserving_chain(laboratory) == best
    assert laboratory.optimal_orders(rw.ZeroOne) == [best]
    assert laboratory.regret(rw.ZeroOne, laboratory.expected_standardised("zero-one")) == 0
    first = sum(  # the first item is drawn in proportion to the weights
        p
        for p, member in zip(laboratory.probabilities, laboratory.supervisions.members, strict=True)
        if member.ranks[0] == 1
    )
    assert float(first) == pytest.approx(weights[0] / sum(weights))


def test_mallows():
    laboratory = mallows(4, 0.5)
    assert sum(laboratory.probabilities) == 1
    assert order_preserving_chain(laboratory) == (0, 1, 2, 3)
    assert laboratory.optimal_orders(rw.ZeroOne) == [(0, 1, 2, 3)]
    chances = dict(
        zip([tuple(m.ranks) for m in laboratory.supervisions.members], laboratory.probabilities, strict=True)
    )
    assert chances[2, 1, 3, 4] / chances[1, 2, 3, 4] == Fraction(1, 2)
    assert chances[4, 3, 2, 1] / chances[1, 2, 3, 4] == Fraction(1, 64)


def test_definition_5_pair_by_pair():
    rankings = [rw.FullRanking(np.array(ranks)) for ranks in ((1, 2, 3), (2, 1, 3))]
    assert is_order_preserving(Laboratory(rankings, [0.6, 0.4]), 0, 1)
    assert not is_order_preserving(Laboratory(rankings, [0.4, 0.6]), 0, 1)
    assert not is_order_preserving(Laboratory(rankings, [0.5, 0.5]), 0, 1)  # equally likely, and possible
    assert is_order_preserving(Laboratory(rankings, [0.5, 0.5]), 1, 2)
    assert order_preserving_chain(Laboratory(rankings, [0.5, 0.5])) is None


@pytest.mark.parametrize(
    ("call", "problem"),
    [
        (lambda: is_low_noise(Laboratory([[1, 0]])), "preference graphs"),
        (lambda: order_preserving_chain(Laboratory([[1, 0]])), "full rankings"),
        (lambda: plackett_luce([1, 0]), "above 0"),
        (lambda: mallows(3, 1), "between 0 and 1"),
        (lambda: mallows(7, 0.5), "n!"),
        (lambda: demonstrations("theorem-4"), "theorem-3, preorder"),
    ],
)
def test_what_is_refused(call, problem):
    with pytest.raises(ParameterError, match=problem):
        call()


# Demonstrations


def column(demonstration, name):
    return [row[demonstration.header.index(name)] for row in demonstration.rows]


def test_theorem_3_has_the_right_constants():
    (shown,) = demonstrations("theorem-3")
    assert column(shown, "difference") == ["1/48", "-1/24"]
    assert column(shown, "r") == ["proved: none", "proved: none"]


def test_only_the_order_preserving_loss_finds_the_best_order():
    (shown,) = demonstrations("preorder")
    for loss, order, consistent in zip(
        *(column(shown, name) for name in ("loss", "its order", "consistent")), strict=True
    ):
        is_ours = loss == "order-preserving"
        # E[2^y − 1] is (2, 2.1, 0.3)
        assert (order == "2 ≻ 1 ≻ 3", consistent) == (is_ours, "yes" if is_ours else "no")
    assert len(shown.rows) == 20


def test_two_grades():
    (shown,) = demonstrations("binary")
    consistent = dict(zip(column(shown, "loss"), column(shown, "consistent"), strict=True))
    assert consistent["preorder, squared-hinge"] == consistent["preorder, hinge"] == "no"
    assert consistent["order-preserving, r = y"] == "yes"


def test_graphs_rankings_and_regression():
    shown = {name: demonstrations(name)[0] for name in ("low-noise", "zero-one", "squared")}
    assert column(shown["low-noise"], "low noise") == column(shown["low-noise"], "loss consistent") == ["yes", "no"]
    assert column(shown["low-noise"], "regret") == ["0", "1/5"]
    assert column(shown["zero-one"], "loss consistent") == ["yes", "yes", "no"]
    assert column(shown["zero-one"], "regret") == ["0", "0", "1/10"]
    assert column(shown["squared"], "E r(Y)") == column(shown["squared"], "minimiser")
    assert shown["squared"].to_dict()["rows"][0]["consistent"] == "yes"
