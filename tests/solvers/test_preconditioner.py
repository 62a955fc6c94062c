"""The preconditioner against λI + XᵀHX put together from explicit matrices."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rankwright as rw
from rankwright.data.products import FeatureProducts
from rankwright.losses import OrderPreservingLoss, PreorderLoss, SquaredLoss
from rankwright.solvers import preconditioner as module
from rankwright.solvers.preconditioner import preconditioner
from tests.losses import reference as ref
from tests.objectives import linear_objective


def collection(rows=60, queries=6, n=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((rows, n)), rng.integers(0, 4, rows), rng.integers(0, queries, rows)


def made(X, y, qid, loss, alpha, w, store=np.asarray):
    queries = rw.Queries(store(X), y, qid)
    objective = linear_objective(queries, loss, alpha, np.zeros(X.shape[1]))
    return objective, objective.at(w)


def is_matrix(made_of, matrix):
    """Whether M⁻¹(matrix · v) = v and √(vᵀMv) is the norm by the matrix, for any v."""
    for v in np.random.default_rng(1).standard_normal((6, len(matrix))):
        np.testing.assert_allclose(made_of.solve(matrix @ v), v, rtol=1e-8, atol=1e-10)
        assert made_of.norm(v) == pytest.approx(np.sqrt(v @ matrix @ v), rel=1e-11)


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge", "logistic"])
@pytest.mark.parametrize(
    ("weights", "margin"), list(itertools.product(["unit", "gain-per-query"], ["unit", "position"]))
)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_with_all_queries_it_is_the_hessian(phi, weights, margin, store):
    X, y, qid = collection()
    w = np.random.default_rng(5).standard_normal(4) / 2
    objective, point = made(X, y, qid, PreorderLoss(phi, weights, margin), 0.7, w, store)
    pairs = ref.preorder_pairs(y.astype(float), qid, weights, margin)
    low, high = ref.evaluate(pairs, phi, X @ w, qid).hessian
    np.testing.assert_array_equal(low, high)  # no pair stands at a corner
    hessian = 0.7 * np.eye(4) + X.T @ low @ X
    is_matrix(preconditioner(objective, point, None, 10**6), hessian)
    for v in np.eye(4):
        np.testing.assert_allclose(objective.curve(point, v), hessian @ v, rtol=1e-11, atol=1e-11)


def test_of_other_losses():
    X, y, qid = collection()
    w = np.random.default_rng(5).standard_normal(4) / 2
    objective, point = made(X, y, qid, OrderPreservingLoss("huber-hinge", "ndcg", 3), 0.7, w)
    pairs = ref.order_preserving_pairs(ref.ndcg_r(y, qid, 3), qid)
    hessian = ref.evaluate(pairs, "huber-hinge", X @ w, qid).hessian[0]
    is_matrix(preconditioner(objective, point, None, 10**6), 0.7 * np.eye(4) + X.T @ hessian @ X)
    objective, point = made(X, y, qid, SquaredLoss("dcg"), 0.7, w)
    is_matrix(preconditioner(objective, point, None, 10**6), 0.7 * np.eye(4) + 2 * X.T @ X)
    graph = rw.PreferenceGraph(
        60, *np.array([(i, j) for i in range(60) for j in range(60) if qid[i] == qid[j] and i < j]).T
    )
    objective, point = made(X, graph, qid, PreorderLoss("logistic"), 0.7, w)
    edges = [(int(i), int(j), 1.0) for i, j in zip(graph.preferred, graph.other, strict=True)]
    hessian = ref.evaluate(ref.edge_pairs(edges, qid), "logistic", X @ w, qid).hessian[0]
    is_matrix(preconditioner(objective, point, None, 10**6), 0.7 * np.eye(4) + X.T @ hessian @ X)


def test_of_many_features_it_is_positive_and_diagonal(monkeypatch):
    """Σ h_d x_d² + λ, where h is the diagonal of the loss's Hessian."""
    X, y, qid = collection()
    w = np.random.default_rng(5).standard_normal(4) / 2
    diagonal = np.diag(ref.evaluate(ref.preorder_pairs(y, qid), "logistic", X @ w, qid).hessian[0])
    monkeypatch.setattr(module, "_MOST_FEATURES", 3)
    for store in (np.asarray, sp.csr_array):
        objective, point = made(X, y, qid, PreorderLoss("logistic"), 0.7, w, store)
        is_matrix(preconditioner(objective, point, None, 10**6), np.diag(0.7 + diagonal @ X**2))


def test_of_a_part_of_the_queries_it_is_about_as_large(monkeypatch):
    """All queries are alike: every other one, taken twice, is the whole."""
    X, y, _ = collection(rows=10)
    X, y, qid = np.tile(X, (8, 1)), np.tile(y, 8), np.repeat(np.arange(8), 10)
    monkeypatch.setattr(module, "_DOCUMENTS_PER_FEATURE", 10)  # 40 of 80 documents
    monkeypatch.setattr(module, "_DOCUMENTS_PER_RUN", 10)
    objective, point = made(X, y, qid, PreorderLoss("logistic"), 0.7, np.full(4, 0.1))
    seen = []
    monkeypatch.setattr(FeatureProducts, "rows_of", _noting(FeatureProducts.rows_of, seen))
    hessian = ref.evaluate(ref.preorder_pairs(y, qid), "logistic", X @ np.full(4, 0.1), qid).hessian[0]
    is_matrix(preconditioner(objective, point, None, 10**6), 0.7 * np.eye(4) + X.T @ hessian @ X)
    assert 0 < len({q for run in seen for q in range(*run)}) < 8


def test_without_a_cholesky_factor_the_diagonal_must_do(monkeypatch):
    """Whether rounding makes the factorisation fail depends on the machine: here it is made to."""
    X, y, qid = collection()
    w = np.random.default_rng(5).standard_normal(4) / 2
    objective, point = made(X, y, qid, PreorderLoss("logistic"), 0.7, w)
    hessian = 0.7 * np.eye(4) + X.T @ ref.evaluate(ref.preorder_pairs(y, qid), "logistic", X @ w, qid).hessian[0] @ X

    def fails(*matrix, **options):
        raise np.linalg.LinAlgError

    monkeypatch.setattr(module.scipy.linalg, "cholesky", fails)
    is_matrix(preconditioner(objective, point, None, 10**6), np.diag(np.diag(hessian)))


def _noting(function, seen):
    def noting(self, first, last):
        seen.append((first, last))
        return function(self, first, last)

    return noting


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge", "logistic"])
@pytest.mark.parametrize("kind", ["rank-deficient", "scaled", "both", "zeros", "wide", "huge copies"])
def test_features_that_are_hard_to_factor(phi, kind):
    """It stays positive definite, and Newton's method reaches the optimum with it."""
    X, y, qid = collection(rows=40, n=60 if kind == "wide" else 4)
    if kind in ("rank-deficient", "both"):
        X = np.hstack([X, X, X[:, :1] + X[:, 1:2], np.ones((40, 1))])
    if kind in ("scaled", "both"):
        X = X * 10.0 ** np.linspace(-4, 4, X.shape[1])
    if kind == "huge copies":  # λ is less than rounding of the Hessian, so that it may have no Cholesky factor
        X = 1e6 * np.hstack([X, 3 * X])
    if kind == "zeros":
        X[:, 1:] = 0
    alpha = 1e-3
    objective, point = made(X, y, qid, PreorderLoss(phi), alpha, np.zeros(X.shape[1]))
    model = preconditioner(objective, point, None, 10**6)
    for v in np.random.default_rng(1).standard_normal((5, X.shape[1])):
        assert model.norm(v) > 0
        assert v @ model.solve(v) > 0
    with warnings.catch_warnings():  # the gap ‖∇F‖²/2λ is loose where features differ in scale by 10⁸
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = rw.RankSVM(alpha, loss=phi, tol=1e-8).fit(X, y, qid=qid)
    least = ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, alpha)
    assert ranker.objective_ == pytest.approx(least.value(ranker.coef_), rel=1e-10)
    assert ranker.objective_ <= least.value(least.minimum(ranker.coef_)) * (1 + 1e-7)
