"""Streams that must not diverge, certificates that must not outlive their weights, and models that judge as before."""

import numpy as np
import pytest

import rankwright as rw
from rankwright.losses import OrderPreservingLoss, PreorderLoss
from tests.streaming import streamed


@pytest.fixture
def queries():
    return rw.datasets.make_queries(
        n_queries=60, documents=12, n_features=6, n_informative=3, n_correlated=2, seed=0
    ).queries


def objective(ranker, queries, weights):
    loss = PreorderLoss(ranker.loss, ranker.weights).on(queries)
    return 0.5 * ranker.alpha * weights @ weights + loss.at(queries.X @ weights).value


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "logistic"])
@pytest.mark.parametrize("alpha", [1e-3, 1e3, 1e6])
def test_a_stream_is_never_worse_than_learning_nothing(queries, loss, alpha):
    ranker = rw.RankSVM(alpha, loss=loss, weights="per-query", random_state=0)
    for first in range(0, 60, 5):
        ranker.partial_fit(queries[first : first + 5])
    nothing = objective(ranker, queries, np.zeros(6))
    assert objective(ranker, queries, ranker.coef_) <= nothing * (1 + 1e-6)
    epochs = rw.RankSVM(alpha, loss=loss, weights="per-query", solver="sgd", max_iter=5, random_state=0).fit(queries)
    assert epochs.objective_ <= nothing * (1 + 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_stream_one_query_at_a_time_in_any_order(queries, seed):
    """The first query may be a poor one to find a step length by: here it has no pairs, then few documents."""
    ranker = rw.RankSVM(1.0, random_state=0).partial_fit(np.ones((3, 6)), [0, 0, 0], group=[3])
    ranker.partial_fit(np.eye(6)[:2], [1, 0], group=[2])
    for q in np.random.default_rng(seed).permutation(60):
        ranker.partial_fit(queries[int(q)])
    assert ranker.score(queries) > 0.9 * rw.RankSVM(1.0).fit(queries).score(queries)


def test_a_stream_has_no_certificate_of_an_earlier_fit(queries):
    ranker = rw.RankSVM().fit(queries)
    ranker.partial_fit(queries[:5])
    assert not any(hasattr(ranker, name) for name in ("objective_", "gap_", "converged_", "path_", "n_iter_"))
    assert ranker.n_queries_seen_ == 5
    assert not hasattr(ranker.fit(queries), "n_queries_seen_")


def test_a_stream_keeps_its_alpha_and_its_features(queries):
    names = list("abcdef")
    first, later = (rw.Queries(queries.X, queries.y, queries.qid, feature_names=n) for n in (names, names[::-1]))
    ranker = rw.RankSVM(1.0).partial_fit(first)
    with pytest.raises(rw.DataError, match="in another order"):
        ranker.partial_fit(later)
    assert ranker.n_queries_seen_ == 60
    with pytest.raises(rw.ParameterError, match="alpha was 1 when the stream began"):
        ranker.set_params(alpha=2.0).partial_fit(first)


def test_offsets_of_queries_do_not_move_the_grid(queries):
    """Pairs are within queries, so adding a constant to all documents of a query is the same problem."""
    rng = np.random.default_rng(0)
    moved = queries.X + 1000 * rng.standard_normal((60, 6))[queries.grouping.codes]
    plain, shifted = (
        rw.RankSVM(rw.search()).fit(rw.Queries(x, queries.y, queries.qid), valid=queries).path_.alphas
        for x in (queries.X, moved)
    )
    np.testing.assert_array_equal(plain, shifted)


def test_slopes_that_are_equal_end_the_search():
    x = [[-570686.9875, 1750829.6643], [980152.0997, 506906.4596], [1073074.3676, -1564294.2876]]
    ranker = rw.RankSVM(1e-6, loss="hinge").fit(x, [1, 0, 0], group=[3])
    assert np.isfinite(ranker.coef_).all()
    assert ranker.gap_ >= 0


def test_a_model_judges_as_the_ranker_did(queries, tmp_path):
    ranker = rw.RankSVM(measures=[rw.AP, rw.nDCG @ 5], convention="letor4").fit(queries)
    rw.save_model(ranker, tmp_path / "model.json")
    model = rw.load_model(tmp_path / "model.json")
    assert model.score(queries) == ranker.score(queries)
    assert model.score(queries) != rw.RankSVM().fit(queries).score(queries)


def test_numbers_that_are_not_one_per_row_are_refused(queries):
    at = PreorderLoss().on(queries).at(np.zeros(queries.n_documents))
    for wrong in ([1.0], np.zeros(queries.n_documents + 4), np.zeros((queries.n_documents, 2))):
        with pytest.raises(rw.DataError, match="one number for each of the"):
            at.hessian_product(wrong)
    with pytest.raises(rw.DataError, match="row 3: the score is not a finite number"):
        PreorderLoss().on(queries).at(np.where(np.arange(queries.n_documents) == 3, np.nan, 0.0))


@pytest.mark.parametrize("name", ["map@10", "ERR@5", "AP"])
def test_measures_without_a_standardisation_at_any_cutoff(name):
    with pytest.raises(rw.ParameterError, match="theorem 3"):
        OrderPreservingLoss(standardize=name)


@pytest.mark.parametrize(("name", "value"), [("tol", np.inf), ("tol", "0.1"), ("early_stopping", 1)])
def test_parameters_of_the_wrong_kind_are_named(queries, name, value):
    with pytest.raises(rw.ParameterError, match=f"^{name} must be"):
        rw.RankSVM(**{name: value}).fit(queries)
    assert rw.RankSVM(tol=np.float32(1e-3)).fit(queries).converged_
    with pytest.raises(rw.ParameterError, match=r"^normalize must be"):
        rw.OrderPreservingRanker(normalize="no").fit(queries)


@pytest.mark.parametrize(
    "ranker",
    [
        rw.RankRLS(rw.search()),
        rw.KernelRankRLS(rw.search()),
        rw.GreedyRankRLS(1.0, rw.search()),
        rw.RankSVM(1.0),
        rw.StructuredRanker("ndcg@5", rw.search()),
        rw.RankBoost(3),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_validation_queries_without_documents_are_told_as_such(queries, ranker):
    takes_streams = not isinstance(ranker, rw.KernelRankRLS | rw.RankBoost)
    for valid in (queries[:0], *([streamed(queries)[:0]] if takes_streams else [])):
        with pytest.raises(rw.DataError, match=r"valid has no documents to judge rankers by: give it some queries"):
            ranker.fit(queries, valid=valid)
