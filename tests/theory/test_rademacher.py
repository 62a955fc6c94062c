"""The Rademacher average of linear rankers: simulation against all signs, and its closed forms around it."""

import importlib
import itertools
import json
import math

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data import query_blocks
from rankwright.theory import rademacher as estimate_average
from tests.theory import plain_bounds as plain

QID = ["b", "a", "a", "c", "b", "a", "b", "b"]


def features(seed=0, n=3):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((len(QID), n)) * (rng.random((len(QID), n)) < 0.7) + 0.5


def exact_average(X, B, centred):
    """(B/N) E‖Σ ε x‖ over all signs of all documents."""
    X = X.copy()
    if centred:
        for name in set(QID):
            own = [row for row, of_row in enumerate(QID) if of_row == name]
            X[own] -= X[own].mean(axis=0)
    lengths_of_sums = [plain.length(np.array(s) @ X) for s in itertools.product((-1, 1), repeat=len(X))]
    return B * math.fsum(lengths_of_sums) / len(lengths_of_sums) / 3, B * plain.length(X.ravel()) / 3


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_against_all_signs(seed, centred):
    X = features(seed)
    exact, upper = exact_average(X, 2.5, centred)
    found = estimate_average(rw.Queries(X, np.zeros(8), QID), 2.5, centred=centred, draws=2000, seed=seed)
    assert found.upper == pytest.approx(upper, rel=1e-13)
    assert found.lower == pytest.approx(upper / math.sqrt(2), rel=1e-13)
    assert found.lower <= exact <= found.upper
    assert abs(found.estimate - exact) <= 4 * found.standard_error
    assert 0 < found.standard_error < 0.05 * exact
    assert (found.B, found.n_queries, found.n_documents, found.draws) == (2.5, 3, 8, 2000)


def test_the_standard_error_is_that_of_the_mean():
    """Estimates with other seeds scatter by what is told."""
    queries = rw.Queries(features(), np.zeros(8), QID)
    found = [estimate_average(queries, draws=50, seed=seed) for seed in range(200)]
    scatter = np.std([one.estimate for one in found], ddof=1)
    assert scatter == pytest.approx(np.mean([one.standard_error for one in found]), rel=0.2)


def test_the_average_grows_with_B_and_falls_with_the_number_of_queries():
    X = features()
    one, other = (estimate_average(rw.Queries(X, np.zeros(8), QID), B) for B in (1.0, 8.0))
    assert other.estimate == pytest.approx(8 * one.estimate, rel=1e-14)
    alone = estimate_average(rw.Queries(X, np.zeros(8)))
    assert alone.upper == pytest.approx(3 * one.upper, rel=1e-14)


@pytest.mark.parametrize("centred", [False, True])
def test_sparse_is_dense(centred):
    X = features() - 0.5
    dense, sparse, single = (
        estimate_average(rw.Queries(given, np.zeros(8), QID), centred=centred)
        for given in (X, sp.csr_array(X), X.astype(np.float32))
    )
    assert sparse.estimate == pytest.approx(dense.estimate, rel=1e-13)
    assert sparse.upper == pytest.approx(dense.upper, rel=1e-13)
    assert single.estimate == pytest.approx(dense.estimate, rel=1e-6)


@pytest.mark.parametrize("centred", [False, True])
def test_several_passes_and_several_blocks(centred, monkeypatch):
    """With many features a few draws are made at a time, each on all blocks; the closed form does not change."""
    queries = rw.Queries(features(), np.zeros(8), QID)
    at_once = estimate_average(queries, centred=centred, draws=2001)
    module = importlib.import_module("rankwright.theory.rademacher_averages")
    monkeypatch.setattr(module, "_MOST_NUMBERS", 3 * 100)
    monkeypatch.setattr(query_blocks, "ROWS_PER_BLOCK", 2)
    found = estimate_average(queries, centred=centred, draws=2001)
    assert found.draws == 2001
    assert found.upper == pytest.approx(at_once.upper, rel=1e-13)
    exact, _ = exact_average(features(), 1.0, centred)
    assert abs(found.estimate - exact) <= 4 * found.standard_error
    assert found.standard_error == pytest.approx(at_once.standard_error, rel=0.2)


def test_seeds():
    queries = rw.Queries(features(), np.zeros(8), QID)
    assert estimate_average(queries, seed=3) == estimate_average(queries, seed=3)
    assert estimate_average(queries, seed=3).estimate != estimate_average(queries, seed=4).estimate


def test_one_document_has_one_length():
    found = estimate_average(rw.Queries([[3.0, 4.0]], [1]))
    assert (found.estimate, found.standard_error, found.upper) == (5.0, 0.0, 5.0)
    assert estimate_average(rw.Queries([[3.0, 4.0]], [1]), centred=True).upper == 0


def test_what_is_told():
    found = estimate_average(rw.Queries(features(), np.zeros(8), QID))
    text = str(found)
    assert text.startswith("linear rankers with ‖w‖ ≤ 1 on 3 queries, 8 documents\n")
    assert "mean over 200 draws" in text
    assert repr(found) == text
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["upper"] == found.upper


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"B": 0.0}, "^B must"),
        ({"B": -1.0}, "^B must"),
        ({"B": float("nan")}, "^B must"),
        ({"B": "1"}, "^B must"),
        ({"draws": 1}, "^draws must"),
        ({"draws": 10.0}, "^draws must"),
        ({"draws": True}, "^draws must"),
        ({"seed": -1}, "^seed must"),
    ],
    ids=str,
)
def test_parameters_are_checked(options, match):
    with pytest.raises(rw.ParameterError, match=match):
        estimate_average(rw.Queries(features(), np.zeros(8), QID), **options)


def test_queries_are_checked():
    with pytest.raises(rw.ParameterError, match="queries must be Queries"):
        estimate_average(features())
    with pytest.raises(rw.DataError, match="no features"):
        estimate_average(rw.Queries(None, np.zeros(8), QID))
    with pytest.raises(rw.DataError, match="no documents"):
        estimate_average(rw.Queries(np.zeros((0, 3)), [], []))
    X = features()
    X[3, 1] = np.nan
    for given in (X, sp.csr_array(X)):
        with pytest.raises(rw.DataError, match="query 'c'"):
            estimate_average(rw.Queries(given, np.zeros(8), QID))
