"""Synthetic collections: as asked for, the same for a seed, and with a best ranker that is the best."""

from itertools import pairwise

import numpy as np
import pytest

from rankwright.datasets import make_queries
from rankwright.errors import ParameterError


def dcg_per_query(queries, scores):
    """DCG with the grade as gain, query by query."""
    values = []
    for start, stop in pairwise(queries.grouping.offsets):
        ranked = queries.y[start:stop][np.argsort(-scores[start:stop], kind="stable")]
        values.append(ranked @ (1 / np.log2(np.arange(stop - start) + 2)))
    return np.array(values)


def is_perfect(queries, scores):
    """Whether no document of any query stands above one with a better grade."""
    grouped = pairwise(queries.grouping.offsets)
    return all(np.all(np.diff(queries.y[start:stop][np.argsort(-scores[start:stop])]) <= 0) for start, stop in grouped)


def test_the_same_seed_gives_the_same_collection():
    first, again, other = (make_queries(50, 10, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.queries.X, again.queries.X)
    np.testing.assert_array_equal(first.queries.y, again.queries.y)
    np.testing.assert_array_equal(first.queries.qid, again.queries.qid)
    np.testing.assert_array_equal(first.best_weights, again.best_weights)
    assert not np.array_equal(first.queries.X, other.queries.X)


@pytest.mark.parametrize("mix", [(0.7, 0.2, 0.1), (0.52, 0.32, 0.13, 0.02, 0.01), (0.9, 0.0, 0.1), (0, 0.5, 0.5)])
def test_the_grades_are_mixed_as_asked(mix):
    y = make_queries(100, 20, grade_mix=mix).queries.y.astype(int)
    np.testing.assert_allclose(np.bincount(y, minlength=len(mix)) / len(y), mix, atol=0.001)


def test_the_sizes_spread_around_their_mean():
    sizes = make_queries(500, 30).queries.sizes
    assert sizes.mean() == 30
    assert sizes.min() >= 1
    assert sizes.std() == pytest.approx(30 / np.sqrt(2.5), rel=0.15)
    assert (make_queries(7, 1).queries.sizes == 1).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_columns_are_of_three_kinds(dtype):
    made = make_queries(500, 20, 12, n_informative=4, n_correlated=3, query_offset=0, dtype=dtype)
    assert made.queries.X.dtype == dtype
    kinds = [made.informative, made.correlated, made.useless]
    assert [len(kind) for kind in kinds] == [4, 3, 5]
    assert sorted(np.concatenate(kinds)) == list(range(12))
    assert set(np.flatnonzero(made.best_weights)) == set(made.informative)
    correlation = np.abs(np.corrcoef(made.queries.X, rowvar=False) - np.eye(12))
    assert (correlation[np.ix_(made.correlated, made.informative)].max(axis=1) > 0.3).all()
    assert correlation[made.useless].max() < 0.06
    np.testing.assert_allclose(made.queries.X.std(axis=0), 1, atol=0.03)
    np.testing.assert_allclose((made.queries.X @ made.best_weights).std(), 1, atol=0.03)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_informative", [1, 6])  # with 1, float32 features make many ties
def test_without_noise_the_best_ranker_is_perfect(seed, n_informative):
    made = make_queries(200, 30, 15, n_informative=n_informative, noise=0, seed=seed)
    assert is_perfect(made.queries, made.queries.X @ made.best_weights)
    assert not is_perfect(made.queries, -made.queries.X @ made.best_weights)


def test_no_other_ranker_is_better():
    """On held-out queries: ridge regression and disturbed weights are all worse, and not by chance."""
    made = make_queries(2000, 30, 10, n_informative=4, n_correlated=4, noise=1, seed=5)
    train, test = made.queries[:300], made.queries[300:]
    best = dcg_per_query(test, test.X @ made.best_weights)
    centred = train.X.astype(np.float64) - train.X.mean(axis=0)
    ridge = np.linalg.solve(centred.T @ centred + np.eye(10), centred.T @ (train.y - train.y.mean()))
    rng = np.random.default_rng(0)
    disturbed = [made.best_weights + 0.2 * rng.standard_normal(10) for _ in range(10)]
    leaning = [made.best_weights + sign * 0.3 * np.eye(10)[column] for column in range(10) for sign in (-1, 1)]
    for weights in [ridge, *disturbed, *leaning]:
        lost = best - dcg_per_query(test, test.X @ weights)
        assert lost.mean() > 2 * lost.std() / np.sqrt(len(lost))


def test_offsets_per_query_mislead_a_regression_over_all_queries_only():
    """With all the data in the world, pooled regression tends elsewhere; centred by query, it tends to w*."""
    made = make_queries(3000, 30, 6, n_informative=6, n_correlated=0, query_offset=1, noise=0.5, seed=2)
    x, y, codes = made.queries.X.astype(np.float64), made.queries.y, made.queries.grouping.codes
    sizes = made.queries.sizes

    def cosine(features, targets):
        weights = np.linalg.lstsq(features, targets, rcond=None)[0]
        return weights @ made.best_weights / np.linalg.norm(weights)

    means = np.column_stack([np.bincount(codes, column) / sizes for column in x.T])
    within = cosine(x - means[codes], y - (np.bincount(codes, y) / sizes)[codes])
    pooled = cosine(x - x.mean(axis=0), y - y.mean())
    assert within > 0.999
    assert pooled < 0.98


def test_a_slice_by_query_keeps_the_truth():
    made = make_queries(40, 10, noise=0)
    part = made.queries[25:]
    assert is_perfect(part, part.X @ made.best_weights)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({"n_queries": 0}, "n_queries must be a whole number of at least 1, not 0"),
        ({"documents": 2.5}, "documents must be a whole number"),
        ({"n_features": True}, "n_features must be a whole number"),
        ({"n_informative": 0}, "n_informative must be"),
        ({"n_correlated": -1}, "n_correlated must be"),
        ({"n_features": 8}, "n_informative = 5 and n_correlated = 5 are more than n_features = 8"),
        ({"grade_mix": (0.5, 0.6)}, "grade_mix must give"),
        ({"grade_mix": (1.5, -0.5)}, "grade_mix must give"),
        ({"grade_mix": (1.0,)}, "grade_mix must give"),
        ({"noise": -1}, "noise must be"),
        ({"noise": float("nan")}, "noise must be"),
        ({"query_offset": float("inf")}, "query_offset must be"),
        ({"seed": -1}, "seed must be"),
        ({"dtype": np.int32}, "dtype must be float32 or float64"),
    ],
)
def test_bad_parameters_are_named(parameters, told):
    with pytest.raises(ParameterError, match=told):
        make_queries(**parameters)
