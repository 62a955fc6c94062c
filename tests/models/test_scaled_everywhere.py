"""Whatever takes a model takes one that was saved with a scaler: as if its weights were those of the raw features."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

import rankwright as rw
from rankwright.theory.risk_bounds import KINDS
from tests.export.models import linear


def dirty_queries(grades=4):
    """Rows in no order, text ids, a query of one document, one without a relevant document, ties, scales far apart."""
    rng = np.random.default_rng(5)
    qid = rng.permutation(np.array([f"q{number}" for number in np.arange(60) % 7] + ["alone"] + ["none"] * 3))
    x = rng.standard_normal((len(qid), 5)) * [1.0, 3e4, 1e-3, 0.0, 20.0] + [0.0, 1.7e9, 0.01, 4.0, 0.0]
    x[rng.random(len(x)) < 0.3, 4] = 0.0
    worth = np.round(x[:, 0] + 300 * x[:, 2] + rng.standard_normal(len(x))) * (qid != "none")
    return rw.Queries(x, np.clip(worth, 0, grades - 1), qid)


@pytest.fixture(scope="module", name="queries")
def some_queries():
    return dirty_queries()


@pytest.fixture(
    scope="module",
    name="models",
    params=[rw.RankRLS(0.1), rw.RegressionRanker(2.0), rw.GreedyRankRLS(n_features=2)],
    ids=lambda ranker: type(ranker).__name__,
)
def scaled_and_folded(request, queries, tmp_path_factory):
    """A model with its scaler as read from a file, the same folded by hand, and the pipeline that it was saved from."""
    pipeline = make_pipeline(rw.GlobalStandardScaler(), request.param).fit(queries)
    scaler, ranker = pipeline[0], pipeline[1]
    path = tmp_path_factory.mktemp("models") / "scaled.json"
    rw.save_model(ranker, path, scaler=scaler)
    raw = ranker.coef_ / scaler.scale_
    by_hand = linear(raw, intercept=getattr(ranker, "intercept_", 0.0) - raw @ scaler.mean_)
    return rw.load_model(path), by_hand, pipeline


def close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)


def test_raw_weights_give_the_scores_of_the_pipeline(models, queries):
    scaled, by_hand, pipeline = models
    close(pipeline.predict(queries), pipeline.predict(queries.X))
    for model in (scaled, by_hand):
        weights, intercept = model.formula().weights, model.formula().intercept
        close(queries.X @ weights + intercept, pipeline.predict(queries))
        close(model.predict(queries), pipeline.predict(queries))
    np.testing.assert_array_equal(pipeline[1].formula().weights, pipeline[1].coef_)


def test_rankings_and_measures(models, queries):
    scaled, by_hand, pipeline = models
    np.testing.assert_array_equal(scaled.rank(queries), by_hand.rank(queries))
    assert scaled.score(queries) == by_hand.score(queries)
    told = [rw.evaluate(model, queries, "ndcg@10, map").means for model in (scaled, by_hand, pipeline.predict(queries))]
    assert told[0] == told[1] == told[2]
    systems = rw.compare({"scaled": scaled, "by hand": by_hand}, queries, "ndcg@10").to_dict()["systems"]
    assert [system["difference"] for system in systems] == [None, 0.0]


def test_contributions_add_up_and_are_those_of_raw_features(models, queries):
    scaled, by_hand, _ = models
    for query_id in ("q3", "none"):
        told, expected = (rw.explain(model, queries, query_id) for model in (scaled, by_hand))
        scores = np.array([document.score for document in told.documents])
        close(told.contributions.sum(axis=1), scores - scores.mean())
        close(told.contributions, expected.contributions)
        close(told.why(1, 3).contributions.sum(), scores[0] - scores[2])
        assert told.features == expected.features


def test_the_changes_that_would_lift_a_document_do(models, queries):
    """Done to the raw features, just beyond the bound, and not when they stop short of it."""
    scaled, by_hand, _ = models
    told, expected = (rw.explain(model, queries, "q3") for model in (scaled, by_hand))
    for rank in range(2, len(told.documents) + 1):
        rise = told.rise(rank)
        close([change.spreads for change in rise.single], [change.spreads for change in expected.rise(rank).single])
        for changes in [(change,) for change in rise.single] + [rise.joint]:
            assert changes
            assert rank_after(scaled, queries, rise.document.row, changes, 1 + 1e-6) < rank
            assert rank_after(scaled, queries, rise.document.row, changes, 1 - 1e-6) == rank


def rank_after(model, queries, row, changes, part):
    """The rank of a document whose features have gone that part of the way."""
    x = queries.X.copy()
    for change in changes:
        x[row, int(change.feature[1:]) - 1] += part * (change.bound - change.value)
    return model.rank(rw.Queries(x, queries.y, queries.qid))[row]


def test_spreads_are_those_of_raw_features(models, queries):
    scaled, *_ = models
    for change in rw.explain(scaled, queries, "q3").rise(2).single:
        values = queries.X[:, int(change.feature[1:]) - 1]
        centred = [values[queries.qid == q] - values[queries.qid == q].mean() for q in queries.query_ids]
        spread = np.sqrt(sum((part**2).sum() for part in centred) / len(values))
        close(change.spreads, (change.bound - change.value) / spread)
        assert (change.low, change.high) == (values.min(), values.max())


@pytest.mark.parametrize(
    "target",
    ["sql", "python", "vespa", "ranklib", "solr", "elasticsearch", pytest.param("onnx", marks=pytest.mark.peers)],
)
def test_exports_of_a_model_are_those_of_its_ranker_and_scaler(models, target):
    """What they compute is tested with each target."""
    scaled, by_hand, pipeline = models
    options = {"dtype": "float64"} if target == "onnx" else {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "linear models of")
        text = rw.export_model(scaled, target, **options)
        assert text == rw.export_model(pipeline[1], target, scaler=pipeline[0], **options)
        if target == "python":
            functions = [{}, {}]
            exec(text, functions[0])
            exec(rw.export_model(by_hand, target), functions[1])
            assert functions[0]["WEIGHTS"] == pytest.approx(functions[1]["WEIGHTS"], rel=1e-12)


def test_certificates(models, queries):
    scaled, by_hand, _ = models
    told, expected = (rw.theory.certificate(model, queries, "ndcg@10") for model in (scaled, by_hand))
    assert told.to_dict() == expected.to_dict()
    gain = rw.theory.certificate(scaled, queries, "ndcg@10", baseline=by_hand)
    assert gain.mean == 0


@pytest.mark.parametrize("kind", KINDS)
def test_risk_bounds_are_those_of_raw_weights(models, kind):
    """Lists of three, as theorem 4 goes over all their rankings."""
    scaled, by_hand, _ = models
    queries = bounded_queries(kind)
    told, expected = (rw.theory.risk_bound(model, queries, kind=kind) for model in (scaled, by_hand))
    assert told.log_total == pytest.approx(expected.log_total, rel=1e-9)
    for constant in expected.constants:
        assert told.constant(constant.symbol) == pytest.approx(constant.value, rel=1e-9)


def bounded_queries(kind):
    grades = 2 if kind in ("corollary2", "corollary3") else 4
    whole = dirty_queries(grades)
    rows = np.flatnonzero(whole.qid != "alone")[:45]
    qid = np.arange(45) % 15
    ranking = rw.FullRanking(1 + np.arange(45) // 15)
    return rw.Queries(whole.X[rows], ranking if kind == "theorem3" else whole.y[rows], qid)


@pytest.mark.parametrize("seed", range(5))
def test_a_bound_of_a_scaled_model_holds(seed, tmp_path):
    """Grades tell nothing of features here, so that the risk of any ranker is known: one relevant document among six
    is anywhere. A ranker of many features has no risk on its training queries, which tiny features do not make true.
    """
    risk = 1 - np.mean(1 / np.log2(np.arange(2, 8)))
    x = np.random.default_rng(seed).standard_normal((1200, 1200)) * 1e-4
    queries = rw.Queries(x, np.tile([1, 0, 0, 0, 0, 0], 200), np.repeat(np.arange(200), 6))
    scaler = rw.GlobalStandardScaler()
    rw.save_model(rw.RankRLS(1.0).fit(scaler.fit_transform(queries)), tmp_path / "model.json", scaler=scaler)
    model = rw.load_model(tmp_path / "model.json")
    assert 1 - rw.evaluate(model, queries, "ndcg@10").means[rw.nDCG @ 10] < 0.1
    assert rw.theory.risk_bound(model, queries).total >= risk
