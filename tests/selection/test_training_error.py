"""Bounds of held-out errors against retraining, and what greedy selection saves by them."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.selection.forward import SearchPlan, SquaredError, search_features
from rankwright.selection.selectors import GramSelector, StreamSelector
from tests import retraining
from tests.objectives import centred


def collection(seed=0, queries=12, n=8, rows=150):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)) * np.logspace(-1, 2, n) + 3, rng.integers(0, queries, rows)
    X[:, 5] = X[:, 4] + 0.01 * X[:, 6]  # nearly the same feature twice
    y = np.clip(np.round(X[:, 1] / np.std(X[:, 1]) - X[:, 3] / np.std(X[:, 3]) + rng.standard_normal(rows) + 2), 0, 4)
    return X, y, qid


def training_error(X, y, qid, alpha):
    residual = retraining.centred(y, qid) - retraining.centred(X, qid) @ retraining.rankrls(X, y, qid, alpha)
    return float(residual @ residual)


@pytest.mark.parametrize("selector", [GramSelector, StreamSelector])
@pytest.mark.parametrize("alpha", [1e-3, 1.0, 1e4])
def test_bounds_are_training_errors_and_held_out_errors_are_not_below(selector, alpha):
    X, y, qid = collection()
    ours = selector(centred(rw.Queries(X, y, qid)), 5)
    ours.start(alpha)
    scale = float(np.sum(retraining.centred(y, qid) ** 2))
    for feature in (1, 4, 7, 3):
        selected = ours.selected.features
        left = np.setdiff1d(np.arange(8), selected)
        bounds = ours.error_bounds(left)
        errors = [training_error(X[:, [*selected, i]], y, qid, alpha) for i in left]
        np.testing.assert_allclose(bounds, errors, atol=1e-6 * scale)
        assert (bounds <= errors).all()
        assert (bounds <= [retraining.held_out_error(X[:, [*selected, i]], y, qid, alpha) for i in left]).all()
        ours.add(feature)


def test_bounds_begin_anew_with_another_alpha():
    X, y, qid = collection()
    again, once = (GramSelector(centred(rw.Queries(X, y, qid)), 4) for _ in range(2))
    for alpha in (5.0, 0.1):
        again.start(alpha)
        again.add(2)
    once.start(0.1)
    once.add(2)
    np.testing.assert_array_equal(again.error_bounds(np.arange(8)), once.error_bounds(np.arange(8)))


class Watched(GramSelector):
    """Notes which candidates are looked at query by query."""

    def errors_with(self, columns):
        self.seen = [*getattr(self, "seen", []), *columns.tolist()]
        return super().errors_with(columns)


def test_few_candidates_are_looked_at_query_by_query():
    """Where features differ in what they add by more than held-out errors exceed training errors."""
    rng = np.random.default_rng(3)
    X, qid = rng.standard_normal((4000, 30)), np.repeat(np.arange(400), 10)
    y = np.round(X[:, :6] @ np.array([3.0, 2.5, 2.0, 1.6, 1.3, 1.0]) + rng.standard_normal(4000) + 20)
    selector = Watched(centred(rw.Queries(X, y, qid)), 6)
    selector.start(1.0)
    steps = list(search_features(selector, SearchPlan(SquaredError(), 6, np.ones(30)), rng))
    assert [feature for _, feature, _ in steps] == [0, 1, 2, 3, 4, 5] == selector.seen


@pytest.mark.parametrize("costs", [None, np.linspace(1, 3, 40)])
@pytest.mark.parametrize("n_candidates", [None, 7])
def test_looking_at_few_candidates_finds_what_looking_at_all_does(costs, n_candidates):
    """ "direct" has no bounds. Most of these features are noise, so that many are equally good."""
    rng = np.random.default_rng(1)
    X, qid = rng.standard_normal((400, 40)), rng.integers(0, 15, 400)
    y = np.clip(np.round(X[:, 1] - X[:, 3] + rng.standard_normal(400) + 2), 0, 4)
    options = {"feature_costs": costs, "candidates": n_candidates, "random_state": 0, "measures": ()}
    stream, direct = (
        rw.GreedyRankRLS(rw.search(0.01, 1.0, 100.0), 20, method=method, **options).fit(X, y, qid=qid)
        for method in ("stream", "direct")
    )
    for ours, expected in zip(stream.paths_, direct.paths_, strict=True):
        assert [step.feature for step in ours] == [step.feature for step in expected]
        np.testing.assert_allclose([step.criterion for step in ours], [step.criterion for step in expected], rtol=1e-10)


def test_a_vanishing_alpha_leaves_no_bound_but_zero():
    """Of equal features the second has only λ left of its square, and no digit of its bound is right."""
    rng = np.random.default_rng(2)
    X, qid = np.repeat(rng.standard_normal((200, 3)), 2, axis=1), rng.integers(0, 9, 200)
    y = np.clip(np.round(X[:, 0] + rng.standard_normal(200) + 2), 0, 4)
    selector = GramSelector(centred(rw.Queries(X, y, qid)), 4)
    selector.start(1e-300)
    selector.add(0)
    bounds = selector.error_bounds(np.arange(1, 6))
    assert bounds[0] == 0
    assert (bounds[1:] > 0).all()
    path = rw.GreedyRankRLS(1e-300, 3, method="stream", measures=()).fit(X, y, qid=qid).path_
    assert path[0].criterion == pytest.approx(retraining.held_out_error(X[:, [0]], y, qid, 1e-300), rel=1e-9)
