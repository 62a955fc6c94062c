"""StructuredRanker as an estimator: what it bounds, the choice of λ, learned A, rescaled slacks, odd data, errors."""

import copy
import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import rankwright as rw
from rankwright.losses import StructuredHinge
from rankwright.solvers.structured_objective import StructuredObjective
from tests.solvers.programme import CENTER, Programme, average_precision, collection, ndcg

SOLVERS = ["bundle", "cutting-plane", "frank-wolfe", "subgradient", "conjugate-subgradient"]
GRID = [0.1, 1.0, 10.0, 100.0]


def data(seed=0, queries=15, documents=8, noise=1.0):
    return collection(seed, noise, sizes=(documents,) * queries, n=4)


# What it tells


@pytest.mark.parametrize("measure", ["ndcg@1", "ndcg@3", "ndcg@10", "map"])
@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("rescale", ["margin", "slack"])
def test_losses_bound_the_measure_of_every_query(measure, bound, rescale):
    """Documents alike have equal scores: even their worst order is within the bound."""
    X, y, qid = data(noise=0.5)
    X[::3] = np.round(X[::3])
    X[1::5] = X[0]
    queries = rw.Queries(X, y, qid)
    ranker = rw.StructuredRanker(measure, 0.5, bound=bound, rescale=rescale).fit(queries)
    losses = StructuredHinge(measure, bound=bound, rescale=rescale).on(queries).at(X @ ranker.coef_)
    for ties in ("expected", "worst"):
        convention = rw.CONVENTIONS["default"].but(ties=ties, empty=1.0)
        (quality,) = rw.evaluate(ranker.predict(queries), queries, measure, convention).values.values()
        assert (losses.values >= 1 - quality - 1e-12).all()
    if bound == "convex":
        assert ranker.objective_ == pytest.approx(0.25 * ranker.coef_ @ ranker.coef_ + losses.value, rel=1e-10)


def test_it_learns():
    X, y, qid = data(noise=0.3)
    test = rw.Queries(*data(seed=1, noise=0.3))
    for measure, bound in itertools.product(["ndcg@5", "map"], ["convex", "tight"]):
        ranker = rw.StructuredRanker(measure, 1.0, bound=bound).fit(X, y, qid=qid)
        best, flat = (rw.evaluate(s, test, measure).means for s in (test.X[:, 0] - test.X[:, 1], np.zeros(len(test.X))))
        (value,) = rw.evaluate(ranker, test, measure).means.values()
        assert value > next(iter(flat.values())) + 0.8 * (next(iter(best.values())) - next(iter(flat.values())))
        assert ranker.score(test) == pytest.approx(value)


def test_a_convention_of_the_measure():
    """Linear gains, and relevance from grade 2 on."""
    X, y, qid = collection()
    convention = rw.CONVENTIONS["default"].but(gain="linear", relevant_from=2)
    linear = rw.StructuredRanker("ndcg@3", 0.5, convention=convention, tol=1e-5).fit(X, y, qid=qid)
    as_gains = Programme(X, np.log2(y + 1), qid, ndcg(3)).optimum(0.5)
    assert linear.objective_ == pytest.approx(as_gains.value, rel=2e-5)
    strict = rw.StructuredRanker("map", 0.5, convention=convention, tol=1e-5).fit(X, y, qid=qid)
    assert strict.objective_ == pytest.approx(Programme(X, y - 1, qid, average_precision).optimum(0.5).value, rel=2e-5)


# Nothing learned


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_where_the_convex_bound_stays_at_zero_it_is_told(solver, measure):
    """Each query comes with its mirror image, same grades: F(w) = F(−w), so that 0 is the minimum of the convex one."""
    X, y, qid = collection()
    X, y, qid = np.vstack([X, -X]), np.tile(y, 2), np.concatenate([qid, qid + 100])
    ranker = rw.StructuredRanker(measure, 0.01, solver=solver)
    with pytest.warns(UserWarning, match="bound='tight'"):
        ranker.fit(X, y, qid=qid)
    assert ranker.stays_at_center_
    np.testing.assert_array_equal(ranker.coef_, 0)
    rankings_of = ndcg(3) if measure == "ndcg@3" else average_precision
    assert ranker.lower_bound_ <= Programme(X, y, qid, rankings_of).value(np.zeros(3), 0.01) * (1 + 1e-12)
    assert ranker.lower_bound_ >= Programme(X, y, qid, rankings_of).value(np.zeros(3), 0.01) * (1 - 1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_where_something_is_learned_nothing_is_told(solver):
    X, y, qid = data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rw.StructuredRanker("ndcg@3", 2.0, solver=solver).fit(X, y, qid=qid)
    assert not ranker.stays_at_center_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("center", [None, CENTER], ids=["at 0", "at a centre"])
def test_what_is_nearly_constant_is_learned_all_the_same(solver, center):
    """A query whose documents are alike has the same loss whatever the weights: here it is 99.9 % of the objective.

    By default 99.9 % is gained of what an interior-point method gains without that query.
    """
    X, y, qid = collection()
    alike = np.vstack([X, np.ones((3, 3))]), np.append(y, [2, 1, 0]), np.append(qid, [99, 99, 99])
    heavy = np.append(np.ones(len(y)), [1e5, 1e5, 1e5])
    programme = Programme(X, y, qid, ndcg(3))
    start = np.zeros(3) if center is None else center
    to_gain = programme.value(start, 2.0, center) - programme.optimum(2.0, center).value
    ranker = rw.StructuredRanker("ndcg@3", 2.0, solver=solver, center=center)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker.fit(*alike[:2], qid=alike[2], sample_weight=heavy)
    assert to_gain < 0.001 * ranker.objective_  # so that w₀ itself is within 0.1 % of the least
    gained = programme.value(start, 2.0, center) - programme.value(ranker.coef_, 2.0, center)
    assert 0.999 * to_gain * (1 - 1e-6) <= gained <= to_gain * (1 + 1e-6)
    assert ranker.gain_ == pytest.approx(gained, rel=1e-6)
    assert not ranker.stays_at_center_


@pytest.mark.parametrize("solver", SOLVERS[1:])  # the bundle is certain after one step
def test_nothing_is_said_of_the_centre_that_is_not_certain(solver):
    """After one step the bound is too low to tell, though 0 is in fact the minimum."""
    X, y, qid = collection()
    X, y, qid = np.vstack([X, -X]), np.tile(y, 2), np.concatenate([qid, qid + 100])
    with pytest.warns(ConvergenceWarning, match="of what can be gained over w = 0") as told:
        ranker = rw.StructuredRanker("ndcg@3", 0.01, solver=solver, tol=0.5, max_iter=1).fit(X, y, qid=qid)
    assert len(told) == 1
    assert not ranker.stays_at_center_
    assert not ranker.converged_


def _joined(parts):
    return rw.Queries(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("X", "y", "qid")))


def test_mq2008_is_learned_where_0_is_not_the_minimum_and_told_where_it_is(real_data):
    """All weights together gain 0.03 % of the convex bound on fold 2, and on fold 1 nothing at all."""
    parts = [rw.read_svmlight(real_data / "MQ2008" / f"S{i}.txt.gz") for i in range(1, 6)]
    first, second = (_joined(parts[f : f + 3]) for f in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rw.StructuredRanker("ndcg@10", 1024.0).fit(second)
    assert 0 < ranker.gain_ < 5e-4 * ranker.objective_
    assert ranker.score(parts[0]) > 0.45  # documents in any order have 0.316
    with pytest.warns(UserWarning, match="no weights have a lower convex bound"):
        flat = rw.StructuredRanker("ndcg@10", 1024.0).fit(first)
    assert flat.stays_at_center_
    np.testing.assert_array_equal(flat.coef_, 0)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_without_losses_the_centre_is_the_answer(solver, bound, measure):
    """Queries of one document, or without a relevant one. No bound underfits there, so none is told to."""
    X, y, qid = collection()
    for grades, ids in ((y, np.arange(len(y))), (0 * y, qid)):
        for center in (np.zeros(3), CENTER):
            ranker = rw.StructuredRanker(measure, solver=solver, bound=bound, center=center)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.filterwarnings("ignore", message="nothing can be learned")
                ranker.fit(X, grades, qid=ids)
            np.testing.assert_array_equal(ranker.coef_, center)
            assert (ranker.objective_, ranker.gap_, ranker.converged_) == (0.0, 0.0, True)
            assert not ranker.stays_at_center_


# Odd data


@pytest.mark.parametrize("solver", SOLVERS)
def test_odd_shapes_have_the_same_optimum(solver):
    X, y, qid = collection()
    cases = [
        (X[:, :1], y, qid),  # one feature
        (X[qid == 0], y[qid == 0], None),  # one query
        (np.column_stack([X, np.ones(len(X))]), y, qid),  # a constant feature
        (np.column_stack([X, X[:, 0]]), y, qid),  # the same feature twice
        (np.ones_like(X), y, qid),  # nothing but constants
        (X, np.full(len(y), 2.0), qid),  # all grades equal
    ]
    for (features, grades, ids), (measure, rankings_of) in itertools.product(
        cases, [("ndcg@3", ndcg(3)), ("map", average_precision)]
    ):
        ranker = rw.StructuredRanker(measure, 0.5, solver=solver, tol=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that it stays at 0
            ranker.fit(features, grades, qid=ids)
        known = np.zeros(len(grades)) if ids is None else ids
        least = Programme(features, grades, known, rankings_of).optimum(0.5)
        assert ranker.converged_
        assert ranker.lower_bound_ <= least.value * (1 + 1e-9) + 1e-12
        assert ranker.objective_ == pytest.approx(least.value, rel=1e-4, abs=1e-12)


@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
@pytest.mark.parametrize("solver", ["bundle", "cutting-plane", "conjugate-subgradient"])
def test_features_times_a_number_are_the_same_problem_at_another_lambda(measure, solver):
    X, y, qid = collection()
    plain = rw.StructuredRanker(measure, 0.5, solver=solver).fit(X, y, qid=qid)
    for scale in (1e6, 1e-6):
        scaled = rw.StructuredRanker(measure, 0.5 * scale**2, solver=solver).fit(scale * X, y, qid=qid)
        assert scaled.converged_
        assert scaled.objective_ == pytest.approx(plain.objective_, rel=2e-3)


@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_features_of_a_million_with_an_ordinary_lambda(measure):
    X, y, qid = collection()
    ranker = rw.StructuredRanker(measure, 1.0, max_iter=60).fit(1e6 * X, y, qid=qid)
    assert ranker.converged_


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("kind", [np.array, sp.csr_array], ids=["dense", "csr"])
def test_features_that_are_infinite_are_refused_with_their_place(solver, bound, kind):
    for bad, center in itertools.product([np.inf, -np.inf], [None, np.zeros(3), CENTER]):
        X, y, qid = collection()
        X[7, 1] = bad
        ranker = rw.StructuredRanker("ndcg@3", solver=solver, bound=bound, center=center)
        with pytest.raises(rw.DataError, match=rf"row 7 \(query {qid[7]}\), feature 'f2'"):
            ranker.fit(kind(X), y, qid=qid)


# λ paths


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
def test_the_path_has_the_optima_of_single_fits(solver, measure):
    X, y, qid = data()
    valid = rw.Queries(*data(seed=1))
    ranker = rw.StructuredRanker(measure, rw.search(GRID), solver=solver, tol=1e-4).fit(X, y, qid=qid, valid=valid)
    path, losses = ranker.path_, StructuredHinge(measure).on(rw.Queries(X, y, qid))
    for alpha, weights, objective, gap in zip(GRID, path.weights, path.objectives, path.gaps, strict=True):
        single = rw.StructuredRanker(measure, alpha, solver=solver, tol=1e-4).fit(X, y, qid=qid)
        told = 0.5 * alpha * weights @ weights + losses.at(X @ weights).value
        assert objective == pytest.approx(told, rel=1e-9)
        assert gap <= 1e-4 * objective
        assert objective - gap <= single.objective_ * (1 + 1e-12)
        assert single.lower_bound_ <= objective * (1 + 1e-12)
    (own,) = path.valid  # by default it is judged by what it optimises
    assert own == (rw.AP if measure == "map" else rw.nDCG @ 3)
    values = [rw.evaluate(X_w, valid, own).means[own] for X_w in (valid.X @ path.weights.T).T]
    np.testing.assert_allclose([told.mean for told in path.valid[own]], values, atol=1e-12)
    best = int(np.argmax(values))
    assert ranker.alpha_ == GRID[best]
    assert ranker.objective_ == path.objectives[best]
    np.testing.assert_array_equal(ranker.coef_, path.weights[best])


def test_folds():
    X, y, qid = data(queries=7)
    ids = list(dict.fromkeys(qid.tolist()))
    fold = np.array([ids.index(query) % 3 for query in qid])
    ranker = rw.StructuredRanker("ndcg@3", rw.search(GRID), folds=3, tol=1e-6, measures="map, ndcg@1")
    ranker.fit(X, y, qid=qid)
    values = []
    for alpha in GRID:
        scores = np.empty(len(y))
        for part in range(3):
            inside = fold != part
            single = rw.StructuredRanker("ndcg@3", alpha, tol=1e-6).fit(X[inside], y[inside], qid=qid[inside])
            scores[~inside] = X[~inside] @ single.coef_
        values.append(rw.evaluate(scores, rw.Queries(X, y, qid), "map").means[rw.AP])
    np.testing.assert_allclose([told.mean for told in ranker.path_.folds[rw.AP]], values, atol=5e-3)
    assert ranker.alpha_ == GRID[int(np.argmax([told.mean for told in ranker.path_.folds[rw.AP]]))]
    assert list(ranker.path_.folds) == [rw.AP, rw.nDCG @ 1]


def test_its_own_grid_fits_the_scale_of_the_data():
    X, y, qid = data(queries=6)
    for bound in ("convex", "tight"):
        plain, scaled = (
            rw.StructuredRanker("ndcg@3", rw.search(), bound=bound, tol=0.05, max_iter=5) for _ in range(2)
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            plain.fit(X, y, qid=qid, valid=rw.Queries(X, y, qid))
            scaled.fit(8 * X, y, qid=qid, valid=rw.Queries(8 * X, y, qid))
        assert len(plain.path_.alphas) == 25
        np.testing.assert_array_equal(scaled.path_.alphas, 64 * plain.path_.alphas)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_early_stopping_keeps_the_step_that_is_best_on_validation_queries(solver, bound):
    X, y, qid = data(noise=3.0)
    valid = rw.Queries(*data(seed=1, noise=3.0))
    seen = []
    ranker = rw.StructuredRanker("ndcg@3", 0.01, solver=solver, bound=bound, early_stopping=True, tol=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ranker.fit(X, y, qid=qid, valid=valid, progress=lambda now: seen.append(now.iteration))
    measures = [step.measure for step in seen]
    best = int(np.argmax(measures))
    assert ranker.n_iter_ == best + 1
    assert ranker.objective_ == seen[best].objective
    assert rw.evaluate(valid.X @ ranker.coef_, valid, "ndcg@3").means[rw.nDCG @ 3] == pytest.approx(measures[best])
    losses = StructuredHinge("ndcg@3", bound=bound).on(rw.Queries(X, y, qid))
    if bound == "convex":
        told = 0.005 * ranker.coef_ @ ranker.coef_ + losses.at(X @ ranker.coef_).value
        assert ranker.objective_ == pytest.approx(told, rel=1e-10)


# Learned A


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("solver", ["bundle", "frank-wolfe", "conjugate-subgradient"])
def test_learned_position_weights_lower_the_objective(bound, solver):
    X, y, qid = data()
    center = None if bound == "convex" else CENTER[[0, 1, 2, 2]]
    linear = rw.StructuredRanker("ndcg@4", 1.0, bound=bound, solver=solver, center=center).fit(X, y, qid=qid)
    learned = clone(linear).set_params(position_weights="learned").fit(X, y, qid=qid)
    np.testing.assert_array_equal(linear.position_weights_, [4, 3, 2, 1])
    assert learned.objective_ <= linear.objective_
    assert bound == "tight" or learned.objective_ < 0.99 * linear.objective_
    assert learned.position_weights_[0] == pytest.approx(4)
    assert (np.diff(learned.position_weights_) <= 1e-12).all()
    assert (learned.position_weights_ >= 0).all()
    loss = StructuredHinge("ndcg@4", learned.position_weights_, bound).on(rw.Queries(X, y, qid))
    away = learned.coef_ - (0 if center is None else center)
    assert learned.objective_ == pytest.approx(0.5 * away @ away + loss.at(X @ learned.coef_).value, rel=1e-9)
    fixed = clone(linear).set_params(position_weights=learned.position_weights_).fit(X, y, qid=qid)
    if bound == "convex":
        assert learned.lower_bound_ <= fixed.objective_ * (1 + 1e-12)
        assert fixed.lower_bound_ <= learned.objective_ * (1 + 1e-12)


def test_position_weights_are_forgotten_with_the_measure():
    X, y, qid = collection()
    ranker = rw.StructuredRanker("ndcg@3").fit(X, y, qid=qid)
    np.testing.assert_array_equal(ranker.position_weights_, [3, 2, 1])
    assert not hasattr(ranker.set_params(measure="map").fit(X, y, qid=qid), "position_weights_")


# Rescaled slacks


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("measure", ["ndcg@3", "map"])
@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_rescaled_slacks_are_bounded_from_both_sides(solver, measure, bound):
    rankings_of = ndcg(3) if measure == "ndcg@3" else average_precision
    for seed, alpha in itertools.product(range(2), [0.1, 5.0]):
        X, y, qid = collection(seed)
        ranker = rw.StructuredRanker(
            measure, alpha, solver=solver, rescale="slack", bound=bound, center=0.1 * CENTER, max_iter=100
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            ranker.fit(X, y, qid=qid)
        exact = Programme(X, y, qid, rankings_of).value(ranker.coef_, alpha, 0.1 * CENTER, bound, "slack")
        assert ranker.argmax_gap_ >= 0
        assert ranker.lower_bound_ <= ranker.objective_
        assert ranker.objective_ - 1e-10 <= exact <= ranker.objective_ + ranker.argmax_gap_ + 1e-10
        assert ranker.gap_ == pytest.approx(ranker.objective_ - ranker.lower_bound_ + ranker.argmax_gap_, abs=1e-12)


def test_rescaled_slacks_are_minimised():
    """No weights nearby have a lower exact objective than the lower bound says, and few are lower than found."""
    X, y, qid = collection()
    programme, rng = Programme(X, y, qid, ndcg(3)), np.random.default_rng(0)
    ranker = rw.StructuredRanker("ndcg@3", 1.0, rescale="slack", tol=1e-4).fit(X, y, qid=qid)
    assert ranker.converged_
    for scale, direction in itertools.product([1e-3, 0.03, 0.3], rng.standard_normal((30, 3))):
        nearby = programme.value(ranker.coef_ + scale * direction, 1.0, None, "convex", "slack")
        assert nearby >= ranker.lower_bound_ * (1 - 1e-9)
    assert ranker.objective_ < programme.value(np.zeros(3), 1.0, None, "convex", "slack")


def test_margin_rescaling_finds_the_best():
    X, y, qid = collection()
    assert rw.StructuredRanker("ndcg@3").fit(X, y, qid=qid).argmax_gap_ == 0


# As an estimator


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("bound", ["convex", "tight"])
def test_fit_changes_nothing_that_it_is_given_and_can_be_repeated(solver, bound):
    X, y, qid = collection()
    center, weights = CENTER.copy(), np.ones(7)
    given = copy.deepcopy((X, y, qid, center, weights))
    ranker = rw.StructuredRanker("ndcg@3", 0.5, solver=solver, bound=bound, center=center)
    ranker.fit(X, y, qid=qid, sample_weight=weights)
    for before, after in zip(given, (X, y, qid, center, weights), strict=True):
        np.testing.assert_array_equal(before, after)
    assert X.flags.writeable
    assert not np.shares_memory(ranker.coef_, center)
    first = (ranker.coef_.copy(), ranker.objective_, ranker.gap_, ranker.n_iter_, ranker.passes_, ranker.argmax_calls_)
    ranker.fit(X, y, qid=qid, sample_weight=weights)
    second = (ranker.coef_, ranker.objective_, ranker.gap_, ranker.n_iter_, ranker.passes_, ranker.argmax_calls_)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_centre_itself_is_not_handed_out():
    """Where nothing is learned, coef_ equals the centre but is another array."""
    X, y, qid = collection()
    for bound in ("convex", "tight"):
        ranker = rw.StructuredRanker("ndcg@3", bound=bound, center=CENTER).fit(X, 0 * y, qid=qid)
        assert not np.shares_memory(ranker.coef_, CENTER)


def test_parameters_come_and_go():
    ranker = rw.StructuredRanker("map", 3.0, solver="frank-wolfe", bound="tight", tol=1e-2, max_iter=7)
    again = clone(ranker)
    assert again.get_params() == ranker.get_params()
    assert len(ranker.get_params()) == 16
    assert again.set_params(alpha=5.0, measure="ndcg@2").get_params()["alpha"] == 5.0
    assert "frank-wolfe" in repr(ranker)
    with pytest.raises(NotFittedError):
        ranker.predict(np.ones((2, 3)))


@pytest.mark.parametrize(
    ("parameters", "named"),
    [
        ({"measure": "p@3"}, "measure"),
        ({"measure": "map@5"}, "measure"),
        ({"measure": "ndcg@3, map"}, "measure"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": -1.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "big"}, "alpha"),
        ({"alpha": rw.search(1.0, -1.0)}, "alpha"),
        ({"solver": "newton"}, "solver"),
        ({"bound": "loose"}, "bound"),
        ({"position_weights": "cubic"}, "position_weights"),
        ({"position_weights": [1.0, 2.0]}, "position_weights"),
        ({"position_weights": [1.0, np.nan]}, "position_weights"),
        ({"measure": "map", "position_weights": "discount"}, "position_weights"),
        ({"measure": "map", "position_weights": "learned"}, "position_weights"),
        ({"position_weights": "learned", "rescale": "slack"}, "position.weights.*rescale"),
        ({"rescale": "both"}, "rescale"),
        ({"center": [1.0, 2.0]}, "center"),
        ({"center": [1.0, 2.0, np.nan]}, "center"),
        ({"center": "origin"}, "center"),
        ({"tricks": ["cold-start"]}, "tricks"),
        ({"tricks": "inexact"}, "tricks"),
        ({"tricks": [["inexact"]]}, "tricks"),
        ({"tricks": None}, "tricks"),
        ({"tol": 0.0}, "tol"),
        ({"tol": "small"}, "tol"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter"),
        ({"early_stopping": 1}, "early_stopping"),
        ({"early_stopping": True}, "early_stopping"),
        ({"folds": 1, "alpha": rw.search(1.0, 2.0)}, "folds"),
        ({"rule": "any", "alpha": rw.search(1.0, 2.0)}, "rule"),
        ({"measures": "applause"}, "applause"),
        ({"convention": "mine"}, "convention"),
    ],
    ids=str,
)
def test_bad_parameters_are_named(parameters, named):
    X, y, qid = collection()
    with pytest.raises(rw.ParameterError, match=named):
        rw.StructuredRanker(**parameters).fit(X, y, qid=qid)


def test_bad_data_are_refused():
    X, y, qid = collection()
    ranker = rw.StructuredRanker("ndcg@3")
    with pytest.raises(rw.ParameterError, match="y is missing"):
        ranker.fit(X)
    with pytest.raises(rw.ParameterError, match="sample_weight"):
        ranker.fit(X, y, qid=qid, sample_weight=-np.ones(7))
    with pytest.raises(rw.ParameterError, match="sample_weight"):
        ranker.fit(X, y, qid=qid, sample_weight=np.ones(5))
    with pytest.raises(rw.ParameterError, match="valid"):
        ranker.fit(X, y, qid=qid, valid=X)
    with pytest.raises(rw.DataError, match="valid has 2 features"):
        ranker.fit(X, y, qid=qid, valid=rw.Queries(X[:, :2], y, qid))
    with pytest.raises(rw.DataError, match="grade"):
        ranker.fit(X, np.where(np.arange(len(y)) == 3, -1.0, y), qid=qid)
    with pytest.raises(rw.DataError, match="only one query"):
        rw.StructuredRanker("ndcg@3", rw.search(1.0, 2.0)).fit(X, y, group=[len(y)])


def test_data_frames_keep_their_names():
    X, y, qid = collection()
    frame = pd.DataFrame(X, columns=["bm25", "length", "clicks"])
    ranker = rw.StructuredRanker("ndcg@3").fit(frame, y, qid=qid)
    assert ranker.feature_names_in_.tolist() == ["bm25", "length", "clicks"]
    np.testing.assert_array_equal(ranker.coef_, rw.StructuredRanker("ndcg@3").fit(X, y, qid=qid).coef_)


@pytest.mark.parametrize(
    "ranker",
    [
        rw.StructuredRanker("ndcg@3", 0.5),
        rw.StructuredRanker("map", rw.search(0.1, 1.0), solver="frank-wolfe", measures="map, ndcg@2"),
        rw.StructuredRanker("ndcg@3", bound="tight", center=CENTER, position_weights=[3.0, 1.0, 0.5]),
        rw.StructuredRanker(rw.nDCG @ 4, position_weights="learned"),
        rw.StructuredRanker("ndcg@3", solver="cutting-plane", tricks=("inexact", "hot-start"), rescale="slack"),
        rw.StructuredRanker("ndcg@3", solver="cutting-plane", tricks={"hot-start"}),
    ],
    ids=["plain", "search", "tight", "learned", "slack", "tricks"],
)
def test_a_saved_model_predicts_as_before(ranker, tmp_path):
    X, y, qid = collection()
    queries = rw.Queries(X, y, [f"q{code}" for code in qid])
    fitted = clone(ranker).fit(queries)
    rw.save_model(fitted, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    assert model.coef_.tobytes() == fitted.coef_.tobytes()
    np.testing.assert_array_equal(model.predict(queries), fitted.predict(queries))
    np.testing.assert_array_equal(model.rank(queries), fitted.rank(queries))
    assert "StructuredRanker" in repr(model)


@pytest.mark.parametrize("solver", ["bundle", "subgradient"])
def test_features_that_overflow(solver):
    X, y, qid = collection()
    with pytest.raises(rw.DataError, match="rescale this feature"):
        rw.StructuredRanker("ndcg@3", 1.0, solver=solver).fit(1e160 * X, y, qid=qid)


@pytest.mark.parametrize("given", [rw.search(), rw.search(1, 2), rw.search("linear", "discount")])
def test_position_weights_are_not_searched_for(given):
    X, y, qid = collection()
    with pytest.raises(
        rw.ParameterError, match=r"position_weights must be .*'linear', 'inverse-sqrt'.*'learned'.*search"
    ):
        rw.StructuredRanker("ndcg@3", position_weights=given).fit(X, y, qid=qid)


def test_a_lower_bound_is_never_told_that_is_above_the_objective(monkeypatch):
    """Planes found elsewhere may say more of the last weights than the search there has found."""
    X, y, qid = collection()
    look = StructuredObjective.value
    monkeypatch.setattr(StructuredObjective, "value", lambda self, weights: 0.9 * look(self, weights))
    ranker = rw.StructuredRanker("ndcg@3", 0.5, rescale="slack").fit(X, y, qid=qid)
    assert ranker.lower_bound_ <= ranker.objective_
    assert ranker.gap_ == pytest.approx(ranker.objective_ - ranker.lower_bound_ + ranker.argmax_gap_)


def test_learned_positions_and_early_stopping_exclude_each_other():
    X, y, qid = collection()
    ranker = rw.StructuredRanker("ndcg@3", position_weights="learned", early_stopping=True)
    with pytest.raises(rw.ParameterError, match="early_stopping"):
        ranker.fit(X, y, qid=qid, valid=rw.Queries(X, y, qid))


@pytest.mark.parametrize(("alpha", "tol"), [(1e9, 1e-8), (1e10, 1e-7), (1e11, 1e-6)])
def test_no_gap_below_rounding_is_asked_for(alpha, tol):
    """So little is gained with a huge λ that ``tol`` of it is less than the sums of losses can tell."""
    made = rw.datasets.make_queries(60, 10, 6, n_informative=3, n_correlated=2, seed=0).queries
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = rw.StructuredRanker("ndcg@3", alpha=alpha, tol=tol).fit(made)
    assert ranker.converged_
    assert 0 < ranker.gap_ <= 1e-12 * ranker.objective_
    assert ranker.gap_ < 1e-3 * ranker.gain_
