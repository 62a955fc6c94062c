"""Every step from a sample to a risk bound, where both sides can be computed: all signs, all samples, all rankings."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.losses import PreorderLoss, StructuredHinge
from rankwright.theory import formulas, risk_bound
from rankwright.theory.lengths import QueryBlocks, spreads, squared_products
from rankwright.theory.lipschitz import lipschitz_of
from tests.losses.rankings import ap_rankings, ndcg_rankings, position_weights
from tests.theory import plain_bounds as plain

WEIGHTS = {"discount": lambda m: 1 / np.log2(np.arange(m) + 2), "linear": lambda m: m - np.arange(m, dtype=float)}
# Paper P's Ψ over all pairs: document at rank r stands above m − r and below r − 1 of m(m − 1)/2 pairs.
WEIGHTS["pairs"] = lambda m: 2 * (m - 1 - 2 * np.arange(m, dtype=float)) / (m * (m - 1))


def signs(n):
    """All of {−1, 1}ⁿ."""
    return np.array(list(itertools.product((-1.0, 1.0), repeat=n)))


def rademacher_average(values):
    """E_ε max_f Σ_q ε_q values[f, q], exactly."""
    return float((signs(values.shape[1]) @ values.T).max(axis=1).mean())


# The 0-1 error and the pairwise hinge


def query(worth, scores):
    return plain.Query(np.zeros((len(worth), 1)), np.array(worth, float), np.array(scores, float))


def test_the_pairwise_hinge_may_be_less_than_the_number_of_pairs_in_wrong_order():
    # Ranks 2 and 3 of 3 are exchanged: the margin is 3/2 − 3/3.
    worth, scores = [3, 2, 1], [9.0, 0.0, 0.125]
    of_library = PreorderLoss("hinge", margin="position").on(rw.Queries(None, worth)).at(scores).value
    assert of_library == plain.pairwise_hinge(query(worth, scores)) == 0.625
    assert plain.pairs_in_wrong_order(query(worth, scores)) == 1


@pytest.mark.parametrize("r", [2, 3, 4, 10])
def test_the_factor_of_the_corrected_bound_cannot_be_less(r):
    worth, scores = np.arange(r)[::-1], 100.0 * np.arange(r)[::-1]
    scores[-1] = scores[-2] + 1e-9
    found = query(worth, scores)
    assert plain.pairs_in_wrong_order(found) == 1
    assert 1 <= (r - 1) * plain.pairwise_hinge(found) <= 1 + 1e-7


scores_with_ties = st.one_of(st.integers(-2, 2).map(float), st.floats(-50, 50))


@given(st.lists(st.tuples(st.integers(0, 4), scores_with_ties), min_size=1, max_size=7))
def test_the_corrected_inequality(documents):
    found = query(*zip(*documents, strict=True))
    factor = max(plain.n_levels(found) - 1, 1)
    assert plain.pairs_in_wrong_order(found) <= factor * plain.pairwise_hinge(found) * (1 + 1e-9)


# Hinges and the losses that they bound


@st.composite
def scored_lists(draw):
    m = draw(st.integers(1, 5))
    grades = draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    scores = draw(st.lists(scores_with_ties, min_size=m, max_size=m))
    return grades, np.array(scores), draw(st.sampled_from([0.0, 1e-6, 0.1, 1.0, 1e3]))


def assert_bounds_every_order(losses, every, scores, scale):
    """min(ξ, 1) of scores times anything, against the worst of the orders that they leave open."""
    value = float(losses.at(scale * scores).values[0])
    worst = every.losses_by_scores(scores).max()
    assert value >= -1e-9
    assert min(value, 1.0) >= worst - 1e-9
    assert value >= worst - 1e-9 * max(1.0, value)


@pytest.mark.parametrize(
    ("k", "weights"), [(1, "linear"), (3, "discount"), (10, "inverse-sqrt"), (2, [4.0, 1.0, 1.0])], ids=str
)
@settings(max_examples=60)
@given(scored_lists())
def test_the_hinge_cut_off_at_1_bounds_ndcg_at_any_scale_and_in_any_order_of_ties(k, weights, case):
    grades, scores, scale = case
    if max(grades) > 0:
        losses = StructuredHinge(f"ndcg@{k}", weights).on(rw.Queries(None, grades))
        every = ndcg_rankings(np.array(grades, float), k, position_weights(weights, k))
        assert_bounds_every_order(losses, every, scores, scale)


@settings(max_examples=60)
@given(scored_lists())
def test_the_hinge_cut_off_at_1_bounds_ap_at_any_scale_and_in_any_order_of_ties(case):
    grades, scores, scale = case
    if min(grades) == 0 < max(grades):
        losses = StructuredHinge("map").on(rw.Queries(None, grades))
        assert_bounds_every_order(losses, ap_rankings(grades), scores, scale)


@settings(max_examples=60)
@given(scored_lists())
def test_the_sum_of_hinges_bounds_ndcg_and_ap(case):
    grades, scores, scale = case
    for measure in ("ndcg@3", "map"):
        found = query(grades, scores)
        every = plain.rankings_of(found, measure, "discount")
        if every is not None:
            total = plain.sum_of_hinges(found, every, scale)
            assert total >= every.losses_by_scores(scores).max() - 1e-9 * max(1.0, total)


# Sums of vectors with random signs


@pytest.mark.parametrize("seed", range(20))
def test_sums_with_random_signs_have_the_length_that_jensen_and_khintchine_tell(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((int(rng.integers(1, 11)), 3)) * 10.0 ** rng.uniform(-3, 3, (1, 3))
    mean_length = np.linalg.norm(signs(len(X)) @ X, axis=1).mean()
    upper = math.sqrt((X**2).sum())
    assert upper / math.sqrt(2) * (1 - 1e-12) <= mean_length <= upper * (1 + 1e-12)


def test_both_ends_are_reached():
    assert np.linalg.norm(signs(2) @ np.ones((2, 1)), axis=1).mean() == pytest.approx(math.sqrt(2) / math.sqrt(2))
    assert np.linalg.norm(signs(3) @ np.eye(3), axis=1).mean() == pytest.approx(math.sqrt(3))


# Contraction


@pytest.mark.parametrize("seed", range(20))
def test_cutting_off_at_1_is_a_contraction(seed):
    rng = np.random.default_rng(seed)
    values = rng.exponential(1.0, (int(rng.integers(2, 40)), 7))
    assert rademacher_average(np.minimum(values, 1.0)) <= rademacher_average(values) + 1e-12


def small_queries(rng, measure):
    """Four short queries with features; for NDCG with three grades, for AP with two."""
    sizes = rng.integers(2, 4, 4)
    grades = np.concatenate([np.append([1, 0], rng.integers(0, 2 if measure == "map" else 3, m))[:m] for m in sizes])
    X = rng.standard_normal((len(grades), 2)) * rng.choice([0.3, 1.0, 3.0], (len(grades), 1))
    return rw.Queries(X, grades, np.repeat(np.arange(4), sizes))


@pytest.mark.parametrize("measure", ["ndcg@2", "map"])
@pytest.mark.parametrize("seed", range(6))
def test_vector_contraction_with_a_constant_for_each_query(seed, measure):
    """Maurer 2016: E sup_f Σ_q ε_q ξ_q(f(x_q)) ≤ √2 E sup_f Σ_q Λ_q Σ_i ε_qi f_i(x_q), for any class of functions."""
    rng = np.random.default_rng(seed)
    queries = small_queries(rng, measure)
    losses = StructuredHinge(measure, "linear").on(queries)
    functions = rng.standard_normal((12, queries.n_documents)) * rng.choice([0.1, 1.0, 5.0], (12, 1))
    values = np.array([losses.at(scores).values for scores in functions])
    per_document = np.repeat(lipschitz_of(losses).constants, queries.sizes)
    assert rademacher_average(values) <= math.sqrt(2) * rademacher_average(per_document * functions) + 1e-12


# Linear rankers


def highest_correlations(losses, X, B, rng):
    """E_ε of max_w Σ_q ε_q ξ_q(Xw) over ‖w‖ ≤ B, from below: of many w the best, moved on by steps that gain."""
    starts = rng.standard_normal((60, X.shape[1]))
    starts *= B / np.linalg.norm(starts, axis=1, keepdims=True)
    starts = np.concatenate([starts, starts * rng.random((60, 1)), np.zeros((1, X.shape[1]))])
    values = np.array([losses.at(X @ w).values for w in starts])
    every, offsets = signs(losses.n_queries), losses.offsets
    best = np.empty(len(every))
    for number, epsilon in enumerate(every):
        w, best[number] = starts[np.argmax(values @ epsilon)], (values @ epsilon).max()
        step = B
        for _ in range(10):
            slope = X.T @ (np.repeat(epsilon, np.diff(offsets)) * losses.at(X @ w).gradient)
            moved = w + step * slope / max(np.linalg.norm(slope), 1e-300)
            moved *= min(1.0, B / max(np.linalg.norm(moved), 1e-300))
            reached = float(losses.at(X @ moved).values @ epsilon)
            if reached > best[number]:
                w, best[number] = moved, reached
            else:
                step /= 3
    return float(best.mean())


@pytest.mark.parametrize(("measure", "B"), [("ndcg@2", 0.2), ("ndcg@2", 5.0), ("map", 1.0)])
@pytest.mark.parametrize("seed", range(2))
def test_linear_rankers_stay_below_both_closed_forms(seed, measure, B):
    rng = np.random.default_rng(seed)
    queries = small_queries(rng, measure)
    losses = StructuredHinge(measure, "discount" if measure != "map" else "linear").on(queries)
    blocks, found = QueryBlocks(queries.X, queries.grouping), lipschitz_of(losses)
    spread, products = spreads(blocks), squared_products(blocks, found.targets)
    contraction = B * math.sqrt(math.pi / 2 * found.constants**2 @ spread)
    comparison = B * (math.sqrt(math.pi / 2 * found.radii**2 @ spread) + math.sqrt(products.sum()))
    reached = highest_correlations(losses, queries.X, B, rng)
    assert 0.1 * min(contraction, comparison) < reached <= min(contraction, comparison)
    bound = risk_bound(plain.linear_model([1.0, 0.0]), queries, kind="argmax", measure=measure, B=B)
    assert bound.complexity == pytest.approx(2 * min(contraction, comparison) / 4, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_gaussian_averages_bound_rademacher_averages(seed):
    """E_ε sup Σ ε h ≤ √(π/2) E_g sup Σ g h, and g of a Λ-Lipschitz h is no higher than g of its arguments."""
    rng = np.random.default_rng(seed)
    queries = small_queries(rng, "ndcg@2")
    losses = StructuredHinge("ndcg@2", "discount").on(queries)
    functions = queries.X @ rng.standard_normal((2, 25))
    values = np.array([losses.at(scores).values for scores in functions.T])
    draws = 20_000
    of_values = (rng.standard_normal((draws, 4)) @ values.T).max(axis=1)
    scaled = np.repeat(lipschitz_of(losses).constants, queries.sizes)[:, None] * functions
    of_scores = (rng.standard_normal((draws, len(scaled))) @ scaled).max(axis=1)
    error = 4 * math.sqrt((of_values.var() + of_scores.var()) / draws)
    assert rademacher_average(values) <= math.sqrt(math.pi / 2) * of_values.mean() + error
    assert of_values.mean() <= of_scores.mean() + error


# From a sample to the risk


def population(rng, n_queries, n_rankers):
    """Some queries, and min(ξ, 1) of each under each of some rankers of length 1 at most."""
    sizes = rng.integers(2, 5, n_queries)
    grades = np.concatenate([np.append([1, 0], rng.integers(0, 3, m))[:m] for m in sizes])
    X = rng.standard_normal((len(grades), 2)) * np.repeat(rng.choice([0.05, 1.0], n_queries), sizes)[:, None]
    queries = rw.Queries(X, grades, np.repeat(np.arange(n_queries), sizes))
    losses = StructuredHinge("ndcg@2", "discount").on(queries)
    rankers = rng.standard_normal((n_rankers, 2))
    rankers /= np.maximum(np.linalg.norm(rankers, axis=1, keepdims=True), 1.0)
    return queries, losses, np.minimum([losses.at(X @ w).values for w in rankers], 1.0)


@pytest.mark.parametrize("seed", range(5))
def test_symmetrisation_and_bounded_differences_over_all_samples(seed):
    """E sup (risk − empirical) ≤ 2 E R_N, and sup (risk − empirical) − 2R_N moves by 3/N with one query at most."""
    _, _, values = population(np.random.default_rng(seed), 3, 20)
    N = 4
    samples = np.array(list(itertools.product(range(3), repeat=N)))
    excess = np.array([(values.mean(axis=1) - values[:, own].mean(axis=1)).max() for own in samples])
    averages = np.array([rademacher_average(values[:, own]) / N for own in samples])
    assert 0 < excess.mean() <= 2 * averages.mean()
    beyond = excess - 2 * averages
    for i, j in itertools.combinations(range(len(samples)), 2):
        if (samples[i] != samples[j]).sum() == 1:
            assert abs(beyond[i] - beyond[j]) <= 3 / N + 1e-12
    for delta in (0.5, 0.1, 0.01):
        assert (beyond > 3 * formulas.confidence(N, delta)).mean() <= delta
        assert (excess - 2 * averages.mean() > formulas.confidence(N, delta)).mean() <= delta


def test_the_bound_holds_for_all_rankers_at_once_in_most_samples():
    rng = np.random.default_rng(0)
    queries, losses, values = population(rng, 40, 100)
    blocks, found = QueryBlocks(queries.X, queries.grouping), lipschitz_of(losses)
    spread, products = spreads(blocks), squared_products(blocks, found.targets)
    N, delta, exceeded, highest = 25, 0.5, 0, []
    for _ in range(1000):
        own = rng.integers(0, 40, N)
        contraction = 2 * math.sqrt(math.pi / 2 * found.constants[own] ** 2 @ spread[own]) / N
        comparison = math.sqrt(math.pi / 2 * found.radii[own] ** 2 @ spread[own]) + math.sqrt(products[own].sum())
        excess = (values.mean(axis=1) - values[:, own].mean(axis=1)).max()
        bound = min(contraction, 2 * comparison / N) + 3 * formulas.confidence(N, delta)
        exceeded += excess > bound
        highest.append(excess / bound)
    assert exceeded <= delta * 1000
    assert max(highest) > 0.05  # so the two are of one size


# Polynomial beside factorial


@pytest.mark.parametrize("m", [2, 3, 4, 5, 6, 7, 8, 10, 30, 100, 1000, 10_000])
@pytest.mark.parametrize("weights", ["discount", "linear", "pairs"])
def test_the_complexity_of_full_rankings_is_below_that_of_theorem_4(weights, m):
    """For every m from 2 on, and by a factor that grows as m!/√m."""
    A, B, M, N, delta = WEIGHTS[weights](m), 0.5, 2.0, 1000, 0.05
    farthest, away = np.linalg.norm(A - A[::-1]), A - A.mean()
    radius, largest_sum = np.linalg.norm(away), np.abs(away).sum()
    theirs = formulas.sum_of_hinges(formulas.log_factorial(m), 1.0, B, largest_sum * M, N, delta)
    contraction = formulas.by_contraction(farthest, B, M, m, N)
    comparison = formulas.by_comparison(radius, largest_sum, B, M, m, N)
    for ours in (contraction, comparison):
        # 2√2 Λ√m ≤ 4√2 Λ₀√m and Λ₀ ≤ max‖·‖₁/√2 where coefficients sum to 0, so the ratio is at least m!/√m.
        assert math.log(ours) <= theirs.complexity - formulas.log_factorial(m) + math.log(m) / 2 + 1e-9
        assert math.log(ours) < theirs.complexity
    assert math.log(3 * formulas.confidence(N, delta)) < theirs.confidence
