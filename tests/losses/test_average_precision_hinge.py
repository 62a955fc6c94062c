"""The structured hinge of average precision: against all rankings, and against every place of every document."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import StructuredHinge
from tests.losses.rankings import ap_rankings, some_scores


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("m", range(1, 8))
def test_short_lists_against_all_rankings(m, bound):
    rng = np.random.default_rng(m)
    for trial in range(4 if m == 7 else 30):
        grades = rng.integers(0, 3, m).astype(float)
        level = 1 + trial % 2
        scores = some_scores(rng, m)
        hinge = StructuredHinge(rw.AP(relevant_from=level), bound=bound)
        at = hinge.on(rw.Queries(None, grades)).at(scores)
        mixed = 0 < (grades >= level).sum() < m
        expected = ap_rankings(grades, level).margin_rescaled(scores, bound) if mixed else 0.0
        assert at.value == pytest.approx(expected, abs=1e-12 * (1 + np.abs(scores).max())), (grades, scores)


@pytest.mark.parametrize("scale", [1e-3, 0.1, 1.0, 100.0], ids=str)
def test_long_lists_against_the_lattice(scale):
    """A ranking is a path from the first to the last of both classes; the best one by dynamic programming."""
    rng = np.random.default_rng(int(scale * 1e3))
    for n_relevant, n_others in [(1, 400), (400, 1), (60, 90), (7, 300), (128, 64)]:
        relevant = np.sort(scale * (rng.standard_normal(n_relevant) + 0.5))[::-1]
        others = np.sort(scale * rng.standard_normal(n_others))[::-1]
        if n_relevant == 7:
            relevant, others = np.round(relevant, 1), np.round(others, 1)  # ties, at the larger scales
        grades = np.repeat([1.0, 0.0], [n_relevant, n_others])
        shuffled = rng.permutation(len(grades))
        scores = np.concatenate((relevant, others))
        at = StructuredHinge("map").on(rw.Queries(None, grades[shuffled])).at(scores[shuffled])
        expected = best_path(relevant, others) - (relevant.mean() - others.mean())
        assert at.value == pytest.approx(expected, abs=1e-11 * (1 + np.abs(scores).max()))


def best_path(relevant, others):
    """max 1 − AP + c(y)ᵀs, document by document: ``best[n]`` when n others have been placed."""
    n_relevant, n_others = len(relevant), len(others)
    sums = np.append(0.0, np.cumsum(others))
    best = np.zeros(n_others + 1)
    for i, score in enumerate(relevant, 1):
        n = np.arange(n_others + 1)
        signed = score * (n_others - 2 * n) - (sums[-1] - 2 * sums)
        worth = n / (i + n) / n_relevant + signed / (n_relevant * n_others)
        best = np.maximum.accumulate(best) + worth
    return best.max()


def test_ranks_by_scores_are_the_tight_targets():
    grades, scores = np.array([0.0, 1.0, 1.0, 0.0, 0.0]), np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    losses = StructuredHinge("map", bound="tight").on(rw.Queries(None, grades))
    every = ap_rankings(grades)
    by_scores = every.coefficients[(every.orders == np.arange(5)).all(axis=1)][0]
    assert losses.predicted_targets(scores) == pytest.approx(by_scores, abs=1e-15)
    assert losses.with_targets(by_scores).at(scores).value == pytest.approx(losses.at(scores).value, abs=1e-14)


def test_a_query_of_one_class_has_no_loss():
    queries = rw.Queries(None, [1, 1, 0, 0, 1, 0], ["all", "all", "none", "none", "both", "both"])
    for bound in ("convex", "tight"):
        at = StructuredHinge("map", bound=bound).on(queries).at([3.0, 1.0, 2.0, 2.0, 0.0, 9.0])
        assert at.values[:2].tolist() == [0.0, 0.0]
        assert at.values[2] > 0
        assert not at.gradient[:4].any()


@pytest.mark.parametrize("measure", ["map@10", rw.AP @ 3], ids=str)
def test_a_cutoff_is_refused(measure):
    with pytest.raises(rw.ParameterError, match=r"AP.*takes no cutoff"):
        StructuredHinge(measure)


@pytest.mark.parametrize("weights", ["discount", "inverse-sqrt", [2.0, 1.0]], ids=str)
def test_position_weights_are_refused(weights):
    with pytest.raises(rw.ParameterError, match="position_weights: there are none for AP"):
        StructuredHinge("map", weights)
