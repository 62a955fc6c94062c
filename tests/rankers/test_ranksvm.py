"""RankSVM as an estimator: the choice of λ, early stopping, what it refuses."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

import rankwright as rw
from rankwright.progress import Iteration
from tests.choosing import cheapest_as_good
from tests.losses import reference as ref

LOSSES = ["squared-hinge", "hinge", "huber-hinge", "logistic"]
RANKERS = [rw.RankSVM, rw.OrderPreservingRanker]


def collection(seed=0, rows=150, queries=15, n=5):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


# The choice of λ

GRID = [0.01, 1.0, 100.0, 1e4]


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("measure", [rw.nDCG @ 3, rw.PairwiseError])
def test_lambda_by_validation_is_the_first_best(ranker, measure):
    X, y, qid = collection()
    valid = rw.Queries(*collection(seed=1, rows=60))
    ours = ranker(rw.search(GRID), tol=1e-9, measures=(measure, rw.AP)).fit(X, y, qid=qid, valid=valid)
    by_hand = [ranker(alpha, tol=1e-9, measures=measure).fit(X, y, qid=qid) for alpha in GRID]
    values = [rw.evaluate(single.predict(valid.X), valid, measure).means[measure] for single in by_hand]
    np.testing.assert_allclose([told.mean for told in ours.path_.valid[measure]], values, atol=1e-12)
    best = np.argmin(values) if measure.lower_is_better else np.argmax(values)
    assert len(set(np.round(values, 9))) > 1  # there is a choice
    assert ours.alpha_ == GRID[int(best)]
    assert ours.objective_ == pytest.approx(by_hand[int(best)].objective_, rel=1e-8)
    np.testing.assert_array_equal(ours.coef_, ours.path_.weights[int(best)])
    aps = [rw.evaluate(single.predict(valid.X), valid, rw.AP).means[rw.AP] for single in by_hand]
    np.testing.assert_allclose([told.mean for told in ours.path_.valid[rw.AP]], aps, atol=1e-12)
    assert ours.path_.folds == {}


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize("folds", [2, 3, 50])
def test_lambda_by_folds(ranker, folds):
    """Each query is scored by a ranker that was trained without its fold; queries take turns."""
    X, y, qid = collection(rows=70, queries=7)
    ids = list(dict.fromkeys(qid.tolist()))
    k = min(folds, len(ids))
    fold = np.array([ids.index(query) % k for query in qid])
    queries = rw.Queries(X, y, qid)
    values, errors, by_query = [], [], []
    for alpha in GRID:
        scores = np.empty(70)
        for part in range(k):
            inside = fold != part
            single = ranker(alpha, tol=1e-9).fit(X[inside], y[inside], qid=qid[inside])
            scores[~inside] = X[~inside] @ single.coef_
        told = rw.evaluate(scores, queries, rw.AP).values[rw.AP]
        by_query.append(told)
        values.append(np.nanmean(told))
        errors.append(np.nanstd(told, ddof=1) / np.sqrt(np.sum(~np.isnan(told))))
    ours = ranker(rw.search(GRID), tol=1e-9, folds=folds, measures="map").fit(queries)
    told = ours.path_.folds[rw.AP]
    np.testing.assert_allclose([value.mean for value in told], values, atol=1e-12)
    np.testing.assert_allclose([value.standard_error for value in told], errors, atol=1e-12)
    assert ours.alpha_ == GRID[int(np.argmax(values))]
    whole = ranker(ours.alpha_, tol=1e-9).fit(queries)
    assert ours.objective_ == pytest.approx(whole.objective_, rel=1e-8)
    simple = ranker(rw.search(GRID), tol=1e-9, folds=folds, measures="map", rule="one-standard-error").fit(queries)
    assert simple.alpha_ == GRID[cheapest_as_good(by_query, np.negative(GRID))]


def test_one_standard_error_takes_a_larger_lambda():
    X, y, qid = collection()
    valid = rw.Queries(*collection(seed=1, rows=60))
    best = rw.RankSVM(rw.search(), measures="map").fit(X, y, qid=qid, valid=valid)
    simple = rw.RankSVM(rw.search(), measures="map", rule="one-standard-error").fit(X, y, qid=qid, valid=valid)
    alphas = best.path_.alphas
    assert len(alphas) == 25
    values = [rw.evaluate(valid.X @ weights, valid, rw.AP).values[rw.AP] for weights in best.path_.weights]
    assert simple.alpha_ == alphas[cheapest_as_good(values, -alphas)] > best.alpha_
    assert list(best.path_.to_frame("polars").columns)[:3] == ["alpha", "valid AP", "valid AP standard error"]


@pytest.mark.parametrize("ranker", RANKERS)
def test_the_grid_fits_the_scale_of_the_data(ranker):
    """Features times s, or losses times s²: λ times s² is the same problem, and the grid finds it."""
    X, y, qid = collection(rows=60, queries=6)
    valid = rw.Queries(X, y, qid)
    plain = ranker(rw.search()).fit(X, y, qid=qid, valid=valid).path_.alphas
    assert len(plain) == 25
    np.testing.assert_array_equal(np.diff(np.log2(plain)), 1)
    assert (np.log2(plain) == np.round(np.log2(plain))).all()
    for scale in (8.0, 1 / 32):
        scaled = rw.Queries(scale * X, y, qid)
        np.testing.assert_array_equal(ranker(rw.search()).fit(scaled, valid=scaled).path_.alphas, scale**2 * plain)
    weighed = ranker(rw.search()).fit(X, y, qid=qid, valid=valid, sample_weight=np.full(6, 16.0))
    np.testing.assert_array_equal(weighed.path_.alphas, 16 * plain)
    nothing = ranker(rw.search()).fit(X, np.zeros(60), qid=qid, valid=valid)
    assert not nothing.coef_.any()


def test_folds_respect_sample_weights():
    """A query of weight 0 is not learned from in any fold, and judged all the same."""
    X, y, qid = collection(rows=60, queries=6)
    ids = list(dict.fromkeys(qid.tolist()))
    weights = np.array([1.0, 0, 2, 1, 0, 1])
    ours = rw.RankSVM(rw.search(0.1, 10), tol=1e-9, folds=3, measures="map").fit(X, y, qid=qid, sample_weight=weights)
    of_row = weights[[ids.index(query) for query in qid]]
    scores = np.empty(60)
    for part in range(3):
        inside = np.array([ids.index(query) % 3 != part for query in qid])
        single = rw.RankSVM(10, tol=1e-9).fit(X[inside], y[inside], qid=qid[inside], sample_weight=of_row[inside])
        scores[~inside] = X[~inside] @ single.coef_
    expected = rw.evaluate(scores, rw.Queries(X, y, qid), rw.AP).means[rw.AP]
    assert ours.path_.folds[rw.AP][1].mean == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_path_with_warm_starts_is_that_of_single_fits(loss):
    """As close as tol and λ-strong convexity say: λ/2‖w − w*‖² ≤ tol · F."""
    X, y, qid = collection(rows=80, queries=8)
    grid = [0.01, 0.1, 1.0, 10.0, 100.0]
    path = rw.RankSVM(rw.search(grid), loss=loss, tol=1e-6).fit(X, y, qid=qid, valid=rw.Queries(X, y, qid)).path_
    for alpha, weights, told, gap in zip(grid, path.weights, path.objectives, path.gaps, strict=True):
        single = rw.RankSVM(alpha, loss=loss, tol=1e-6).fit(X, y, qid=qid)
        allowed = 2 * np.sqrt(2 * 1e-6 * single.objective_ * (1 + 1e-6) / alpha)
        assert np.linalg.norm(weights - single.coef_) <= allowed
        objective = ref.PairObjective(X, ref.preorder_pairs(y, qid), loss, alpha)
        assert objective.value(weights) == pytest.approx(single.objective_, rel=2e-6)
        assert told == pytest.approx(objective.value(weights), rel=1e-10)
        assert told - gap <= single.objective_ * (1 + 1e-12)
        assert 0 <= gap <= 1e-6 * told


# Progress and early stopping


@pytest.mark.parametrize("loss", LOSSES)
def test_progress_tells_the_truth(loss):
    X, y, qid = collection(rows=80, queries=8)
    valid = rw.Queries(*collection(seed=1, rows=40))
    seen = []
    ranker = rw.RankSVM(rw.search(0.1, 10), loss=loss, tol=1e-6)
    ranker.fit(X, y, qid=qid, valid=valid, progress=lambda now: seen.append(now.iteration))
    assert all(isinstance(iteration, Iteration) for iteration in seen)
    assert [alpha for alpha, _ in itertools.groupby(seen, lambda i: i.alpha)] == [10, 0.1]
    assert all(a.passes <= b.passes for a, b in itertools.pairwise(seen))
    assert seen[-1].passes <= ranker.passes_
    for alpha in (0.1, 10):
        own = [iteration for iteration in seen if iteration.alpha == alpha]
        assert [iteration.step for iteration in own] == list(range(1, len(own) + 1))
        least = rw.RankSVM(alpha, loss=loss, tol=1e-8).fit(X, y, qid=qid).objective_
        assert all(b.objective <= a.objective for a, b in itertools.pairwise(own))
        assert all(i.gap >= i.objective - least - 1e-9 * least for i in own)
        assert all(i.objective >= least * (1 - 1e-8) for i in own)
        weights = ranker.path_.weights[[0.1, 10].index(alpha)]
        last = rw.evaluate(valid.X @ weights, valid, "ndcg@10").means[rw.nDCG @ 10]
        assert own[-1].measure == pytest.approx(last, abs=1e-12)
    told = []
    rw.RankSVM(rw.search(0.1, 10), loss=loss, folds=3).fit(X, y, qid=qid, progress=told.append)
    in_folds = [now.iteration for now in told]
    assert [fold for fold, _ in itertools.groupby(in_folds, lambda i: i.fold)] == [1, 2, 3, None]
    assert (told[0].what, told[0].done) == ("fold 1 of 3, λ = 10, step 1", 0)
    assert all(a.done <= b.done < b.total == 4 for a, b in itertools.pairwise(told))
    assert (told[-1].what.partition(", step")[0], told[-1].done) == ("all queries, λ = 0.1", 3.5)
    alone = []
    rw.RankSVM(1.0, loss=loss).fit(X, y, qid=qid, progress=lambda now: alone.append(now.iteration))
    assert alone
    assert all(iteration.measure is None for iteration in alone)


@pytest.mark.parametrize("solver", ["newton", "sgd"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("measure", [rw.nDCG @ 2, rw.PairwiseError])
def test_early_stopping_keeps_the_best_step(solver, loss, measure):
    """Of the measures that progress saw, and after three steps without a better one it ends."""
    X, y, qid = collection(rows=60, queries=6, n=20)
    valid = rw.Queries(*collection(seed=1, rows=80, n=20))
    seen = []
    ranker = rw.RankSVM(
        0.01, loss=loss, solver=solver, early_stopping=True, measures=measure, tol=1e-8, random_state=0
    ).fit(X, y, qid=qid, valid=valid, progress=lambda now: seen.append(now.iteration))
    sign = -1 if measure.lower_is_better else 1
    worth = [sign * iteration.measure for iteration in seen]
    kept = rw.evaluate(ranker.predict(valid.X), valid, measure).means[measure]
    assert sign * kept == pytest.approx(max(worth), abs=1e-12)
    best = int(np.argmax(worth))
    assert ranker.n_iter_ == seen[best].step
    assert ranker.objective_ == seen[best].objective
    assert len(seen) - 1 - best <= 3
    since = 0
    for step in range(1, len(worth) - 1):  # it did not go on for longer than it should have
        since = 0 if worth[step] > max(worth[:step]) else since + 1
        assert since < 3
    objective = ref.PairObjective(X, ref.preorder_pairs(y, qid), loss, 0.01)
    assert objective.value(ranker.coef_) == pytest.approx(ranker.objective_, rel=1e-9)


@pytest.mark.parametrize("options", [{"early_stopping": True}, {"alpha": rw.search(0.1, 1.0)}], ids=["stop", "search"])
def test_validation_queries_that_do_not_count_decide_nothing(options):
    X, y, qid = collection()
    leaves_out_empty = rw.Convention("none", empty=None)
    ranker = rw.RankSVM(**options, measures="map", convention=leaves_out_empty)
    with pytest.raises(rw.DataError, match="none of the held-out queries"):
        ranker.fit(X, y, qid=qid, valid=rw.Queries(X, 0 * y, qid))


def test_early_stopping_needs_something_to_stop_by():
    X, y, qid = collection(rows=30)
    with pytest.raises(rw.ParameterError, match="early_stopping needs validation queries"):
        rw.RankSVM(early_stopping=True).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match=r"early_stopping needs .* a measure"):
        rw.RankSVM(early_stopping=True, measures=()).fit(X, y, qid=qid, valid=rw.Queries(X, y, qid))


@pytest.mark.parametrize("loss", LOSSES)
def test_too_few_steps_are_told(loss):
    X, y, qid = collection()
    with pytest.warns(ConvergenceWarning, match=r"alpha = 0\.1: after 1 steps .* more than tol = 1e-12"):
        ranker = rw.RankSVM(0.1, loss=loss, max_iter=1, tol=1e-12).fit(X, y, qid=qid)
    assert not ranker.converged_
    assert ranker.n_iter_ == 1
    assert ranker.gap_ > 1e-12 * ranker.objective_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rw.RankSVM(0.1, loss=loss).fit(X, y, qid=qid).converged_


# Data of all kinds


@pytest.mark.parametrize("ids", [lambda q: q, lambda q: [f"query {i}" for i in q], lambda q: np.array(q, object)])
@pytest.mark.parametrize("ranker", RANKERS)
def test_query_ids_of_any_type_in_any_order(ids, ranker):
    X, y, qid = collection()
    expected = ranker(0.3, tol=1e-11).fit(X, y, qid=qid).coef_
    shuffled = np.random.default_rng(1).permutation(len(y))
    ours = ranker(0.3, tol=1e-11).fit(X[shuffled], y[shuffled], qid=ids(qid[shuffled].tolist())).coef_
    np.testing.assert_allclose(ours, expected, rtol=1e-5, atol=1e-6)  # √(2 · tol · F/λ) is what tol allows


@pytest.mark.parametrize("ranker", RANKERS)
def test_queries_frames_and_arrays_are_taken_alike(ranker):
    X, y, qid = collection()
    expected = ranker(0.3).fit(X, y, qid=qid)
    frame = pd.DataFrame(X, columns=list("abcde"))
    by_frame = ranker(0.3).fit(frame, y, qid=qid)
    queries = rw.Queries(X, y, qid, feature_names=list("abcde"))
    by_queries = ranker(0.3).fit(queries)
    for other in (by_frame, by_queries):
        assert other.feature_names_in_.tolist() == list("abcde")
        np.testing.assert_array_equal(other.coef_, expected.coef_)
    np.testing.assert_array_equal(expected.predict(queries), X @ expected.coef_)
    np.testing.assert_array_equal(expected.rank(queries), expected.rank(X, qid))
    assert expected.score(queries) == expected.score(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="leave them out"):
        ranker().fit(queries, y)


def test_rank_and_score():
    X, y, qid = collection()
    ranker = rw.RankSVM(measures="map").fit(X, y, qid=qid)
    ranks, scores = ranker.rank(X, qid), ranker.predict(X)
    for query in np.unique(qid):
        rows = qid == query
        assert ranks[rows].tolist() == rankdata(-scores[rows], method="ordinal").tolist()
    assert ranker.score(X, y, qid=qid) == rw.evaluate(ranker, rw.Queries(X, y, qid), "map").means[rw.AP]
    assert rw.RankSVM(measures=rw.PairwiseError).fit(X, y, qid=qid).score(X, y, qid=qid) < 0
    with pytest.raises(NotFittedError):
        rw.RankSVM().predict(X)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_document_queries_teach_nothing_and_hurt_nothing(loss):
    X, y, qid = collection(rows=40, queries=5)
    more = np.vstack([X, [[9.0] * 5, [1e5] * 5]])
    plain = rw.RankSVM(loss=loss, tol=1e-6).fit(X, y, qid=qid)
    ours = rw.RankSVM(loss=loss, tol=1e-6).fit(more, np.append(y, [3, 0]), qid=np.append(qid, [100, 101]))
    assert ours.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    np.testing.assert_allclose(ours.coef_, plain.coef_, atol=2 * np.sqrt(2e-6 * plain.objective_))
    only = rw.RankSVM(loss=loss).fit(X[:3], y[:3], qid=[1, 2, 3])
    assert not only.coef_.any()
    assert only.rank(X[:3]).tolist() == [1, 2, 3]


@pytest.mark.parametrize("loss", LOSSES)
def test_one_query(loss):
    X, y, _ = collection(rows=25)
    ranker = rw.RankSVM(0.5, loss=loss, tol=1e-6).fit(X, y, group=[len(y)])
    objective = ref.PairObjective(X, ref.preorder_pairs(y, [0] * 25), loss, 0.5)
    assert ranker.objective_ == pytest.approx(objective.value(ranker.coef_), rel=1e-9)
    rng = np.random.default_rng(0)
    for direction in rng.standard_normal((30, 5)):
        assert objective.value(ranker.coef_ + 0.01 * direction) >= ranker.objective_ - ranker.gap_
    with pytest.raises(rw.DataError, match="only one query"):
        rw.RankSVM(rw.search(), loss=loss).fit(X, y, group=[len(y)])


def test_in_scikit_learns_tools():
    X, y, qid = collection()
    ranker = rw.RankSVM(alpha=rw.search(1, 2), loss="logistic", center=np.ones(5), measures="map")
    copy = clone(ranker)
    assert copy.get_params()["loss"] == "logistic"
    assert copy.get_params()["alpha"] == rw.search(1, 2)
    assert copy.get_params().keys() == ranker.get_params().keys()
    assert (
        clone(rw.RankSVM(2.0)).set_params(margin="position").get_params()
        == rw.RankSVM(2.0, margin="position").get_params()
    )
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(rw.QueryMinMaxScaler(), rw.RankSVM(0.1)).fit(X, y, qid=qid)
        splits = list(GroupKFold(3).split(X, y, qid))
        search = GridSearchCV(rw.RankSVM(), {"alpha": [0.1, 1e4]}, cv=splits).fit(X, y, qid=qid)
    scaled = rw.QueryMinMaxScaler().fit_transform(X, qid=qid)
    np.testing.assert_allclose(pipeline[-1].coef_, rw.RankSVM(0.1).fit(scaled, y, qid=qid).coef_, rtol=1e-12)
    for alpha, told in zip([0.1, 1e4], search.cv_results_["mean_test_score"], strict=True):
        by_hand = [
            rw.RankSVM(alpha).fit(X[train], y[train], qid=qid[train]).score(X[test], y[test], qid=qid[test])
            for train, test in splits
        ]
        assert told == pytest.approx(np.mean(by_hand))


# What is refused


@pytest.mark.parametrize("ranker", RANKERS)
@pytest.mark.parametrize(("name", "values"), [
    ("alpha", [-1.0, 0, np.nan, np.inf, "1", None, True, rw.search(1, -1)]),
    ("loss", ["cubic", None]),
    ("center", [[1.0], np.full(5, np.nan), "a", 0.0]),
    ("solver", ["lbfgs", None]),
    ("tol", [0, -1e-3, "0.1", None, True, np.nan]),
    ("max_iter", [0, 2.5, "3", True]),
    ("folds", [1, 2.0, None, True]),
    ("rule", ["worst", None]),
    ("convention", ["nobody"]),
])  # fmt: skip
def test_a_bad_parameter_is_named(ranker, name, values):
    X, y, qid = collection(rows=20, queries=4)
    for value in values:
        with pytest.raises(rw.ParameterError, match=name):
            ranker(**{name: value}).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("name", "value"), [("weights", "heavy"), ("weights", None), ("margin", "wide"), ("margin", 1)]
)
def test_a_bad_parameter_of_ranksvm_is_named(name, value):
    X, y, qid = collection(rows=20, queries=4)
    with pytest.raises(rw.ParameterError, match=f"^{name} must be one of"):
        rw.RankSVM(**{name: value}).fit(X, y, qid=qid)


@pytest.mark.parametrize("ranker", RANKERS)
def test_bad_input(ranker):
    X, y, qid = collection(rows=20, queries=4)
    with pytest.raises(rw.ParameterError, match="measures"):
        ranker(alpha=rw.search(), measures=()).fit(X, y, qid=qid)
    with pytest.raises(rw.ParameterError, match="y is missing"):
        ranker().fit(X)
    with pytest.raises(rw.ParameterError, match="valid must be Queries"):
        ranker().fit(X, y, qid=qid, valid=X)
    with pytest.raises(rw.DataError, match="valid has 1 features"):
        ranker().fit(X, y, qid=qid, valid=rw.Queries(X[:, :1], y, qid))
    with pytest.raises(rw.DataError, match="grades"):
        ranker().fit(X, -y - 1, qid=qid)
    with pytest.raises(rw.ParameterError, match="sample_weight"):
        ranker().fit(X, y, qid=qid, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="features"):
        ranker().fit(X, y, qid=qid).predict(X[:, :2])


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csr_array])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize(("loss", "solver"), [
    ("squared-hinge", "newton"), ("huber-hinge", "newton"), ("logistic", "newton"), ("squared-hinge", "sgd"),
    ("hinge", "sgd"),
])  # fmt: skip
def test_features_that_are_infinite_are_named(store, value, loss, solver):
    X, y, qid = collection(rows=30, queries=4)
    X[7, 3] = value
    names = [f"{query} of {query}" for query in qid]
    with (
        np.errstate(invalid="ignore"),
        pytest.raises(rw.DataError, match=rf"row 7 \(query '{names[7]}'\), feature 'f4'"),
    ):
        rw.RankSVM(loss=loss, solver=solver, random_state=0).fit(store(X), y, qid=names)
    X[7, 3] = 0.0
    valid = rw.Queries(store(np.where(np.arange(30)[:, None] == 4, value, X)), y, qid)
    with pytest.raises(rw.DataError, match=r"valid: row 4 .* feature 'f1'"):
        rw.RankSVM(loss=loss, solver=solver).fit(store(X), y, qid=names, valid=valid)
