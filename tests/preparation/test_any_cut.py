"""What stands for missing values, and what features are divided by, to the last bit for any cut into parts."""

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.preparation.preparation import prepare
from tests.streaming import streamed


def awkward(layout, seed=0, n_queries=50):
    """Text ids, rows in no order; huge, tiny, constant, cancelling, wild and missing features, and one of zeros."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat([f"q{q}" for q in range(n_queries)], rng.integers(1, 40, n_queries)))
    rows = len(qid)
    x = rng.standard_normal((rows, 9))
    x[:, 1] *= 1e30 if layout == "float32" else 1e140
    x[:, 2] *= 1e-30
    x[:, 3] = 0.1
    x[:, 4] = 1.7e9 + rng.integers(0, 1000, rows)
    x[:, 5] = np.where(rng.random(rows) < 0.5, 1.0, -1.0) * np.exp(5 * rng.standard_normal(rows))
    x[:, 6] = np.exp(4 * rng.standard_normal(rows))
    x[:, 7] = 0.0
    x[rng.random(rows) < 0.3, 8] = 0.0
    x[rng.random(x.shape) < 0.1] = np.nan
    x = x.astype(np.float32) if layout == "float32" else x
    return rw.Queries(sp.csr_array(x) if layout == "csr" else x, rng.integers(0, 3, rows), qid)


def assert_same_bits(ours, theirs):
    np.testing.assert_array_equal(ours.filling.values, theirs.filling.values)
    np.testing.assert_array_equal(ours.indicated, theirs.indicated)
    np.testing.assert_array_equal(ours.scale, theirs.scale)
    np.testing.assert_array_equal(ours.varies, theirs.varies)
    assert ours.transforms == theirs.transforms


@pytest.mark.parametrize("layout", ["dense", "float32", "csr"])
@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("transform", ["none", "log", "quantile"])
def test_any_cut_gives_the_same_bits(layout, missing, transform):
    queries = awkward(layout)
    theirs, prepared = prepare(queries, missing=missing, transform=transform)
    order = queries.grouping.order
    x = prepared.X[order]
    for n_parts in (1, 2, 7, 50):
        ours, parts = prepare(streamed(queries, n_parts), missing=missing, transform=transform)
        assert parts.n_parts >= min(n_parts, 20)
        assert_same_bits(ours, theirs)
        whole = parts.in_memory().X
        np.testing.assert_array_equal(*(sp.csr_array(each).toarray() for each in (whole, x)))


@pytest.mark.parametrize("layout", ["dense", "csr"])
def test_many_documents_in_several_blocks(layout):
    """A block of memory ends elsewhere than a part, and so do the blocks of each part."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((140_000, 2)) + np.array([0, 1e6])
    x[rng.random(x.shape) < 0.2] = np.nan
    queries = rw.Queries(sp.csr_array(x) if layout == "csr" else x, rng.integers(0, 3, len(x)), np.arange(len(x)) // 70)
    theirs, _ = prepare(queries)
    for n_parts in (3, 10):
        assert_same_bits(prepare(streamed(queries, n_parts))[0], theirs)
    np.testing.assert_allclose(theirs.filling.values, np.nanmean(x, axis=0), rtol=1e-12, atol=1e-15)


def test_huge_means_do_not_overflow_in_parts():
    x = np.array([[1e308, 1.0], [-9e307, 2.0], [np.nan, 3.0], [1.5e308, 4.0]] * 40)
    queries = rw.Queries(x, np.arange(160) % 3, np.arange(160) // 5)
    theirs, ours = (prepare(data, scale=False)[0].filling.values for data in (queries, streamed(queries, 6)))
    np.testing.assert_array_equal(ours, theirs)
    assert theirs[0] == pytest.approx(1.6e308 / 3)
