"""Gradient and curvature as boosting asks for them, held against the losses themselves and against differences."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.boosting.derivatives import Derivatives
from rankwright.boosting.drawn import DrawnDerivatives
from rankwright.boosting.named_losses import loss_in, own_loss
from rankwright.losses import LOSSES, loss_of
from rankwright.losses.standardise import standardised


def collection(seed=0):
    """Queries of one to twelve documents, one without a relevant document, one whose documents are all alike."""
    rng = np.random.default_rng(seed)
    sizes = np.array([1, 12, 5, 7, 2, 9])
    y = rng.integers(0, 4, sizes.sum()).astype(float)
    ends = np.cumsum(sizes)
    y[ends[1] : ends[2]] = 0
    y[ends[2] : ends[3]] = 2
    return rw.Queries(None, y, group=sizes)


def factor_of(derivatives, loss, queries, scores):
    """The one number by which gradients differ from those of the loss."""
    expected = loss.on(queries).at(scores).gradient
    gradient, _ = derivatives.at(scores)
    moved = np.abs(expected) > 1e-6
    return np.median(gradient[moved] / expected[moved])


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_the_loss(name):
    queries, loss = collection(), loss_of(name)
    derivatives = Derivatives(loss, queries.judgments)
    for seed in range(3):
        scores = np.random.default_rng(seed).standard_normal(queries.n_documents)
        gradient, curvature = derivatives.at(scores)
        factor = factor_of(derivatives, loss, queries, scores)
        expected = loss.on(queries).at(scores)
        np.testing.assert_allclose(gradient, factor * expected.gradient, rtol=1e-5, atol=1e-5)
        assert derivatives.value == pytest.approx(expected.value)
        assert gradient.dtype == curvature.dtype == np.float32
        assert (curvature > 0).all()
        assert np.isfinite(curvature).all()


@pytest.mark.parametrize("name", LOSSES)
def test_a_document_weighs_one_to_begin_with(name):
    queries = collection()
    _, curvature = Derivatives(loss_of(name), queries.judgments).at(np.zeros(queries.n_documents))
    assert curvature.mean() == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize("name", ["order-preserving", "order-preserving-dcg", "preorder", "logistic", "squared"])
def test_the_curvature_of_smooth_losses_is_the_slope_of_the_gradient(name):
    queries, loss = collection(), loss_of(name)
    scores = 0.3 * np.random.default_rng(1).standard_normal(queries.n_documents)
    derivatives = Derivatives(loss, queries.judgments)
    factor = factor_of(derivatives, loss, queries, scores)
    _, curvature = derivatives.at(scores)
    _, at_equal = derivatives.at(np.zeros_like(scores))
    # Order-preserving losses pair a document with itself, too: that never changes the loss, but is counted as curved.
    with_itself = np.zeros_like(scores)
    if isinstance(loss, rw.losses.OrderPreservingLoss):
        with_itself = 4 * factor * standardised(queries.judgments, loss.standardize, loss.cutoff, loss.convention)
    for row in range(queries.n_documents):
        step = np.zeros_like(scores)
        step[row] = 1e-6
        up, down = (loss.on(queries).at(scores + sign * step).gradient[row] for sign in (1, -1))
        expected = max(factor * (up - down) / 2e-6 + with_itself[row], 0.01 * at_equal[row], 1e-6)
        assert curvature[row] == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("phi", ["hinge", "huber-hinge"])
def test_hinges_with_straight_lines_are_bounded_by_the_pairs_of_a_document(phi):
    queries = rw.Queries(None, [2, 1, 0, 0, 1, 0], group=[4, 2])
    derivatives = Derivatives(rw.losses.PreorderLoss(phi), queries.judgments)
    for scores in (np.zeros(6), np.arange(6.0)):
        _, curvature = derivatives.at(scores)
        pairs = np.array([3, 3, 2, 2, 1, 1])
        np.testing.assert_allclose(curvature, pairs / pairs.mean(), rtol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_a_weight_is_a_number_of_copies(name):
    queries, loss = collection(), loss_of(name)
    copies = np.array([1, 2, 1, 3, 0, 2])
    rows = np.concatenate(
        [
            np.tile(np.arange(first, last), n)
            for first, last, n in zip(
                queries.grouping.offsets[:-1], queries.grouping.offsets[1:], copies.tolist(), strict=True
            )
        ]
    )
    sizes = np.repeat(queries.sizes, copies)
    repeated = rw.Queries(None, queries.y[rows], group=sizes)
    scores = np.random.default_rng(2).standard_normal(queries.n_documents)
    weighed = Derivatives(loss, queries.judgments, copies).at(scores)
    counted = Derivatives(loss, repeated.judgments).at(scores[rows])
    of_row = np.repeat(copies, queries.sizes)
    for one, many in zip(weighed, counted, strict=True):
        summed = np.bincount(rows, weights=many, minlength=queries.n_documents)
        np.testing.assert_allclose(one[of_row > 0], summed[of_row > 0], rtol=1e-4, atol=1e-5)
    assert not weighed[0][of_row == 0].any()


def test_scores_of_float32_are_taken_and_threads_do_not_matter(monkeypatch):
    made = rw.datasets.make_queries(400, 30, 12, seed=3).queries
    scores = np.random.default_rng(0).standard_normal(made.n_documents).astype(np.float32)
    told = []
    for threads in ("1", "3"):
        monkeypatch.setenv("RANKWRIGHT_THREADS", threads)
        told.append(Derivatives(loss_of("preorder"), made.judgments).at(scores))
    np.testing.assert_array_equal(told[0], told[1])


def test_only_drawn_queries_count():
    queries = collection()
    derivatives = Derivatives(loss_of("squared"), queries.judgments)
    scores = np.random.default_rng(0).standard_normal(queries.n_documents)
    all_gradients, _ = derivatives.at(scores)
    drawn = DrawnDerivatives(derivatives, queries.sizes, 0.5, seed=1)
    seen = np.zeros(queries.n_queries, bool)
    for _ in range(20):
        gradient, curvature = drawn.at(scores)
        counts = np.array([part.any() for part in np.split(curvature, queries.grouping.offsets[1:-1])])
        assert counts.sum() == 3
        np.testing.assert_array_equal(gradient, np.where(np.repeat(counts, queries.sizes), all_gradients, 0))
        seen |= counts
    assert seen.all()


def test_preference_graphs_and_rankings():
    graph = rw.PreferenceGraph(3, preferred=[0, 2], other=[1, 1])
    gradient, curvature = Derivatives(loss_of("ranksvm"), rw.Queries(None, graph).judgments).at(np.zeros(3))
    assert gradient[1] > 0 > gradient[0] == gradient[2]
    assert curvature[1] == pytest.approx(2 * curvature[0])


def test_losses_by_name():
    own = rw.losses.PreorderLoss("logistic")
    assert own_loss(own) is own is loss_in(own, "xgboost")
    assert loss_in("xendcg", "lightgbm") == "rank_xendcg"
    with pytest.raises(rw.ParameterError, match="'rank:ndcg' is xgboost's: set library='xgboost'"):
        loss_in("rank:ndcg", "lightgbm")
    with pytest.raises(rw.ParameterError, match="give lightgbm the objective 'lambdarank' itself"):
        own_loss("lambdarank")
    for odd in ("ndcg", 7, None):
        with pytest.raises(rw.ParameterError, match="loss must be one of 'squared'"):
            own_loss(odd)
