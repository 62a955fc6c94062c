"""Losses as PyTorch sees them: values and gradients of our kernels, padded and ragged, on dirty batches."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import LOSSES, ListwiseHinge, OrderPreservingLoss, PreorderLoss, SquaredLoss, StructuredHinge

pytestmark = pytest.mark.peers
torch = pytest.importorskip("torch", reason="no PyTorch: pip install 'rankwright[torch]'")
from rankwright.torch import loss  # noqa: E402 - after the check that PyTorch is there

OF_GRADES = [
    *LOSSES,
    *(PreorderLoss(phi, weights) for phi in rw.losses.PHIS for weights in ("per-query", "gain-per-query")),
    PreorderLoss("huber-hinge", margin="position"),
    OrderPreservingLoss("huber-hinge", "dcg", normalize=True),
    OrderPreservingLoss(standardize="ndcg", cutoff=2),
    SquaredLoss(standardize="dcg", normalize=True),
    StructuredHinge("map"),
    StructuredHinge("ndcg@3", "discount", bound="tight"),
    StructuredHinge("ndcg@3", rescale="slack"),
    ListwiseHinge("ndcg@3", "sum"),
    ListwiseHinge("map", "softmax", temperature=0.3),
]


class Batch:
    """Queries of several lengths, mixed rows and text ids; one has a single document, one no relevant document."""

    def __init__(self, seed=0):
        rng = np.random.default_rng(seed)
        self.qid = np.array([*rng.choice(["q10", "q9", "x"], 18), "alone", "poor", "poor"])
        self.y = rng.integers(0, 4, len(self.qid)).astype(float)
        self.y[-3:] = [2, 0, 0]
        self.scores = rng.standard_normal(len(self.qid))
        self.queries = rw.Queries(None, self.y, self.qid)

    def padded(self):
        """Scores, grades and a mask, queries in the order of their first documents; padding is NaN and −1."""
        rows = [np.flatnonzero(self.qid == query) for query in dict.fromkeys(self.qid)]
        shape = (len(rows), max(map(len, rows)) + 2)
        scores, y, mask = np.full(shape, np.nan), np.full(shape, -1.0), np.zeros(shape, bool)
        for place, own in enumerate(rows):
            scores[place, : len(own)], y[place, : len(own)] = self.scores[own], self.y[own]
            mask[place, : len(own)] = True
        return scores, y, mask, rows


def tensor(values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype, requires_grad=True)


@pytest.mark.parametrize("given", OF_GRADES, ids=str)
@pytest.mark.parametrize("seed", range(2))
def test_values_and_gradients_are_ours(given, seed):
    batch = Batch(seed)
    if isinstance(given, ListwiseHinge) and given.reduce == "sum":  # which takes at most eight documents
        keep = np.arange(len(batch.y)) % 3 == 0
        batch.qid, batch.y, batch.scores = batch.qid[keep], batch.y[keep], batch.scores[keep]
        batch.queries = rw.Queries(None, batch.y, batch.qid)
    ours = rw.losses.loss_of(given).on(batch.queries).at(batch.scores)
    scores = tensor(batch.scores)
    values = loss(given, reduction="none")(scores, batch.y, qid=batch.qid)
    np.testing.assert_allclose(values.detach().numpy(), ours.values, rtol=1e-12)
    values.sum().backward()
    np.testing.assert_allclose(scores.grad.numpy(), ours.gradient, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("supervision", ["ranking", "graph"])
def test_rankings_and_graphs(supervision):
    qid = ["b", "a", "b", "a", "b"]
    if supervision == "ranking":
        given, losses = rw.FullRanking([2, 1, 3, 2, 1]), ["ranksvm", OrderPreservingLoss(standardize="zero-one")]
    else:
        given = rw.PreferenceGraph(5, [0, 1, 4], [2, 3, 2], [1.0, 0.5, 2.0])
        losses = [PreorderLoss("logistic"), OrderPreservingLoss(standardize="wpd")]
    s = np.array([0.3, -0.2, 0.1, 0.9, -1.0])
    for one in losses:
        scores = tensor(s)
        loss(one, reduction="sum")(scores, given, qid=qid).backward()
        ours = rw.losses.loss_of(one).on(rw.Queries(None, given, qid)).at(s)
        np.testing.assert_allclose(scores.grad.numpy(), ours.gradient, rtol=1e-6)


SMOOTH = ["squared", "rankrls", PreorderLoss("logistic", "per-query")]


@pytest.mark.parametrize("given", SMOOTH, ids=str)
def test_first_and_second_derivatives_against_differences(given):
    batch = Batch(3)

    def values(scores):
        return loss(given, reduction="none")(scores, batch.y, qid=batch.qid)

    assert torch.autograd.gradcheck(values, tensor(batch.scores))
    assert torch.autograd.gradgradcheck(values, tensor(batch.scores))


@pytest.mark.parametrize("given", ["preorder", "order-preserving", PreorderLoss("huber-hinge")], ids=str)
def test_derivatives_of_hinges_away_from_their_corners(given):
    batch = Batch(4)  # no margin is within 1e-6 of a corner
    apart = np.subtract.outer(batch.scores, batch.scores)[np.equal.outer(batch.qid, batch.qid)]
    assert min(np.abs(apart - corner).min() for corner in (0.5, 1.0, 1.5)) > 1e-4
    on_batch = loss(given, reduction="none").on(batch.queries)
    assert torch.autograd.gradcheck(on_batch, tensor(batch.scores))
    assert torch.autograd.gradgradcheck(on_batch, tensor(batch.scores))


def test_the_soft_maximum_says_that_it_has_no_curvature():
    batch = Batch()
    scores = tensor(batch.scores)
    value = loss("structured-softmax")(scores, batch.y, qid=batch.qid)
    (gradient,) = torch.autograd.grad(value, scores, create_graph=True)
    with pytest.raises(rw.ParameterError, match="no Hessian-vector product"):
        gradient.sum().backward()


# Padded and ragged


@pytest.mark.parametrize("given", ["order-preserving", "structured", "squared"])
@pytest.mark.parametrize("by", ["mask", "lengths"])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_padded_is_ragged_and_padding_does_not_leak(given, by, reduction):
    batch = Batch(5)
    padded, grades, mask, rows = batch.padded()
    scores, flat = tensor(padded), tensor(batch.scores)
    told = {"mask": torch.tensor(mask)} if by == "mask" else {"lengths": torch.tensor(mask.sum(axis=1))}
    of_padded = loss(given, reduction=reduction)(scores, torch.tensor(grades), **told)
    of_flat = loss(given, reduction=reduction)(flat, torch.tensor(batch.y), qid=batch.qid)
    np.testing.assert_array_equal(of_padded.detach().numpy(), of_flat.detach().numpy())
    of_padded.sum().backward()
    of_flat.sum().backward()
    for place, own in enumerate(rows):
        np.testing.assert_array_equal(scores.grad[place, : len(own)].numpy(), flat.grad[own].numpy())
        assert (scores.grad[place, len(own) :] == 0).all()


def test_queries_without_documents_have_no_loss():
    scores = tensor([[1.0, 0.0], [7.0, 8.0], [0.0, 0.0]])
    told = {"lengths": [2, 0, 2]}
    values = loss("preorder", reduction="none")(scores, [[0, 1], [1, 1], [1, 0]], **told)
    assert values.tolist() == [4.0, 0.0, 1.0]
    mean = loss("preorder")(scores, [[0, 1], [1, 1], [1, 0]], **told)
    assert mean.item() == 2.5  # of the two queries that have documents
    mean.backward()
    assert (scores.grad[1] == 0).all()


def test_lengths_of_flat_scores_and_a_batch_of_full_rows():
    y = [1, 0, 0, 2, 0]
    flat = loss("preorder")(tensor([0.0, 1, 2, 3, 4]), y, lengths=[2, 3])
    by_qid = loss("preorder")(tensor([0.0, 1, 2, 3, 4]), y, qid=torch.tensor([7, 7, 3, 3, 3]))
    assert flat.item() == by_qid.item()
    full = loss("preorder", reduction="none")(tensor([[0.0, 1], [1, 0]]), torch.tensor([[1, 0], [1, 0]]))
    assert full.tolist() == [4.0, 0.0]


def test_weights_of_queries():
    y, qid = [1, 0, 1, 0], ["b", "b", "a", "a"]
    values = loss("preorder", reduction="none")(tensor([0.0, 1, 0, 0]), y, qid=qid)
    mean = loss("preorder")(tensor([0.0, 1, 0, 0]), y, qid=qid, sample_weight=torch.tensor([3.0, 1.0]))
    assert mean.item() == pytest.approx((3 * values[0] + values[1]).item() / 4)


def test_prepared_once_and_used_again():
    batch = Batch(6)
    on_queries = loss("order-preserving").on(batch.queries)
    for seed in range(3):
        s = np.random.default_rng(seed).standard_normal(len(batch.y))
        expected = loss("order-preserving")(tensor(s), batch.y, qid=batch.qid)
        assert on_queries(tensor(s)).item() == expected.item()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_precisions(dtype):
    batch = Batch(7)
    scores = tensor(batch.scores, dtype)
    value = loss("order-preserving")(scores, batch.y, qid=batch.qid)
    value.backward()
    assert value.dtype == scores.grad.dtype == dtype
    as_doubles = tensor(scores.detach().double().numpy())
    exact = loss("order-preserving")(as_doubles, batch.y, qid=batch.qid)
    exact.backward()
    precision = torch.finfo(dtype).eps
    assert value.item() == pytest.approx(exact.item(), rel=4 * precision)
    largest = as_doubles.grad.abs().max().item()
    np.testing.assert_allclose(scores.grad.double(), as_doubles.grad, atol=4 * precision * largest)


def test_a_network_learns_by_it():
    """Gradients go through a network: a linear one reaches the minimum that our own solver finds."""
    queries = rw.datasets.make_queries(n_queries=20, seed=0).queries
    alpha = 5.0
    ours = rw.OrderPreservingRanker(alpha, cutoff=None, tol=1e-10).fit(queries)
    weights = torch.zeros(queries.n_features, dtype=torch.float64, requires_grad=True)
    x = torch.tensor(queries.X, dtype=torch.float64)
    on_queries = loss("order-preserving", reduction="sum").on(queries)
    optimiser = torch.optim.LBFGS([weights], max_iter=500, tolerance_grad=1e-10, line_search_fn="strong_wolfe")

    def objective():
        optimiser.zero_grad()
        value = alpha / 2 * weights @ weights + on_queries(x @ weights)
        value.backward()
        return value

    optimiser.step(objective)
    np.testing.assert_allclose(weights.detach().numpy(), ours.coef_, atol=1e-4 * np.abs(ours.coef_).max())


# Bad input


@pytest.mark.parametrize(
    ("scores", "y", "told", "problem"),
    [
        ([0.0, 1.0], [1, 0, 0], {}, "y tells of 3 documents, but there are 2 scores"),
        ([0.0, 1.0], [1, -2], {}, "row 1 .*the grade is -2"),
        ([0.0, 1.0], None, {}, "y is missing"),
        ([0.0, 1.0], [1, 0], {"mask": [True, True]}, "mask is for scores of two dimensions"),
        ([0.0, 1.0], [1, 0], {"lengths": [1, 2]}, "group: the sizes of 2 queries add up to 3 rows"),
        ([0.0, np.nan], [1, 0], {}, "score of document 1 is nan.*learning rate"),
        ([0.0, np.inf], [1, 0], {}, "score of document 1 is inf"),
        ([[0.0], [1.0]], [1, 0], {}, r"y has shape \(2,\), but scores have \(2, 1\)"),
        ([[0.0, 1.0]], [[1, 0]], {"qid": [1]}, "qid is for flat scores"),
        ([[0.0, 1.0]], [[1, 0]], {"lengths": [3]}, "1 whole numbers from 0 to 2"),
        ([[0.0, 1.0]], [[1, 0]], {"lengths": [0]}, "no documents"),
        ([[0.0, 1.0]], [[1, 0]], {"mask": [[1, 1]]}, "mask must be of True and False, 1 × 2"),
        ([[0.0, 1.0]], [[1, 0]], {"mask": [[True, True]], "lengths": [2]}, "not both"),
        ([[[0.0]]], [[[1]]], {}, "one dimension .* or two"),
    ],
)
def test_bad_batches(scores, y, told, problem):
    with pytest.raises(rw.RankwrightError, match=problem):
        loss("preorder")(tensor(scores), y, **told)


def test_bad_names():
    with pytest.raises(rw.ParameterError, match="loss must be one of"):
        loss("ndcg")
    with pytest.raises(rw.ParameterError, match="reduction must be one of"):
        loss("preorder", reduction="max")
    with pytest.raises(rw.ParameterError, match="scores must be a tensor of floating-point"):
        loss("preorder")(torch.tensor([1, 2]), [1, 0])
