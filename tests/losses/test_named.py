"""Losses by their names, and the loss of RankRLS, which is a sum over pairs written out here."""

import itertools

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import LOSSES, Loss, PreorderLoss, RankRLSLoss, loss_of


@pytest.mark.parametrize("name", LOSSES)
def test_every_name_is_a_loss(name):
    queries = rw.Queries(None, [2, 0, 0, 0, 0, 1], ["b", "a", "b", "a", "c", "b"])
    loss = loss_of(name)
    assert isinstance(loss, Loss)
    at = loss.on(queries).at([0.1, 0.2, 0.3, -1.0, 5.0, 0.0])
    assert np.isfinite(at.gradient).all()
    assert at.value > 0


def test_options_are_those_of_the_class():
    assert loss_of("preorder", phi="logistic", weights="per-query") == PreorderLoss("logistic", "per-query")
    assert loss_of("position-sensitive").margin == "position"
    given = RankRLSLoss()
    assert loss_of(given) is given


def test_bad_names_and_options():
    with pytest.raises(rw.ParameterError, match=r"loss must be one of 'squared', .*not 'lambdarank'"):
        loss_of("lambdarank")
    with pytest.raises(rw.ParameterError, match=r"'rankrls' does not take these options: .*phi"):
        loss_of("rankrls", phi="hinge")
    with pytest.raises(rw.ParameterError, match="RankRLSLoss, which has its options already"):
        loss_of(RankRLSLoss(), phi="hinge")


def rankrls_by_pairs(y, s, qid, weights):
    """(1/2m) Σ_ij (y_i − y_j − s_i + s_j)² of each query, and its gradient, pair by pair."""
    values, gradient = [], np.zeros(len(y))
    for weight, query in zip(weights, dict.fromkeys(qid), strict=True):
        rows = [row for row, other in enumerate(qid) if other == query]
        total, factor = 0.0, weight / (2 * len(rows))
        for i, j in itertools.product(rows, rows):
            apart = y[i] - y[j] - s[i] + s[j]
            total += factor * apart**2
            gradient[i] -= 2 * factor * apart
            gradient[j] += 2 * factor * apart
        values.append(total)
    return values, gradient


@pytest.mark.parametrize("seed", range(5))
def test_rankrls_against_its_pairs(seed):
    rng = np.random.default_rng(seed)
    qid = [*rng.choice(["q7", "q1", "a"], 20).tolist(), "alone"]
    y, s = rng.integers(0, 4, 21).astype(float), rng.standard_normal(21)
    weights = rng.choice([0.0, 1.0, 2.5], len(set(qid)))
    at = RankRLSLoss().on(rw.Queries(None, y, qid), weights).at(s)
    values, gradient = rankrls_by_pairs(y, s, qid, weights)
    np.testing.assert_allclose(at.values, values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(at.gradient, gradient, rtol=1e-12, atol=1e-12)
    curved = np.array([at.hessian_product(unit) for unit in np.eye(21)])
    moved = [rankrls_by_pairs(y, s + unit, qid, weights)[1] - gradient for unit in np.eye(21)]
    np.testing.assert_allclose(curved, moved, atol=1e-12)


def test_rankrls_wants_grades():
    with pytest.raises(rw.DataError, match="full ranking, not grades"):
        RankRLSLoss().on(rw.Queries(None, rw.FullRanking([1, 2])))
