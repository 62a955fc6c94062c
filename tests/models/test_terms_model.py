"""Model files with a formula of few terms: written, read back, and refused where they do not follow the format."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.maps.test_basis import awkward


@pytest.fixture(scope="module")
def ranker():
    return rw.BasisRanker(n_terms=6, hinges=3).fit(awkward())


@pytest.fixture
def path(ranker, tmp_path):
    rw.save_model(ranker, tmp_path / "model.json", training={"data": "awkward"})
    return tmp_path / "model.json"


def test_it_reads_what_was_written(ranker, path):
    model = rw.load_model(path)
    assert model.terms_ == ranker.terms_
    assert model.training_ == {"data": "awkward"}
    np.testing.assert_array_equal(model.predict(awkward()), ranker.predict(awkward()))
    assert repr(model) == "TermsModel(BasisRanker, 8 features, 6 terms)"
    assert str(model) == model.formula_text() == ranker.formula_text()
    assert json.loads(path.read_text())["version"] == 4
    rw.save_model(model, path)
    assert rw.load_model(path).terms_ == model.terms_


def test_it_knows_its_training_queries(path):
    found = rw.theory.certificate(rw.load_model(path), awkward(), "ndcg@5")
    assert not found.guaranteed
    assert any("trained on these queries" in note for note in found.notes)


def test_it_can_be_cut_to_features_that_are_there(ranker):
    rows = np.zeros((4, 8))
    rows[:, :4] = np.random.default_rng(0).standard_normal((4, 4))
    np.testing.assert_allclose(ranker.model().cut_to(4).predict(rows[:, :4]), ranker.predict(rows), rtol=1e-12)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("version", 3, "a model with intercept has version 4"),
        ("terms", {}, "terms must be a list"),
        ("terms", [[1.0]], "terms, entry 1 must be a list .* with one or two factors"),
        ("terms", [[1.0, *[["value", 1, 0.0]] * 3]], "with one or two factors"),
        ("terms", [["a", ["value", 1, 0.0]]], "the weight must be a number"),
        ("terms", [[1.0, ["value", 1]]], "a factor must be a list"),
        ("terms", [[1.0, ["eval", 1, 0.0]]], "must be one of value, above, below, log, missing, not"),
        ("terms", [[1.0, [["value"], 1, 0.0]]], "must be one of value"),
        ("terms", [[1.0, ["value", 9, 0.0]]], "there is no feature 9"),
        ("terms", [[1.0, ["value", 0, 0.0]]], "the feature must be a whole number of at least 1"),
        ("terms", [[1.0, ["value", 1, "0"]]], "the number of a factor must be a number"),
        ("terms", [[1.0, ["log", 1, 0.0]]], "the unit of a logarithm must be above 0"),
        ("missing", [[1, 0.5]], "missing must have a value for each feature that is used"),
        ("missing", [[1, 0.5], [1, 0.5]], "feature 1 is listed already"),
        ("missing", 3, "missing must be a list"),
        ("intercept", None, "intercept must be a number"),
    ],
)
def test_what_does_not_follow_the_format_is_refused(path, field, value, message):
    content = json.loads(path.read_text())
    content[field] = value
    path.write_text(json.dumps(content))
    with pytest.raises(rw.ParseError, match=message):
        rw.load_model(path)


def test_a_scaler_is_refused(ranker, tmp_path):
    scaler = rw.GlobalStandardScaler().fit(awkward(with_missing=False).X)
    with pytest.raises(rw.ParameterError, match="BasisRanker computes hinges and products of features as they are"):
        rw.save_model(ranker, tmp_path / "model.json", scaler=scaler)
