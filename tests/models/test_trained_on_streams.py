"""A ranker that was trained part by part is used like one trained in memory: the same files, scores and texts."""

import json
import re
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rankwright as rw
from rankwright.export.exporting import TARGETS
from rankwright.models.prepared import model_of_features
from rankwright.preparation.preparation import prepare
from tests.streaming import query_by_query, streamed

RANKERS = {
    "RankRLS": rw.RankRLS(rw.search(0.1, 10.0)),
    "RegressionRanker": rw.RegressionRanker(2.0),
    "GreedyRankRLS": rw.GreedyRankRLS(n_features=2),
    "RankSVM": rw.RankSVM(0.5, tol=1e-10),
    "hinge": rw.RankSVM(1.0, loss="hinge", tol=1e-8),
    "OrderPreservingRanker": rw.OrderPreservingRanker(0.5, tol=1e-10),
    "StructuredRanker": rw.StructuredRanker("ndcg@5", 0.5, tol=1e-7),
}
LAYOUTS = ["named", "float32", "CSR", "missing", "prepared", "prepared CSR", "query means"]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")


def dirty(layout):
    """Text ids in no order, one-document queries, a constant feature, one with a heavy tail, and missing values."""
    rng = np.random.default_rng(4)
    sizes = np.where(rng.random(60) < 0.2, 1, rng.integers(2, 20, 60))
    qid = rng.permutation(np.repeat([f"q{number}" for number in rng.permutation(60)], sizes))
    x = np.round(rng.standard_normal((len(qid), 5)), 2)
    x[:, 3], x[:, 4] = 2.0, np.exp(3 * x[:, 4])
    y = np.clip(np.round(x[:, 0] + 0.5 * x[:, 1] + rng.standard_normal(len(qid)) + 0.5), 0, 3)
    y[qid == qid[0]] = 0
    if layout in ("missing", "prepared", "prepared CSR", "query means"):
        x[rng.random(x.shape) < 0.1] = np.nan
    x = x.astype(np.float32) if layout == "float32" else x
    names = ["bm25", "clicks", "age", "constant", "size"] if layout == "named" else None
    return rw.Queries(sp.csr_array(x) if "CSR" in layout else x, y, qid, feature_names=names)


def ranker_of(name, layout, data):
    """Trained on the features as they are, or as `fit` and the commands do, on prepared columns."""
    if "prepared" not in layout and layout != "query means":
        return clone(RANKERS[name]).fit(data)
    missing = "query-mean" if layout == "query means" else "mean"
    by, columns = prepare(data, missing=missing, transform="log")
    return model_of_features(clone(RANKERS[name]).fit(columns), by, data)


@cache
def trained(name, layout):
    """On a stream and in memory, and the data of both."""
    whole = query_by_query(dirty(layout))
    stream = streamed(whole, 5)
    return ranker_of(name, layout, stream), ranker_of(name, layout, whole), stream, whole


@pytest.fixture(params=[(name, layout) for name in RANKERS for layout in LAYOUTS], ids=" ".join)
def case(request):
    return trained(*request.param)


def assert_alike(one, other):
    """JSON with the same keys, texts and whole numbers; other numbers to rounding."""
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_alike(one[key], other[key])
    elif isinstance(one, list):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_alike(*pair)
    else:
        assert one == (pytest.approx(other, rel=1e-6, abs=1e-8) if isinstance(one, float) else other)


def exported(model, target):
    """The text, or the error: not every target can compute every model."""
    try:
        return rw.export_model(model, target)
    except rw.ParameterError as error:
        return f"refused: {error}"


def test_files_and_scores(case, tmp_path):
    ours, theirs, stream, whole = case
    for ranker, name in ((ours, "ours.json"), (theirs, "theirs.json")):
        rw.save_model(ranker, tmp_path / name)
    assert_alike(*(json.loads((tmp_path / name).read_text()) for name in ("ours.json", "theirs.json")))
    expected = theirs.predict(whole)
    atol = 1e-7 * np.ptp(expected)
    for ranker in (ours, rw.load_model(tmp_path / "ours.json")):
        for data in (whole, stream):
            np.testing.assert_allclose(ranker.predict(data), expected, rtol=0, atol=atol)
        assert ranker.score(stream) == pytest.approx(theirs.score(whole), abs=1e-9)


@pytest.mark.filterwarnings("ignore:linear models of", "ignore:a model of .* has no place for missing values")
@pytest.mark.parametrize("target", sorted(TARGETS.keys() - {"onnx"}))
def test_exports(case, target):
    ours, theirs, _, _ = case
    texts = [exported(model, target) for model in (ours, theirs)]
    assert NUMBER.split(texts[0]) == NUMBER.split(texts[1])
    np.testing.assert_allclose(
        *([float(number) for number in NUMBER.findall(text)] for text in texts), rtol=1e-5, atol=1e-9
    )


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:linear models of")
def test_onnx(case):
    import onnxruntime

    ours, theirs, _, whole = case
    if (
        isinstance(theirs, rw.LinearModel)
        and theirs.formula().filling is not None
        and theirs.formula().filling.by_query
    ):
        assert exported(ours, "onnx") == exported(theirs, "onnx")
        return
    content = rw.export_model(ours, "onnx", dtype="float64")
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    used = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    x = whole.X.toarray() if sp.issparse(whole.X) else whole.X
    columns = [whole.feature_names.index(name) for name in used]
    (scores,) = session.run(["score"], {"features": np.ascontiguousarray(x[:, columns], dtype=np.float64)})
    expected = theirs.predict(whole)
    np.testing.assert_allclose(scores[:, 0], expected, rtol=0, atol=1e-7 * np.ptp(expected))


def test_explanations(case):
    ours, theirs, _, whole = case
    for query in (whole.query_ids[0], whole.query_ids[whole.sizes == 1][0]):
        one, other = (rw.explain(ranker, whole, query) for ranker in (ours, theirs))
        assert one.features == other.features
        atol = 1e-7 * max(1.0, np.abs(other.contributions).max(initial=0.0))
        np.testing.assert_allclose(one.contributions, other.contributions, rtol=0, atol=atol)


def test_certificates_and_bounds(case):
    ours, theirs, stream, whole = case
    fresh = rw.Queries(whole.X, whole.y, [f"new {name}" for name in whole.qid])
    expected = rw.theory.certificate(theirs, whole, "ndcg@5")
    assert expected.doubts  # as these queries were trained on
    for data in (whole, stream):
        told = rw.theory.certificate(ours, data, "ndcg@5")
        assert told.doubts == expected.doubts
        assert (told.mean, told.bound) == pytest.approx((expected.mean, expected.bound), abs=1e-9)
    assert rw.theory.certificate(ours, fresh).doubts == rw.theory.certificate(theirs, fresh).doubts
    for kind in ("ndcg", "corollary1"):
        expected_bound = rw.theory.risk_bound(theirs, whole, kind=kind).log_total
        for data in (whole, stream):
            assert rw.theory.risk_bound(ours, data, kind=kind).log_total == pytest.approx(expected_bound, rel=1e-7)
