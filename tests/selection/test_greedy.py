"""Greedy selection against wrapper selection that retrains for every candidate and every query left out."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.selection.selectors import BackFittingSelector, DirectSelector, GramSelector, StreamSelector
from tests import retraining
from tests.choosing import cheapest_as_good
from tests.objectives import centred

EXACT = [GramSelector, StreamSelector, DirectSelector]


@st.composite
def collections(draw):
    """Queries of one document and more, rows apart; equal features, sums of others, constants, coarse values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_queries, n = draw(st.integers(2, 6)), draw(st.integers(2, 6))
    qid = np.concatenate([np.arange(n_queries), rng.integers(0, n_queries, draw(st.integers(1, 25)))])
    X = np.round(rng.standard_normal((len(qid), n)), draw(st.integers(0, 2)))
    kind = draw(st.sampled_from(["plain", "equal", "sum", "constant", "scaled"]))
    if kind == "equal":
        X[:, -1] = X[:, 0]
    elif kind == "sum" and n > 2:
        X[:, -1] = X[:, 0] + X[:, 1]
    elif kind == "constant":
        X[:, 0] = 2.5
    elif kind == "scaled":
        X = X * 10.0 ** rng.integers(-2, 3, n) + 3
    y = np.round(np.abs(X[:, 0] + rng.standard_normal(len(qid))))
    return X, y, rng.permutation(qid)


@settings(max_examples=30)
@given(
    collections(),
    st.sampled_from([2.0**-15, 0.1, 1.0, 2.0**5, 2.0**15]),
    st.sampled_from(["gram", "stream", "direct"]),
    st.booleans(),
)
def test_same_features_and_criterion_as_retraining(collection, alpha, method, sparse):
    X, y, qid = collection
    k = X.shape[1]
    ranker = rw.GreedyRankRLS(alpha, k, method=method, measures=())
    ranker.fit(sp.csr_array(X) if sparse else X, y, qid=qid)
    # Sums of products of features lose digits where λ is small beside them: about this part of the result.
    lost = np.finfo(float).eps * np.linalg.norm(retraining.centred(X, qid), 2) ** 2 / alpha
    # Equal ratings can differ by rounding in either computation: then the choice that was made must be as good.
    selected: list[int] = []
    for step in ranker.path_:
        left = [i for i in range(k) if i not in selected]
        rated = {i: retraining.held_out_error(X[:, [*selected, i]], y, qid, alpha) for i in left}
        scale = max(float(retraining.centred(y, qid) @ retraining.centred(y, qid)), 1e-12)
        assert rated[step.feature] <= min(rated.values()) + 1e-9 * scale
        close = [i for i in left if rated[i] <= min(rated.values()) + 1e-9 * scale]
        exact_copies = all(np.array_equal(X[:, i], X[:, close[0]]) for i in close)
        if exact_copies:
            assert step.feature == close[0]
        assert step.criterion == pytest.approx(rated[step.feature], rel=max(1e-8, lost), abs=1e-9 * scale)
        selected.append(step.feature)
        assert step.selected == tuple(selected)
        expected = retraining.rankrls(X[:, selected], y, qid, alpha)
        difference = retraining.centred(X[:, selected] @ (step.weights - expected), qid)
        assert np.abs(difference).max() <= 1e-7


def plain_collection(seed=0, queries=14, n=7, rows=120):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 1] - X[:, 3] + 0.5 * X[:, 4] + rng.standard_normal(rows) + 2), 0, 4)
    return X, y, qid


@pytest.mark.parametrize("alpha", [2.0**-15, 1.0, 2.0**15])
@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
def test_order_of_selection_is_that_of_retraining(alpha, method):
    X, y, qid = plain_collection()
    selected, errors = retraining.greedy(X, y, qid, alpha, 7)
    path = rw.GreedyRankRLS(alpha, 7, method=method, measures=()).fit(X, y, qid=qid).path_
    assert [step.feature for step in path] == selected
    np.testing.assert_allclose([step.criterion for step in path], errors, rtol=1e-10)


@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_of_equal_features_the_first_is_taken(method, store):
    X, y, qid = plain_collection(n=5)
    X = X[:, [0, 1, 2, 3, 3, 1, 0, 2, 4, 4]]  # every column twice, the copies far apart in memory
    path = rw.GreedyRankRLS(1.0, 5, method=method, measures=()).fit(store(X), y, qid=qid).path_
    first_of = {3: 3, 4: 3, 1: 1, 5: 1, 0: 0, 6: 0, 2: 2, 7: 2, 8: 8, 9: 8}
    seen = set()
    for step in path:
        column = first_of[step.feature]
        assert (step.feature == column) == (column not in seen)
        seen.add(column)


@pytest.mark.parametrize("selector", EXACT)
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_float32_features_are_summed_in_float64(selector, store):
    X, y, qid = plain_collection()
    X = (X + 1000).astype(np.float32)
    ours = selector(centred(rw.Queries(store(X), y, qid)), 3)
    ours.start(1.0)
    for feature in (1, 3, 4):
        ours.add(feature)
    expected = retraining.held_out_error(X[:, [1, 3, 4]].astype(float), y, qid, 1.0)
    assert ours.selected.error == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
def test_dropping_is_never_having_added(method):
    X, y, qid = plain_collection()
    selector = {"gram": GramSelector, "stream": StreamSelector, "direct": DirectSelector}[method](
        centred(rw.Queries(X, y, qid)), 5, can_drop=True
    )
    selector.start(0.5)
    for feature in (6, 1, 2, 3):
        selector.add(feature)
    expected = [retraining.held_out_error(X[:, s], y, qid, 0.5) for s in ([1, 2, 3], [6, 2, 3], [6, 1, 3], [6, 1, 2])]
    np.testing.assert_allclose(selector.selected.errors_without_each(), expected, rtol=1e-10)
    selector.drop(1)
    assert selector.selected.features == [6, 2, 3]
    assert selector.selected.error == pytest.approx(expected[1], rel=1e-10)


# Floating search


def floating_by_retraining(X, y, qid, alpha, k):
    """Sequential forward floating selection, spelled out with retraining."""
    rate = lambda features: retraining.held_out_error(X[:, features], y, qid, alpha)  # noqa: E731
    selected, best, trace = [], {}, []
    while len(selected) < k:
        added = min((i for i in range(X.shape[1]) if i not in selected), key=lambda i: rate([*selected, i]))
        selected = [*selected, added]
        best[len(selected)] = min(best.get(len(selected), np.inf), rate(selected))
        trace.append(("add", added))
        while len(selected) > 2:
            dropped = min(selected[:-1], key=lambda i: rate([f for f in selected if f != i]))
            smaller = [f for f in selected if f != dropped]
            if not rate(smaller) < best[len(smaller)] * (1 - 1e-12):
                break
            selected, best[len(smaller)] = smaller, rate(smaller)
            trace.append(("drop", dropped))
    return trace


def nested_collection(seed):
    """A feature that is best alone, but useless once the two that it mixes are there: greedy search keeps it."""
    rng = np.random.default_rng(seed)
    rows = 200
    X, qid = rng.standard_normal((rows, 5)), np.sort(rng.integers(0, 12, rows))
    X[:, 0] = X[:, 1] + X[:, 2] + 0.8 * rng.standard_normal(rows)
    y = np.clip(np.round(X[:, 1] + X[:, 2] + 0.3 * X[:, 3] + 0.2 * rng.standard_normal(rows) + 3), 0, 6)
    return X, y, qid


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
def test_floating_search(seed, method):
    X, y, qid = nested_collection(seed)
    path = rw.GreedyRankRLS(0.1, 4, floating=True, method=method, measures=()).fit(X, y, qid=qid).path_
    assert [(step.action, step.feature) for step in path] == floating_by_retraining(X, y, qid, 0.1, 4)
    assert "drop" in {step.action for step in path}
    for step in path:
        assert step.criterion == pytest.approx(
            retraining.held_out_error(X[:, list(step.selected)], y, qid, 0.1), rel=1e-9
        )


def test_floating_search_is_never_worse_than_forward_search():
    X, y, qid = nested_collection(1)
    for k in (1, 2, 3, 4):
        forward = rw.GreedyRankRLS(0.1, k, measures=()).fit(X, y, qid=qid)
        floating = rw.GreedyRankRLS(0.1, k, floating=True, measures=()).fit(X, y, qid=qid)
        error = [retraining.held_out_error(X[:, r.selected_features_], y, qid, 0.1) for r in (forward, floating)]
        assert len(floating.selected_features_) == k
        assert error[1] <= error[0] * (1 + 1e-12)


# A measure as the criterion


@pytest.mark.parametrize("method", ["gram", "stream"])
@pytest.mark.parametrize(("measure", "sign"), [(rw.nDCG @ 5, -1), (rw.AP, -1), (rw.PairwiseError, 1)])
def test_a_held_out_measure_as_criterion(method, measure, sign):
    X, y, qid = plain_collection(n=5)
    queries = rw.Queries(X, y, qid)

    def rate(features, y, qid, alpha):
        return (
            2 + sign * rw.evaluate(retraining.held_out_scores(features, y, qid, alpha), queries, measure).means[measure]
        )

    selected, ratings = retraining.greedy(X, y, qid, 1.0, 4, rate)
    path = rw.GreedyRankRLS(1.0, 4, criterion=measure, method=method).fit(queries).path_
    assert [step.feature for step in path] == selected
    np.testing.assert_allclose([2 + sign * step.criterion for step in path], ratings, rtol=1e-9)


def test_floating_search_by_a_measure_improves_it_when_it_drops():
    X, y, qid = nested_collection(0)
    path = rw.GreedyRankRLS(0.1, 4, criterion="ndcg@5", floating=True).fit(X, y, qid=qid).path_
    queries, best = rw.Queries(X, y, qid), {}
    for step in path:
        scores = retraining.held_out_scores(X[:, list(step.selected)], y, qid, 0.1)
        assert step.criterion == pytest.approx(rw.evaluate(scores, queries, "ndcg@5").means[rw.nDCG @ 5], abs=1e-9)
        if step.action == "drop":
            assert step.criterion > best[len(step.selected)]
        best[len(step.selected)] = max(step.criterion, best.get(len(step.selected), -np.inf))


# Fewer candidates, and approximate ratings


def test_random_candidates():
    X, y, qid = plain_collection(n=30, rows=200)
    one = rw.GreedyRankRLS(1.0, 6, candidates=4, random_state=3, measures=()).fit(X, y, qid=qid)
    again = rw.GreedyRankRLS(1.0, 6, candidates=4, random_state=3, measures=(), method="direct").fit(X, y, qid=qid)
    other = rw.GreedyRankRLS(1.0, 6, candidates=4, random_state=4, measures=()).fit(X, y, qid=qid)
    assert one.selected_features_.tolist() == again.selected_features_.tolist() != other.selected_features_.tolist()
    everything = rw.GreedyRankRLS(1.0, 6, candidates=30, measures=()).fit(X, y, qid=qid)
    assert (
        everything.selected_features_.tolist()
        == rw.GreedyRankRLS(1.0, 6).fit(X, y, qid=qid).selected_features_.tolist()
    )
    # The best of four drawn from all is among the four worst only if it is the fourth worst.
    selected: list[int] = []
    for step in one.path_:
        left = [i for i in range(30) if i not in selected]
        errors = sorted((retraining.held_out_error(X[:, [*selected, i]], y, qid, 1.0), i) for i in left)
        assert [i for _, i in errors].index(step.feature) <= len(left) - 4
        selected.append(step.feature)


def back_fitting_error(X, y, qid, alpha, selected, candidate):
    """The held-out error if the candidate's weight alone is fitted to what the selected features leave."""
    total = 0.0
    for query in np.unique(qid):
        rows = qid == query
        train = {name: retraining.centred(v[~rows], qid[~rows]) for name, v in (("X", X), ("y", y))}
        test = {name: retraining.centred(v[rows], qid[rows]) for name, v in (("X", X), ("y", y))}
        weights = retraining.ridge(train["X"][:, selected], train["y"], alpha) if selected else np.zeros(0)
        left = train["y"] - train["X"][:, selected] @ weights
        column = train["X"][:, candidate]
        t = column @ left / (column @ column + alpha)
        total += np.sum((test["y"] - test["X"][:, selected] @ weights - t * test["X"][:, candidate]) ** 2)
    return total


@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_back_fitting(store):
    X, y, qid = plain_collection(n=6)
    X[np.random.default_rng(0).random(X.shape) < 0.6] = 0  # some queries lack some features altogether
    X[qid == qid[0], 2] = 0
    selector = BackFittingSelector(centred(rw.Queries(store(X), y, qid)), 4)
    selector.start(0.7)
    for selected in ([], [1], [1, 3], [1, 3, 0]):
        assert selector.selected.features == selected
        left = np.setdiff1d(np.arange(6), selected)
        expected = [back_fitting_error(X, y, qid, 0.7, selected, i) for i in left.tolist()]
        np.testing.assert_allclose(selector.errors_with(left), expected, rtol=1e-10)
        selector.add(([1, 3, 0, 4])[len(selected)])
        exact = retraining.held_out_error(X[:, selector.selected.features], y, qid, 0.7)
        assert selector.selected.error == pytest.approx(exact, rel=1e-10)
    path = rw.GreedyRankRLS(0.7, 3, fitting="back", measures=()).fit(store(X), y, qid=qid).path_
    for step in path:
        assert step.criterion == pytest.approx(
            retraining.held_out_error(X[:, list(step.selected)], y, qid, 0.7), rel=1e-10
        )


def test_wide_sparse_data_are_not_made_dense():
    """50,000 features: one dense copy of X, or of a state of all candidates, would take gigabytes."""
    import tracemalloc

    rng = np.random.default_rng(0)
    common = sp.random_array((3000, 40), density=0.05, random_state=rng)
    X = sp.hstack([common, sp.random_array((3000, 49_960), density=0.0005, random_state=rng)], format="csr")
    qid, signal = np.repeat(np.arange(100), 30), np.asarray(X[:, :40].sum(axis=1)).ravel()
    y = np.clip(np.round(3 * signal), 0, 3)
    tracemalloc.start()
    back = rw.GreedyRankRLS(0.1, 4, fitting="back", measures=()).fit(X, y, qid=qid)
    subset = rw.GreedyRankRLS(0.1, 3, candidates=500, random_state=0, method="direct", measures=()).fit(X, y, qid=qid)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 150e6  # X itself as a dense array takes 1,200 MB
    assert set(back.selected_features_[:3].tolist()) <= set(range(40))  # chance would hit once in 1,000 draws
    assert len(subset.selected_features_) == 3


# The estimator


@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
def test_passes_over_the_data(method):
    X, y, qid = plain_collection()
    ranker = rw.GreedyRankRLS(rw.search(0.1, 1, 10), 4, method=method, measures=()).fit(X, y, qid=qid)
    assert ranker.passes_ == {"gram": 1, "stream": 2, "direct": 3 * 4 * 2}[method]  # stream: likely features come along


@pytest.mark.parametrize(("store", "most"), [(np.asarray, 1 + 19 // 3), (sp.csr_array, 1 + 19)])
def test_a_pass_serves_several_steps(store, most):
    """Dense data give the rows of the features likely to be selected next in the same pass; nothing else changes."""
    X, y, qid = plain_collection(n=40, rows=403)
    stream, gram = (
        rw.GreedyRankRLS(1.0, 20, method=method, measures=()).fit(store(X), y, qid=qid) for method in ("stream", "gram")
    )
    assert stream.passes_ <= most
    assert [step.feature for step in stream.path_] == [step.feature for step in gram.path_]
    np.testing.assert_allclose(
        [step.criterion for step in stream.path_], [step.criterion for step in gram.path_], rtol=1e-12
    )


def test_dropping_reads_what_it_selects_again_together():
    X, y, qid = plain_collection(n=40, rows=403)
    data = centred(rw.Queries(X, y, qid))
    selector = StreamSelector(data, 14, can_drop=True)
    selector.start(1.0)
    for feature in range(39, 26, -1):
        selector.add(feature)
    before = data.passes
    selector.drop(5)
    assert data.passes - before <= 2  # twelve features, six in a pass


def test_path_tells_what_retraining_and_validation_say():
    X, y, qid = plain_collection()
    valid = rw.Queries(*plain_collection(seed=1))
    ranker = rw.GreedyRankRLS(2.0, 3, measures="map, ndcg@5").fit(X, y, qid=qid, valid=valid)
    queries, frame = rw.Queries(X, y, qid), ranker.path_.to_frame()
    assert list(frame["n_features"]) == [1, 2, 3]
    for position, step in enumerate(ranker.path_):
        columns = list(step.selected)
        scores = {
            "lqo": (retraining.held_out_scores(X[:, columns], y, qid, 2.0), queries),
            "valid": (valid.X[:, columns] @ retraining.rankrls(X[:, columns], y, qid, 2.0), valid),
        }
        for kind, (told, judged) in scores.items():
            evaluation = rw.evaluate(told, judged, "map, ndcg@5")
            for measure, values in evaluation.counted.items():
                estimate = getattr(step, kind)[measure]
                assert estimate.mean == pytest.approx(values.mean(), abs=1e-9)
                assert estimate.standard_error == pytest.approx(values.std(ddof=1) / np.sqrt(len(values)), abs=1e-9)
                assert frame[f"{kind} {measure}"][position] == estimate.mean
    np.testing.assert_allclose(ranker.coef_[ranker.selected_features_], ranker.path_[-1].weights)
    assert np.count_nonzero(ranker.coef_) == 3


def grid_by_hand(ranker, kind, measure):
    """(alpha, step, mean) over all paths, in the order of the grid."""
    return [(path.alpha, step, getattr(step, kind)[measure].mean) for path in ranker.paths_ for step in path]


@pytest.mark.parametrize("with_valid", [False, True])
def test_lambda_and_k_are_the_first_best_of_the_grid(with_valid):
    X, y, qid = plain_collection(rows=80)
    valid = rw.Queries(*plain_collection(seed=2, rows=60)) if with_valid else None
    ranker = rw.GreedyRankRLS(rw.search(), rw.search(), measures="map").fit(X, y, qid=qid, valid=valid)
    grid = grid_by_hand(ranker, "valid" if with_valid else "lqo", rw.AP)
    assert len(grid) == 11 * 7
    best = max(mean for _, _, mean in grid)
    alpha, step, _ = next(point for point in grid if point[2] == best)
    assert (ranker.alpha_, tuple(ranker.selected_features_)) == (alpha, step.selected)
    assert ranker.path_.alpha == alpha


def held_out_squares(scores, queries):
    """The squared error of each query, paper G's eq. 7."""
    errors = retraining.centred(queries.y, queries.qid) - retraining.centred(scores, queries.qid)
    return np.array([np.sum(errors[queries.qid == query] ** 2) for query in queries.query_ids])


@pytest.mark.parametrize("with_valid", [False, True])
@pytest.mark.parametrize("measures", [(rw.nDCG @ 5,), (rw.PairwiseError, rw.AP), ()])
@pytest.mark.parametrize(
    "options",
    [{}, {"n_features": rw.search(2, 4, 5)}, {"feature_costs": [1, 5, 1, 5, 2, 1, 1.0]}, {"floating": True}],
    ids=str,
)
def test_one_standard_error_takes_the_cheapest_model_that_is_as_good(options, measures, with_valid):
    """Query by query, with every model of every path retrained; the squared error decides where no measure does."""
    X, y, qid = plain_collection(seed=3)
    qid[0], y[qid == 5] = 99, 0  # a query of one document, and one without relevant ones
    queries = rw.Queries(X, y, [f"query {number}" for number in qid])
    valid = rw.Queries(*plain_collection(seed=4)) if with_valid else None
    wanted = {"n_features": rw.search(), "rule": "one-standard-error", **options}
    ranker = rw.GreedyRankRLS(rw.search(0.1, 10, 300), measures=measures, **wanted).fit(queries, valid=valid)
    sizes = wanted["n_features"].values or range(1, 8)
    models = [(path.alpha, step) for path in ranker.paths_ for step in path if len(step.selected) in sizes]
    models.sort(key=lambda model: (model[0], len(model[1].selected)))
    measure = measures[0] if measures else None
    values = []
    for alpha, step in models:
        columns = X[:, list(step.selected)]
        scores = retraining.held_out_scores(columns, y, queries.qid, alpha)
        if measure is None:
            values.append(held_out_squares(scores, queries))
            continue
        if valid is not None:
            scores = valid.X[:, list(step.selected)] @ retraining.rankrls(columns, y, queries.qid, alpha)
        values.append(rw.evaluate(scores, valid or queries, measure).values[measure])
    costs = [sum(wanted.get("feature_costs", np.ones(7))[i] for i in step.selected) for _, step in models]
    lower_is_better = measure is None or measure.lower_is_better
    alpha, step = models[cheapest_as_good(values, costs, lower_is_better=lower_is_better)]
    assert (ranker.alpha_, tuple(ranker.selected_features_)) == (alpha, step.selected)


def test_pareto_front_holds_all_models_that_none_beats():
    X, y, qid = plain_collection()
    ranker = rw.GreedyRankRLS(rw.search(0.1, 1, 10), rw.search(), measures="ndcg@5").fit(X, y, qid=qid)
    points = {(step.cost, step.lqo[rw.nDCG @ 5].mean) for path in ranker.paths_ for step in path}
    undominated = {
        point for point in points if not any(o[0] <= point[0] and o[1] >= point[1] and o != point for o in points)
    }
    assert {(point.cost, point.value) for point in ranker.pareto_front_} == undominated
    assert [point.cost for point in ranker.pareto_front_] == sorted(point.cost for point in ranker.pareto_front_)


def test_costs_make_a_step_take_the_most_improvement_for_its_cost():
    X, y, qid = plain_collection()
    costs = np.array([1, 50, 1, 1, 1, 1, 1.0])
    ranker = rw.GreedyRankRLS(1.0, 4, feature_costs=costs, measures=()).fit(X, y, qid=qid)
    selected, error = [], float(retraining.centred(y, qid) @ retraining.centred(y, qid))
    for step in ranker.path_:
        left = [i for i in range(7) if i not in selected]
        errors = {i: retraining.held_out_error(X[:, [*selected, i]], y, qid, 1.0) for i in left}
        gains = {i: (error - errors[i]) / costs[i] for i in left if errors[i] < error}
        expected = max(gains, key=gains.__getitem__) if gains else min(errors, key=errors.__getitem__)
        assert step.feature == expected
        selected.append(expected)
        error = errors[expected]
        assert step.cost == costs[selected].sum()
    equal = rw.GreedyRankRLS(1.0, 4, feature_costs=np.full(7, 3.0)).fit(X, y, qid=qid)
    assert equal.selected_features_.tolist() == rw.GreedyRankRLS(1.0, 4).fit(X, y, qid=qid).selected_features_.tolist()
    names = rw.Queries(X, y, qid, feature_names=list("abcdefg"))
    named = rw.GreedyRankRLS(1.0, 4, feature_costs=dict(zip("abcdefg", costs, strict=True))).fit(names)
    assert named.selected_features_.tolist() == ranker.selected_features_.tolist()


def test_the_method_goes_by_size(monkeypatch):
    from rankwright.rankers import greedy_rankrls

    X, y, qid = plain_collection()

    def passes(**options):
        return rw.GreedyRankRLS(1.0, 2, measures=(), **options).fit(X, y, qid=qid).passes_

    assert passes() == 1  # the Gram matrices
    monkeypatch.setattr(greedy_rankrls, "_GRAM_BYTES", 0)
    assert passes() == 2  # one to start with, one for each feature but the last
    monkeypatch.setattr(greedy_rankrls, "_STATE_BYTES", 0)
    wide = np.tile(X[:, :1], (1, 60))[:20]  # a state of 40 features takes more than twice these data
    ranker = rw.GreedyRankRLS(1.0, 40, measures=()).fit(wide, y[:20], qid=qid[:20])
    assert ranker.passes_ == 2 * 40  # for all candidates, and for the one selected


def test_progress_is_told():
    X, y, qid = plain_collection()
    told = []
    rw.GreedyRankRLS(rw.search(1, 2), 3, measures=()).fit(
        X, y, qid=qid, progress=lambda now: told.append((now.done, now.total))
    )
    assert told == [(done, 6) for done in range(1, 7)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"n_features": 0}, "n_features must be a whole number"),
        ({"n_features": 2.5}, "n_features must be a whole number"),
        ({"n_features": "all"}, "n_features must be a whole number"),
        ({"n_features": 8}, "only 7 features"),
        ({"n_features": rw.search(1, 99)}, "only 7 features"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": np.nan}, "alpha"),
        ({"alpha": "big"}, "alpha"),
        ({"rule": "median"}, "rule"),
        ({"method": "magic"}, "method"),
        ({"fitting": "side"}, "fitting"),
        ({"candidates": 0}, "candidates"),
        ({"criterion": "ndcg@10, map"}, "criterion"),
        ({"criterion": "ndcg@10", "fitting": "back"}, "criterion"),
        ({"criterion": "ndcg@10", "method": "direct"}, "criterion"),
        ({"criterion": None}, "criterion"),
        ({"floating": "no"}, "floating"),
        ({"candidates": True}, "candidates"),
        ({"random_state": -1}, "random_state"),
        ({"random_state": "x"}, "random_state"),
        ({"tell": "nothing"}, "tell"),
        ({"alpha": [1, 2]}, "alpha"),
        ({"alpha": True}, "alpha"),
        ({"fitting": "back", "method": "gram"}, "method"),
        ({"feature_costs": "abc"}, "feature_costs"),
        ({"feature_costs": [1, 2]}, "feature_costs"),
        ({"feature_costs": [1, 2, 3, 4, 5, 6, 0]}, "feature_costs"),
        ({"feature_costs": {"f1": 1.0}}, "no cost for 'f2'"),
        ({"measures": "best"}, "measures"),
        ({"convention": "mine"}, "convention"),
    ],
)
def test_bad_parameters(options, problem):
    X, y, qid = plain_collection(rows=30)
    with pytest.raises(rw.ParameterError, match=problem):
        rw.GreedyRankRLS(**{"n_features": 2, **options}).fit(X, y, qid=qid)


def test_impossible_data():
    X, y, qid = plain_collection(rows=30)
    with pytest.raises(rw.DataError, match="at least two"):
        rw.GreedyRankRLS(1.0, 2).fit(X, y, group=[len(y)])
    X[4, 2] = np.inf
    for method, store in itertools.product(["gram", "stream", "direct"], [np.asarray, sp.csr_array]):
        with pytest.raises(rw.DataError, match=r"row 4 \(query .*\), feature 'f3': the value is inf"):
            rw.GreedyRankRLS(1.0, 2, method=method).fit(store(X), y, qid=qid)
    with pytest.raises(rw.DataError, match="overflow"):
        rw.GreedyRankRLS(1.0, 2).fit(np.where(np.isinf(X), 0, X) * 1e200, y, qid=qid)


def test_grades_that_are_all_equal():
    X, _, qid = plain_collection(rows=30)
    ranker = rw.GreedyRankRLS(1.0, 2).fit(X, np.ones(30), qid=qid)
    assert ranker.selected_features_.tolist() == [0, 1]
    assert not ranker.coef_.any()


def test_costs_in_any_unit():
    X, y, qid = plain_collection()
    costs = np.array([1, 3, 1, 2, 1, 5, 1.0])
    expected = rw.GreedyRankRLS(1.0, 5, feature_costs=costs, measures=()).fit(X, y, qid=qid).selected_features_
    for unit in (1e-12, 1e6, 1e12):
        ranker = rw.GreedyRankRLS(1.0, 5, feature_costs=costs * unit, measures=()).fit(X, y, qid=qid)
        assert ranker.selected_features_.tolist() == expected.tolist()


@pytest.mark.parametrize("criterion", ["squared-error", "ndcg@5"])
def test_the_choice_is_the_best_of_all_steps_of_a_floating_search(criterion):
    dropped = 0
    for seed in range(6):
        X, y, qid = nested_collection(seed)
        ranker = rw.GreedyRankRLS(
            rw.search(0.01, 1), rw.search(1, 2, 3, 4), measures="ndcg@3", criterion=criterion, floating=True
        ).fit(X, y, qid=qid)
        steps = [step for path in ranker.paths_ for step in path]
        dropped += sum(step.action == "drop" for step in steps)
        values = {step.selected: step.lqo[rw.nDCG @ 3].mean for step in steps}
        chosen = next(s for s in steps if s.selected == tuple(ranker.selected_features_))
        assert chosen.lqo[rw.nDCG @ 3].mean == max(values.values())
        front = [(point.cost, point.value) for point in ranker.pareto_front_]
        for size in range(1, 5):
            best = max((v for s, v in values.items() if len(s) <= size), default=None)
            assert max((value for cost, value in front if cost <= size), default=None) == best
    assert dropped


@pytest.mark.parametrize("method", ["gram", "stream", "direct"])
def test_a_query_that_outweighs_all_others(method):
    X, y, qid = plain_collection()
    X[qid == 3] *= 1e6
    selected, errors = retraining.greedy(X, y, qid, 1.0, 3)
    path = rw.GreedyRankRLS(1.0, 3, method=method, measures=()).fit(X, y, qid=qid).path_
    assert [step.feature for step in path] == selected
    np.testing.assert_allclose([step.criterion for step in path], errors, rtol=1e-7)


def test_floating_search_on_copies_with_a_lambda_below_rounding():
    X, y, qid = plain_collection()
    X = np.column_stack([X, X]) * 1e8
    ranker = rw.GreedyRankRLS(2.0**-15, 5, floating=True, measures=()).fit(X, y, qid=qid)
    assert len(ranker.selected_features_) == 5


def test_telling_only_what_decides():
    X, y, qid = plain_collection()
    valid = rw.Queries(*plain_collection(seed=1))
    everything = rw.GreedyRankRLS(1.0, 3, measures="map").fit(X, y, qid=qid, valid=valid)
    deciding = rw.GreedyRankRLS(1.0, 3, measures="map", tell="deciding").fit(X, y, qid=qid, valid=valid)
    for one, other in zip(everything.path_, deciding.path_, strict=True):
        assert one.valid == other.valid
        assert one.lqo
        assert not other.lqo
    assert rw.GreedyRankRLS(1.0, 3, measures="map", tell="deciding").fit(X, y, qid=qid).path_[0].lqo


def test_half_of_the_columns_gone_changes_nothing():
    """The memory of candidates is narrowed as they are used up: the path to the end is that of retraining."""
    X, y, qid = plain_collection(n=9)
    selected, errors = retraining.greedy(X, y, qid, 1.0, 9)
    for method in ("gram", "stream"):
        path = rw.GreedyRankRLS(1.0, 9, method=method, measures=()).fit(X, y, qid=qid).path_
        assert [step.feature for step in path] == selected
        np.testing.assert_allclose([step.criterion for step in path], errors, rtol=1e-10)
