"""Minima found by Newton's method against SciPy and liblinear on explicit pairs."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

import rankwright as rw
from rankwright.losses import PreorderLoss
from rankwright.solvers import preconditioner
from rankwright.solvers.newton import newton
from tests.losses import reference as ref
from tests.objectives import linear_objective

SMOOTH = ["squared-hinge", "huber-hinge", "logistic"]
WEIGHTS, MARGINS = ["unit", "per-query", "gain-per-query"], ["unit", "position"]


def collection(seed=0, rows=60, queries=8, n=4):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


def ranking_of(y, qid):
    """A full ranking by y, the first of equals first."""
    ranks = np.empty(len(y), int)
    for rows in ref.rows_by_query(qid.tolist()):
        ranks[np.array(rows)[np.argsort(-y[rows], kind="stable")]] = np.arange(len(rows)) + 1
    return ranks


def some_edges(y, qid, seed=0):
    rng = np.random.default_rng(seed)
    return [
        (i, j, float(rng.choice([0.5, 1.0, 2.0])))
        for rows in ref.rows_by_query(qid.tolist())
        for i, j in itertools.permutations(rows, 2)
        if y[i] > y[j] or rng.random() < 0.1
    ]


def graph_of(edges, n):
    better, worse, weights = zip(*edges, strict=True)
    return rw.PreferenceGraph(n, better, worse, weights)


def is_minimum(ranker, objective):
    """The objective is what it says, nothing that SciPy finds is lower, and the gap is an upper bound."""
    told = objective.value(ranker.coef_)
    assert ranker.objective_ == pytest.approx(told, rel=1e-9, abs=1e-14)
    least = objective.value(objective.minimum())
    assert told <= least * (1 + 1e-6) + 1e-14
    assert told >= least * (1 - 1e-6) - 1e-14
    assert ranker.objective_ - least <= ranker.gap_ + 1e-13 * abs(told)
    assert ranker.converged_
    assert ranker.gap_ <= ranker.tol * ranker.objective_


@pytest.mark.parametrize("phi", SMOOTH)
@pytest.mark.parametrize(("weights", "margin"), list(itertools.product(WEIGHTS, MARGINS)))
def test_preorder_losses_of_grades(phi, weights, margin):
    X, y, qid = collection()
    for alpha in (0.01, 3.0):
        ranker = rw.RankSVM(alpha, loss=phi, weights=weights, margin=margin, tol=1e-8).fit(X, y, qid=qid)
        is_minimum(ranker, ref.PairObjective(X, ref.preorder_pairs(y, qid, weights, margin), phi, alpha))


@pytest.mark.parametrize("phi", SMOOTH)
def test_preorder_losses_of_rankings_and_graphs(phi):
    X, y, qid = collection()
    ranks = ranking_of(y, qid)
    for margin in MARGINS:
        queries = rw.Queries(X, rw.FullRanking(ranks), qid)
        ranker = rw.RankSVM(0.1, loss=phi, weights="per-query", margin=margin, tol=1e-8, measures=()).fit(queries)
        pairs = ref.preorder_pairs((-ranks).tolist(), qid, "per-query", margin)
        is_minimum(ranker, ref.PairObjective(X, pairs, phi, 0.1))
    edges = some_edges(y, qid)
    for weights in ("unit", "per-query"):
        queries = rw.Queries(X, graph_of(edges, len(y)), qid)
        ranker = rw.RankSVM(0.1, loss=phi, weights=weights, tol=1e-8, measures=()).fit(queries)
        is_minimum(ranker, ref.PairObjective(X, ref.edge_pairs(edges, qid, weights), phi, 0.1))


@pytest.mark.parametrize("phi", ["squared-hinge", "huber-hinge"])
@pytest.mark.parametrize("normalize", [False, True])
def test_order_preserving_losses(phi, normalize):
    X, y, qid = collection()
    ranks, edges = ranking_of(y, qid), some_edges(y, qid)
    for name, cutoff, supervision, r in (
        ("dcg", None, y, ref.dcg_r(y, qid)),
        ("ndcg", None, y, ref.ndcg_r(y, qid)),
        ("ndcg", 3, y, ref.ndcg_r(y, qid, 3)),
        ("zero-one", None, rw.FullRanking(ranks), ref.zero_one_r(ranks, qid)),
        ("wpd", None, graph_of(edges, len(y)), ref.wpd_r(edges, qid)),
    ):
        ranker = rw.OrderPreservingRanker(
            0.3, standardize=name, cutoff=cutoff, loss=phi, normalize=normalize, tol=1e-8, measures=()
        ).fit(rw.Queries(X, supervision, qid))
        pairs = ref.order_preserving_pairs(r, qid, normalize)
        is_minimum(ranker, ref.PairObjective(X, pairs, phi, 0.3))


@pytest.mark.parametrize("normalize", [False, True])
def test_the_squared_loss_is_ridge_regression(normalize):
    """Solved by orthogonal least squares on the stacked system, to a centre that is not 0."""
    X, y, qid = collection()
    center = np.array([1.0, -2.0, 0.5, 3.0])
    sizes = np.array([np.sum(qid == query) for query in qid])
    c = np.sqrt(2 / sizes if normalize else np.full(len(y), 2.0))
    for name, r in (("dcg", ref.dcg_r(y, qid)), ("ndcg", ref.ndcg_r(y, qid, 2))):
        ranker = rw.OrderPreservingRanker(
            0.8, loss="squared", standardize=name, cutoff=2, normalize=normalize, center=center, tol=1e-14
        ).fit(X, y, qid=qid)
        system = np.vstack([c[:, None] * X, np.sqrt(0.8) * np.eye(4)])
        expected = np.linalg.lstsq(system, np.append(c * np.array(r), np.sqrt(0.8) * center), rcond=None)[0]
        np.testing.assert_allclose(ranker.coef_, expected, rtol=1e-6)
        errors = X @ expected - r
        least = 0.4 * np.sum((expected - center) ** 2) + 0.5 * np.sum((c * errors) ** 2)
        assert ranker.objective_ == pytest.approx(least, rel=1e-10)


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_the_squared_hinge_is_that_of_liblinear(alpha):
    """Each difference with label +1 and its negative with −1, at half of C = 1/λ."""
    X, y, qid = collection()
    objective = ref.PairObjective(X, ref.preorder_pairs(y, qid), "squared-hinge", alpha)
    svc = LinearSVC(
        loss="squared_hinge", dual=False, fit_intercept=False, tol=1e-10, C=0.5 / alpha, max_iter=100_000
    ).fit(np.vstack([objective.D, -objective.D]), np.repeat([1, -1], len(objective.D)))
    theirs = objective.value(svc.coef_[0])
    ranker = rw.RankSVM(alpha, tol=1e-8).fit(X, y, qid=qid)
    assert ranker.objective_ == pytest.approx(theirs, rel=1e-6)
    assert ranker.objective_ - ranker.gap_ <= theirs * (1 + 1e-12)


@pytest.mark.parametrize("phi", SMOOTH)
def test_a_centre(phi):
    X, y, qid = collection()
    center = np.array([-2.0, 1.0, 5.0, 0.0])
    for alpha in (0.5, 50.0):
        ranker = rw.RankSVM(alpha, loss=phi, margin="position", center=center, tol=1e-8).fit(X, y, qid=qid)
        pairs = ref.preorder_pairs(y, qid, margin="position")
        is_minimum(ranker, ref.PairObjective(X, pairs, phi, alpha, center))
    # With λ so large that nothing else counts, it stays where it is.
    np.testing.assert_allclose(rw.RankSVM(1e12, loss=phi, center=center).fit(X, y, qid=qid).coef_, center, atol=1e-8)


@pytest.mark.parametrize("phi", SMOOTH)
@pytest.mark.parametrize("alpha", [1e-4, 1e-2, 1.0, 1e2, 1e4])
def test_from_little_to_much_regularisation(phi, alpha):
    X, y, qid = collection(seed=3)
    ranker = rw.RankSVM(alpha, loss=phi, tol=1e-8).fit(X, y, qid=qid)
    is_minimum(ranker, ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, alpha))


@pytest.mark.parametrize("phi", SMOOTH)
def test_separable_data_with_next_to_no_regularisation(phi):
    X, _, qid = collection(seed=4)
    y = np.argsort(np.argsort(X[:, 0])) // 15
    ranker = rw.RankSVM(1e-4, loss=phi, tol=1e-8).fit(X, y, qid=qid)
    is_minimum(ranker, ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, 1e-4))


@pytest.mark.parametrize("phi", SMOOTH)
@pytest.mark.parametrize("scale", [1e4, 1e-4])
def test_features_of_different_scales(phi, scale):
    """SciPy gets the scaled problem, too: start it at our answer, which it must not be able to improve.

    Only the objective is asked about: the gap ‖∇F‖²/2λ is loose by the ratio of the scales, squared.
    """
    X, y, qid = collection()
    X[:, 2] *= scale
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ranker = rw.RankSVM(0.1, loss=phi, tol=1e-8).fit(X, y, qid=qid)
    objective = ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, 0.1)
    for start in (np.zeros(4), ranker.coef_):
        least = objective.value(objective.minimum(start))
        assert ranker.objective_ <= least * (1 + 1e-6)
        assert ranker.objective_ - least <= ranker.gap_ + 1e-13 * least
    assert ranker.objective_ == pytest.approx(objective.value(ranker.coef_), rel=1e-9)


@pytest.mark.parametrize("phi", SMOOTH)
def test_sample_weights(phi):
    """Weight 2 is the query twice, weight 0 is the query left out; by queries or by rows."""
    X, y, qid = collection()
    ids = list(dict.fromkeys(qid.tolist()))
    weights = np.ones(len(ids))
    weights[1], weights[4] = 2, 0
    twice, out = qid == ids[1], qid == ids[4]
    more = np.vstack([X[~out], X[twice]]), np.append(y[~out], y[twice]), np.append(qid[~out], np.full(twice.sum(), 99))
    by_hand = rw.RankSVM(0.1, loss=phi, tol=1e-10).fit(*more[:2], qid=more[2])
    by_row = weights[[ids.index(query) for query in qid]]
    for given in (weights, by_row):
        ours = rw.RankSVM(0.1, loss=phi, tol=1e-10).fit(X, y, qid=qid, sample_weight=given)
        assert ours.objective_ == pytest.approx(by_hand.objective_, rel=1e-9)
        close = np.sqrt(2 * ours.gap_ / 0.1) + np.sqrt(2 * by_hand.gap_ / 0.1) + 1e-9  # λ-strong convexity
        assert np.linalg.norm(ours.coef_ - by_hand.coef_) <= close
        is_minimum(ours, ref.PairObjective(X, ref.preorder_pairs(y, qid, sample_weight=weights), phi, 0.1))


@pytest.mark.parametrize("phi", SMOOTH)
@pytest.mark.parametrize("alpha", [0.01, 10.0])
def test_the_gap_bounds_what_is_left_to_gain_from_the_first_step_on(phi, alpha):
    X, y, qid = collection(seed=2)
    objective = ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, alpha)
    least = objective.value(objective.minimum())
    gaps = []
    for steps in range(1, 11):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # that is the point
            ranker = rw.RankSVM(alpha, loss=phi, tol=1e-15, max_iter=steps).fit(X, y, qid=qid)
        assert ranker.objective_ == pytest.approx(objective.value(ranker.coef_), rel=1e-10)
        assert ranker.objective_ - least <= ranker.gap_ + 1e-13 * least
        gaps.append(ranker.gap_)
    assert gaps[0] > 1e-10 * least > gaps[-1]


def same_optimum(one, other, alpha):
    """Two answers for one objective are as close as their gaps and λ-strong convexity say."""
    assert one.converged_
    assert other.converged_
    allowed = np.sqrt(2 * one.gap_ / alpha) + np.sqrt(2 * other.gap_ / alpha) + 1e-10
    assert np.linalg.norm(one.coef_ - other.coef_) <= allowed


@pytest.mark.parametrize("phi", SMOOTH)
def test_csr_float32_and_other_layouts_give_the_same(phi):
    X, y, qid = collection()
    X *= np.random.default_rng(0).random(X.shape) < 0.5
    X32 = X.astype(np.float32)
    make = lambda features: rw.RankSVM(0.1, loss=phi, tol=1e-11).fit(features, y, qid=qid)  # noqa: E731
    dense, single = make(X), make(X32.astype(np.float64))
    for features in (sp.csr_array(X), np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        same_optimum(make(features), dense, 0.1)
    for features in (X32, sp.csr_array(X32)):
        same_optimum(make(features), single, 0.1)


@pytest.mark.parametrize("threads", ["2", "3"])
def test_threads_do_not_change_the_answer(threads, monkeypatch):
    from rankwright.machine import threads as engine

    X, y, qid = collection(rows=400, queries=40)
    for phi in SMOOTH:
        ranker = rw.RankSVM(0.1, loss=phi, tol=1e-9)
        monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
        one = ranker.fit(X, y, qid=qid).coef_
        monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
        with monkeypatch.context() as patch:
            patch.setattr(engine, "_DOCUMENTS_WORTH_A_THREAD", 1)
            several = [ranker.fit(X, y, qid=qid).coef_ for _ in range(3)]
        np.testing.assert_allclose(several[0], one, rtol=1e-9)
        for other in several:
            np.testing.assert_array_equal(other, several[0])


@pytest.mark.parametrize("phi", SMOOTH)
@pytest.mark.parametrize("settings", [{"_MOST_FEATURES": 1}, {"_DOCUMENTS_PER_FEATURE": 1, "_DOCUMENTS_PER_RUN": 8}])
def test_a_rough_preconditioner_leads_to_the_same_minimum(phi, settings, monkeypatch):
    """The diagonal, or a few queries: then conjugate gradients have more to do."""
    X, y, qid = collection(rows=200, queries=30)
    for name, value in settings.items():
        monkeypatch.setattr(preconditioner, name, value)
    X[:, 1] += 3 * X[:, 0]
    ranker = rw.RankSVM(0.1, loss=phi, tol=1e-8).fit(X, y, qid=qid)
    is_minimum(ranker, ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, 0.1))


@pytest.mark.parametrize("phi", SMOOTH)
def test_starts_far_away(phi):
    """Where no pair curves or all are far off, the trust region and the search along the step must do their work."""
    X, y, qid = collection()
    queries = rw.Queries(X, y, qid)
    objective = linear_objective(queries, PreorderLoss(phi), 1e-3, np.zeros(4))
    pairs = ref.PairObjective(X, ref.preorder_pairs(y, qid), phi, 1e-3)
    least = pairs.value(pairs.minimum())
    for start in 10.0 ** np.arange(-3, 5)[:, None] * np.random.default_rng(0).standard_normal((8, 4)):
        values = [objective.at(start).value]

        def note(point, values=values):
            values.append(point.value)
            return False

        done = newton(
            objective,
            objective.at(start),
            lambda p: objective.gap(p) <= 1e-8 * p.value,
            most_steps=300,
            after_step=note,
        )
        assert done.converged
        assert done.value == pytest.approx(least, rel=1e-6)
        if phi != "huber-hinge":
            assert all(b <= a for a, b in itertools.pairwise(values))
        assert done.steps == len(values) - 1


def test_it_may_be_stopped():
    X, y, qid = collection()
    queries = rw.Queries(X, y, qid)
    objective = linear_objective(queries, PreorderLoss("logistic"), 0.1, np.zeros(4))
    start = objective.at(np.zeros(4))
    stopped = newton(objective, start, lambda p: False, most_steps=50, after_step=lambda p: True)
    assert (stopped.steps, stopped.converged) == (1, False)
    assert newton(objective, start, lambda p: True, most_steps=50).steps == 0
