"""Numbers that a target cannot hold are refused; all others reach it as near as they can."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.export import TARGETS
from rankwright.export.single import above, at_most, reached_by_adding, single
from tests.export import engines
from tests.export.models import linear, stumps

SINGLE = ("solr", "elasticsearch", "opensearch")
DOUBLE = ("vespa", "sql", "ranklib", "python")
FINITE = st.floats(-1e38, 1e38, allow_nan=False)


@given(FINITE, st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_thresholds_split_float32_as_they_did_float64(threshold, value):
    assert (value <= float(np.float32(at_most(threshold, "it")))) == (value <= threshold)
    assert (value >= float(np.float32(above(threshold, "it")))) == (value > threshold)


@given(FINITE)
def test_thresholds_next_to_a_number_split_there(threshold):
    nearest = np.float32(threshold)
    for value in (np.nextafter(nearest, np.float32(-np.inf)), nearest, np.nextafter(nearest, np.float32(np.inf))):
        assert (value <= np.float32(at_most(threshold, "it"))) == (float(value) <= threshold)
        assert (value >= np.float32(above(threshold, "it"))) == (float(value) > threshold)


@given(FINITE | st.floats(-1e-5, 1e-5))
def test_the_slack_is_taken_off_beforehand(threshold):
    """Exactly for most; to the next number of float32 at worst; around 0, to the spacing of those around the slack."""
    slack, goal = np.float32(1e-6), np.float32(at_most(threshold, "it"))
    reached = np.float32(reached_by_adding(1e-6, threshold, "it")) + slack
    assert reached >= goal
    if goal >= 4e-6:
        assert reached == goal
    elif abs(goal) >= 2e-6:
        assert reached <= np.nextafter(goal, np.float32(np.inf))
    else:
        assert float(reached) - float(goal) <= np.spacing(np.float32(2e-6))


@given(st.floats(1e-37, 1e37))
def test_numbers_are_the_shortest_that_tell_float32(value):
    short = single(value, "it")
    assert np.float32(short) == np.float32(value)
    assert len(repr(short)) <= max(len(repr(value)), 17)


@pytest.mark.parametrize("target", SINGLE)
@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (linear([1.0, 1e39]), "the weight of feature 'f2' is 1e[+]39, which is too large for float32"),
        (linear([1e-39, 1.0]), "the weight of feature 'f1' is 1e-39, which is too small for float32"),
        (stumps([0], [1e39]), "a threshold of feature 'f1' is 1e[+]39, which is too large"),
        (stumps([0], [1.0], [1e-45]), "the weight of a stump of feature 'f1' is 1e-45, which is too small"),
    ],
    ids=["large weight", "small weight", "large threshold", "small stump"],
)
def test_what_float32_cannot_hold_is_refused(target, model, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.export_model(model, target)


@pytest.mark.parametrize("target", DOUBLE)
@pytest.mark.parametrize("weight", [1e-300, 5e-324, 1e300, -1e-39, 0.1, 1e22, 123456789.0])
def test_other_targets_have_every_number_of_float64(target, weight):
    text = rw.export_model(linear([weight, weight / 4]), target)
    if target == "sql":
        # SQLite rounds what it reads, by less than this.
        assert engines.sqlite(text, ["f1", "f2"], [(1.0, 0.0)]) == [pytest.approx(weight, rel=1e-14, abs=1e-320)]
    elif target == "ranklib":
        assert engines.ranklib(text, [1.0, 0.0]) == weight
    else:
        assert getattr(engines, target)(text, {"f1": 1.0, "f2": 0.0}) == weight


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "model", [linear([0.0, -0.0]), linear([]), stumps([0], [1.0], [0.0])], ids=["0", "none", "stump"]
)
def test_a_model_without_weights_is_refused(target, model):
    with pytest.raises(rw.ParameterError, match="no feature has a weight"):
        rw.export_model(model, target)


@pytest.mark.parametrize(
    "model", [linear([1.0, np.nan]), linear([1.0], intercept=np.inf), stumps([0], [np.inf])], ids=str
)
def test_numbers_that_are_not_finite_are_refused(model):
    with pytest.raises(rw.ParameterError, match="not all finite"):
        rw.export_model(model, "python")


# Scalers


def test_a_scaler_that_float32_cannot_hold_is_refused():
    scaler = rw.GlobalStandardScaler().fit([[0.0], [1e-30], [2e-45]])
    scaler.scale_[0] = 1e-39
    with pytest.raises(rw.ParameterError, match="the scale of feature 'f1' is 1e-39, which is too small"):
        rw.export_model(linear([1.0]), "solr", scaler=scaler)


@pytest.mark.parametrize(("weight", "scale"), [(1e300, 1e-300), (1e-300, 1e300)])
def test_a_weight_that_folding_loses_is_refused(weight, scale):
    scaler = rw.GlobalStandardScaler().fit([[0.0], [1.0]])
    scaler.scale_[0] = scale
    with pytest.raises(rw.ParameterError, match="too large or too small for float64"):
        rw.export_model(linear([weight]), "sql", scaler=scaler)


def test_normalisers_are_given_to_engines_that_have_them():
    scaler = rw.GlobalStandardScaler().fit([[1.0, 2.0], [5.0, 2.0]])
    text = rw.export_model(linear([3.0, 4.0]), "elasticsearch", scaler=scaler)
    normalisers = engines.strict_json(text)["model"]["model"]["feature_normalizers"]
    assert normalisers == {
        "f1": {"standard": {"mean": 3.0, "standard_deviation": 2.0}},
        "f2": {"standard": {"mean": 2.0, "standard_deviation": 1.0}},
    }


@pytest.mark.parametrize(
    ("model", "scaler", "problem"),
    [
        (linear([1.0]), rw.QueryMinMaxScaler(), "scales each query by all of its documents"),
        (linear([1.0]), "standard", "scaler must be a GlobalStandardScaler, not str"),
        (linear([1.0]), rw.GlobalStandardScaler(), "not fitted yet"),
        (linear([1.0]), rw.GlobalStandardScaler().fit([[1.0, 2.0]]), "scaler has 2 features, but the ranker has 1"),
        (stumps([0], [1.0]), rw.GlobalStandardScaler().fit([[1.0]]), "scaler is for linear rankers: StumpModel"),
    ],
    ids=["per query", "text", "not fitted", "other features", "stumps"],
)
def test_scalers_that_a_model_cannot_have(model, scaler, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.export_model(model, "python", scaler=scaler)


# Other parameters


@pytest.mark.parametrize(
    ("target", "options", "problem"),
    [
        ("nowhere", {}, "to must be one of 'solr', .*, not 'nowhere'"),
        ("sql", {"name": "a"}, "name is for solr, elasticsearch, opensearch, vespa, onnx, python, lucene, not for sql"),
        ("solr", {"table": "a"}, "table is for sql, not for solr"),
        ("sql", {"dialect": "oracle"}, "dialect must be one of 'ansi', 'mysql'"),
        ("sql", {"nulls": "one"}, "nulls must be one of 'model', 'zero', 'null'"),
        ("sql", {"table": ""}, "table must be a text"),
        ("sql", {"table": "a\0"}, "table is .* zero bytes"),
        ("onnx", {"dtype": "float16"}, "dtype must be one of 'float32', 'float64'"),
        ("solr", {"name": 7}, "name must be a text"),
        ("solr", {"store": ""}, "store must be a text"),
        ("elasticsearch", {"feature_set": ""}, "feature_set must be a text"),
    ],
)
def test_parameters_that_cannot_be_are_refused(target, options, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.export_model(linear([1.0]), target, **options)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        (rw.RankRLS(), "this RankRLS is not fitted yet"),
        (rw.RankBoost(), "this RankBoost is not fitted yet"),
        (rw.KernelRankRLS(), "this KernelRankRLS is not fitted yet"),
        ("model.json", "not str"),
    ],
    ids=["linear", "stumps", "kernel", "text"],
)
def test_what_is_no_model_is_refused(model, problem):
    with pytest.raises(rw.ParameterError, match=problem):
        rw.export_model(model, "python")


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "model.sql"
    text = rw.export_model(linear([1.0], names=["größe"]), "sql", out=path)
    assert path.read_text(encoding="utf-8") == text
    with pytest.raises(rw.ParameterError):
        rw.export_model(linear([0.0]), "sql", out=path)
    with pytest.raises(FileNotFoundError):
        rw.export_model(linear([1.0]), "sql", out=tmp_path / "missing" / "model.sql")
    assert path.read_text(encoding="utf-8") == text
    assert list(tmp_path.iterdir()) == [path]


def test_a_package_that_is_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(rw.ParameterError, match="needs the package onnx: pip install"):
        rw.export_model(linear([1.0]), "onnx")
