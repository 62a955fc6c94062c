"""The peers that the benchmarks bring along: each does what brute-force retraining does."""

from itertools import combinations, pairwise

import numpy as np
import pytest

from benchmarks.algorithm1 import as_printed, greedy_rankrls
from benchmarks.rlscore_numpy import decompose, greedy_rls, greedy_rls_plain, leave_query_out, rankrls_weights

ALPHA = 0.7


@pytest.fixture(params=[0, 1])
def data(request):
    """Queries of one document, of fewer documents than features, and of more, all off centre."""
    rng = np.random.default_rng(request.param)
    offsets = np.cumsum([0, 4, 1, 9, 3, 12, 2])
    x = rng.standard_normal((offsets[-1], 6)) + 2
    y = rng.integers(0, 3, offsets[-1]).astype(float)
    return x, y, offsets


def ridge(x, y, alpha):
    """The minimiser of ‖Xw − y‖² + α‖w‖², as ordinary least squares with a row √α for each weight."""
    n = x.shape[1]
    return np.linalg.lstsq(np.vstack([x, np.sqrt(alpha) * np.eye(n)]), np.append(y, np.zeros(n)))[0]


def as_pairs(x, y, queries):
    """Differences within each query, weighted so that their squares add up to the loss of paper G, eq. 3."""
    pairs = [
        (i, j, 1 / np.sqrt(stop - start)) for start, stop in queries for i, j in combinations(range(start, stop), 2)
    ]
    left, right, weight = (np.array(part) for part in zip(*pairs, strict=True))
    return (x[left] - x[right]) * weight[:, None], (y[left] - y[right]) * weight


def rankrls(x, y, queries, alpha=ALPHA):
    return ridge(*as_pairs(x, y, queries), alpha)


def without_each(offsets):
    """Each query, and all the others."""
    queries = list(pairwise(offsets.tolist()))
    return [(query, [other for other in queries if other != query]) for query in queries]


def greedily(error, n, k):
    """Add the feature with the least error k times, asking for the error of every set of features anew."""
    selected, errors = [], []
    for _ in range(k):
        tried = {i: error([*selected, i]) for i in range(n) if i not in selected}
        best = min(tried, key=tried.get)
        selected.append(best)
        errors.append(tried[best])
    return selected, errors


@pytest.mark.parametrize("algorithm_1", [as_printed, greedy_rankrls])
def test_algorithm_1_selects_as_retraining_does(data, algorithm_1):
    x, y, offsets = data

    def error(features):
        total = 0.0
        for (start, stop), others in without_each(offsets):
            residual = y[start:stop] - x[start:stop, features] @ rankrls(x[:, features], y, others)
            total += np.sum((residual - residual.mean()) ** 2)
        return total

    found = algorithm_1(x, y, offsets, ALPHA, 4)
    features, criteria = greedily(error, 6, 4)
    assert found.features == features
    np.testing.assert_allclose(found.criteria, criteria, rtol=1e-9)
    np.testing.assert_allclose(found.weights, rankrls(x[:, features], y, list(pairwise(offsets))), atol=1e-10)


def test_rankrls_weights_minimise_the_pairwise_loss(data):
    x, y, offsets = data
    model = decompose(x, y, offsets)
    for alpha in (0.01, ALPHA, 50.0):
        expected = rankrls(x, y, list(pairwise(offsets)), alpha)
        np.testing.assert_allclose(rankrls_weights(model, alpha), expected, atol=1e-10)


def test_held_out_scores_are_those_of_retraining(data):
    x, y, offsets = data
    held_out = leave_query_out(decompose(x, y, offsets), ALPHA)
    for (start, stop), others in without_each(offsets):
        np.testing.assert_allclose(held_out[start:stop], x[start:stop] @ rankrls(x, y, others), atol=1e-9)


@pytest.mark.parametrize("rls", [greedy_rls, greedy_rls_plain])
def test_greedy_rls_selects_as_leaving_out_each_document_does(data, rls):
    x, y, _ = data

    def error(features):
        total = 0.0
        for i in range(len(y)):
            kept = np.arange(len(y)) != i
            total += (y[i] - x[i, features] @ ridge(x[kept][:, features], y[kept], ALPHA)) ** 2
        return total

    found = rls(x, y, ALPHA, 4)
    features, criteria = greedily(error, 6, 4)
    assert found.features == features
    np.testing.assert_allclose(found.criteria, criteria, rtol=1e-9)
    np.testing.assert_allclose(found.weights, ridge(x[:, features], y, ALPHA), atol=1e-10)
