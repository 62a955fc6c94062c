"""The arg-max of NDCG's structured hinge: against all rankings of short lists, and SciPy's assignment on long ones."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import rankwright as rw
from rankwright.losses import StructuredHinge
from rankwright.losses.assignment_kernels import assign, candidates
from tests.losses.rankings import ndcg_rankings, position_weights, some_scores

NAMED = ["linear", "inverse-sqrt", "discount"]
GIVEN = [[1.0], [5.0, 1.0, 1.0, 0.0], [2.0, 2.0, 2.0, 2.0, 2.0], [1.0, 0.0]]


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
@pytest.mark.parametrize("weights", [*NAMED, *GIVEN], ids=str)
def test_short_lists_against_all_rankings(weights, k, bound):
    rng = np.random.default_rng(k)
    for m in range(1, 7):
        for n_grades in (2, 3, 6):
            grades = rng.integers(0, n_grades, m).astype(float)
            scores = some_scores(rng, m)
            every = ndcg_rankings(grades, k, position_weights(weights, k))
            expected = every.margin_rescaled(scores, bound) if grades.any() else 0.0
            at = StructuredHinge(f"ndcg@{k}", weights, bound).on(rw.Queries(None, grades)).at(scores)
            tolerance = 1e-12 * (1 + 20 * np.abs(scores).max())
            assert at.value == pytest.approx(expected, abs=tolerance), (grades, scores)


@pytest.mark.parametrize("scale", [1e-4, 0.03, 1.0, 30.0], ids=str)
@pytest.mark.parametrize("weights", [*NAMED, "uneven"])
def test_long_lists_against_scipy(weights, scale):
    """Every document is a column there, however little it is worth."""
    rng = np.random.default_rng(int(scale * 1e4))
    for m, k, n_grades in [(300, 100, 300), (300, 10, 5), (90, 90, 4), (40, 100, 40), (200, 30, 2), (1, 3, 2)]:
        given = weights if weights != "uneven" else np.sort(rng.exponential(size=k) * (rng.random(k) < 0.7))[::-1]
        if weights == "uneven":
            given[0] += 1.0
        grades = rng.integers(0, n_grades, m) * (4.0 / n_grades)
        grades[0] = 1.0
        scores = scale * (rng.standard_normal(m) + 0.5 * grades)
        if n_grades == 2:
            scores = np.round(scores / scale, 1) * scale  # ties
        loss, coefficients = by_scipy(grades, scores, k, position_weights(given, k))
        losses = StructuredHinge(f"ndcg@{k}", given, "tight").on(rw.Queries(None, grades))
        predicted = losses.predicted_targets(scores)
        at = losses.at(scores)
        expected = loss + coefficients @ scores - predicted @ scores
        size = position_weights(given, k).sum() * np.abs(scores).max()
        assert at.value == pytest.approx(expected, abs=1e-12 * (1 + size))


def by_scipy(grades, scores, k, weights):
    """Δ and c of the best ranking, from the full matrix of ranks × documents."""
    m = len(grades)
    discounts = 1 / np.log2(np.arange(2, k + 2))[:m]
    weights = np.pad(weights, (0, max(k - len(weights), 0)))[:m]
    gains = 2**grades - 1
    ideal = np.sort(gains)[::-1][: len(discounts)] @ discounts
    worth = np.outer(weights, scores) - np.outer(discounts, gains / ideal)
    ranks, documents = linear_sum_assignment(worth, maximize=True)
    coefficients = np.zeros(m)
    coefficients[documents] = weights[ranks]
    return 1 - discounts[ranks] @ gains[documents] / ideal, coefficients


def test_assign_against_scipy():
    rng = np.random.default_rng(5)
    for n_ranks, n_columns in [(1, 1), (1, 4), (3, 3), (5, 9), (20, 20), (40, 150)]:
        scores, gains = rng.standard_normal(n_columns), rng.integers(0, 4, n_columns) / 3.0
        weights, discounts = (np.sort(rng.random(n_ranks))[::-1] for _ in range(2))
        rows = np.zeros((2, n_columns))
        rows[:, :n_ranks] = weights, discounts
        cone = np.array([0.0, 0.0, 0.0, 0.0, weights.mean(), discounts.mean()])
        columns, rank_of, before, waiting = np.empty((4, n_columns), np.int64)
        columns[:] = np.arange(n_columns)
        prices, shortest = np.empty((2, n_columns))
        is_open = np.empty(n_columns, bool)
        room = (rank_of, prices, shortest, before, waiting, is_open)
        worth = np.outer(weights, scores) - np.outer(discounts, gains)
        assign(n_ranks, n_columns, columns, scores.copy(), gains.copy(), rows, cone, room)
        assert sorted(rank_of.tolist()) == list(range(n_columns))
        assert sorted(columns.tolist()) == list(range(n_columns))
        reached = worth[rank_of[rank_of < n_ranks], columns[rank_of < n_ranks]].sum()
        ranks, documents = linear_sum_assignment(worth, maximize=True)
        assert reached == pytest.approx(worth[ranks, documents].sum(), abs=1e-12)


@pytest.mark.parametrize("name", NAMED)
def test_few_documents_are_candidates(name):
    """Those that n others beat at every rank are left out, and with A = D all but n."""
    rng = np.random.default_rng(2)
    m, k = 500, 10
    gains = np.sort(2.0 ** rng.integers(0, 5, m) - 1) / 60
    scores = rng.standard_normal(m)
    weights, discounts = position_weights(name, k), position_weights("discount", k)
    slopes = discounts / weights
    ends = [int(slopes.argmin()), int(slopes.argmax())]
    cone = np.array([weights[ends], discounts[ends]]).T.ravel()
    cone = np.append(cone, [weights.mean(), discounts.mean()])
    room = (np.empty(k, np.int64), np.empty(k), np.empty(m, np.int64), np.empty(m, np.int64))
    query = (scores, gains, np.arange(m, dtype=np.int32), 0, m, 0.0)
    n_found = candidates(query, k, cone, 1.0, room)
    found = set(room[3][:n_found].tolist())
    worth = np.outer(weights, scores) - np.outer(discounts, gains)
    beaten_by = np.array([(worth >= worth[:, [i]]).all(axis=0).sum() - 1 for i in range(m)])
    assert set(np.flatnonzero(beaten_by < k).tolist()) <= found
    assert n_found <= (k + 3 if name == "discount" else 5 * k)
