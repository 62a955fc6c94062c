"""Learned position weights, against a linear programme with a row for every ranking of every query."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import rankwright as rw
from rankwright.losses import StructuredHinge, learned_position_weights
from tests.losses.rankings import ndcg_rankings


def least_by_enumeration(grades, scores, k, bound, top, weights):
    """min Σ_q θ_q with θ_q ≥ ξ_q of every ranking, over A(1) = top ≥ A(2) ≥ … ≥ 0."""
    n = len(grades)
    rows, limits = [], []
    for q in range(n):
        every = ndcg_rankings(grades[q], k, np.zeros(k))
        along = scores[q][every.orders][:, :k]
        target = along[every.is_ideal].mean(axis=0) if bound == "convex" else np.sort(scores[q])[::-1][:k]
        for loss, ranked in zip(every.losses, along, strict=True):
            rows.append([*(ranked - target), *-np.eye(n)[q]])
            limits.append(-loss)
    for r in range(k - 1):
        rows.append([*(np.eye(k)[r + 1] - np.eye(k)[r]), *np.zeros(n)])
        limits.append(0.0)
    bounds = [(top, top), *[(0, None)] * (k - 1), *[(None, None)] * n]
    return linprog([*np.zeros(k), *weights], A_ub=rows, b_ub=limits, bounds=bounds).fun


@pytest.mark.parametrize("bound", ["convex", "tight"])
@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_against_all_rankings(k, bound):
    rng = np.random.default_rng(k)
    for scale in (0.05, 0.5, 5.0):
        grades = [[2.0, 0.0, *rng.integers(0, 3, 3)] for _ in range(8)]
        scores = [np.round(scale * (rng.standard_normal(5) + np.array(grade)), 3) for grade in grades]
        weights = rng.choice([1.0, 2.0], 8)
        queries = rw.Queries(None, np.concatenate(grades), np.repeat(np.arange(8), 5))
        losses = StructuredHinge(f"ndcg@{k}", bound=bound).on(queries, weights)
        flat = np.concatenate(scores)
        learned = learned_position_weights(losses, flat)
        expected = least_by_enumeration(grades, scores, k, bound, losses.position_weights[0], weights)
        reached = losses.with_position_weights(learned).at(flat).value
        assert reached <= losses.at(flat).value
        assert expected - 1e-9 <= reached <= expected * (1 + 1.1e-4) + 1e-9
        assert learned[0] == losses.position_weights[0]
        assert all(a >= b >= 0 for a, b in itertools.pairwise(learned))


def test_queries_of_different_lengths():
    """Shorter than the weights, without a relevant document, with one document: still the same planes as values."""
    rng = np.random.default_rng(9)
    sizes = [1, 2, 3, 20, 9, 4]
    grades = rng.integers(0, 4, sum(sizes)).astype(float)
    grades[-4:] = 0.0
    queries = rw.Queries(None, grades, np.repeat(np.arange(6), sizes))
    scores = rng.standard_normal(len(grades))
    for weights in ("linear", [3.0, 2.0, 2.0, 1.0, 0.5, 0.0, 0.0]):
        losses = StructuredHinge("ndcg@5", weights).on(queries)
        learned = learned_position_weights(losses, scores)
        assert len(learned) == len(losses.position_weights)
        again = losses.with_position_weights(learned)
        assert again.at(scores).value < losses.at(scores).value
        assert learned_position_weights(again, scores) @ np.ones(len(learned)) > 0
        assert again.with_position_weights(losses.position_weights).at(scores).value == losses.at(scores).value


def test_shifted_scores_give_the_same_weights():
    rng = np.random.default_rng(10)
    queries = rw.Queries(None, rng.integers(0, 3, 60).astype(float), np.repeat(np.arange(6), 10))
    scores = rng.integers(-512, 512, 60) / 256.0
    losses = StructuredHinge("ndcg@3").on(queries)
    here, there = learned_position_weights(losses, scores), learned_position_weights(losses, scores + 2.0**30)
    assert losses.with_position_weights(there).at(scores).value == pytest.approx(
        losses.with_position_weights(here).at(scores).value, rel=2e-4
    )


def test_nothing_to_gain():
    """All documents alike: any weights do, so they stay as they are."""
    losses = StructuredHinge("ndcg@2").on(rw.Queries(None, [1.0, 1.0, 1.0]))
    assert learned_position_weights(losses, np.zeros(3)).tolist() == losses.position_weights.tolist()


def test_rescaled_slacks_are_refused():
    losses = StructuredHinge("ndcg@2", rescale="slack").on(rw.Queries(None, [1.0, 0.0]))
    with pytest.raises(rw.ParameterError, match="rescale='margin'"):
        learned_position_weights(losses, np.zeros(2))


def test_rows_in_any_order():
    random = np.random.default_rng(3)
    qid, grades, scores = np.repeat(np.arange(6), 8), random.integers(0, 3, 48), random.normal(size=48)
    mixed = random.permutation(48)
    together = StructuredHinge("ndcg@4").on(rw.Queries(None, grades, qid))
    apart = StructuredHinge("ndcg@4").on(rw.Queries(None, grades[mixed], qid[mixed]))
    learned = learned_position_weights(apart, scores[mixed])
    least = together.with_position_weights(learned_position_weights(together, scores)).at(scores).value
    assert apart.with_position_weights(learned).at(scores[mixed]).value == pytest.approx(least, rel=1e-3)


def test_too_many_ranks():
    losses = StructuredHinge("ndcg").on(rw.Queries(None, np.arange(60) % 3))
    with pytest.raises(rw.ParameterError, match="lower the cutoff"):
        learned_position_weights(losses, np.zeros(60))
