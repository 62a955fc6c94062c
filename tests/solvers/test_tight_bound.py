"""The bound (14) of paper L: descent that never rises, and where it ends, against all rankings written out."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize_scalar

import rankwright as rw
from rankwright.solvers.descent import Descent
from tests.solvers.programme import CENTER, Programme, average_precision, collection, ndcg

PLANES = ["bundle", "cutting-plane", "frank-wolfe"]
SUBGRADIENTS = ["subgradient", "conjugate-subgradient"]
LOSSES = {"ndcg@1": ndcg(1), "ndcg@3": ndcg(3), "map": average_precision}
ALPHA = 0.1


@pytest.mark.parametrize("solver", PLANES + SUBGRADIENTS)
@pytest.mark.parametrize("measure", LOSSES)
@pytest.mark.parametrize("rescale", ["margin", "slack"])
def test_descent_never_rises(solver, measure, rescale):
    for seed, noise in itertools.product(range(3), [0.3, 1.5]):
        X, y, qid = collection(seed, noise)
        programme = Programme(X, y, qid, LOSSES[measure])
        ranker = rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=CENTER, rescale=rescale)
        seen = []
        ranker.fit(X, y, qid=qid, progress=lambda step, seen=seen: seen.append(step.iteration.objective))
        assert (np.diff(seen) <= 0).all()
        assert ranker.objective_ == seen[-1]
        assert ranker.converged_
        exact = programme.value(ranker.coef_, ALPHA, CENTER, "tight", rescale)
        start = programme.value(CENTER, ALPHA, CENTER, "tight", rescale)
        if rescale == "margin":
            assert seen[0] == pytest.approx(start, rel=1e-10, abs=1e-14)
            assert ranker.objective_ == pytest.approx(exact, rel=1e-10, abs=1e-14)
        assert ranker.objective_ - 1e-12 <= exact <= ranker.objective_ + ranker.argmax_gap_ + 1e-12
        assert ranker.objective_ <= start + 1e-12
        assert ranker.lower_bound_ == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("solver", SUBGRADIENTS)
@pytest.mark.parametrize("measure", LOSSES)
def test_every_step_along_a_line_goes_down(solver, measure, monkeypatch):
    """What is told is the least so far; here is what each step has led to, those of convex problems aside."""
    values, owners = [], []
    see = Descent.see

    def note(self, weights, value, bound=-np.inf):
        owners.append(self)
        if self is owners[0]:
            values.append(value)
        see(self, weights, value, bound)

    monkeypatch.setattr(Descent, "see", note)
    for seed in range(4):
        X, y, qid = collection(seed)
        values.clear()
        owners.clear()
        rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=CENTER).fit(X, y, qid=qid)
        assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("solver", PLANES + SUBGRADIENTS)
@pytest.mark.parametrize("measure", LOSSES)
def test_better_than_a_step_down_the_gradient(solver, measure):
    """Along −gradient at w₀, the tight bound lies below that with the targets of w₀, and so gains as much."""
    gains = 0
    for seed, center in itertools.product(range(4), [CENTER, 0.1 * CENTER]):
        X, y, qid = collection(seed)
        programme = Programme(X, y, qid, LOSSES[measure])
        gradient = approx_fprime(center, lambda w, p=programme, c=center: p.value(w, ALPHA, c, "tight"), 1e-8)
        if np.abs(gradient).max() < 1e-6:
            continue

        def above(step, programme=programme, center=center, gradient=gradient):
            return programme.convex_value(center - step * gradient, ALPHA, center, center)

        lowered = minimize_scalar(above, bounds=(0, 1 / ALPHA), method="bounded", options={"xatol": 1e-9}).fun
        gains += lowered < 0.999 * above(0.0)
        ranker = rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=center).fit(X, y, qid=qid)
        assert ranker.objective_ <= lowered * (1 + 2e-3)
    assert gains >= 2


@pytest.mark.parametrize("solver", PLANES)
@pytest.mark.parametrize("measure", LOSSES)
@pytest.mark.parametrize("tolerance", [1e-3, 1e-5])
def test_the_convex_problem_at_the_end_has_no_lower_optimum(solver, measure, tolerance):
    """With the targets of the ranking by its scores fixed, the last weights are optimal but for the tolerance."""
    for seed, center in itertools.product(range(3), [CENTER, np.zeros(3) + 0.1]):
        X, y, qid = collection(seed)
        ranker = rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=center, tol=tolerance)
        ranker.fit(X, y, qid=qid)
        least = Programme(X, y, qid, LOSSES[measure]).optimum(ALPHA, center, targets_at=ranker.coef_)
        assert least.value >= ranker.objective_ * (1 - 2 * tolerance) - 1e-12


@pytest.mark.parametrize("solver", SUBGRADIENTS)
@pytest.mark.parametrize("measure", LOSSES)
def test_subgradients_end_where_they_would_not_gain_much(solver, measure):
    """Where a convex bound that touches the tight one has a lower optimum, there is a direction of descent."""
    for seed, noise in itertools.product(range(3), [0.3, 1.5]):
        X, y, qid = collection(seed, noise)
        ranker = rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=0.1 * CENTER, tol=1e-5)
        ranker.fit(X, y, qid=qid)
        least = Programme(X, y, qid, LOSSES[measure]).optimum(ALPHA, 0.1 * CENTER, targets_at=ranker.coef_)
        assert least.value >= ranker.objective_ * 0.99 - 1e-12


@pytest.mark.parametrize("solver", PLANES + SUBGRADIENTS)
def test_tighter_than_the_convex_bound(solver):
    """From the convex optimum, with the same centre, the tight bound begins below it and ends lower still."""
    X, y, qid = collection()
    programme = Programme(X, y, qid, ndcg(3))
    convex = programme.optimum(ALPHA, CENTER)
    assert programme.value(convex.weights, ALPHA, CENTER, "tight") < convex.value
    ranker = rw.StructuredRanker("ndcg@3", ALPHA, solver=solver, bound="tight", center=convex.weights)
    ranker.fit(X, y, qid=qid)
    assert ranker.objective_ <= programme.losses(convex.weights, "tight").sum() + 1e-12


@pytest.mark.parametrize("solver", PLANES + SUBGRADIENTS)
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_weights_of_queries(solver, measure):
    X, y, qid = collection()
    weights = np.array([2.0, 0.0, 1.0, 0.5, 1.0, 3.0, 0.25])
    programme = Programme(X, y, qid, LOSSES[measure], weights)
    ranker = rw.StructuredRanker(measure, ALPHA, solver=solver, bound="tight", center=CENTER)
    ranker.fit(X, y, qid=qid, sample_weight=weights)
    exact = programme.value(ranker.coef_, ALPHA, CENTER, "tight")
    assert ranker.objective_ == pytest.approx(exact, rel=1e-10)
    assert exact <= programme.value(CENTER, ALPHA, CENTER, "tight")


@pytest.mark.parametrize("solver", ["bundle", "subgradient"])
def test_it_starts_from_a_regression(solver):
    """w₀ is the regression whose λ is best by the measure, by leave-query-out or on the validation queries."""
    X, y, qid = collection(sizes=(8,) * 12)
    valid = rw.Queries(*collection(1, sizes=(8,) * 12))
    for given in (None, valid):
        seen = []
        ranker = rw.StructuredRanker("ndcg@3", 1e9, solver=solver, bound="tight")
        ranker.fit(X, y, qid=qid, valid=given, progress=lambda step, seen=seen: seen.append(step.iteration.objective))
        regression = rw.RegressionRanker(rw.search(), measures="ndcg@3").fit(X, y, qid=qid, valid=given)
        np.testing.assert_allclose(ranker.coef_, regression.coef_, atol=1e-6)  # λ is so large that it stays there
        losses = rw.losses.StructuredHinge("ndcg@3", bound="tight").on(rw.Queries(X, y, qid))
        assert seen[0] == pytest.approx(losses.at(X @ regression.coef_).value, rel=1e-12)
        assert not ranker.stays_at_center_


def test_folds_do_not_know_the_grades_of_the_others():
    """w₀ of each fold is that of its own queries."""
    X, y, qid = collection(sizes=(8,) * 6)
    ids = list(dict.fromkeys(qid.tolist()))
    fold = np.array([ids.index(query) % 3 for query in qid])
    ours = rw.StructuredRanker("map", rw.search(0.1, 10.0), bound="tight", folds=3).fit(X, y, qid=qid)
    for position, alpha in enumerate([0.1, 10.0]):
        scores = np.empty(len(y))
        for part in range(3):
            inside = fold != part
            single = rw.StructuredRanker("map", alpha, bound="tight").fit(X[inside], y[inside], qid=qid[inside])
            scores[~inside] = X[~inside] @ single.coef_
        expected = rw.evaluate(scores, rw.Queries(X, y, qid), "map").means[rw.AP]
        assert ours.path_.folds[rw.AP][position].mean == pytest.approx(expected, abs=1e-9)


def test_one_query_needs_a_centre_or_validation_queries():
    """There is no regression whose λ could be chosen: the message tells what to give."""
    X, y, _ = collection(sizes=(8,))
    with pytest.raises(rw.DataError, match="center"):
        rw.StructuredRanker("ndcg@3", bound="tight").fit(X, y, group=[8])
    ranker = rw.StructuredRanker("ndcg@3", bound="tight", center=CENTER).fit(X, y, group=[8])
    assert ranker.objective_ >= 0


@pytest.mark.parametrize("solver", ["bundle", "cutting-plane", "frank-wolfe", "conjugate-subgradient"])
def test_it_leaves_zero(solver):
    """At w = 0 all documents are tied: the first convex problem is that of an ideal ranking, not of the rows' order."""
    queries = rw.datasets.make_queries(n_queries=40, n_features=10, seed=2).queries
    ranker = rw.StructuredRanker("ndcg@5", 1.0, solver=solver, bound="tight", center=np.zeros(10)).fit(queries)
    at_zero = rw.losses.StructuredHinge("ndcg@5", bound="tight").on(queries).at(np.zeros(queries.n_documents)).value
    assert ranker.objective_ < 0.8 * at_zero
