"""Rescaled slacks: what is found ≤ the exact loss ≤ the bound, against all rankings."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import StructuredHinge
from rankwright.losses.rescaling_kernels import BEST, BOUND, MULTIPLIER, N_KNOWN, begin, tell
from tests.losses.rankings import ap_rankings, ndcg_rankings, position_weights, some_scores

CASES = [
    ("ndcg@2", "linear"),
    ("ndcg@3", "inverse-sqrt"),
    ("ndcg@6", "discount"),
    ("ndcg@3", [5.0, 1.0]),
    ("map", "linear"),
]


def drawn(rng, measure, weights):
    m = int(rng.integers(2, 7))
    grades = rng.integers(0, 2 if measure == "map" else 4, m).astype(float)
    grades[:2] = 1.0, 0.0
    every = ap_rankings(grades) if measure == "map" else None
    if every is None:
        k = int(measure.partition("@")[2])
        every = ndcg_rankings(grades, k, position_weights(weights, k))
    return grades, some_scores(rng, m), every


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize(("measure", "weights"), CASES, ids=str)
def test_found_exact_bound(measure, weights, bound):
    rng = np.random.default_rng(11)
    exact_ones = 0
    for _ in range(80):
        grades, scores, every = drawn(rng, measure, weights)
        at = StructuredHinge(measure, weights, bound, rescale="slack").on(rw.Queries(None, grades)).at(scores)
        exact = every.slack_rescaled(scores, bound)
        tolerance = 1e-9 * (1 + exact + np.abs(scores).max())
        assert at.value <= exact + tolerance, (grades, scores)
        assert exact <= at.bounds[0] + tolerance, (grades, scores)
        assert at.value >= every.losses_by_scores(scores).max() - tolerance
        exact_ones += at.value >= exact - tolerance
    assert exact_ones >= 78


@pytest.mark.parametrize(("measure", "weights"), CASES, ids=str)
def test_the_plane_is_below_the_exact_loss_everywhere(measure, weights):
    """value + gradientᵀ(s' − s) ≤ the exact convex loss at s'."""
    rng = np.random.default_rng(12)
    for _ in range(30):
        grades, scores, every = drawn(rng, measure, weights)
        at = StructuredHinge(measure, weights, rescale="slack").on(rw.Queries(None, grades)).at(scores)
        for step in (1e-3, 0.1, 1.0, 10.0):
            other = scores + step * rng.standard_normal(len(scores))
            plane = at.value + at.gradient @ (other - scores)
            assert plane <= every.slack_rescaled(other, "convex") + 1e-9 * (1 + np.abs(other).max())


def test_large_margins_have_no_loss():
    """Where every other ranking is more than 1 below the ideal one, Δ·H is negative but for it."""
    at = StructuredHinge("ndcg@3", rescale="slack").on(rw.Queries(None, [2.0, 1.0, 0.0])).at([300.0, 200.0, 100.0])
    assert at.value == 0.0
    assert 0.0 <= at.bounds[0] < 1e-3
    assert not at.gradient.any()


def test_margins_have_bounds_too():
    at = StructuredHinge("ndcg@3").on(rw.Queries(None, [2.0, 1.0, 0.0])).at([1.0, 0.0, 2.0])
    assert at.bounds.tolist() == at.values.tolist()


def test_the_search_finds_the_best_vertex_and_bounds_the_hull():
    """On random points instead of rankings: the bound is the best product on the hull, on a fine grid of its edges."""
    rng = np.random.default_rng(13)
    for n in (2, 3, 8, 50):
        for _ in range(40):
            losses, heights = rng.random(n), 1 + 3 * rng.standard_normal(n)
            heights[0] = max(heights[0], 1.0)
            losses[rng.integers(n)] *= rng.integers(0, 2)
            known = np.empty(N_KNOWN)
            begin(known)
            asked, goes_on = [], True
            while goes_on:
                asked.append(known[MULTIPLIER])
                best = np.lexsort((losses, heights + asked[-1] * losses))[-1]
                goes_on = tell(known, losses[best], heights[best])
            assert len(asked) <= 20
            mix = np.linspace(0, 1, 201)[:, None, None]
            on_edges = (mix * losses + (1 - mix) * losses[:, None]) * (mix * heights + (1 - mix) * heights[:, None])
            hull = max(on_edges.max(), 0.0)
            assert known[BEST] <= hull + 1e-12
            assert known[BOUND] >= hull - 1e-9
            assert known[BOUND] <= hull + 1e-3 * (1 + abs(heights).max())
