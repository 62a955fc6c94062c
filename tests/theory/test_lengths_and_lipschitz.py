"""Lengths of documents against plain loops; Lipschitz constants against all rankings."""

import math

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import query_blocks
from rankwright.data.query_blocks import QueryBlocks
from rankwright.losses import StructuredHinge
from rankwright.theory.lengths import largest_length, spreads, squared_products
from rankwright.theory.lipschitz import lipschitz_of, worst_loss
from tests.losses.rankings import ap_rankings, ndcg_rankings, position_weights, some_scores
from tests.theory import plain_bounds as plain

QID = ["b", "a", "a", "c", "b", "b", "d", "a", "b", "e"]  # unsorted; c, d and e have one document each
FORMS = ["dense", "csr", "float32", "float32 csr"]


def features(seed=0, n=4):
    """Eighths, which float32 holds exactly; a third of them 0."""
    rng = np.random.default_rng(seed)
    return rng.integers(-16, 17, (len(QID), n)) / 8 * (rng.random((len(QID), n)) < 0.67)


def blocks_of(X, form):
    given = X.astype(np.float32) if "float32" in form else X
    queries = rw.Queries(sp.csr_array(given) if "csr" in form else given, np.zeros(len(QID)), QID)
    return QueryBlocks(queries.X, queries.grouping)


# Lengths


@pytest.mark.parametrize("rows_per_block", [1, 3, 65_536])
@pytest.mark.parametrize("form", FORMS)
def test_lengths_against_plain_loops(form, rows_per_block, monkeypatch):
    monkeypatch.setattr(query_blocks, "ROWS_PER_BLOCK", rows_per_block)
    X = features()
    blocks, every = blocks_of(X, form), plain.queries_of(X, np.zeros(len(QID)), QID, np.zeros(4))
    assert largest_length(blocks) == pytest.approx(plain.longest_document(every), rel=1e-14)
    assert spreads(blocks) == pytest.approx([plain.spread(query) for query in every], rel=1e-13, abs=1e-13)
    values = np.random.default_rng(1).standard_normal(len(QID))
    expected, first = [], 0
    for query in every:
        own = values[first : first + len(query.X)]
        expected.append(plain.length((query.X - query.X.mean(axis=0)).T @ own) ** 2)
        first += len(own)
    assert squared_products(blocks, values) == pytest.approx(expected, rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("form", ["dense", "csr"])
def test_what_a_query_adds_to_its_features_does_not_change_spreads(form):
    X = features(3)
    moved = X + np.array([2.0**30, -(2.0**28), 0, 2.0**20])  # exact
    assert spreads(blocks_of(moved, form)) == pytest.approx(spreads(blocks_of(X, "dense")), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("odd", [np.nan, np.inf, 1e151])
@pytest.mark.parametrize("form", ["dense", "csr"])
@pytest.mark.parametrize("rows_per_block", [2, 65_536])
def test_numbers_without_a_square_name_their_query(form, odd, rows_per_block, monkeypatch):
    monkeypatch.setattr(query_blocks, "ROWS_PER_BLOCK", rows_per_block)
    X = features()
    X[7, 2] = odd
    with pytest.raises(rw.DataError, match="query 'a': feature"):
        spreads(blocks_of(X, form))


# Constants of hinges

CASES = [
    ("ndcg@1", "discount", [1, 0, 2]),
    ("ndcg@2", "linear", [0, 3, 1, 1, 2]),
    ("ndcg@3", "inverse-sqrt", [2, 2, 0, 0, 0, 1]),
    ("ndcg@3", [5.0, 1.0], [0, 1, 2, 3]),
    ("ndcg@10", "discount", [0, 1, 2, 3, 3]),  # the cutoff is beyond the list
    ("ndcg@10", "linear", [2, 0]),
    ("ndcg@2", [4.0, 4.0, 2.0, 2.0, 1.0, 1.0, 0.5, 0.5], [1, 0, 0, 2, 0]),  # A beyond cutoff and list
    ("ndcg@5", "discount", [1, 1, 1]),  # every ranking is ideal, but they differ in c
    ("ndcg@5", "discount", [3]),
    ("map", "linear", [0, 1, 0, 0, 1]),
    ("map", "linear", [1, 1, 1, 1, 0]),
]
NOTHING_TO_LOSE = [
    ("ndcg@5", "discount", [0, 0, 0]),
    ("map", "linear", [0, 0]),
    ("map", "linear", [2, 1]),
    ("map", "linear", [1]),
]


def every_ranking(measure, weights, grades):
    if measure == "map":
        return ap_rankings(grades)
    k = int(measure.partition("@")[2])
    return ndcg_rankings(grades, k, position_weights(weights, k))


@pytest.mark.parametrize(("measure", "weights", "grades"), CASES, ids=str)
def test_constants_against_all_rankings(measure, weights, grades):
    # A query before it and one after it, so that each has to find its own documents.
    queries = rw.Queries(None, [0, 1, *grades, 1, 0, 0], ["x"] * 2 + ["y"] * len(grades) + ["z"] * 3)
    found = lipschitz_of(StructuredHinge(measure, weights).on(queries))
    expected = plain.constants_of(every_ranking(measure, weights, grades), len(grades))
    assert found.constants[1] == pytest.approx(expected.farthest, rel=1e-13, abs=1e-7)
    assert found.radii[1] == pytest.approx(expected.radius, rel=1e-13, abs=1e-7)
    assert found.sums[1] == pytest.approx(expected.largest_sum, rel=1e-13, abs=1e-13)
    assert found.targets[2 : 2 + len(grades)] == pytest.approx(expected.target, rel=1e-13, abs=1e-13)
    assert found.sums[1] >= np.abs(expected.target).sum() - 1e-13


@pytest.mark.parametrize(("measure", "weights", "grades"), NOTHING_TO_LOSE, ids=str)
def test_constants_of_a_query_that_has_nothing_to_lose_are_0(measure, weights, grades):
    found = lipschitz_of(StructuredHinge(measure, weights).on(rw.Queries(None, grades)))
    for values in (found.constants, found.radii, found.sums, found.targets):
        assert (values == 0).all()


@pytest.mark.parametrize(("measure", "weights", "grades"), CASES, ids=str)
def test_no_two_scores_exceed_the_constant_and_some_reach_it(measure, weights, grades):
    rng = np.random.default_rng(len(grades))
    losses = StructuredHinge(measure, weights).on(rw.Queries(None, grades))
    found, m = lipschitz_of(losses), len(grades)

    def hinge(scores):
        return losses.at(scores).value

    def maximum(scores):
        return hinge(scores) + found.targets @ scores

    def tells(function, s, t):
        return abs(function(s) - function(t)) / max(np.linalg.norm(s - t), 1e-300)

    for _ in range(200):
        s = some_scores(rng, m)
        t = s + rng.choice([1e-3, 0.1, 3.0]) * rng.standard_normal(m)
        assert tells(hinge, s, t) <= found.constants[0] + 1e-7
        assert tells(maximum, s - s.mean(), t - t.mean()) <= found.radii[0] + 1e-7
    every = every_ranking(measure, weights, grades)
    far = every.coefficients - every.target(np.zeros(m), "convex")
    far = far[np.argmax((far**2).sum(axis=1))]
    assert tells(hinge, 1e4 * far, 2e4 * far) >= found.constants[0] * (1 - 1e-9) - 1e-7
    away = every.coefficients[0] - every.coefficients.mean(axis=0)
    if measure != "map":  # of AP, only the target and its reverse are that far
        assert tells(maximum, 1e4 * away, 2e4 * away) >= found.radii[0] * (1 - 1e-9) - 1e-7
    else:
        assert tells(maximum, 1e4 * found.targets, 2e4 * found.targets) >= found.radii[0] * (1 - 1e-9)


def test_the_worst_loss_is_the_mean_over_queries():
    queries = rw.Queries(None, [1, 0, 0, 0, 0, 2, 1], ["a"] * 3 + ["b"] * 2 + ["c"] * 2)
    worst_of_c = 1 - (1 + 3 / math.log2(3)) / (3 + 1 / math.log2(3))
    assert worst_loss(StructuredHinge("ndcg@10").on(queries)) == pytest.approx((0.5 + 0 + worst_of_c) / 3, rel=1e-14)


def test_constants_of_long_lists_keep_their_digits():
    m = 10_000
    grades = np.arange(m)[::-1] / m
    found = lipschitz_of(StructuredHinge(f"ndcg@{m}", "linear").on(rw.Queries(None, grades)))
    # A_r = m + 1 − r: Λ² = Σ (m + 1 − 2r)² = m(m² − 1)/3, and Λ₀ is half of Λ.
    assert found.constants[0] == pytest.approx(math.sqrt(m * (m**2 - 1) / 3), rel=1e-12)
    assert found.radii[0] == pytest.approx(math.sqrt(m * (m**2 - 1) / 12), rel=1e-12)
    assert found.sums[0] == pytest.approx(m**2 / 4, rel=1e-12)
