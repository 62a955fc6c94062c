"""Xw and Xᵀv, run by run of queries, against NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import rankwright as rw
from rankwright.data import product_kernels as kernels
from rankwright.data import products
from rankwright.data.part import Part
from rankwright.data.products import FeatureProducts
from rankwright.engines import engine_of

STORES = {
    "C": np.ascontiguousarray,
    "Fortran": np.asfortranarray,
    "every other row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every other column": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "backwards": lambda X: X[::-1].copy()[::-1],
    "CSR": sp.csr_array,
    "CSC": sp.csc_array,
}


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=25)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_queries=st.integers(1, 9),
    n=st.integers(1, 20),
    together=st.booleans(),
    block=st.sampled_from([1, 500, 1 << 20]),
)
def test_products_are_those_of_numpy(store, dtype, seed, n_queries, n, together, block):
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), rng.integers(1, 11, n_queries))
    qid = qid if together else rng.permutation(qid)
    X = (rng.standard_normal((len(qid), n)) * (rng.random((len(qid), n)) < 0.6)).astype(dtype)
    X[rng.random(len(qid)) < 0.2] = 0  # empty rows
    queries = rw.Queries(STORES[store](X), np.zeros(len(qid)), qid)
    assert queries.X.dtype == dtype
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_BYTES_PER_BLOCK", block)
        features = FeatureProducts(Part(queries))
    _, place = np.unique(qid, return_index=True)
    ids = qid[np.sort(place)]  # in the order of first appearance
    rows = np.concatenate([np.flatnonzero(qid == query) for query in ids])
    grouped = X[rows].astype(np.float64)
    weights, values = rng.standard_normal(n), rng.standard_normal(len(qid)) * rng.integers(0, 2, len(qid))
    first = int(rng.integers(0, n_queries))
    last = int(rng.integers(first + 1, n_queries + 1))
    begin, end = features.offsets[first], features.offsets[last]
    scores = np.full(len(qid), np.nan)
    features.scores(first, last, weights, scores)
    np.testing.assert_allclose(scores[begin:end], grouped[begin:end] @ weights, rtol=1e-12, atol=1e-13)
    assert np.isnan(scores[:begin]).all()
    assert np.isnan(scores[end:]).all()
    out = np.ones(n)
    features.add_transposed(first, last, values, out)
    np.testing.assert_allclose(out, 1 + grouped[begin:end].T @ values[begin:end], rtol=1e-12, atol=1e-12)
    out = np.ones(n)
    features.add_squares(first, last, values, out)
    np.testing.assert_allclose(out, 1 + (grouped[begin:end] ** 2).T @ values[begin:end], rtol=1e-12, atol=1e-12)
    part = features.rows_of(first, last)
    assert part.dtype == np.float64
    np.testing.assert_array_equal(part, grouped[begin:end])
    blocks = list(features.blocks(first, last))
    assert [q for start, stop in blocks for q in range(start, stop)] == list(range(first, last))
    if block == 1:
        assert len(blocks) == last - first


def test_float32_is_summed_in_float64():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 400)).astype(np.float32)
    for store in (np.asarray, sp.csr_array):
        features = FeatureProducts(Part(rw.Queries(store(X), np.zeros(300))))
        weights, values, scores, out = rng.standard_normal(400), rng.standard_normal(300), np.empty(300), np.zeros(400)
        features.scores(0, 1, weights, scores)
        features.add_transposed(0, 1, values, out)
        np.testing.assert_allclose(scores, X.astype(np.float64) @ weights, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(out, X.T.astype(np.float64) @ values, rtol=1e-12, atol=1e-12)


def test_nothing_to_learn_from_is_told():
    with pytest.raises(rw.DataError, match="no documents"):
        engine_of(rw.Queries(np.zeros((0, 3)), []))
    with pytest.raises(rw.DataError, match="no features"):
        engine_of(rw.Queries(None, [1, 0]))


@pytest.mark.parametrize("n_features", [1, 7, 8, 23, 136])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_score_is_the_same_bits_wherever_its_row_stands(n_features, dtype):
    """So that parts may be cut anywhere, and equal documents are tied."""
    rng = np.random.default_rng(n_features)
    row, weights = rng.standard_normal(n_features).astype(dtype), rng.standard_normal(n_features)
    scores = set()
    for n_rows in range(1, 10):
        out = np.empty(n_rows)
        kernels.dense_scores(np.tile(row, (n_rows, 1)), np.arange(n_rows), weights, 0, n_rows, out)
        scores.update(out.tolist())
    assert len(scores) == 1
    assert scores.pop() == pytest.approx(float(row.astype(float) @ weights), rel=1e-12, abs=1e-12)
