"""Model files of version 3, with missing values and transforms: they come back bit for bit, or the fault is named."""

import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import rankwright as rw
from rankwright.models import linear_model
from rankwright.models.prepared import model_of_features
from rankwright.preparation.formula import Formula
from rankwright.preparation.preparation import prepare
from rankwright.preparation.transforms import Log, Quantile
from tests.export.models import filled, of_formula

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture(name="path")
def model_path(tmp_path):
    return tmp_path / "model.json"


def heavy_and_holey():
    rng = np.random.default_rng(7)
    qid = np.repeat([f"q{number}" for number in range(40)], 8)
    x = np.round(np.exp(2 * rng.standard_normal((320, 5))) * [1, -1, 1e-3, 1, 1], 6)
    x[rng.random(x.shape) < 0.2] = 0.0
    y = np.clip(np.round(np.log1p(x[:, 0]) + rng.standard_normal(320)), 0, 3)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 3] = np.nan
    return rw.Queries(x, y, qid, feature_names=["bm25", "loss", "speed", "never", "clicks"])


def content_of(model, path):
    rw.save_model(model, path)
    return json.loads(path.read_text())


@pytest.fixture(name="content")
def valid_content(path):
    transforms = {1: Log(0.5), 3: Quantile((-1.0, 0.0, 2.0), (-0.5, 0.0, 0.25))}
    return content_of(filled([0.5, -1, 0, 2], [1, 0, 0.5, 0], [0, 0.25, 1, 0], transforms=transforms), path)


# There and back


def bits(values):
    return None if values is None else np.asarray(values, dtype=np.float64).tobytes()


@pytest.mark.parametrize("transform", ["none", "log", "quantile"])
@pytest.mark.parametrize("missing", ["mean", "query-mean"])
@pytest.mark.parametrize("store", [np.asarray, sp.csr_array])
def test_trained_models_come_back_bit_for_bit(transform, missing, store, path, tmp_path):
    queries = heavy_and_holey()
    stored = rw.Queries(store(queries.X), queries.y, queries.qid, feature_names=queries.feature_names)
    by, columns = prepare(stored, transform=transform, missing=missing)
    saved = model_of_features(rw.RankSVM(1.0).fit(columns), by, stored, training={"data": "x"})
    assert content_of(saved, path)["version"] == 3
    model = rw.load_model(path)
    assert bits(model.coef_) == bits(saved.coef_)
    assert bits(model.filling_.values) == bits(saved.filling_.values)
    assert model.filling_.by_query == (missing == "query-mean")
    assert bits(model.where_missing_) == bits(saved.where_missing_)
    assert model.transforms_ == dict(saved.transforms_)
    assert (len(model.transforms_) > 0) == (transform != "none")
    for data in (queries, stored, queries[3:9]):
        np.testing.assert_array_equal(model.predict(data), saved.predict(data))
    rw.save_model(model, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()


@given(st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=8), st.booleans())
def test_numbers_of_missing_values_come_back_bit_for_bit(tmp_path_factory, rows, by_query):
    """−0.0 and the smallest numbers as well."""
    path = tmp_path_factory.getbasetemp() / "filled.json"
    weights, values, scores = np.array(rows).T.copy()
    rw.save_model(filled(weights, values, scores, by_query=by_query), path)
    read = rw.load_model(path)
    assert bits(read.coef_) == bits(weights)
    assert bits(read.filling_.values) == bits(values)
    assert bits(read.where_missing_) == bits(scores)
    assert read.filling_.by_query == by_query


@given(st.floats(0, exclude_min=True, allow_infinity=False), st.lists(st.integers(-100, 100), min_size=2, unique=True))
def test_transforms_come_back_bit_for_bit(tmp_path_factory, unit, places):
    path = tmp_path_factory.getbasetemp() / "transforms.json"
    knots = [place / 7 for place in sorted(places)]
    heights = np.arange(len(knots)) / 11 - np.interp(0.0, knots, np.arange(len(knots)) / 11)
    transforms = {0: Log(unit), 2: Quantile(tuple(knots), tuple(heights.tolist()))}
    rw.save_model(of_formula(Formula(np.ones(3), 0.25, transforms)), path)
    read = rw.load_model(path)
    assert read.transforms_ == transforms
    assert bits(read.transforms_[2].heights) == bits(heights)
    assert (read.filling_, read.where_missing_) == (None, None)


def test_what_a_file_says(content):
    assert (content["version"], content["filling"]) == (3, "mean")
    assert content["weights"] == [[1, 0.5], [2, -1.0], [4, 2.0]]
    assert content["transforms"] == [[2, "log", 0.5], [4, "quantile", [-1.0, 0.0, 2.0], [-0.5, 0.0, 0.25]]]
    assert content["missing"] == [[1, 1.0, 0.0], [2, 0.0, 0.25], [3, 0.5, 1.0]]
    assert "standardisation" not in content


def test_features_that_count_only_by_being_missing_are_told(content, path):
    model = rw.load_model(path)
    assert repr(model) == "LinearModel(RankRLS, 4 features, 4 with a weight)"
    x = np.array([[1.0, 1.0, np.nan, 0.0], [1.0, 1.0, 0.0, 0.0]])
    assert np.subtract(*model.predict(x)) == 1.0


def test_a_model_cut_to_fewer_features(path, content):
    model, x = rw.load_model(path), np.array([[1.0, -3.0, 0.0, 0.0], [np.nan, np.nan, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0]])
    np.testing.assert_allclose(model.cut_to(2).predict(x[:, :2]), model.predict(x), rtol=1e-15)


def test_models_that_need_no_version_3_stay_readable_by_older_versions(path):
    queries = heavy_and_holey()
    complete = rw.Queries(np.nan_to_num(queries.X), queries.y, queries.qid)
    by, columns = prepare(complete)
    assert content_of(model_of_features(rw.RankRLS().fit(columns), by, complete), path)["version"] == 1
    scaler = rw.GlobalStandardScaler().fit(complete)
    rw.save_model(rw.RankRLS().fit(rw.normalised(complete, scaler)), path, scaler=scaler)
    assert json.loads(path.read_text())["version"] == 2


# Files as older versions wrote them


def old_file(version, **learned):
    return {
        "format": "rankwright-model",
        "version": version,
        "made_by": "rankwright 0.0.1",
        "ranker": "RankRLS",
        "parameters": {"alpha": 1.0},
        "n_features": 3,
        "feature_names": None,
        **learned,
        "training": {},
    }


def test_older_files_are_read_and_refuse_missing_values_as_ever(path):
    weights = {"intercept": 0.5, "weights": [[1, 2.0], [3, -1.0]]}
    x = np.array([[1.0, 7.0, 4.0], [2.0, 7.0, 0.0]])
    for content, expected in (
        (old_file(1, **weights), [-1.5, 4.5]),
        (old_file(2, **weights, standardisation=[[1, 1.0, 0.5], [3, 2.0, 4.0]]), [0.0, 5.0]),
    ):
        path.write_text(json.dumps(content))
        model = rw.load_model(path)
        assert model.predict(x).tolist() == expected
        assert (model.transforms_, model.filling_, model.where_missing_) == ({}, None, None)
        with pytest.raises(rw.DataError, match=r"row 0: feature 'f1' is missing \(NaN\)"):
            model.predict(np.array([[np.nan, 7.0, 4.0]]))
        for field in ("transforms", "filling", "missing"):
            path.write_text(json.dumps({**content, field: []}))
            with pytest.raises(rw.ParseError, match=f"no field '{field}' in a model file of version"):
                rw.load_model(path)


# Faults


def quantile(knots, heights):
    return {"transforms": [[1, "quantile", knots, heights]]}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"transforms": None}, "transforms must be a list of [feature, name, numbers …]"),
        ({"transforms": {"1": ["log", 1.0]}}, "transforms must be a list"),
        ({"transforms": [3]}, "transforms, entry 1 must be a list [feature, name, numbers …]"),
        ({"transforms": [[1]]}, "transforms, entry 1 must be a list"),
        ({"transforms": [[0, "log", 1.0]]}, "transforms, entry 1: the feature must be a whole number of at least 1"),
        ({"transforms": [[True, "log", 1.0]]}, "the feature must be a whole number"),
        ({"transforms": [[5, "log", 1.0]]}, "there is no feature 5, n_features is 4"),
        ({"transforms": [[1, "log", 1.0], [1, "log", 1.0]]}, "entry 2: feature 1 has a transform already"),
        ({"transforms": [[1, "log"]]}, 'expected "log" and a unit, or "quantile", a list of knots and a list'),
        ({"transforms": [[1, "log", 1.0, 2.0]]}, 'expected "log" and a unit'),
        ({"transforms": [[1, "exp", 1.0]]}, 'expected "log" and a unit'),
        ({"transforms": [[1, ["log"], 1.0]]}, 'expected "log" and a unit'),
        ({"transforms": [[1, "log", 0]]}, "entry 1: the unit must be above 0, not 0"),
        ({"transforms": [[1, "log", -1.0]]}, "the unit must be above 0, not -1"),
        ({"transforms": [[1, "log", "1"]]}, 'the unit must be a number, not "1"'),
        ({"transforms": [[1, "log", True]]}, "the unit must be a number, not true"),
        ({"transforms": [[1, "log", 10**308 * 9]]}, "the unit is too large"),
        ({"transforms": [[1, "quantile", [0, 1]]]}, 'expected "log" and a unit'),
        (quantile(1.0, [0, 1]), "transforms, entry 1 must have lists of numbers, not 1.0"),
        (quantile([0, 1], {"0": 1}), "must have lists of numbers, not an object"),
        (quantile([0, None], [0, 1]), "entry 1 must be a number, not null"),
        (quantile([0, 1], [0, False]), "entry 1 must be a number, not false"),
        (quantile([0], [0]), "a quantile transform has at least two knots, and a height for each"),
        (quantile([0, 1, 2], [0, 1]), "at least two knots, and a height for each"),
        (quantile([0, 0], [0, 1]), "entry 1: knots must ascend, and so must heights"),
        (quantile([1, 0], [0, 1]), "knots must ascend, and so must heights"),
        (quantile([0, 1], [0, 0]), "knots must ascend, and so must heights"),
        (quantile([0, 1], [1, 0]), "knots must ascend, and so must heights"),
        (quantile([0, 1], [0.5, 1]), "must take 0 to 0, as features that are not stored are 0"),
        (quantile([-2, -1], [0, 1]), "must take 0 to 0"),
        (quantile([-1, 1], [0, 1]), "must take 0 to 0"),
        (quantile([0, 5e-324], [0, 1]), "a line from knot to knot is too long or too steep for float64"),
        (quantile([-1.7e308, 1.7e308], [-1, 1]), "a line from knot to knot is too long or too steep"),
        ({"filling": None}, "filling must be one of mean, query-mean, or null if missing is empty, not null"),
        ({"filling": "median"}, 'filling must be one of mean, query-mean, or null if missing is empty, not "median"'),
        ({"filling": ["mean"]}, "filling must be one of mean, query-mean, or null if missing is empty, not a list"),
        ({"filling": True, "missing": []}, "not true"),
        ({"missing": None}, "missing must be a list of [feature, value, score]"),
        ({"missing": "none"}, "missing must be a list"),
        ({"missing": [[1, 0.5]]}, "missing, entry 1 must be a list [feature, value, score] of 3 numbers"),
        ({"missing": [[1, 0.5, 0, 0]]}, "missing, entry 1 must be a list"),
        ({"missing": [[1, 0.5, 0], 7]}, "missing, entry 2 must be a list"),
        ({"missing": [[0, 0.5, 0]]}, "missing, entry 1: the feature must be a whole number of at least 1, not 0"),
        ({"missing": [[5, 0.5, 0]]}, "missing, entry 1: there is no feature 5, n_features is 4"),
        ({"missing": [[1, 0.5, 0], [1, 0.5, 0]]}, "missing, entry 2: feature 1 is listed already"),
        ({"missing": [[1, None, 0]]}, "missing, entry 1: the value must be a number, not null"),
        ({"missing": [[1, 0.5, "0"]]}, 'missing, entry 1: the score must be a number, not "0"'),
        ({"missing": [[1, 10**308 * 9, 0]]}, "the value is too large"),
        ({"standardisation": []}, "no field 'standardisation' in a model file of version 3"),
        ({"weights": [[5, 1.0]]}, "there is no feature 5"),
        ({"n_features": 3}, "there is no feature 4"),
    ],
)
def test_fields_that_cannot_be(path, content, changes, told):
    path.write_text(json.dumps({**content, **changes}))
    with pytest.raises(rw.ParseError) as caught:
        rw.load_model(path)
    assert str(caught.value).startswith(str(path))
    assert told in str(caught.value)


@pytest.mark.parametrize("name", ["transforms", "filling", "missing", "weights", "intercept"])
def test_fields_that_are_missing(path, content, name):
    del content[name]
    path.write_text(json.dumps(content))
    with pytest.raises(rw.ParseError, match=f"the field '{name}' is missing"):
        rw.load_model(path)


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none(path, content, word):
    text = path.read_text()
    path.write_text(text.replace('"log", 0.5', f'"log", {word}'))
    assert path.read_text() != text
    with pytest.raises(rw.ParseError, match=f"{word} is no number"):
        rw.load_model(path)


# Memory


def test_a_few_bytes_cannot_ask_for_gigabytes(path, content):
    path.write_text(json.dumps({**content, "n_features": 2**31 - 1}))
    tracemalloc.start()
    with pytest.raises(rw.ParseError, match=r"n_features is 2,147,483,647, .* 17.2 GB of memory, but 3 of them"):
        rw.load_model(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1e6
    path.write_text(json.dumps({**content, "n_features": 2**20}))
    assert rw.load_model(path).n_features_in_ == 2**20


@pytest.mark.parametrize("kind", ["missing", "transforms"])
def test_what_could_not_be_read_again_is_not_written(path, monkeypatch, kind):
    monkeypatch.setattr(linear_model, "_FREE_SCALED_FEATURES", 5)
    monkeypatch.setattr(linear_model, "_FEATURES_PER_WEIGHT", 3)
    weights = np.array([0, 0, 1.0, 0, 0, 0])
    for n_weights in (1, 2):
        weights[:n_weights] = 1.0
        weights[2] = n_weights - 1.0
        model = filled(weights, np.zeros(6)) if kind == "missing" else of_formula(Formula(weights, 0.0, {0: Log(1.0)}))
        if n_weights == 1:
            with pytest.raises(rw.ParameterError, match=r"ranker: n_features is 6, .* more than 5 features, one in 3"):
                rw.save_model(model, path)
            assert not path.exists()
        else:
            rw.save_model(model, path)
            assert rw.load_model(path).n_features_in_ == 6
