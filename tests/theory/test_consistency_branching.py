"""`has_standardization` on explicit lists of supervisions: all are decided, and the proofs hold without its code."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from rankwright.theory.consistency import branching, has_standardization
from rankwright.theory.consistency.cases import Cases, Sum, Term
from tests.measures import reference

SMALL = Fraction(1, 10**12)


# Measures written out in fractions; greater is better


def average_precision(grades, _):
    hits = [place for place, grade in enumerate(grades, 1) if grade]
    return sum(Fraction(k, place) for k, place in enumerate(hits, 1)) / max(len(hits), 1)


def reciprocal_rank(grades, _):
    return next((Fraction(1, place) for place, grade in enumerate(grades, 1) if grade), Fraction(0))


def precision_at_2(grades, _):
    return Fraction(sum(grade > 0 for grade in grades[:2]), 2)


def expected_reciprocal_rank(grades, largest):
    total, reaches = Fraction(0), Fraction(1)
    for place, grade in enumerate(grades, 1):
        stop = Fraction(2**grade - 1, 2**largest)
        total += reaches * stop / place
        reaches *= 1 - stop
    return total


def pairwise(grades, _):
    pairs = [(a, b) for a, b in itertools.combinations(grades, 2) if a != b]
    return -Fraction(sum(a < b for a, b in pairs), max(len(pairs), 1))


def zero_one(grades, _):
    return Fraction(-int(list(grades) != sorted(grades, reverse=True)))


PLAIN = {
    "ap": (average_precision, 2),
    "err": (expected_reciprocal_rank, 3),
    "rr": (reciprocal_rank, 2),
    "p@2": (precision_at_2, 2),
    "pairwiseerror": (pairwise, 3),
    "zeroone": (zero_one, 3),
}


def whole(table):
    """Fractions as whole numbers, multiplied by their common denominator."""
    scale = math.lcm(*(Fraction(value).denominator for row in table for value in row))
    return [[int(value * scale) for value in row] for row in table]


class Plain:
    """A measure on a list of supervisions, by enumeration."""

    def __init__(self, measure, supervisions):
        value, largest = PLAIN[measure][0], max(map(max, supervisions))
        self.n, self.count = len(supervisions[0]), len(supervisions)
        self.orders = list(itertools.permutations(range(self.n)))
        self.values = whole([[value([y[i] for i in order], largest) for y in supervisions] for order in self.orders])

    def best(self, p):
        expected = [sum(share * value for share, value in zip(p, row, strict=True)) for row in self.values]
        return {order for order, value in zip(self.orders, expected, strict=True) if value == max(expected)}

    def following(self, scores):
        return {order for order in self.orders if all(scores[i] >= scores[j] for i, j in itertools.pairwise(order))}

    def is_optimal(self, r, shares):
        """Whether sorting by E r is, for each row of shares; without rounding."""
        means, expected = shares @ np.array(r, dtype=object), shares @ np.array(self.values, dtype=object).T
        along = means[:, np.array(self.orders)]
        follows = (along[:, :, :-1] >= along[:, :, 1:]).all(axis=2)
        return (expected == expected.max(axis=1, keepdims=True))[follows].all()

    def allowed(self, place):
        """The weak orders that E r can have: what remains optimal nearby is looked up nearby."""
        best = self.best(place.p)
        near = [
            self.best([p + SMALL * (q - p) for p, q in zip(place.p, towards, strict=True)]) for towards in place.towards
        ]
        weak = {levels for levels in itertools.product(range(self.n), repeat=self.n) if 0 in levels}
        weak = {levels for levels in weak if len(set(levels)) == max(levels) + 1}
        rows = {levels: self.following(levels) for levels in weak}
        return {levels for levels, orders in rows.items() if orders <= best and all(orders & other for other in near)}

    def is_refuted(self, refutation, allowed):
        if isinstance(refutation, Sum):
            total = np.zeros((self.n, self.count), dtype=object)
            rises = []
            for term in refutation.terms:
                total[term.upper] += term.factor * np.array(term.p, dtype=object)
                total[term.lower] -= term.factor * np.array(term.p, dtype=object)
                rises.append({levels[term.upper] - levels[term.lower] for levels in allowed[term.p]})
                assert term.factor > 0
            return not total.any() and min(map(min, rises)) >= 0 and any(min(rise) > 0 for rise in rises)
        refuted = set()
        for group, reason in refutation.groups:
            for levels in group:
                assert self.is_refuted(reason, {**allowed, refutation.p: {levels}})
                refuted.add(levels)
        return allowed[refutation.p] <= refuted


def check(measure, supervisions, answer):
    """A function ranks best under 1,000 distributions; a refutation holds with measures written out."""
    plain = Plain(measure, supervisions)
    assert answer.exists is not None
    assert answer.verify()
    if answer.exists:
        shares = np.random.default_rng(0).integers(0, 7, size=(1000, plain.count))  # so few that ties happen
        assert plain.is_optimal(whole(answer.r), shares.astype(object))
    elif answer.refutation is not None:
        allowed = {place.p: plain.allowed(place) for place in answer.places}
        assert plain.is_refuted(answer.refutation, allowed)
    else:
        for one in answer.comparisons:
            p = one.p if one.towards is None else [a + SMALL * (b - a) for a, b in zip(one.p, one.towards, strict=True)]
            assert all(order.index(one.upper) < order.index(one.lower) for order in plain.best(p))


def random_lists():
    rng = np.random.default_rng(17)
    for measure in PLAIN:
        for n, count in ((3, 2), (3, 4), (4, 3), (4, 5)):
            drawn = rng.integers(0, PLAIN[measure][1], size=(count, n)).tolist()
            yield measure, sorted(set(map(tuple, drawn)))


@pytest.mark.parametrize(("measure", "supervisions"), list(random_lists()))
def test_random_lists_are_decided(measure, supervisions):
    check(measure, supervisions, has_standardization(measure, supervisions))


# What single comparisons, or tables that fit all of them, do not decide


@cache
def ask(measure, supervisions):
    return has_standardization(measure, supervisions)


@pytest.mark.parametrize(
    ("measure", "supervisions", "exists"),
    [
        ("err", ((0, 1, 1, 0), (1, 0, 0, 1)), True),  # E r goes through ties that it chooses
        ("rr", ((0, 0, 0), (0, 1, 0), (1, 0, 1)), True),
        ("rr", ((0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 0), (1, 1, 1, 0)), True),
        ("err", ((0, 1, 2, 0), (1, 2, 2, 2), (2, 0, 1, 2)), True),
        ("pairwiseerror", ((0, 0, 1), (0, 1, 0), (1, 2, 2), (2, 1, 0)), False),
        ("err", ((0, 2, 2, 0), (1, 0, 2, 0), (1, 2, 1, 2), (1, 2, 2, 0)), False),
        ("err", ((0, 0, 2, 0), (0, 1, 1, 0), (2, 1, 0, 2)), False),
    ],
)
def test_harder_lists(measure, supervisions, exists):
    answer = ask(measure, supervisions)
    assert answer.exists is exists
    check(measure, supervisions, answer)


@pytest.mark.parametrize("measure", ["ap", "rr", "pairwiseerror"])
def test_two_supervisions_of_three_items_against_all_small_tables(measure):
    """If there is no r, none with entries 0 to 3 is right; a right one of these is enough for there being one."""
    rows = [row for row in itertools.product(range(4), repeat=3) if 0 in row]
    labels = list(itertools.product(range(PLAIN[measure][1]), repeat=3))
    rng = np.random.default_rng(3)
    for _ in range(4):
        one, two = (labels[k] for k in rng.choice(len(labels), 2, replace=False))
        plain = Plain(measure, (one, two))
        r = np.array(list(itertools.product(rows, repeat=2)))
        right = np.ones(len(r), dtype=bool)
        for share in range(61):
            means = r[:, 0] * share + r[:, 1] * (60 - share)
            best = plain.best((share, 60 - share))
            for order in set(plain.orders) - best:
                right &= ~(np.diff(means[:, order], axis=1) <= 0).all(axis=1)
        answer = has_standardization(measure, [one, two])
        assert answer.exists is not None
        assert answer.exists or not right.any()


def test_a_refutation_by_cases():
    """1 and 4 are alike, and one of them has to be first somewhere: two cases, neither of which is possible."""
    answer = ask("err", ((0, 0, 2, 0), (0, 1, 1, 0), (2, 1, 0, 2)))
    assert isinstance(answer.refutation, Cases)
    assert len(answer.refutation.groups) == 2
    assert str(answer).count("\nCase Y1 is ranked") == 2
    assert [case["refuted"].keys() for case in answer.to_dict()["refutation"]["cases"]] == [{"sum"}, {"sum"}]
    for kept in answer.refutation.groups:
        assert not replace(answer, refutation=replace(answer.refutation, groups=(kept,))).verify()
        assert not replace(answer, refutation=kept[1]).verify()


@pytest.mark.parametrize("supervisions", [((1, 1, 0), (1, 1, 3)), ((1, 0, 0, 2), (1, 2, 1, 1))])
def test_a_measure_with_logarithms(supervisions):
    """Walls are at irrational distributions here, where E r has to tie; so r and p are in floating point."""
    answer = ask("meanndcg", supervisions)
    assert answer.exists
    assert answer.verify()
    orders = list(itertools.permutations(range(len(supervisions[0]))))
    values = np.array([[reference.mean_ndcg([y[i] for i in order]) for y in supervisions] for order in orders])
    shares = np.linspace(0, 1, 1001)[:, None] * [1, -1] + [0, 1]
    means, expected = shares @ np.array(answer.r, dtype=float), shares @ values.T
    along = means[:, np.array(orders)]
    follows = (along[:, :, :-1] >= along[:, :, 1:]).all(axis=2)
    assert (expected >= expected.max(axis=1, keepdims=True) - 1e-9)[follows].all()


# verify() is not fooled


def test_changed_refutations_are_noticed():
    answer = ask("err", ((0, 2, 2, 0), (1, 0, 2, 0), (1, 2, 1, 2), (1, 2, 2, 0)))
    assert isinstance(answer.refutation, Sum)
    first, *rest = answer.refutation.terms
    turned = Term(first.p, first.lower, first.upper, first.factor)
    for terms in ((turned, *rest), (replace(first, factor=first.factor / 2), *rest), tuple(rest), ()):
        assert not replace(answer, refutation=Sum(terms)).verify()
    assert not replace(answer, places=answer.places[1:]).verify()
    assert not replace(answer, places=tuple(replace(place, towards=()) for place in answer.places)).verify()
    assert not replace(answer, refutation=Cases(first.p, ())).verify()


def test_a_refutation_is_told():
    answer = ask("err", ((0, 2, 2, 0), (1, 0, 2, 0), (1, 2, 1, 2), (1, 2, 2, 0)))
    told, data = str(answer), answer.to_dict()
    assert "= 0 for any r, but no difference is below 0 here, and one is above" in told
    assert len(data["places"]) == len(answer.places)
    assert {"place", "upper", "lower", "factor"} == data["refutation"]["sum"][0].keys()


def test_the_search_ends_undecided_after_its_last_table(monkeypatch):
    monkeypatch.setattr(branching, "MOST_TABLES", 1)
    answer = has_standardization("err", [(0, 1, 1, 0), (1, 0, 0, 1)])
    assert answer.exists is None
    assert not answer.verify()
    assert "undecided" in str(answer)
