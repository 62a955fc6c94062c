"""``rankwright inspect``."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from rankwright.data.files import read_queries
from rankwright.data.inspection import inspect


def test_prints_tables(run, data):
    ran = run("inspect", data)
    assert (ran.code, ran.err) == (0, "")
    assert [line.rstrip() for line in ran.out.splitlines()] == str(inspect(read_queries(data))).splitlines()
    assert "constant within every query" in ran.out


def test_json_is_all_that_is_printed(run, data):
    ran = run("inspect", data, "--json")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    assert told["data"] == str(data)
    assert (told["n_queries"], told["n_documents"], told["n_features"]) == (3, 6, 3)
    assert told["features"]["constant_within_queries"] == ["f3"]
    assert told["one_document_queries"] == 1


def test_missing_values_are_told(run, tmp_path):
    path = tmp_path / "null.txt"
    path.write_text("1 qid:1 1:NULL 2:1 3:?\n0 qid:1 1:2 2: 3:n/a\n0 qid:2 1:3 3:NaN\n")
    ran = run("inspect", path, "--json")
    features = json.loads(ran.out)["features"]
    assert features["missing_throughout"] == ["f3"]
    told = [(it["feature"], it["documents"], it["queries"], it["whole_queries"]) for it in features["missing"]]
    assert told == [("f1", 1, 1, 0), ("f2", 1, 1, 0)]
    absent = json.loads(run("inspect", path, "--missing", "nan", "--json").out)["features"]["missing"]
    assert [(it["feature"], it["documents"], it["whole_queries"]) for it in absent] == [("f1", 1, 0), ("f2", 2, 1)]
    assert "missing in every document" in run("inspect", path).out


def test_reads_gzip_whatever_its_name(run, data, tmp_path):
    packed = tmp_path / "odd.name"
    packed.write_bytes(gzip.compress(data.read_bytes()))
    plain, unpacked = run("inspect", data).out, run("inspect", packed).out
    assert plain == unpacked != ""


def test_missing_file(run, tmp_path):
    ran = run("inspect", tmp_path / "none.txt")
    assert (ran.code, ran.out) == (66, "")
    assert "none.txt" in ran.err


def test_a_folder_is_not_a_file(run, tmp_path):
    ran = run("inspect", tmp_path)
    assert ran.code == 66
    assert str(tmp_path) in ran.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file(run, data: Path):
    data.chmod(0)
    assert run("inspect", data).code == 66


@pytest.mark.parametrize(
    "content",
    [b"", b"\x00\xff\x13" * 50, b"1 qid:1 1:0.5\n1 1:0.5\n", b"PAR1 and then nothing", b"-1 qid:1 1:2\n"],
    ids=["empty", "junk", "qid missing", "broken Parquet", "negative grade"],
)
def test_malformed_data(run, tmp_path, content):
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    ran = run("inspect", path, "--json")
    assert (ran.code, ran.out) == (65, "")
    assert "bad.txt" in ran.err


def test_truncated_gzip(run, data, tmp_path):
    packed = tmp_path / "cut.txt.gz"
    packed.write_bytes(gzip.compress(data.read_bytes())[:-12])
    assert run("inspect", packed).code == 65


def test_a_wrong_setting_is_wrong_usage(run, data, monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "many")
    ran = run("inspect", data)
    assert ran.code == 2
    assert "RANKWRIGHT_THREADS" in ran.err
