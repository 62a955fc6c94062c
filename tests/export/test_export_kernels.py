"""Models with a kernel for Python and ONNX, run there; targets that cannot compute kernels refuse them by name."""

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.export.exporting import TARGETS
from tests.models.test_kernel_model import KERNELS
from tests.rankers.test_kernel_structured import dirty

NAMES = ["bm25", 'title "tf"', "constant\n", "age"]


def trained(kernel, *, is_scaled=False):
    """A model, and rows of other queries with their scores; one of them has no feature but 0."""
    queries, fresh = dirty(), dirty(seed=2).X.copy()
    fresh[1] = 0.0
    scaler = rw.GlobalStandardScaler().fit(queries.X) if is_scaled else None
    x = queries.X if scaler is None else scaler.transform(queries.X)
    ranker = rw.KernelRankRLS(0.5, kernel=kernel, **KERNELS[kernel])
    ranker.fit(rw.Queries(x, queries.y, queries.qid, feature_names=NAMES))
    return ranker, scaler, fresh, ranker.predict(fresh if scaler is None else scaler.transform(fresh))


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("kernel", sorted(KERNELS.keys() - {"linear"}))
def test_python(kernel, is_scaled):
    ranker, scaler, x, expected = trained(kernel, is_scaled=is_scaled)
    module = {}
    exec(rw.export_model(ranker, "python", scaler=scaler), module)
    found = [module["score"](dict(zip(NAMES, row, strict=True))) for row in x.tolist()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.ptp(expected))


@pytest.mark.peers
@pytest.mark.parametrize(("dtype", "exact"), [("float64", 1e-9), ("float32", 1e-3)])
@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("kernel", sorted(KERNELS.keys() - {"linear"}))
def test_onnx(kernel, is_scaled, dtype, exact):
    import onnxruntime

    ranker, scaler, x, expected = trained(kernel, is_scaled=is_scaled)
    content = rw.export_model(ranker, "onnx", dtype=dtype, scaler=scaler)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert json.loads(session.get_modelmeta().custom_metadata_map["features"]) == NAMES
    (found,) = session.run(["score"], {"features": x.astype(dtype)})
    np.testing.assert_allclose(found[:, 0], expected, rtol=0, atol=exact * np.ptp(expected))


@pytest.mark.parametrize("target", sorted(TARGETS.keys() - {"python", "onnx"}))
def test_targets_without_kernels_name_those_that_have_them(target):
    ranker, *_ = trained("rbf")
    with pytest.raises(rw.ParameterError, match=f"{target} cannot compute kernels of documents: export to onnx or py"):
        rw.export_model(ranker, target)


def test_a_linear_kernel_is_a_linear_model():
    ranker, _, x, expected = trained("linear")
    module = {}
    exec(rw.export_model(ranker, "python"), module)
    assert "WEIGHTS" in module
    found = [module["score"](dict(zip(NAMES, row, strict=True))) for row in x.tolist()]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10 * np.ptp(expected))


@pytest.mark.parametrize(
    ("given", "problem"),
    [({}, "is missing"), ({"b": None}, "is missing"), ({"b": np.nan}, "is missing"), ({"b": -np.inf}, "is not finite")],
)
def test_python_names_a_feature_without_a_finite_value(given, problem):
    queries = rw.Queries(np.random.default_rng(0).random((20, 2)), np.arange(20) % 3, feature_names=["a", "b"])
    module = {}
    exec(rw.export_model(rw.KernelRankRLS(1.0).fit(queries), "python"), module)
    with pytest.raises(ValueError, match=f"feature 'b' {problem}"):
        module["score"]({"a": 0.5} | given)
