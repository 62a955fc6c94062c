"""Networks as Python modules and ONNX graphs, run here, and refused by targets that only add and multiply."""

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.export.exporting import TARGETS
from tests.models.test_network_model import CASES, documents, model_of, network, score_by_hand

NAMES = ["bm25", 'the "title"', "größe", "clicks"]


def run_python(text, x, qid):
    module = {}
    exec(compile(text, "exported", "exec"), module)
    docs = [{name: float(value) for name, value in zip(NAMES, row, strict=True)} for row in x]
    for document in docs[::2]:  # missing is NaN, None or not there at all
        for name in [name for name, value in document.items() if value != value]:
            if name == "clicks":
                del document[name]
            else:
                document[name] = None
    if "score" in module:
        return [module["score"](document) for document in docs]
    scores = np.empty(len(x))
    for query in set(qid):
        rows = np.flatnonzero(qid == query)
        scores[rows] = module["scores"]([docs[row] for row in rows])
    return scores


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_python_module_scores_alike(case):
    net = network(**case)
    x, qid = documents()
    text = rw.export_model(model_of(net, NAMES), "python", name="ré")
    assert text.isascii()
    assert "größe" not in text  # the feature that does not count
    np.testing.assert_allclose(run_python(text, x, qid), score_by_hand(net, x, qid), rtol=1e-12)


def test_a_python_module_refuses_what_the_model_refuses():
    text = rw.export_model(model_of(network(filling=None), NAMES), "python")
    x, qid = documents(missing=0)
    run_python(text, x, qid)
    x[3, 3] = np.nan
    with pytest.raises(ValueError, match="feature 'clicks' is missing"):
        run_python(text, x, qid)
    x[3, 3] = np.inf
    with pytest.raises(ValueError, match="feature 'clicks' is not finite"):
        run_python(text, x, qid)


@pytest.mark.parametrize("to", [to for to in TARGETS if to not in ("onnx", "python")])
def test_other_targets_refuse_by_name(to):
    with pytest.raises(rw.ParameterError, match=f"{to} cannot compute the layers of a network: export to onnx or py"):
        rw.export_model(model_of(network()), to)


@pytest.mark.peers
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_onnx_runtime_scores_alike(case, dtype):
    net = network(**case)
    x, qid = documents()
    expected = np.array(score_by_hand(net, x, qid))
    session, used = session_of(rw.export_model(model_of(net, NAMES), "onnx", dtype=dtype))
    assert used == [NAMES[0], NAMES[1], NAMES[3]]
    scores = np.empty(len(x))
    for query in set(qid):
        rows = np.flatnonzero(qid == query)
        given = np.ascontiguousarray(x[rows][:, [0, 1, 3]], dtype)
        scores[rows] = session.run(["score"], {"features": given})[0][:, 0]
    exactness = 1e-12 if dtype == "float64" else 1e-5
    np.testing.assert_allclose(scores, expected, rtol=exactness, atol=exactness * np.abs(expected).max())


@pytest.mark.peers
@pytest.mark.parametrize("activation", ["relu", "silu", "tanh"])
def test_onnx_has_no_score_where_the_model_has_none(activation):
    session, _ = session_of(rw.export_model(model_of(network(activation, filling=None)), "onnx"))
    x = np.ones((4, 3), np.float32)
    x[1, 2], x[2, 0], x[3, 2] = np.nan, np.nan, -np.inf
    scores = session.run(["score"], {"features": x})[0][:, 0]
    assert np.isnan(scores).tolist() == [False, True, True, True]


def session_of(content):
    """ONNX Runtime with a model, and the names of the features it takes."""
    import onnx
    import onnxruntime

    onnx.checker.check_model(onnx.load_from_string(content), full_check=True)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    return session, json.loads(session.get_modelmeta().custom_metadata_map["features"])
