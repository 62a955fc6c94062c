"""``rankwright certify``."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.theory.certificates import certificate


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(90, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float64).queries


@pytest.fixture(name="train")
def training_file(queries, tmp_path):
    path = tmp_path / "train.txt"
    rw.write_svmlight(queries[:30], path)
    return path


@pytest.fixture(name="test")
def judged_file(queries, tmp_path):
    path = tmp_path / "test.txt"
    rw.write_svmlight(queries[30:], path)
    return path


@pytest.fixture(name="ranker")
def fitted_ranker(queries):
    return rw.RankRLS().fit(queries[:30])


@pytest.fixture(name="model")
def model_file(ranker, tmp_path):
    path = tmp_path / "model.json"
    rw.save_model(ranker, path)
    return path


def test_the_same_as_the_library(run, model, ranker, queries, test):
    ran = run("certify", model, test, "--measure", "map", "--delta", "0.1", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert json.loads(ran.out) == json.loads(json.dumps(certificate(ranker, queries[30:], "map", 0.1).to_dict()))


def test_as_text(run, model, test):
    ran = run("certify", model, test)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("On new queries nDCG @ 10 is at least 0.")
    assert "over 60 queries" in ran.out


def test_method_and_convention(run, model, test):
    ran = run("certify", model, test, "--method", "hoeffding", "--convention", "letor4", "--json")
    told = json.loads(ran.out)
    assert (told["method"], told["convention"], told["bound"]) == ("hoeffding", "letor4", told["bounds"]["hoeffding"])


def test_gain_over_a_baseline(run, model, ranker, queries, test, tmp_path):
    other = tmp_path / "other.json"
    regression = rw.RegressionRanker().fit(queries[:30])
    rw.save_model(regression, other)
    told = json.loads(run("certify", model, test, "--baseline", other, "--json").out)
    expected = certificate(ranker, queries[30:], baseline=regression)
    assert (told["gain"], told["bound"], told["mean"]) == (True, expected.bound, expected.mean)


def test_features_that_text_does_not_show(run, model, ranker, queries, tmp_path):
    x = queries[30:].X.copy()
    x[:, 4:] = 0
    path = tmp_path / "narrow.txt"
    rw.write_svmlight(rw.Queries(x[:, :4], queries[30:].y, queries[30:].qid), path)
    told = json.loads(run("certify", model, path, "--json").out)
    assert told["mean"] == pytest.approx(rw.evaluate(ranker.predict(x), queries[30:], "ndcg@10").means[rw.nDCG @ 10])


# Data that the model has seen


def test_a_model_trained_on_the_data_or_chosen_by_them(run, train, test, tmp_path):
    model = tmp_path / "trained.json"
    trained = run("train", train, "--valid", test, "--ranker", "rankrls", "--out", model)
    assert trained.code == 0
    ran = run("certify", model, train)
    assert ran.code == 0
    assert ran.err.startswith("warning: the ranker was trained on these queries (30 of 30 recognised): ")
    assert ran.out.startswith("Estimate only: ")
    copy = tmp_path / "copy.txt"
    copy.write_bytes(test.read_bytes())
    assert "was chosen by these queries" in run("certify", model, copy).err
    with test.open("a") as file:
        file.write("1 qid:999 1:0.5\n0 qid:999 1:0.25\n")
    assert "was chosen by these queries (" in run("certify", model, test).err
    test.write_text("1 qid:999 1:0.5\n0 qid:999 1:0.25\n")
    ran = run("certify", model, test)  # the same name, but other content
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("On new queries ")


def test_queries_are_known_again_in_another_format(run, queries, train, tmp_path):
    model = tmp_path / "trained.json"
    assert run("train", train, "--ranker", "rankrls", "--out", model).code == 0
    rw.write_parquet(queries[20:40], tmp_path / "some.parquet")
    told = json.loads(run("certify", model, tmp_path / "some.parquet", "--json").out)
    assert told["guaranteed"] is False
    assert any("was trained on these queries (" in note for note in told["notes"])


def save_without_memory(ranker, path, training):
    """A model as earlier versions wrote it: all that is known of its queries is what people have noted."""
    rw.save_model(ranker, path, training=training)
    content = json.loads(path.read_text())
    del content["seen"]
    path.write_text(json.dumps(content))


def test_a_record_of_an_earlier_version_is_known_by_its_hash(run, ranker, train, test, tmp_path):
    path = tmp_path / "old.json"
    digest = hashlib.sha256(train.read_bytes()).hexdigest()
    save_without_memory(ranker, path, training={"data": {"file": "x.txt", "sha256": digest}, "valid": None})
    ran = run("certify", path, train)
    assert ran.err.startswith(f"warning: {path} was trained on these data: ")
    assert ran.out.startswith("Estimate only: ")
    assert run("certify", path, test).err == ""


def test_a_record_without_a_hash_is_known_by_its_name(run, ranker, model, test, tmp_path):
    for record in ({"data": "folder/test.txt"}, {"data": {"file": "test.txt", "sha256": None}}):
        path = tmp_path / "named.json"
        save_without_memory(ranker, path, training=record)
        ran = run("certify", path, test)
        assert ran.err.startswith(f"warning: {path} was trained on data named test.txt: ")
        assert ran.code == 0
        assert "was trained on" in run("certify", model, test, "--baseline", path).err
    rw.save_model(ranker, path, training={"data": ["test.txt", 3], "valid": 7})
    assert run("certify", path, test).err == ""


# Errors


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--delta", "0"), "delta"),
        (("--delta", "x"), "--delta"),
        (("--measure", "dcg"), "has no largest possible value"),
        (("--measure", "nonsense"), "nonsense"),
        (("--method", "student"), "method must be one of"),
        (("--method", "clopper-pearson"), "is for measures that are 0 or 1"),
        (("--convention", "mine"), "convention must be one of"),
    ],
)
def test_parameters_that_cannot_be(run, model, test, options, problem):
    ran = run("certify", model, test, *options)
    assert (ran.code, ran.out) == (2, "")
    assert problem in ran.err


def test_data_that_do_not_fit(run, model, queries, tmp_path):
    wide = tmp_path / "wide.txt"
    rw.write_svmlight(rw.Queries(np.c_[queries.X, queries.y], queries.y, queries.qid), wide)
    ran = run("certify", model, wide)
    assert (ran.code, ran.out) == (65, "")
    assert "wide.txt: there are 7 features, but the model has 6" in ran.err


def test_files_that_are_missing(run, model, test, tmp_path):
    none = tmp_path / "none"
    for arguments in ((none, test), (model, none), (model, test, "--baseline", none)):
        ran = run("certify", *arguments)
        assert (ran.code, ran.out) == (66, "")
        assert str(none) in ran.err


def test_no_query_counts(run, model, tmp_path):
    path = tmp_path / "flat.txt"
    path.write_text("0 qid:1 1:0.5 2:3\n0 qid:1 1:0.25 2:1\n")
    ran = run("certify", model, path, "--measure", "PairwiseError")
    assert (ran.code, ran.out) == (65, "")
    assert "is undefined for all 1 queries" in ran.err
