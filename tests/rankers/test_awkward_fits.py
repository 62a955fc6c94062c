"""Fits that went wrong once: streams after fits, tiny corners, features that are not finite, bad scales."""

import itertools
import subprocess
import sys
import warnings
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import rankwright as rw
from rankwright.solvers import conjugate_gradient, ridge


def collection(seed=0, rows=60, queries=8, n=4):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


# A stream ends where fit begins


def test_partial_fit_after_a_fit_on_other_features():
    """In a process of its own, as kernels that go beyond their arrays may crash it."""
    code = """
import numpy as np, rankwright as rw
rng = np.random.default_rng(0)
X, y, qid = rng.standard_normal((40, 300)), rng.integers(0, 3, 40), np.repeat(np.arange(8), 5)
ranker = rw.RankSVM()
ranker.partial_fit(X[:, :2], y, qid=qid)
ranker.fit(X, y, qid=qid)
try:
    ranker.partial_fit(X, y, qid=qid)
except (rw.RankwrightError, ValueError):
    print("refused")
else:
    print("shape", ranker.coef_.shape)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in ("refused", "shape (300,)")


# The gap of the hinge is a certificate, however sharp the corner


@pytest.mark.parametrize(
    ("offset", "alpha", "tol"), [(100, 1e-3, 1e-4), (5, 1e-3, 1e-6), (5, 1e-3, 1e-9), (5, 1e-6, 1e-9), (5, 1.0, 1e-9)]
)
def test_the_gap_of_the_hinge_is_a_certificate(offset, alpha, tol):
    """One pair, x_i − x_j = (3, 4): the optimum is β − 25β²/2λ with β = min(1, λ/25)."""
    beta = min(1.0, alpha / 25)
    least = beta - 25 * beta**2 / (2 * alpha)
    X = np.array([[3.0, 4.0], [0.0, 0.0]]) + offset
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = rw.RankSVM(alpha, loss="hinge", tol=tol).fit(X, [1, 0], group=[2])
    assert ranker.gap_ >= 0
    assert ranker.objective_ - ranker.gap_ <= least * (1 + 1e-12)
    if ranker.converged_:
        assert ranker.objective_ <= least * (1 + tol) * (1 + 1e-12)


# Infinite features are refused by every solver


def test_hinge_with_features_that_are_infinite():
    X, y, qid = collection()
    X[7, 3] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(rw.DataError, match="row 7"):
            rw.RankSVM(loss="hinge").fit(X, y, qid=qid)


@pytest.mark.parametrize(("loss", "solver"), [("hinge", "newton"), ("hinge", "sgd"), ("squared-hinge", "sgd")])
def test_a_query_without_pairs_with_features_that_are_infinite(loss, solver):
    """Such a query has no part in the loss, but its scores must be finite, too."""
    X, y, qid = collection()
    X, y, qid = np.vstack([[[1.0, np.inf, 0.0, 0.0]], X]), np.append(1, y), np.append(99, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(rw.DataError, match="row 0"):
            rw.RankSVM(loss=loss, solver=solver, random_state=0).fit(X, y, qid=qid)


# The objective never rises


def test_the_objective_never_rises_on_a_path():
    """At w = 0 the objective is the number of pairs."""
    X, y, qid = collection()
    pairs = sum(1 for i in range(60) for j in range(60) if qid[i] == qid[j] and y[i] > y[j])
    seen = []
    rw.RankSVM(rw.search(1e-3, 1e4), loss="huber-hinge").fit(
        X, y, qid=qid, valid=rw.Queries(X, y, qid), progress=lambda now: seen.append(now.iteration)
    )
    assert max(iteration.objective for iteration in seen if iteration.alpha == 1e-3) <= pairs


def test_newton_never_rises_from_any_start():
    from rankwright.losses import PreorderLoss
    from rankwright.solvers.newton import newton
    from tests.objectives import linear_objective

    queries = rw.Queries(*collection())
    objective = linear_objective(queries, PreorderLoss("huber-hinge"), 1e-3, np.zeros(4))
    first = objective.at(np.full(4, 1e-3))
    values = [first.value]
    newton(
        objective,
        first,
        lambda p: objective.gap(p) <= 1e-8 * p.value,
        most_steps=99,
        after_step=lambda p: bool(values.append(p.value)),
    )
    assert all(b <= a for a, b in itertools.pairwise(values)), values[:3]


# Edges given twice add up


def test_wpd_of_repeated_edges():
    """a_01 = 3 as three edges of 1, or as one of 3: the same graph, so the same r ≥ 0."""
    from rankwright.losses.standardise import standardised

    thrice = rw.Queries(None, rw.PreferenceGraph(2, [0, 0, 0], [1, 1, 1]))
    once = rw.Queries(None, rw.PreferenceGraph(2, [0], [1], [3.0]))
    np.testing.assert_array_equal(standardised(once.judgments, "wpd", None), [9, 3])
    np.testing.assert_array_equal(standardised(thrice.judgments, "wpd", None), [9, 3])


# Features of other scales


def test_a_badly_scaled_feature_converges():
    X, y, qid = collection()
    X[:, 2] *= 1e4
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert rw.RankSVM(0.1, tol=1e-6).fit(X, y, qid=qid).converged_


def test_badly_scaled_features_converge_to_the_default_tolerance():
    rng = np.random.default_rng(0)
    X, y, qid = rng.standard_normal((40, 4)), rng.integers(0, 4, 40), rng.integers(0, 6, 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert rw.RankSVM(1e-3).fit(X * 10.0 ** np.linspace(-4, 4, 4), y, qid=qid).converged_


# A bad alpha is named


def test_alpha_as_an_array_is_refused_by_name():
    X, y, qid = collection()
    with pytest.raises(rw.ParameterError, match="alpha"):
        rw.RankSVM(np.array([1.0, 2.0])).fit(X, y, qid=qid)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_kernel_that_overflows_is_told():
    X = np.array([[1.0], [1e65], [2.0], [3.0]])
    with pytest.raises(rw.DataError, match="row 1: kernel 'poly' overflows: rescale the features"):
        rw.KernelRankRLS(1.0, kernel="poly", degree=5).fit(X, [0, 1, 0, 1], [1, 1, 2, 2])


# The same answer from every ranker

RANKERS = {
    "RankRLS": rw.RankRLS(),
    "RankRLS, a search": rw.RankRLS(rw.search()),
    "GreedyRankRLS": rw.GreedyRankRLS(n_features=2),
    "KernelRankRLS": rw.KernelRankRLS(),
    "RegressionRanker": rw.RegressionRanker(),
    **{f"RankSVM, {loss}": rw.RankSVM(loss=loss) for loss in ("squared-hinge", "hinge", "huber-hinge", "logistic")},
    "RankSVM, sgd": rw.RankSVM(solver="sgd"),
    "RankSVM, a search": rw.RankSVM(rw.search()),
    "OrderPreservingRanker": rw.OrderPreservingRanker(),
    **{
        f"StructuredRanker, {solver}, {bound}": rw.StructuredRanker("ndcg@3", solver=solver, bound=bound)
        for solver, bound in itertools.product(
            ("bundle", "cutting-plane", "frank-wolfe", "subgradient", "conjugate-subgradient"), ("convex", "tight")
        )
    },
}


@pytest.mark.parametrize("ranker", RANKERS.values(), ids=RANKERS)
def test_features_whose_powers_overflow_are_named(ranker):
    X, y, qid = collection()
    X[11, 2] = -3.0
    for scale, kind in itertools.product((1e160, 1e200), (np.array, sp.csr_array)):
        large = X.copy()
        large[11:, 2] *= scale
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(rw.DataError, match=rf"row 11 \(query {qid[11]}\), feature 'f3': .* rescale"):
                clone(ranker).fit(kind(large), y, qid=qid)


@pytest.mark.parametrize("ranker", [*RANKERS.values(), rw.RankBoost(3)], ids=[*RANKERS, "RankBoost"])
def test_where_nothing_can_be_learned_it_is_told(ranker):
    X, y, qid = collection()
    cases = [
        (y, np.arange(len(y)), "every row is its own query.* is qid the right column"),
        (qid % 3, qid, "in every query all documents have the same grade"),
    ]
    for grades, ids, told in cases:
        with pytest.warns(UserWarning, match=f"nothing can be learned: {told}"):
            clone(ranker).fit(X, grades, qid=ids)


def test_what_can_be_learned_from_is_not_warned_of():
    """One pair is enough, and so are rankings and preferences; a part of a stream may well have none."""
    X, y, qid = collection()
    one_pair = (qid % 3).astype(float)
    one_pair[np.flatnonzero(qid == qid[0])[0]] += 1
    edges = rw.PreferenceGraph(len(y), np.flatnonzero(qid == 1)[:1], np.flatnonzero(qid == 1)[1:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rw.RankRLS().fit(X, one_pair, qid=qid)
        rw.RankSVM().fit(rw.Queries(X, edges, qid))
        rw.RankSVM().partial_fit(X, qid % 3, qid=qid)


def test_regression_on_wide_sparse_data_that_is_not_solved_is_told(monkeypatch):
    X, y, qid = collection()
    monkeypatch.setattr(ridge, "_MOST_FEATURES_OF_MATRIX", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        solved = rw.RegressionRanker().fit(sp.csr_array(X), y, qid=qid)
    np.testing.assert_allclose(solved.coef_, rw.RegressionRanker().fit(X, y, qid=qid).coef_, rtol=1e-9)
    monkeypatch.setattr(conjugate_gradient, "_ROUNDS", 0)
    few = partial(conjugate_gradient.shifted_conjugate_gradients, most_products=2)
    monkeypatch.setattr(ridge, "shifted_conjugate_gradients", few)
    with pytest.warns(ConvergenceWarning, match="conjugate gradients stopped for alpha = 1"):
        rw.RegressionRanker().fit(sp.csr_array(X), y, qid=qid)


@pytest.mark.parametrize("offset", [1e7, 1.7e9])
@pytest.mark.parametrize("is_wide", [False, True])
def test_regression_on_sparse_data_keeps_the_digits_of_a_feature_that_is_large_beside_its_spread(
    offset, is_wide, monkeypatch
):
    """A time among features of 0 and 1: weights and scores are those of the time counted from another day."""
    if is_wide:
        monkeypatch.setattr(ridge, "_MOST_FEATURES_OF_MATRIX", 2)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 60, 80), rng.random((80, 6)) < 0.2]).astype(float)
    y = np.clip(np.round(X[:, 0] / 20 + X[:, 1] + rng.standard_normal(80) / 4), 0, 3)
    late = X + offset * (np.arange(7) == 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = rw.RegressionRanker(0.5).fit(sp.csr_array(late), y, group=[len(y)])
    centred, target = X - X.mean(axis=0), y - y.mean()
    exact = np.linalg.solve(centred.T @ centred + 0.5 * np.eye(7), centred.T @ target)
    np.testing.assert_allclose(ours.coef_, exact, rtol=1e-7)
    np.testing.assert_allclose(ours.predict(sp.csr_array(late)), centred @ exact + y.mean(), atol=1e-5)
