"""Kernel maps as Python and ONNX against the model itself; other targets refuse them by name."""

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.export.exporting import TARGETS
from tests.maps.dirty import dirty_queries

MAPS = [
    rw.KernelMap("fourier", 21, gamma=0.1, scaling="standard"),
    rw.KernelMap("orthogonal", 20, gamma=0.1, scaling="quantile", linear=False),
    rw.KernelMap("nystroem", 15, gamma=0.1, scaling="within-query-spread"),
]
TEST = dirty_queries(40, seed=2)


@pytest.fixture(params=MAPS, ids=lambda by: by.kind)
def ranker(request):
    return rw.MappedRanker(request.param, rw.RegressionRanker(4.0)).fit(dirty_queries(60, seed=1))


def test_python_scores_as_the_model_does(ranker):
    module = {}
    exec(rw.export_model(ranker, "python", features={"a": "größe"}), module)
    documents = [dict(zip(["größe", *"bcdef"], map(float, row), strict=True)) for row in TEST.X]
    found = [module["score"](document) for document in documents]
    np.testing.assert_allclose(found, ranker.predict(TEST), rtol=1e-9, atol=1e-9)
    absent = {name: value for name, value in documents[0].items() if value == value}
    assert module["score"](absent) == module["score"](documents[0])


def test_python_tells_of_a_missing_value_that_is_not_known():
    queries = dirty_queries(missing=0)
    module = {}
    exec(rw.export_model(rw.MappedRanker(MAPS[0], rw.RankRLS()).fit(queries), "python"), module)
    with pytest.raises(ValueError, match="'b' is missing"):
        module["score"]({"a": 1.0, "c": 1.0, "d": 1.0, "e": 1.0})


@pytest.mark.parametrize("infinity", [np.inf, -np.inf])
def test_python_refuses_infinity_by_name(ranker, infinity):
    module = {}
    exec(rw.export_model(ranker, "python"), module)
    with pytest.raises(ValueError, match="feature 'b' is not finite"):
        module["score"]({"a": 1.0, "b": infinity, "c": 1.0, "d": 1.0, "e": 1.0})


@pytest.mark.parametrize("to", sorted(set(TARGETS) - {"onnx", "python"}))
def test_others_refuse(ranker, to):
    with pytest.raises(rw.ParameterError, match=f"{to} cannot compute kernel maps: export to onnx or python"):
        rw.export_model(ranker, to)


def test_means_of_queries_are_not_exported():
    by = rw.KernelMap(n_components=5, gamma=0.1, scaling="standard", missing="query-mean")
    ranker = rw.MappedRanker(by, rw.RankRLS()).fit(dirty_queries())
    with pytest.raises(rw.ParameterError, match="train it with missing='mean'"):
        rw.export_model(ranker, "python")


@pytest.mark.peers
@pytest.mark.parametrize(("dtype", "exact"), [("float64", 1e-10), ("float32", 1e-3)])
def test_onnx_runtime_scores_as_the_model_does(ranker, dtype, exact):
    import onnx
    import onnxruntime

    content = rw.export_model(ranker, "onnx", dtype=dtype)
    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = onnxruntime.InferenceSession(content)
    names = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert names == list("abcde")
    (found,) = session.run(None, {"features": TEST.X[:, :5].astype(dtype)})
    expected = ranker.predict(TEST)
    np.testing.assert_allclose(found.ravel(), expected, atol=exact * np.abs(expected).max())
