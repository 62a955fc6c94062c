"""``rankwright convert``."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pytest

from rankwright.data.files import read_queries


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["out.parquet", "out.pq", "out.txt", "out.svm", "out.LETOR.gz", "out.dat"])
def test_there_and_back(run, data, tmp_path, name):
    target, back = tmp_path / name, tmp_path / "back.txt"
    ran = run("convert", data, target)
    assert (ran.code, ran.out) == (0, "")
    assert run("convert", target, back).code == 0
    first, last = read_queries(data), read_queries(back)
    np.testing.assert_array_equal(last.X, first.X)
    np.testing.assert_array_equal(last.y, first.y)
    np.testing.assert_array_equal(last.qid.astype(str), first.qid.astype(str))
    magic = target.read_bytes()[:4]
    assert (magic == b"PAR1") == name.endswith(("parquet", "pq"))
    assert magic.startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_an_older_output_is_replaced(run, data, tmp_path):
    target = tmp_path / "out.txt.gz"
    target.write_text("old")
    assert run("convert", data, target).code == 0
    assert gzip.decompress(target.read_bytes()).count(b"qid:") == 6


def test_unknown_ending_lists_the_known_ones(run, data, tmp_path):
    ran = run("convert", data, tmp_path / "out.xlsx")
    assert ran.code == 2
    assert ".parquet" in ran.err
    assert ".svmlight" in ran.err
    assert names_in(tmp_path) == ["data.txt"]


@pytest.mark.parametrize("make", [os.link, os.symlink, lambda source, target: None])
def test_the_input_is_never_overwritten(run, data, tmp_path, make):
    other = data.with_name("alias.txt")
    make(data, other)
    before = data.read_bytes()
    ran = run("convert", data, other if other.exists() else tmp_path / "." / data.name)
    assert ran.code == 2
    assert "input" in ran.err
    assert data.read_bytes() == before


def test_output_that_cannot_be_created(run, data, tmp_path):
    (tmp_path / "folder.txt").mkdir()
    for target in (tmp_path / "none" / "out.txt", tmp_path / "folder.txt"):
        ran = run("convert", data, target)
        assert ran.code == 73
        assert str(target) in ran.err


def test_missing_input(run, tmp_path):
    assert run("convert", tmp_path / "none.txt", tmp_path / "out.parquet").code == 66
    assert names_in(tmp_path) == []


def test_malformed_input_leaves_no_output(run, data, tmp_path):
    with data.open("a") as file:
        file.write("1 qid:4 1:x\n")
    ran = run("convert", data, tmp_path / "out.parquet")
    assert ran.code == 65
    assert "line 7" in ran.err
    assert names_in(tmp_path) == ["data.txt"]


def test_failure_while_writing_keeps_the_older_output(run, data, tmp_path, monkeypatch):
    target = tmp_path / "out.txt"
    target.write_text("old")

    def full(self, name):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    ran = run("convert", data, target)
    assert ran.code == 73
    assert "No space left on device" in ran.err
    assert target.read_text() == "old"
    assert names_in(tmp_path) == ["data.txt", "out.txt"]
