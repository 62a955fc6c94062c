"""Confidence bounds for means: formulas in exact arithmetic, validity by enumeration, coverage by simulation."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

import rankwright as rw
from rankwright.theory.betting_kernels import ROTATIONS, capital
from rankwright.theory.mean_bounds import bernstein_bound, betting_bound, clopper_pearson_bound, hoeffding_bound

ALL = [hoeffding_bound, bernstein_bound, betting_bound]
ORDERS = [(b, step) for b in range(ROTATIONS) for step in (1, -1)]


def ndcg_like(rng, shape):
    """Values with atoms at 0 and 1, as nDCG@10 has them; their mean is 0.1 + 0.75 · 1.6 / 3.4."""
    u = rng.random(shape)
    return np.where(u < 0.15, 0.0, np.where(u < 0.25, 1.0, rng.beta(1.6, 1.8, shape)))


DRAWS = {
    "even": (lambda rng, n: rng.beta(2, 2, n), 0.5),
    "mostly high": (lambda rng, n: rng.beta(8, 0.5, n), 8 / 8.5),
    "rarely above 0": (lambda rng, n: (rng.random(n) < 0.04) * 1.0, 0.04),
    "rarely below 1": (lambda rng, n: 1.0 - (rng.random(n) < 0.04), 0.96),
    "nDCG": (ndcg_like, 0.1 + 0.75 * 1.6 / 3.4),
}


# Formulas


def exactly(values, delta, *, bernstein):
    """Either formula with 50 digits."""
    with localcontext() as context:
        context.prec = 50
        x, n = [Decimal(float(value)) for value in values], len(values)
        mean = sum(x) / n
        if not bernstein:
            return float(mean - ((1 / Decimal(delta)).ln() / (2 * n)).sqrt())
        variance, log = sum((value - mean) ** 2 for value in x) / (n - 1), (2 / Decimal(delta)).ln()
        return float(mean - (2 * variance * log / n).sqrt() - 7 * log / (3 * (n - 1)))


@pytest.mark.parametrize("delta", [0.05, 1e-6, 0.5])
def test_formulas_in_exact_arithmetic(delta):
    values = np.random.default_rng(0).beta(5, 1, 900)
    assert hoeffding_bound(values, delta) == pytest.approx(exactly(values, delta, bernstein=False), rel=1e-13)
    assert bernstein_bound(values, delta) == pytest.approx(exactly(values, delta, bernstein=True), rel=1e-12)


def chance_of_at_least(successes, trials, p):
    p = Fraction(p)
    return sum(math.comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(successes, trials + 1))


@pytest.mark.parametrize(("successes", "trials"), [(1, 1), (1, 30), (7, 12), (29, 30), (30, 30), (55, 90)])
@pytest.mark.parametrize("delta", [0.05, 0.001])
def test_clopper_pearson_leaves_exactly_delta(successes, trials, delta):
    bound = clopper_pearson_bound(successes, trials, delta)
    assert float(chance_of_at_least(successes, trials, bound)) == pytest.approx(delta, rel=1e-10)


def test_clopper_pearson_at_the_ends():
    assert clopper_pearson_bound(0, 10, 0.05) == 0
    assert clopper_pearson_bound(10, 10, 0.05) == pytest.approx(0.05**0.1, rel=1e-12)
    for successes, trials in ((-1, 3), (4, 3), (0, 0)):
        with pytest.raises(rw.ParameterError, match="successes"):
            clopper_pearson_bound(successes, trials, 0.05)


# Betting: validity


@pytest.mark.parametrize("chances", [(0.2, 0.3, 0.5), (0.9, 0.06, 0.04), (0.01, 0.02, 0.97)])
@pytest.mark.parametrize("target", [1.3, 27.0])
def test_capital_is_one_in_expectation_at_the_mean_and_less_above_it(chances, target):
    """All 3^6 samples: this is what makes the bound valid."""
    support, n = np.array([0.0, 0.5, 1.0]), 6
    mean = float(support @ chances)
    samples = [(support[list(s)], math.prod(chances[i] for i in s)) for s in product(range(3), repeat=n)]
    for b, step in ORDERS[::5]:
        start = b * n // ROTATIONS
        held = [capital(x, start, step, mean, target) for x, _ in samples]
        assert min(held) >= 0
        assert sum(p * h for (_, p), h in zip(samples, held, strict=True)) == pytest.approx(1, rel=1e-10)
        above = sum(p * capital(x, start, step, mean + (1 - mean) / 3, target) for x, p in samples)
        assert above <= 1 + 1e-12


def test_capital_is_one_in_expectation_where_bets_are_kept_for_many_values():
    rng = np.random.default_rng(1)
    held = np.array([capital(x, 17, -1, 0.1 + 0.75 * 1.6 / 3.4, 27.0) for x in ndcg_like(rng, (6_000, 300))])
    assert abs(held.mean() - 1) < 4 * held.std() / math.sqrt(len(held))
    assert held.std() > 1  # it is bet


@pytest.mark.parametrize("delta", [0.05, 0.2])
def test_the_bound_is_above_the_mean_with_probability_delta_at_most(delta):
    """Exactly, for all distributions on {0, 1/2, 1} with chances in steps of 1/25."""
    n = 5
    counts = np.array([[s.count(i) for i in range(3)] for s in product(range(3), repeat=n)])
    bounds = np.array([betting_bound(np.array(s) / 2, delta) for s in product(range(3), repeat=n)])
    worst = 0.0
    for zeros in range(26):
        for halves in range(26 - zeros):
            chances = np.array([zeros, halves, 25 - zeros - halves]) / 25
            mean = chances[1] / 2 + chances[2]
            worst = max(worst, float(np.prod(chances**counts, axis=1)[bounds > mean + 1e-12].sum()))
    assert delta / 5 < worst <= delta  # and it is not for nothing


# Betting: the same, stated plainly


def plain_capital(values, mean, target):
    held, seen = 1.0, []
    for i, value in enumerate(values):
        if held < 1e-300 or held >= 0.999 * target:
            break
        goal, left = target / held, len(values) - i
        pretended = [0.0, 1.0]  # they count as one value
        centre = (sum(pretended) / 2 + sum(seen)) / (1 + i)
        spread = (sum(x * x for x in pretended) / 2 + sum(x * x for x in seen)) / (1 + i) - centre**2
        bet = math.log(goal) * math.sqrt(2 / (1 + math.log(goal))) / math.sqrt(left * spread)
        greatest = min(1 / mean, (goal - 1) / (1 - mean))
        held *= max(0.0, 1 + (greatest if left == 1 else min(bet, greatest)) * (value - mean))
        seen.append(value)
    return held


def plain_mixture(values, mean, delta):
    first = math.sqrt(8 * math.log(1 / delta) / len(values))
    stakes = [min(first * 2**j, 1 / mean) for j in range(8)]
    return sum(math.prod(max(0.0, 1 + stake * (x - mean)) for x in values) for stake in stakes) / 8


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [2, 3, 11])
def test_betting_against_a_plain_search_from_below(name, n):
    draw, _ = DRAWS[name]
    values, delta = draw(np.random.default_rng(n), n), 0.05
    shuffled = np.random.default_rng(0).permutation(values).tolist()
    enough = 32 / 31 / delta
    cell = 1 / (128 * math.sqrt(n))
    bound = 0.0
    for number in range(1, math.ceil(1 / cell)):
        mean = number * cell
        orders = [shuffled[s:] + shuffled[:s] for s in (b * n // 8 for b in range(8))]
        orders += [[order[0], *order[:0:-1]] for order in orders]
        won = sum(plain_capital(order, mean, 4 / 3 * enough) for order in orders) / 16
        if won < enough and plain_mixture(shuffled, mean, delta / 32) < 32 / delta:
            break
        bound = mean
    # The search begins between two of the means that are tried, at most a cell below the mixture's bound.
    assert bound - cell - 1e-12 <= betting_bound(values, delta) <= bound + cell + 1e-12


# Betting: what it is like


def test_boundary_cases():
    assert betting_bound(np.zeros(50), 0.05) == 0
    assert betting_bound(np.array([0.6]), 0.05) == pytest.approx(0.03)  # Markov
    for n in (2, 20, 3_000):
        # δ^(1/n) is the best there can be: the values may be 0 or 1.
        assert (0.05 / 4) ** (1 / n) - 1 / (128 * math.sqrt(n)) < betting_bound(np.ones(n), 0.05) <= 0.05 ** (1 / n)


def test_many_values():
    values = ndcg_like(np.random.default_rng(0), 100_000)
    width = values.mean() - betting_bound(values, 0.05)
    assert 1.64 < width / (values.std() / math.sqrt(len(values))) < 2.0  # 1.645 is that of the normal distribution
    assert 0 <= betting_bound(np.full(100_000, 1e-7), 0.05) <= 1e-7


def test_it_is_narrower_than_all_others():
    values = ndcg_like(np.random.default_rng(3), 1_000)
    width = values.mean() - betting_bound(values, 0.05)
    settled = math.sqrt(2 * math.log(20)) * values.std() / math.sqrt(1_000)  # what bets settled on the best λ tend to
    assert width < 0.85 * settled
    assert width < 0.6 * (values.mean() - bernstein_bound(values, 0.05))
    assert width < 0.6 * (values.mean() - hoeffding_bound(values, 0.05))


@pytest.mark.parametrize("n", [30, 500])
def test_it_hardly_depends_on_the_order(n):
    rng = np.random.default_rng(4)
    values = ndcg_like(rng, n)
    widths = [values.mean() - betting_bound(rng.permutation(values), 0.05) for _ in range(20)]
    assert np.std(widths) < 0.05 * np.mean(widths)


@pytest.mark.parametrize("bound", ALL)
def test_a_greater_risk_gives_a_greater_bound(bound):
    values = ndcg_like(np.random.default_rng(5), 400)
    bounds = [bound(values, delta) for delta in (1e-9, 1e-4, 0.01, 0.05, 0.2, 0.6)]
    assert bounds == sorted(bounds)
    assert bounds[0] < bounds[-1] < values.mean()


# Coverage


def failures(bound, draw, mean, n, repeats, seed):
    rng = np.random.default_rng(seed)
    return sum(bound(draw(rng, n), 0.05) > mean for _ in range(repeats))


@pytest.mark.parametrize("bound", ALL)
@pytest.mark.parametrize("name", ["nDCG", "mostly high", "rarely above 0"])
def test_coverage(bound, name):
    failed = failures(bound, *DRAWS[name], 20, 200, seed=6)
    assert failed <= binom.ppf(0.9999, 200, 0.05)


def test_bounds_that_are_too_good_would_be_noticed():
    failed = failures(lambda x, _: x.mean() - x.std() / math.sqrt(len(x)), *DRAWS["nDCG"], 20, 200, seed=6)
    assert failed > binom.ppf(0.9999, 200, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("bound", ALL)
@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [10, 100, 1_000])
def test_coverage_in_many_repeats(bound, name, n):
    failed = failures(bound, *DRAWS[name], n, 2_000, seed=7)
    assert failed <= binom.ppf(0.9999, 2_000, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["ndcg@10", "map", "err(max_grade=2)", "p@1"])
@pytest.mark.parametrize("n", [30, 300])
def test_coverage_for_queries_drawn_from_a_collection(measure, n):
    """20,000 queries are all there are, so their mean is the expectation; some are drawn, with replacement."""
    drawn = rw.datasets.make_queries(20_000, 15, 6, n_informative=3, n_correlated=2, seed=8)
    scores = drawn.queries.X @ drawn.best_weights
    (values,) = rw.evaluate(scores, drawn.queries, measure).values.values()
    for bound in ALL:
        failed = failures(bound, lambda rng, size: rng.choice(values, size), values.mean(), n, 2_000, seed=9)
        assert failed <= binom.ppf(0.9999, 2_000, 0.05)


@pytest.mark.parametrize("p", [0.07, 0.5, 0.93])
@pytest.mark.parametrize("n", [1, 13, 60])
def test_coverage_of_clopper_pearson(p, n):
    """Exactly, by the binomial distribution."""
    bounds = np.array([clopper_pearson_bound(k, n, 0.05) for k in range(n + 1)])
    assert binom.pmf(np.arange(n + 1), n, p)[bounds > p].sum() <= 0.05 + 1e-12


# Errors


@pytest.mark.parametrize("bound", ALL)
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ([], "values"),
        ([[0.5]], "values"),
        ([0.5, 1.5], "value 1 is 1.5"),
        ([-0.1], "value 0 is -0.1"),
        ([0.2, math.nan], "value 1 is nan"),
    ],
)
def test_what_are_no_values(bound, values, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        bound(np.array(values), 0.05)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, None, "0.05", True])
def test_what_is_no_delta(delta):
    for bound in ALL:
        with pytest.raises(rw.ParameterError, match="delta"):
            bound(np.array([0.5, 0.6]), delta)
    with pytest.raises(rw.ParameterError, match="delta"):
        clopper_pearson_bound(1, 2, delta)
