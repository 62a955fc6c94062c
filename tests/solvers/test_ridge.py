"""Weights for every λ against exact rational arithmetic and scikit-learn, on data that are hard on normal equations."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge

import rankwright as rw
from rankwright.data.centred import Moments
from rankwright.engines import engine_of
from rankwright.engines.centred_sums import CentredSums
from rankwright.solvers.ridge import SpectralSystems, choose_solver, ridge_path, rough_solutions
from tests import retraining
from tests.objectives import centred

ALPHAS = 2.0 ** np.array([-15, -8, 0, 8, 15])


def exact_rankrls(X, y, qid, alpha):
    """The weights as exact fractions, rounded once at the end: Gaussian elimination of the normal equations."""
    n = X.shape[1]
    system = [[Fraction(alpha) * (i == j) for j in range(n)] + [Fraction(0)] for i in range(n)]
    for query in np.unique(qid):
        rows = [
            [Fraction(v) for v in [*row, grade]] for row, grade in zip(X[qid == query], y[qid == query], strict=True)
        ]
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        for row in ([v - mean for v, mean in zip(row, means, strict=True)] for row in rows):
            for i in range(n):
                for j in range(n + 1):
                    system[i][j] += row[i] * row[j]
    for i in range(n):
        for k in range(i + 1, n):
            factor = system[k][i] / system[i][i]
            system[k] = [a - factor * b for a, b in zip(system[k], system[i], strict=True)]
    weights = [Fraction(0)] * n
    for i in reversed(range(n)):
        rest = sum((system[i][j] * weights[j] for j in range(i + 1, n)), Fraction(0))
        weights[i] = (system[i][n] - rest) / system[i][i]
    return np.array([float(w) for w in weights])


def hard_data(kind):
    rng = np.random.default_rng(5)
    X, qid = rng.standard_normal((48, 6)), np.repeat(np.arange(8), 6)
    if kind == "scales":
        scale = np.array([1e-3, 1, 1e3, 1e5, 1, 1])
        X = (X + 10) * scale
    X[:, 4] = X[:, 3] * 2e-5
    X[:, 5] = X[:, 1] + 1e-6 * rng.standard_normal(48)
    return X, rng.integers(0, 3, 48).astype(float), qid


@pytest.mark.parametrize("kind", ["collinear", "scales"])
@pytest.mark.parametrize(
    ("solver", "weight_error", "score_error"), [("primal", 1e-8, 1e-12), ("dual", 1e-7, 1e-10), ("cg", 1e-5, 1e-9)]
)
def test_weights_are_those_of_exact_arithmetic(kind, solver, weight_error, score_error):
    X, y, qid = hard_data(kind)
    data = centred(rw.Queries(X, y, qid))
    path = ridge_path(data, ALPHAS, solver)
    for alpha, weights in zip(ALPHAS, path.weights, strict=True):
        exact = exact_rankrls(X, y, qid, alpha)
        assert np.linalg.norm(weights - exact) <= weight_error * np.linalg.norm(exact)
        scores, difference = retraining.centred(X @ exact, qid), retraining.centred(X @ (weights - exact), qid)
        assert np.linalg.norm(difference) <= score_error * np.linalg.norm(scores)


def test_refinement_makes_normal_equations_as_good_as_orthogonal_methods():
    X, y, qid = hard_data("scales")
    ours = ridge_path(centred(rw.Queries(X, y, qid)), ALPHAS, "primal").weights
    for alpha, weights in zip(ALPHAS, ours, strict=True):
        exact, by_qr = exact_rankrls(X, y, qid, alpha), retraining.rankrls(X, y, qid, alpha)

        def error(w, exact=exact):
            return np.linalg.norm(retraining.centred(X @ (w - exact), qid))

        assert error(weights) <= 10 * error(by_qr) + 1e-15


def test_one_query_is_ridge_regression():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.integers(0, 5, 30).astype(float)
    ours = ridge_path(centred(rw.Queries(X, y)), np.array([0.5, 3.0])).weights
    for alpha, weights in zip([0.5, 3.0], ours, strict=True):
        np.testing.assert_allclose(weights, Ridge(alpha).fit(X, y).coef_, rtol=1e-12)


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array, np.asfortranarray])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_storage_does_not_matter(store, dtype):
    rng = np.random.default_rng(1)
    X = (rng.standard_normal((2500, 5)) * (rng.random((2500, 5)) < 0.5)).astype(dtype)
    y, qid = rng.integers(0, 3, 2500).astype(float), rng.integers(0, 40, 2500)  # rows of a query stand apart
    ours = ridge_path(centred(rw.Queries(store(X), y, qid)), ALPHAS).weights
    for alpha, weights in zip(ALPHAS, ours, strict=True):
        np.testing.assert_allclose(weights, retraining.rankrls(X, y, qid, alpha), rtol=1e-9, atol=1e-14)


def test_a_query_longer_than_a_block():
    rng = np.random.default_rng(2)
    X, y = rng.standard_normal((5000, 3)) + 1e6, rng.integers(0, 3, 5000).astype(float)
    qid = np.repeat([7, 8, 9], [1, 3500, 1499])
    ours = ridge_path(centred(rw.Queries(X, y, qid)), np.array([1.0])).weights[0]
    np.testing.assert_allclose(ours, retraining.rankrls(X, y, qid, 1.0), rtol=1e-9)


def test_the_smaller_matrix_is_chosen():
    rng = np.random.default_rng(0)
    wide, tall = rng.random((6, 20)), rng.random((20, 6))
    assert choose_solver(centred(rw.Queries(wide, np.zeros(6)))) == "dual"
    assert choose_solver(centred(rw.Queries(tall, np.zeros(20)))) == "primal"
    very_wide = sp.csr_array(([1.0], ([0], [9999])), shape=(6, 10_000))
    assert choose_solver(centred(rw.Queries(very_wide, np.zeros(6)))) == "cg"


def test_a_lambda_below_rounding_still_gives_the_least_squares_solution():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((20, 2)) * 1e9
    X = np.column_stack([X, X[:, 0]])  # X̂ᵀX̂ + λI is singular in float64
    y = rng.integers(0, 3, 20).astype(float)
    weights = ridge_path(centred(rw.Queries(X, y)), np.array([1e-6])).weights[0]
    best = np.linalg.lstsq(X - X.mean(0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose((X - X.mean(0)) @ weights, (X - X.mean(0)) @ best, rtol=1e-6, atol=1e-9)


def test_passes_over_the_data():
    rng = np.random.default_rng(4)
    data = centred(rw.Queries(rng.random((40, 3)), rng.integers(0, 2, 40), rng.integers(0, 5, 40)))
    ridge_path(data, ALPHAS)
    assert data.passes == 2


def test_multi_shift_cg_reports_its_residuals():
    X, y, qid = hard_data("collinear")
    path = ridge_path(centred(rw.Queries(X, y, qid)), ALPHAS, "cg")
    Xc, yc = retraining.centred(X, qid), retraining.centred(y, qid)
    for alpha, weights, told in zip(ALPHAS, path.weights, path.gradients, strict=True):
        gradient = Xc.T @ (yc - Xc @ weights) - alpha * weights
        assert np.linalg.norm(gradient) / np.linalg.norm(Xc.T @ yc) <= 2 * told + 1e-14
        assert told < 1e-9


# Float32 columns: products in float32, and corrections


def single_columns(n_columns, spread, seed=0):
    """Float32 columns whose singular values fall by so much, on another scale each."""
    random = np.random.default_rng(seed)
    left, _, right = np.linalg.svd(random.standard_normal((1200, n_columns)), full_matrices=False)
    x = left * np.geomspace(1, spread, n_columns) @ right * 30
    return rw.Queries(x.astype(np.float32), random.integers(0, 4, 1200), np.repeat(np.arange(120), 10))


@pytest.mark.parametrize(("spread", "is_rough"), [(0.1, True), (1e-6, False)])
def test_rough_products_are_corrected_or_left(spread, is_rough):
    queries = single_columns(300, spread)
    exact = rw.Queries(queries.X.astype(np.float64), queries.y, queries.qid)
    data = CentredSums(engine_of(queries))
    found = ridge_path(data, ALPHAS).weights
    assert data.rough_moments()[1] is is_rough  # once exact ones are there, they are what is given
    expected = ridge_path(CentredSums(engine_of(exact)), ALPHAS).weights
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


def test_few_columns_are_multiplied_in_float64():
    data = CentredSums(engine_of(single_columns(200, 0.1)))
    assert data.rough_moments() == (data.moments(), False)


def test_rough_moments_are_nearly_those():
    queries = single_columns(300, 0.1)
    rough, are_rough = CentredSums(engine_of(queries)).rough_moments()
    exact = CentredSums(engine_of(queries)).moments()
    assert are_rough
    assert 0 < np.abs(rough.gram - exact.gram).max() < 3e-6 * np.diag(exact.gram).max()
    assert rough.gram.dtype == np.float64


def test_factors_that_are_not_kept_solve_the_same(monkeypatch):
    queries = single_columns(40, 0.1)
    kept = ridge_path(CentredSums(engine_of(queries)), ALPHAS).weights
    monkeypatch.setattr("rankwright.solvers.ridge._MOST_NUMBERS_KEPT", 0)
    np.testing.assert_array_equal(ridge_path(CentredSums(engine_of(queries)), ALPHAS).weights, kept)


def test_one_eigendecomposition_serves_every_lambda():
    rng = np.random.default_rng(6)
    X, products = rng.standard_normal((30, 12)), rng.standard_normal(12)
    systems = SpectralSystems(X.T @ X, ALPHAS)
    wanted = np.stack([np.linalg.solve(X.T @ X + alpha * np.eye(12), products) for alpha in ALPHAS], axis=1)
    np.testing.assert_allclose(systems.solve(products), wanted, rtol=1e-9)
    np.testing.assert_allclose(systems.solve(np.tile(products[:, None], len(ALPHAS))), wanted, rtol=1e-9)


def test_an_eigenvalue_that_rounding_made_negative_counts_as_zero():
    turned = np.linalg.qr(np.random.default_rng(7).standard_normal((3, 3)))[0]
    solved = rough_solutions(Moments(turned @ np.diag([-1e-3, 1.0, 4.0]) @ turned.T, turned.sum(axis=1)), ALPHAS)
    np.testing.assert_allclose(turned.T @ solved, 1 / (np.array([[0.0], [1.0], [4.0]]) + ALPHAS), rtol=1e-8)


def test_rough_solutions_know_features_on_very_different_scales():
    rng = np.random.default_rng(8)
    X, y = rng.standard_normal((40, 4)) * [1e-6, 1.0, 1e3, 1e6], rng.standard_normal(40)
    solved = rough_solutions(Moments(X.T @ X, X.T @ y), np.array([1e-13]))[:, 0]
    np.testing.assert_allclose(solved, retraining.ridge(X, y, 1e-13), rtol=1e-6)
