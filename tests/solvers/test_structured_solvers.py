"""Five solvers of one convex problem against an interior-point method that knows the constraint of every ranking."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

import rankwright as rw
from rankwright.data.products import FeatureProducts
from rankwright.losses import StructuredHinge
from rankwright.losses.structured import APLosses
from rankwright.solvers import cutting_plane, structured_objective
from rankwright.solvers.cutting_plane import TRICKS
from tests.objectives import SeenPlanes
from tests.solvers.programme import CENTER, Programme, average_precision, collection, ndcg

SOLVERS = ["bundle", "cutting-plane", "frank-wolfe", "subgradient", "conjugate-subgradient"]
# The measure, A, and every ranking of a list.
LOSSES = {
    "ndcg@1": ("ndcg@1", "linear", ndcg(1)),
    "ndcg@3": ("ndcg@3", "linear", ndcg(3)),
    "ndcg@2, inverse-sqrt": ("ndcg@2", "inverse-sqrt", ndcg(2, "inverse-sqrt")),
    "ndcg@5, discount": ("ndcg@5", "discount", ndcg(5, "discount")),
    "ndcg@3, array": ("ndcg@3", [2.0, 1.0, 0.5], ndcg(3, [2.0, 1.0, 0.5])),
    "map": ("map", "linear", average_precision),
}
TOLERANCE = 1e-4


def is_optimal(ranker, programme, alpha, center=None):
    """The objective is what it says, the optimum is between it and the lower bound, and these are close together."""
    least = programme.optimum(alpha, center)
    assert ranker.objective_ == pytest.approx(programme.value(ranker.coef_, alpha, center), rel=1e-9, abs=1e-13)
    assert ranker.lower_bound_ <= least.value * (1 + 1e-9)
    assert ranker.objective_ >= least.bound * (1 - 1e-9)
    assert ranker.converged_
    assert ranker.gap_ == pytest.approx(ranker.objective_ - ranker.lower_bound_, abs=1e-15)
    assert 0 <= ranker.gap_ <= ranker.tol * ranker.objective_
    # λ-strong convexity: what is near in the objective is near in the weights.
    size = np.sqrt(2 * (ranker.gap_ + 2e-10 * least.value) / alpha)
    assert np.linalg.norm(ranker.coef_ - least.weights) <= 2 * size


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("noise", [0.3, 1.5])
def test_the_optimum_is_that_of_all_constraints(solver, loss, noise):
    measure, weights, rankings_of = LOSSES[loss]
    X, y, qid = collection(noise=noise)
    programme = Programme(X, y, qid, rankings_of)
    for alpha, center in itertools.product([0.02, 1.0, 20.0], [None, CENTER]):
        ranker = rw.StructuredRanker(
            measure, alpha, solver=solver, position_weights=weights, center=center, tol=TOLERANCE
        )
        with warnings.catch_warnings():
            warnings.simplefilter("error", ConvergenceWarning)
            ranker.fit(X, y, qid=qid)
        is_optimal(ranker, programme, alpha, center)


@pytest.mark.parametrize("loss", ["ndcg@3", "map"])
@pytest.mark.parametrize("alpha", [1e-6, 1e-3])
@pytest.mark.parametrize("center", [None, CENTER], ids=["at 0", "at a centre"])
def test_a_small_lambda_does_not_slow_the_bundle_down(loss, alpha, center):
    measure, _, rankings_of = LOSSES[loss]
    for seed in range(4):
        X, y, qid = collection(seed)
        ranker = rw.StructuredRanker(measure, alpha, center=center, tol=TOLERANCE, max_iter=20).fit(X, y, qid=qid)
        is_optimal(ranker, Programme(X, y, qid, rankings_of), alpha, center)


@pytest.mark.parametrize("solver", ["subgradient", "conjugate-subgradient"])
def test_subgradients_do_not_get_stuck_at_corners(solver):
    """A few steps for each feature are enough, whatever the data."""
    for seed, loss, alpha, center in itertools.product(
        range(4), ["ndcg@1", "ndcg@3", "map"], [0.03, 1], [None, CENTER]
    ):
        measure, _, rankings_of = LOSSES[loss]
        X, y, qid = collection(seed, noise=0.3)
        ranker = rw.StructuredRanker(measure, alpha, solver=solver, center=center, tol=TOLERANCE, max_iter=60)
        is_optimal(ranker.fit(X, y, qid=qid), Programme(X, y, qid, rankings_of), alpha, center)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", ["csr", "float32", "fortran", "csr float32"])
def test_any_kind_of_features(solver, kind):
    X, y, qid = collection(n=4)
    X[np.abs(X) < 0.7] = 0.0
    X = X.astype(np.float32 if "float32" in kind else np.float64)
    given = sp.csr_array(X) if "csr" in kind else np.asfortranarray(X) if kind == "fortran" else X
    for loss in ("ndcg@3", "map"):
        measure, _, rankings_of = LOSSES[loss]
        ranker = rw.StructuredRanker(measure, 0.5, solver=solver, tol=TOLERANCE).fit(given, y, qid=qid)
        is_optimal(ranker, Programme(X, y, qid, rankings_of), 0.5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["ndcg@3", "map"])
def test_weights_of_queries_and_ids_of_any_kind(solver, loss):
    measure, _, rankings_of = LOSSES[loss]
    X, y, qid = collection()
    names = np.array([f"query {9 - code}" for code in qid])
    weights = np.array([2.0, 0.0, 1.0, 0.5, 1.0, 3.0, 0.25])
    programme = Programme(X, y, names, rankings_of, weights)
    ranker = rw.StructuredRanker(measure, 0.3, solver=solver, center=CENTER, tol=TOLERANCE)
    is_optimal(ranker.fit(X, y, qid=names, sample_weight=weights), programme, 0.3, CENTER)
    ids = list(dict.fromkeys(names.tolist()))
    of_row = weights[[ids.index(name) for name in names]]
    is_optimal(ranker.fit(X, y, qid=names, sample_weight=of_row), programme, 0.3, CENTER)


@pytest.mark.parametrize("solver", ["bundle", "cutting-plane", "frank-wolfe"])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_wide_data(solver, kind, monkeypatch):
    """Planes are kept as numbers for documents then."""
    X, y, qid = collection(n=40)
    monkeypatch.setattr(structured_objective, "_MOST_FEATURES", 30)
    for loss, center in itertools.product(["ndcg@3", "map"], [None, np.linspace(-1, 1, 40)]):
        measure, _, rankings_of = LOSSES[loss]
        ranker = rw.StructuredRanker(measure, 3.0, solver=solver, center=center, tol=TOLERANCE)
        is_optimal(ranker.fit(kind(X), y, qid=qid), Programme(X, y, qid, rankings_of), 3.0, center)


@pytest.fixture(scope="module", name="many")
def enough_queries_to_be_read_in_parts():
    return rw.datasets.make_queries(80, 12, 6, n_informative=3, n_correlated=2, seed=3, dtype=np.float64).queries


@pytest.mark.parametrize("measure", ["ndcg@5", "map"])
def test_all_agree_where_rankings_are_too_many(many, measure):
    fits = [rw.StructuredRanker(measure, 5.0, solver=solver, tol=TOLERANCE).fit(many) for solver in SOLVERS]
    assert all(ranker.converged_ for ranker in fits)
    objectives = np.array([ranker.objective_ for ranker in fits])
    bounds = np.array([ranker.lower_bound_ for ranker in fits])
    assert bounds.max() <= objectives.min()
    assert objectives.max() - objectives.min() <= TOLERANCE * objectives.max()
    losses = StructuredHinge(measure).on(many)
    for ranker in fits:
        told = 2.5 * ranker.coef_ @ ranker.coef_ + losses.at(many.X @ ranker.coef_).value
        assert ranker.objective_ == pytest.approx(told, rel=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_readings_and_rankings_are_counted(solver, bound, monkeypatch):
    """By what is asked of features and losses: scores, rows multiplied back on their own, queries evaluated."""
    X, y, qid = collection(sizes=(30,) * 20)  # enough to be read in parts
    read, found = [], []

    def note(cls, name, ranges):
        original = getattr(cls, name)

        def noted(self, first, last, *rest):
            ranges.append((first, last))
            return original(self, first, last, *rest)

        monkeypatch.setattr(cls, name, noted)

    note(FeatureProducts, "scores", read)
    note(FeatureProducts, "add_transposed", read)
    note(APLosses, "evaluate", found)
    ranker = rw.StructuredRanker("map", 1.0, solver=solver, bound=bound, center=np.zeros(3)).fit(X, y, qid=qid)
    assert ranker.argmax_calls_ == sum(last - first for first, last in found)
    assert ranker.passes_ == sum(last == 20 for _, last in read)  # how often the last query has been read
    assert ranker.argmax_calls_ >= 20 * ranker.n_iter_ > 0
    assert ranker.passes_ >= ranker.n_iter_


@pytest.mark.parametrize("loss", ["ndcg@3", "map"])
def test_every_set_of_tricks_reaches_the_optimum(loss):
    measure, _, rankings_of = LOSSES[loss]
    X, y, qid = collection()
    programme = Programme(X, y, qid, rankings_of)
    for size in range(5):
        for tricks in itertools.combinations(TRICKS, size):
            ranker = rw.StructuredRanker(measure, 0.5, solver="cutting-plane", tricks=tricks, tol=TOLERANCE)
            is_optimal(ranker.fit(X, y, qid=qid), programme, 0.5)


def test_a_programme_that_takes_long_is_gone_on_with(monkeypatch):
    """Begun anew each time, programmes that are broken off would never come to an end."""
    X, y, qid = collection(sizes=(5, 5, 5, 4, 4), n=5)
    programme = Programme(X, y, qid, ndcg(3))
    monkeypatch.setattr(cutting_plane, "_MOST_SWEEPS", 3)
    for tricks in ((), TRICKS[1:], *((trick,) for trick in TRICKS[1:])):
        ranker = rw.StructuredRanker("ndcg@3", 0.1, solver="cutting-plane", tricks=tricks, tol=TOLERANCE)
        is_optimal(ranker.fit(X, y, qid=qid), programme, 0.1)


def test_a_programme_counts_as_solved_by_its_gap_at_the_last_weights(monkeypatch):
    """Not by what queries have seen in their turns, while the weights were moving: here that is a tenth of it."""
    queries = rw.datasets.make_queries(n_queries=150, documents=20, n_features=15, noise=1.0, seed=3).queries
    solve, solved = cutting_plane._solve_programme, []

    def check(objective, planes, weights, gap, tricks):
        is_solved = solve(objective, planes, weights, gap, tricks)
        v = planes.combined()
        at = objective.center - v / objective.alpha
        least = planes.bound(v, objective.alpha, objective.center)
        planes.set_heights(at)
        left = objective.penalty(at) + SeenPlanes(planes).heights.max(axis=1).sum() - least
        assert not is_solved or left <= 0.11 * gap
        solved.append(is_solved)
        return is_solved

    monkeypatch.setattr(cutting_plane, "_solve_programme", check)
    rw.StructuredRanker("ndcg@10", 300.0, solver="cutting-plane", tricks=TRICKS[1:], tol=0.1).fit(queries)
    assert sum(solved) > 5


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("loss", ["ndcg@3", "map"])
def test_every_step_is_told_with_a_bound_below_the_optimum(solver, loss):
    measure, _, rankings_of = LOSSES[loss]
    X, y, qid = collection()
    least = Programme(X, y, qid, rankings_of).optimum(0.3)
    seen = []
    ranker = rw.StructuredRanker(measure, 0.3, solver=solver, tol=1e-6)
    ranker.fit(X, y, qid=qid, progress=lambda told: seen.append(told.iteration))
    values, gaps = (np.array([getattr(step, name) for step in seen]) for name in ("objective", "gap"))
    assert len(seen) == ranker.n_iter_
    assert (values >= least.bound * (1 - 1e-9)).all()
    assert (values - gaps <= least.value * (1 + 1e-9)).all()
    assert (np.diff(values) <= 0).all()
    assert (np.diff(values - gaps) >= -1e-14).all()
    assert values[-1] == ranker.objective_


@pytest.mark.parametrize("solver", SOLVERS)
def test_out_of_steps(solver):
    """What is told then is still true."""
    X, y, qid = collection()
    with pytest.warns(ConvergenceWarning, match="after 2 steps"):
        ranker = rw.StructuredRanker("ndcg@3", 0.1, solver=solver, tol=1e-9, max_iter=2).fit(X, y, qid=qid)
    assert not ranker.converged_
    assert ranker.n_iter_ == 2
    programme = Programme(X, y, qid, ndcg(3))
    assert ranker.lower_bound_ <= programme.optimum(0.1).value <= ranker.objective_
    assert ranker.objective_ == pytest.approx(programme.value(ranker.coef_, 0.1), rel=1e-10)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("difference", [[1.0, 0.0], [0.3, -0.4], [3.0, 4.0]])
def test_one_pair_has_a_closed_form(solver, difference):
    """NDCG@1 of a pair is a hinge with margin 1, Δ = 1 − 0: w = βx/λ with β = min(1, λ/‖x‖²)."""
    x = np.array(difference)
    for alpha in (0.01, 1.0, 30.0):
        beta = min(1.0, alpha / (x @ x))
        ranker = rw.StructuredRanker("ndcg@1", alpha, solver=solver, tol=1e-7).fit(np.stack([x, 0 * x]), [1, 0])
        assert ranker.objective_ == pytest.approx(beta - beta**2 * (x @ x) / (2 * alpha), rel=2e-7)
        np.testing.assert_allclose(ranker.coef_, beta * x / alpha, atol=2 * np.sqrt(2e-7 / alpha))
