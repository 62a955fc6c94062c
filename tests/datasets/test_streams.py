"""Queries that are made while they are read: the same for every cut, with the truth that is told."""

import numpy as np
import pytest

import rankwright as rw


def _stream(**options):
    return rw.datasets.stream_queries(**{"n_queries": 3000, "documents": 30, "n_features": 24, "seed": 4, **options})


def test_the_same_for_every_cut():
    whole = _stream().in_memory()
    few = _stream(memory="1MB")
    assert len(list(few.parts())) > 20
    for part, first in zip(few.parts(), np.cumsum([0, *(part.n_queries for part in few.parts())]), strict=False):
        expected = whole[int(first) : int(first) + part.n_queries]
        np.testing.assert_array_equal(part.X, expected.X)
        np.testing.assert_array_equal(part.y, expected.y)
        np.testing.assert_array_equal(part.qid, expected.qid)
    chosen = np.arange(3000) % 7 == 2
    np.testing.assert_array_equal(few[chosen].in_memory().X, whole[chosen].X)
    np.testing.assert_array_equal(few[chosen].judgments.y, whole[chosen].y)


def test_shape_and_type():
    stream = _stream()
    part = next(stream.parts())
    assert part.X.dtype == np.float32
    assert (stream.n_queries, stream.n_documents, stream.n_features) == (3000, 90_000, 24)
    assert stream.sizes.min() >= 1
    assert stream.sizes.max() > 60
    assert "from a generator" in repr(stream)


def test_another_seed_gives_other_data():
    one, other = (next(_stream(seed=seed).parts()) for seed in (1, 2))
    assert np.mean(one.X[:100] == other.X[:100]) < 0.01


def test_values_are_independent_and_of_variance_1():
    stream = _stream(n_queries=20_000, documents=5, query_offset=0.0)
    x = stream.in_memory().X.astype(np.float64)
    alone = np.concatenate([stream.informative, stream.useless])
    correlations = np.corrcoef(x[:, alone].T) - np.eye(len(alone))
    assert np.abs(x.mean(axis=0)).max() < 5 / np.sqrt(len(x))
    np.testing.assert_allclose(x.var(axis=0), 1, atol=0.04)
    assert np.abs(correlations).max() < 5 / np.sqrt(len(x))
    neighbours = np.corrcoef(x[:-1, alone[0]], x[1:, alone[0]])[0, 1]
    assert abs(neighbours) < 5 / np.sqrt(len(x))
    assert len(np.unique(x[:, alone[0]])) > 0.99 * len(x)  # hardly a value comes twice


def test_shares_of_grades():
    y = _stream(grade_mix=(0.6, 0.3, 0.1)).judgments.y
    np.testing.assert_allclose(np.bincount(y.astype(int)) / len(y), (0.6, 0.3, 0.1), atol=0.01)


def test_without_noise_the_best_weights_rank_perfectly():
    stream = _stream(noise=0.0, query_offset=0.7)
    for part in stream[:200].parts():
        scores = part.X.astype(np.float64) @ stream.best_weights
        assert rw.evaluate(scores, part, "pairwiseerror").means[rw.PairwiseError] == 0.0


def test_a_ranker_finds_the_best_weights():
    stream = _stream(n_queries=6000)
    found = rw.RankRLS(alpha=1.0).fit(stream.in_memory()).coef_
    cosine = found @ stream.best_weights / np.linalg.norm(found) / np.linalg.norm(stream.best_weights)
    assert cosine > 0.99
    useful = np.abs(found[stream.informative]).min()
    assert np.abs(found[stream.useless]).max() < useful / 5


def test_columns_are_told():
    stream = _stream(n_informative=3, n_correlated=4)
    kinds = (stream.informative, stream.correlated, stream.useless)
    assert [len(kind) for kind in kinds] == [3, 4, 17]
    assert sorted(np.concatenate(kinds)) == list(range(24))
    x = stream.in_memory().X
    of_correlated = np.abs(np.corrcoef(x[:, stream.informative].T, x[:, stream.correlated].T)[:3, 3:]).max(axis=0)
    assert of_correlated.min() > 0.2
    np.testing.assert_array_equal(np.flatnonzero(stream.best_weights), stream.informative)


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_queries", 0), ("documents", 0), ("n_features", 5), ("seed", -1), ("noise", -1.0), ("memory", "x")],
)
def test_parameters_are_checked(name, value):
    with pytest.raises(rw.ParameterError, match=name):
        _stream(**{name: value})
