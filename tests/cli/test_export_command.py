"""``rankwright export``."""

from __future__ import annotations

import io
import json
import sys

import numpy as np
import pytest

import rankwright as rw
from rankwright.cli.main import main

NAMES = ["bm25", "größe", "clicks"]


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    drawn = rw.datasets.make_queries(20, 8, 3, n_informative=2, n_correlated=1, seed=2, dtype=np.float64).queries
    return rw.Queries(drawn.X, drawn.y, drawn.qid, feature_names=NAMES)


@pytest.fixture(name="model")
def model_file(queries, tmp_path):
    path = tmp_path / "model.json"
    rw.save_model(rw.RankRLS().fit(queries), path)
    return path


@pytest.mark.parametrize("target", ["solr", "elasticsearch", "opensearch", "sql", "ranklib", "python"])
def test_prints_what_the_library_returns(run, model, target):
    ran = run("export", model, "--to", target)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == rw.export_model(rw.load_model(model), target)


def test_options_reach_the_library(run, model, tmp_path):
    loaded, out = rw.load_model(model), tmp_path / "out"
    names = tmp_path / "map.json"
    names.write_text(json.dumps({"größe": "attribute(size)"}))
    for options, parameters in [
        (
            ("--to", "sql", "--table", "t", "--dialect", "mysql", "--nulls", "null"),
            {"table": "t", "dialect": "mysql", "nulls": "null"},
        ),
        (("--to", "solr", "--name", "n", "--store", "s"), {"name": "n", "store": "s"}),
        (("--to", "opensearch", "--feature-set", "f"), {"feature_set": "f"}),
        (("--to", "vespa", "--features-map", names), {"features": {"größe": "attribute(size)"}}),
    ]:
        ran = run("export", model, *options, "--out", out)
        assert (ran.code, ran.out, ran.err) == (0, "", "")
        assert out.read_text(encoding="utf-8") == rw.export_model(loaded, options[1], **parameters)


def test_a_model_with_an_intercept_is_exported_with_a_warning(run, queries, tmp_path):
    rw.save_model(rw.RegressionRanker().fit(queries), tmp_path / "model.json")
    ran = run("export", tmp_path / "model.json", "--to", "solr")
    assert ran.code == 0
    assert ran.err.startswith("warning: linear models of solr have no intercept")


@pytest.fixture(name="by_query")
def model_file_with_query_means(queries, tmp_path):
    x = np.where(queries.X > 1, np.nan, queries.X)
    ranker = rw.RankRLS(missing="query-mean").fit(rw.Queries(x, queries.y, queries.qid, feature_names=NAMES))
    rw.save_model(ranker, tmp_path / "by_query.json")
    return tmp_path / "by_query.json"


@pytest.mark.parametrize("nulls", ["model", "zero", "null"])
def test_query_means_are_taken_over_a_column_of_query_ids(run, by_query, nulls):
    ran = run("export", by_query, "--to", "sql", "--query-column", "query id", "--nulls", nulls)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == rw.export_model(rw.load_model(by_query), "sql", query_column="query id", nulls=nulls)
    assert ('OVER (PARTITION BY "query id")' in ran.out) == (nulls == "model")


def test_what_query_means_need_is_told(run, by_query):
    ran = run("export", by_query, "--to", "sql")
    assert ran.code == 2
    assert "name the column of query ids by query_column (--query-column)" in ran.err
    ran = run("export", by_query, "--to", "solr")
    assert ran.code == 2
    assert "solr cannot fill in a missing value by the mean of its query: SQL, ONNX and Python can" in ran.err


def test_defaults_of_missing_values_are_told(run, queries, tmp_path):
    x = np.where(queries.X > 1, np.nan, queries.X)
    rw.save_model(rw.RankRLS().fit(rw.Queries(x, queries.y, queries.qid, feature_names=NAMES)), tmp_path / "m.json")
    ran = run("export", tmp_path / "m.json", "--to", "solr")
    assert ran.code == 0
    assert ran.err.startswith("warning: a model of solr has no place for missing values: give each feature that may be")


def test_a_model_behind_a_scaler_is_exported_with_it(run, queries, tmp_path):
    path, scaler = tmp_path / "model.json", rw.GlobalStandardScaler().fit(queries.X)
    ranker = rw.RankRLS().fit(rw.normalised(queries, scaler))
    rw.save_model(ranker, path, scaler=scaler)
    for target in ("solr", "sql"):
        assert run("export", path, "--to", target).out == rw.export_model(ranker, target, scaler=scaler)


@pytest.mark.parametrize(
    ("options", "code", "problem"),
    [
        (("--to", "nowhere"), 2, "--to must be one of 'solr', "),
        (
            ("--to", "sql", "--name", "a"),
            2,
            "--name is for solr, elasticsearch, opensearch, vespa, onnx, python, lucene, not for sql",
        ),
        (("--to", "solr", "--feature-set", "a"), 2, "--feature-set is for elasticsearch, opensearch, not for solr"),
        (("--to", "onnx"), 2, "--to onnx writes a binary file: add --out"),
        (("--to", "vespa"), 2, "'größe' is no rank feature of Vespa"),
        (("--to", "sql", "--features-map", "missing.json"), 66, "cannot read missing.json"),
        (("--to", "sql", "--out", "missing/model.sql"), 73, "there is no folder missing"),
        ((), 2, "Missing option '--to'"),
    ],
)
def test_wrong_usage_is_told(run, model, options, code, problem):
    ran = run("export", model, *options)
    assert ran.code == code
    assert problem in ran.err


@pytest.mark.parametrize(
    ("text", "code", "problem"),
    [
        ("{", 65, "map.json: the feature map is not valid JSON"),
        ("[]", 2, "features must map names of features"),
        ('{"size": "a"}', 2, "the model has no feature 'size'"),
        ('{"bm25": "a", "bm25": "b"}', 65, "'bm25' is given twice"),
        ('{"bm25": 7}', 2, "'bm25' must be mapped to a text"),
    ],
)
def test_a_map_of_features_that_cannot_be_is_told(run, model, tmp_path, text, code, problem):
    (tmp_path / "map.json").write_text(text)
    ran = run("export", model, "--to", "sql", "--features-map", tmp_path / "map.json")
    assert ran.code == code
    assert problem in ran.err


def test_nothing_is_written_over_an_input(run, model):
    before = model.read_text()
    assert run("export", model, "--to", "python", "--out", model).code == 2
    assert model.read_text() == before


def test_letters_that_the_terminal_has_not_are_not_replaced(model, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    assert main(["export", str(model), "--to", "sql"]) == 73
    assert "ascii cannot encode all characters of the model: use --out" in capsys.readouterr().err
    assert main(["export", str(model), "--to", "python"]) == 0


@pytest.mark.peers
def test_onnx_is_written_to_a_file(run, model, tmp_path):
    out = tmp_path / "model.onnx"
    ran = run("export", model, "--to", "onnx", "--dtype", "float64", "--out", out)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert out.read_bytes() == rw.export_model(rw.load_model(model), "onnx", dtype="float64")
