"""The plain hinge against liblinear's dual coordinate descent, closed forms, and its own certificate."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import rankwright as rw
from rankwright.losses import PreorderLoss
from rankwright.solvers.hinge import minimise_hinge
from rankwright.solvers.solved import Goal
from tests.losses import reference as ref
from tests.objectives import linear_objective


def collection(seed=0, rows=50, queries=7, n=4):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


def liblinear(objective):
    """The least value that LinearSVC finds. Margins are divided out: c·max(0, m − d·w) = cm·max(0, 1 − (d/m)·w)."""
    D, weight = objective.D / objective.m[:, None], objective.c * objective.m
    svc = LinearSVC(
        loss="hinge",
        dual=True,
        fit_intercept=False,
        tol=1e-9,
        C=0.5 / objective.alpha,
        max_iter=3_000_000,
        random_state=0,
    )
    both, labels = np.vstack([D, -D]), np.repeat([1, -1], len(D))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # its value is one to compare with all the same
        svc.fit(both, labels, sample_weight=np.tile(weight, 2))
    return objective.value(svc.coef_[0])


def is_minimum(ranker, objective, theirs):
    told = objective.value(ranker.coef_)
    assert ranker.objective_ == pytest.approx(told, rel=1e-10, abs=1e-14)
    assert ranker.converged_
    assert 0 <= ranker.gap_ <= ranker.tol * ranker.objective_
    assert told <= theirs * (1 + 1e-6)
    # The bound is below every value there is.
    bound = ranker.objective_ - ranker.gap_
    assert bound <= theirs * (1 + 1e-13)
    rng = np.random.default_rng(0)
    for scale in (1e-6, 1e-3, 0.1, 1.0, 10.0):
        for direction in rng.standard_normal((20, len(ranker.coef_))):
            assert objective.value(ranker.coef_ + scale * direction) >= bound * (1 - 1e-13)
            assert objective.value(scale * direction) >= bound * (1 - 1e-13)


@pytest.mark.parametrize("alpha", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("margin", ["unit", "position"])
@pytest.mark.parametrize("weights", ["unit", "per-query", "gain-per-query"])
def test_liblinear_finds_nothing_better(alpha, margin, weights):
    X, y, qid = collection()
    if weights != "unit":
        alpha /= 10  # the losses are smaller
    ranker = rw.RankSVM(alpha, loss="hinge", margin=margin, weights=weights, tol=1e-6).fit(X, y, qid=qid)
    objective = ref.PairObjective(X, ref.preorder_pairs(y, qid, weights, margin), "hinge", alpha)
    theirs = liblinear(objective)
    is_minimum(ranker, objective, theirs)
    assert ranker.objective_ == pytest.approx(theirs, rel=1e-4)  # and it is the same problem


def test_full_rankings_and_preference_graphs():
    X, y, qid = collection(rows=30)
    rng = np.random.default_rng(0)
    ranks = np.empty(30, int)
    edges = []
    for rows in ref.rows_by_query(qid.tolist()):
        ranks[rows] = rng.permutation(len(rows)) + 1
        edges += [(i, j, float(rng.choice([0.5, 3.0]))) for i in rows for j in rows if y[i] > y[j]]
    for margin in ("unit", "position"):
        ranker = rw.RankSVM(0.5, loss="hinge", margin=margin, tol=1e-6, measures=())
        ranker.fit(rw.Queries(X, rw.FullRanking(ranks), qid))
        objective = ref.PairObjective(X, ref.preorder_pairs((-ranks).tolist(), qid, "unit", margin), "hinge", 0.5)
        is_minimum(ranker, objective, liblinear(objective))
    better, worse, cost = zip(*edges, strict=True)
    queries = rw.Queries(X, rw.PreferenceGraph(30, better, worse, cost), qid)
    for weights in ("unit", "per-query"):
        ranker = rw.RankSVM(0.5, loss="hinge", weights=weights, tol=1e-6, measures=()).fit(queries)
        objective = ref.PairObjective(X, ref.edge_pairs(edges, qid, weights), "hinge", 0.5)
        is_minimum(ranker, objective, liblinear(objective))


def test_a_centre_is_a_shift_of_the_margins():
    """w = w₀ + v: the pairs ask for margin − w₀ᵀ(x_i − x_j) of v; the bound holds for that, too."""
    X, y, qid = collection()
    center = np.array([0.5, -1.0, 2.0, 0.0])
    for margin in ("unit", "position"):
        ranker = rw.RankSVM(0.5, loss="hinge", margin=margin, center=center, tol=1e-6).fit(X, y, qid=qid)
        pairs = ref.preorder_pairs(y, qid, margin=margin)
        objective = ref.PairObjective(X, pairs, "hinge", 0.5, center)
        smooth = ref.PairObjective(X, pairs, "hinge", 0.5, center)
        w, least = ranker.coef_, np.inf
        for k in range(4000):  # subgradient descent with steps 1/λk: slow, but it needs nothing
            w = w - smooth.gradient(w) / (0.5 * (k + 200))
            least = min(least, objective.value(w))
        is_minimum(ranker, objective, least)
        assert least <= ranker.objective_ * (1 + 1e-3)


def test_sample_weights():
    X, y, qid = collection()
    ids = list(dict.fromkeys(qid.tolist()))
    weights = np.array([2.0, 0.0, 1.0, 0.5, 1.0, 3.0, 1.0])[: len(ids)]
    ranker = rw.RankSVM(0.5, loss="hinge", tol=1e-6).fit(X, y, qid=qid, sample_weight=weights)
    pairs = [pair for pair in ref.preorder_pairs(y, qid, sample_weight=weights) if pair.weight > 0]
    objective = ref.PairObjective(X, pairs, "hinge", 0.5)
    is_minimum(ranker, objective, liblinear(objective))


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 1.0, 7.0, 1e3])
@pytest.mark.parametrize("difference", [[1.0, 0.0], [0.3, -0.4], [3.0, 4.0]])
def test_one_pair_has_a_closed_form(alpha, difference):
    """w = βx/λ with 0 ≤ β ≤ 1; the dual β − β²‖x‖²/2λ is greatest at β = min(1, λ/‖x‖²)."""
    x = np.array(difference)
    beta = min(1.0, alpha / (x @ x))
    least = beta - beta**2 * (x @ x) / (2 * alpha)
    ranker = rw.RankSVM(alpha, loss="hinge", tol=1e-9).fit(np.stack([x, np.zeros(2)]), [1, 0])
    assert ranker.converged_
    assert ranker.objective_ == pytest.approx(least, rel=1e-8)
    np.testing.assert_allclose(ranker.coef_, beta * x / alpha, rtol=1e-3, atol=np.sqrt(2e-9 * least / alpha))


def test_documents_alike_cannot_be_told_apart():
    ranker = rw.RankSVM(2.0, loss="hinge").fit([[1.0, 2.0], [1.0, 2.0]], [1, 0])
    assert ranker.coef_.tolist() == [0, 0]
    assert ranker.objective_ == 1.0
    assert ranker.converged_


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "huber-hinge", "logistic"])
@pytest.mark.parametrize("margin", ["unit", "position"])
def test_without_pairs_the_centre_is_the_answer(loss, margin):
    X, _, qid = collection(rows=12)
    center = np.array([1.0, -2.0, 0.0, 4.0])
    for y, ids in ((np.ones(12), qid), (np.arange(12.0), np.arange(12))):
        for given in (None, center):
            ranker = rw.RankSVM(0.5, loss=loss, margin=margin, center=given).fit(X, y, qid=ids)
            np.testing.assert_array_equal(ranker.coef_, np.zeros(4) if given is None else center)
            assert (ranker.objective_, ranker.gap_, ranker.converged_) == (0.0, 0.0, True)


def test_every_step_has_a_bound_below_and_a_value_above_the_optimum():
    X, y, qid = collection(seed=1)
    queries = rw.Queries(X, y, qid)
    objective = linear_objective(queries, PreorderLoss("hinge"), 0.1, np.zeros(4))
    pairs = ref.PairObjective(X, ref.preorder_pairs(y, qid), "hinge", 0.1)
    seen = []

    def note(weights, value, bound):
        assert value == pytest.approx(pairs.value(weights), rel=1e-11)
        seen.append((value, bound))
        return False

    done = minimise_hinge(objective, np.zeros(4), Goal(1e-7, 500, note))
    assert done.converged
    values, bounds = map(np.array, zip(*seen, strict=True))
    assert (np.diff(values) <= 0).all()
    assert (np.diff(bounds) >= 0).all()
    assert (bounds <= done.value).all()
    assert done.value - done.bound <= 1e-7 * done.value
    assert (values >= done.bound).all()
    theirs = liblinear(pairs)
    assert done.bound <= theirs
    assert done.value <= theirs * (1 + 1e-6)


def test_it_stops_when_told_and_warns_when_out_of_steps():
    X, y, qid = collection()
    queries = rw.Queries(X, y, qid)
    objective = linear_objective(queries, PreorderLoss("hinge"), 0.1, np.zeros(4))
    stopped = minimise_hinge(objective, np.zeros(4), Goal(1e-9, 500, lambda *seen: True))
    assert stopped.steps == 1
    assert not stopped.converged
    with pytest.warns(ConvergenceWarning, match="alpha = 0.1"):
        ranker = rw.RankSVM(0.1, loss="hinge", tol=1e-9, max_iter=2).fit(X, y, qid=qid)
    assert not ranker.converged_
    assert ranker.n_iter_ <= 2
    pairs = ref.PairObjective(X, ref.preorder_pairs(y, qid), "hinge", 0.1)
    assert ranker.objective_ - ranker.gap_ <= liblinear(pairs) <= ranker.objective_
