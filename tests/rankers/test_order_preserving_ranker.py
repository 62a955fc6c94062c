"""The order-preserving ranker: its objective, what it is for, and what it refuses."""

import numpy as np
import pytest
from sklearn.base import clone

import rankwright as rw
from tests.losses import reference as ref


def collection(seed=0, rows=80, queries=8, n=4):
    rng = np.random.default_rng(seed)
    X, qid = rng.standard_normal((rows, n)), rng.integers(0, queries, rows)
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.standard_normal(rows) + 1), 0, 3)
    return X, y, qid


@pytest.mark.parametrize("loss", ["squared-hinge", "huber-hinge"])
@pytest.mark.parametrize(("standardize", "cutoff"), [("ndcg", None), ("ndcg", 2), ("dcg", None), ("dcg", 2)])
def test_nothing_nearby_is_better(loss, standardize, cutoff):
    """The paper's sum, pair by pair, at the weights found and around them, to a centre."""
    X, y, qid = collection()
    center = np.array([1.0, 0.0, -1.0, 0.5])
    ranker = rw.OrderPreservingRanker(
        2.0, standardize=standardize, cutoff=cutoff, loss=loss, center=center, tol=1e-9
    ).fit(X, y, qid=qid)
    r = ref.dcg_r(y, qid) if standardize == "dcg" else ref.ndcg_r(y, qid, cutoff)
    objective = ref.PairObjective(X, ref.order_preserving_pairs(r, qid), loss, 2.0, center)
    assert ranker.objective_ == pytest.approx(objective.value(ranker.coef_), rel=1e-10)
    least = objective.value(objective.minimum())
    assert least * (1 - 1e-9) <= ranker.objective_ <= least * (1 + 1e-8)
    assert ranker.objective_ - least <= ranker.gap_ + 1e-13 * least


@pytest.mark.parametrize("loss", ["squared-hinge", "squared"])
@pytest.mark.parametrize(("parameters", "trained_for"), [
    ({}, ("ndcg", 10, "default")),
    ({"measures": "ndcg@3, map"}, ("ndcg", 3, "default")),
    ({"measures": "ndcg"}, ("ndcg", None, "default")),
    ({"measures": ()}, ("ndcg", None, "default")),
    ({"measures": "p@3"}, ("ndcg", 3, "default")),
    ({"measures": "ndcg@3", "cutoff": None}, ("ndcg", None, "default")),
    ({"measures": "ndcg@3", "cutoff": 2}, ("ndcg", 2, "default")),
    ({"measures": "ndcg@3", "convention": "letor4"}, ("ndcg", 3, "letor4")),
    ({"measures": "ndcg@3", "convention": "sklearn"}, ("ndcg", 3, "trec_eval")),
    ({"measures": "ndcg(gain='linear')@3"}, ("ndcg", 3, "sklearn")),
    ({"measures": "ndcg(gain='linear')@3", "standardize": "dcg"}, ("dcg", 3, "default")),
    ({"measures": "dcg(gain='linear')@3", "standardize": "dcg"}, ("dcg", 3, "sklearn")),
])  # fmt: skip
def test_it_is_trained_for_the_measure_that_judges_it(loss, parameters, trained_for):
    """Its objective is that of the loss for this measure, cutoff and convention, at the weights found."""
    X, y, qid = collection()
    queries = rw.Queries(X, y, qid)
    ranker = rw.OrderPreservingRanker(2.0, loss=loss, **parameters).fit(queries)
    target = dict(zip(("standardize", "cutoff", "convention"), trained_for, strict=True))
    made = rw.losses.SquaredLoss(**target) if loss == "squared" else rw.losses.OrderPreservingLoss(loss, **target)
    value = made.on(queries).at(X @ ranker.coef_).value
    assert ranker.objective_ == pytest.approx(value + ranker.coef_ @ ranker.coef_, rel=1e-9)


def test_sample_weights_are_of_whole_queries():
    X, y, qid = collection()
    ids = list(dict.fromkeys(qid.tolist()))
    weights = np.ones(len(ids))
    weights[0], weights[3] = 0, 2
    out, twice = qid == ids[0], qid == ids[3]
    for loss in ("squared-hinge", "squared"):
        ours = rw.OrderPreservingRanker(0.5, loss=loss, tol=1e-10).fit(X, y, qid=qid, sample_weight=weights)
        by_hand = rw.OrderPreservingRanker(0.5, loss=loss, tol=1e-10).fit(
            np.vstack([X[~out], X[twice]]), np.append(y[~out], y[twice]), qid=np.append(qid[~out], [99] * twice.sum())
        )
        assert ours.objective_ == pytest.approx(by_hand.objective_, rel=1e-8)
        np.testing.assert_allclose(ours.coef_, by_hand.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("loss", ["squared-hinge", "huber-hinge", "squared"])
def test_without_relevant_documents_the_centre_is_the_answer(loss):
    X, _, qid = collection(rows=10)
    ranker = rw.OrderPreservingRanker(loss=loss).fit(X, np.zeros(10), qid=qid)
    assert not ranker.coef_.any()
    assert (ranker.objective_, ranker.converged_) == (0.0, True)


@pytest.mark.parametrize("loss", ["squared-hinge", "huber-hinge"])
def test_one_document_and_equal_grades(loss):
    """A document alone has r·φ(0); all grades equal leave Σ φ, which is least where all scores are the same."""
    X, y, _ = collection(rows=6)
    alone = rw.OrderPreservingRanker(loss=loss, standardize="dcg").fit(X, y, qid=np.arange(6))
    np.testing.assert_allclose(alone.coef_, 0, atol=1e-12)
    assert alone.objective_ == pytest.approx(sum(2**y - 1))  # φ(0) = 1 for both
    equal = rw.OrderPreservingRanker(loss=loss, standardize="dcg").fit(X, np.ones(6), group=[6])
    np.testing.assert_allclose(equal.coef_, 0, atol=1e-12)
    assert equal.objective_ == pytest.approx(36.0)
    assert equal.rank(X).tolist() == [1, 2, 3, 4, 5, 6]


def test_noisy_grades_are_ranked_by_what_they_are_worth_in_the_mean():
    """One feature per document, a query per judge. Documents: often 1, rarely 4; always 2; always 0.

    E[2^y − 1] of the first is 0.84 · 1 + 0.16 · 15 = 3.24, above the 3 of the second, though most judges prefer the
    second. So DCG wants the first on top. The pairs of a preorder loss are a vote, and choose the other.
    """
    judges = [[1, 2, 0]] * 84 + [[4, 2, 0]] * 16
    X, y = np.tile(np.eye(3), (100, 1)), np.concatenate(judges)
    qid = np.repeat(np.arange(100), 3)
    for loss in ("squared-hinge", "huber-hinge", "squared"):
        ranker = rw.OrderPreservingRanker(1e-3, standardize="dcg", loss=loss, tol=1e-9).fit(X, y, qid=qid)
        assert ranker.rank(np.eye(3)).tolist() == [1, 2, 3]
    assert rw.RankSVM(1e-3, tol=1e-9).fit(X, y, qid=qid).rank(np.eye(3)).tolist() == [2, 1, 3]
    means = {
        tuple(order): rw.evaluate(np.tile(order, 100), rw.Queries(None, y, qid), "dcg").means[rw.DCG]
        for order in ([3.0, 2.0, 1.0], [2.0, 3.0, 1.0])
    }
    assert means[3.0, 2.0, 1.0] > means[2.0, 3.0, 1.0]


def test_full_rankings_and_graphs():
    X, _, qid = collection()
    ranks = np.empty(80, int)
    for rows in ref.rows_by_query(qid.tolist()):
        ranks[rows] = np.argsort(np.argsort(-X[rows, 0])) + 1
    ranked = rw.Queries(X, rw.FullRanking(ranks), qid)
    ranker = rw.OrderPreservingRanker(0.01, standardize="zero-one", measures=()).fit(ranked)
    assert np.argmax(np.abs(ranker.coef_)) == 0
    assert ranker.coef_[0] > 0
    edges = [(i, j) for rows in ref.rows_by_query(qid.tolist()) for i in rows for j in rows if X[i, 1] > X[j, 1]]
    graph = rw.Queries(X, rw.PreferenceGraph(80, *zip(*edges, strict=True)), qid)
    ranker = rw.OrderPreservingRanker(0.01, standardize="wpd", measures=()).fit(graph)
    assert np.argmax(np.abs(ranker.coef_)) == 1
    assert ranker.coef_[1] > 0


def test_what_it_refuses():
    X, y, qid = collection(rows=20)
    for bad, match in (
        ({"standardize": "mrr"}, "^standardize must be one of"),
        ({"standardize": "map"}, "theorem 3"),
        ({"loss": "logistic"}, "theorem 1"),
        ({"loss": "hinge"}, "theorem 1"),
        ({"loss": "cubic"}, "^loss must be one of"),
        ({"cutoff": 0}, "^cutoff"),
        ({"cutoff": "measures"}, "^cutoff must be a whole number of at least 1, or 'measure' or None"),
        ({"convention": "letor5"}, "^convention must be one of"),
        ({"standardize": "wpd"}, "needs a preference graph"),
        ({"loss": "squared", "standardize": "err"}, "theorem 3"),
    ):
        with pytest.raises(rw.ParameterError, match=match):
            rw.OrderPreservingRanker(**bad).fit(X, y, qid=qid)
    with pytest.raises(rw.DataError, match=r"query 'b' has a document of grade 1100"):
        rw.OrderPreservingRanker().fit(X[:3], [1, 0, 1100], qid=["a", "a", "b"])


def test_parameters_survive_cloning():
    ranker = rw.OrderPreservingRanker(0.5, standardize="dcg", cutoff=3, loss="huber-hinge", normalize=True, folds=3)
    assert clone(ranker).get_params() == ranker.get_params()
    assert set(ranker.get_params()) > {"alpha", "standardize", "cutoff", "loss", "normalize", "center", "solver", "tol"}
