"""``rankwright evaluate``."""

from __future__ import annotations

import csv
import gzip
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwright.cli.main import app
from rankwright.data.files import read_queries
from rankwright.evaluation.evaluation import evaluate
from rankwright.measures import parse_measures
from rankwright.measures.conventions import CONVENTIONS

SCORES = [0.1, 0.5, 0.9, 0.3, 0.2, 0.7]


@pytest.fixture(name="scores")
def score_file(tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text("".join(f"{score}\n" for score in SCORES))
    return path


@pytest.fixture(name="expected")
def library_evaluation(data):
    return evaluate(np.array(SCORES), read_queries(data), parse_measures("ndcg@10,map"), convention="letor4")


def test_prints_the_table_of_the_library(run, scores, data, expected):
    ran = run("evaluate", scores, data, "--measures", "ndcg@10,map", "--convention", "letor4")
    assert (ran.code, ran.err) == (0, "")
    for measure in expected.measures:
        assert str(measure) in ran.out
        assert f"{expected.means[measure]:.4f}" in ran.out


def test_json_has_the_numbers_of_the_library(run, scores, data, expected):
    ran = run("evaluate", scores, data, "--convention", "letor4", "--json")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert told == json.loads(json.dumps(expected.to_dict()).replace("NaN", "null"))


def values_of(expected):
    """Per query: the id and the values, None where a measure leaves the query out."""
    columns = [expected.values[measure] for measure in expected.measures]
    return [
        [str(query), *(None if np.isnan(value) else value for value in values)]
        for query, *values in zip(expected.query_ids.tolist(), *columns, strict=True)
    ]


def test_per_query_csv(run, scores, data, tmp_path, expected):
    path = tmp_path / "values.csv"
    assert run("evaluate", scores, data, "--per-query", path, "--convention", "letor4").code == 0
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["qid", *map(str, expected.measures)]
    assert [[query, *(float(v) if v else None for v in values)] for query, *values in rows] == values_of(expected)


def test_per_query_json_lines(run, scores, data, tmp_path, expected):
    path = tmp_path / "values.jsonl"
    assert run("evaluate", scores, data, "--per-query", path, "--convention", "letor4").code == 0
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [[str(row.pop("qid")), *row.values()] for row in rows] == values_of(expected)


def test_a_query_that_is_left_out_has_no_value(run, scores, data, tmp_path, monkeypatch):
    monkeypatch.setattr("rankwright.measures.conventions.convention_of", lambda name: CONVENTIONS[name].but(empty=None))
    table, lines = tmp_path / "values.csv", tmp_path / "values.jsonl"
    assert run("evaluate", scores, data, "--measures", "map", "--per-query", table).code == 0
    assert run("evaluate", scores, data, "--measures", "map", "--per-query", lines).code == 0
    assert table.read_text().splitlines()[3] == "3,"
    assert json.loads(lines.read_text().splitlines()[2]) == {"qid": 3, "AP": None}


def test_gzipped_scores(run, scores, data, tmp_path):
    packed = tmp_path / "scores.gz"
    packed.write_bytes(gzip.compress(scores.read_bytes()))
    assert run("evaluate", packed, data).out == run("evaluate", scores, data).out != ""


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("1\n2\nthree\n4\n5\n6\n", "line 3"),
        ("1\n2\n3\nnan\n5\n6\n", "line 4"),
        ("1\n2\n3\n", "3 scores for 6 documents"),
    ],
)
def test_malformed_scores(run, scores, data, tmp_path, content, told):
    scores.write_text(content)
    ran = run("evaluate", scores, data, "--per-query", tmp_path / "values.csv")
    assert (ran.code, ran.out) == (65, "")
    assert told in ran.err
    assert "scores.txt" in ran.err
    assert not (tmp_path / "values.csv").exists()


@pytest.mark.parametrize("option", [("--measures", "ndgc@10"), ("--convention", "letor5")])
def test_unknown_names_are_wrong_usage(run, scores, data, option):
    ran = run("evaluate", scores, data, *option)
    assert (ran.code, ran.out) == (2, "")
    assert option[1].partition("@")[0] in ran.err


def test_unknown_names_are_told_before_anything_is_read(run, tmp_path):
    none = tmp_path / "none"
    assert run("evaluate", none, none, "--measures", "ndgc@10").code == 2
    assert run("evaluate", none, none, "--convention", "letor5").code == 2


def test_missing_files(run, scores, data, tmp_path):
    assert run("evaluate", tmp_path / "none", data).code == 66
    assert run("evaluate", scores, tmp_path / "none").code == 66


def test_per_query_file_is_neither_input_nor_impossible(run, scores, data, tmp_path):
    before = data.read_bytes()
    assert run("evaluate", scores, data, "--per-query", data).code == 2
    assert run("evaluate", scores, data, "--per-query", tmp_path / "none" / "values.csv").code == 73
    assert data.read_bytes() == before


def test_help_names_every_convention():
    shown = CliRunner().invoke(app, ["evaluate", "--help"]).output
    words = {word.strip(",.") for word in shown.split("definition to use:")[1].split()}
    assert words >= set(CONVENTIONS)
