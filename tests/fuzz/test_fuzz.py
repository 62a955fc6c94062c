"""What the fuzzer has found is tried again, and the fuzzer sees what is wrong."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.fuzz import __main__ as fuzz
from tests.fuzz import reference
from tests.fuzz.targets import CORPUS, TARGETS, Letor, Scores
from tests.fuzz.worker import problem_with

KEPT = sorted(path for path in CORPUS.rglob("*") if path.is_file())


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_corpus(path, tmp_path):
    assert problem_with(TARGETS[path.parent.name], path.read_bytes(), tmp_path) is None


@pytest.mark.parametrize("target", [TARGETS[name] for name in ("letor", "gzip", "csv", "jsonl", "parquet", "scores")])
@pytest.mark.filterwarnings("ignore::rankwright.errors.OneQueryWarning")  # some of it names no queries
def test_good_input_is_read(target, tmp_path):
    for content in target.good():
        assert problem_with(target, content, tmp_path) is None
        if target.name != "scores":
            assert rw.read_queries(tmp_path / target.file_name).n_documents > 0


def test_good_groups_are_read(tmp_path):
    target = TARGETS["groups"]
    found = []
    for content in target.good():
        assert problem_with(target, content, tmp_path) is None
        found.append(rw.read_queries(tmp_path / "grouped.txt").sizes.tolist())
    assert found == [[2, 1, 2], [5], [2, 3], [30, 30, 30]]


@pytest.mark.parametrize(
    ("text", "sizes"),
    [(b"1 1:1\n", b"2\n"), (b"1 1:1\n", b"0\n1\n"), (b"1 1:1\n", b"\n1\n"), (b"1 1:1\n", b"x\n"),
     (b"1 qid:1\n1 qid:2\n", b"2\n"), (b"1 qid:1\n1 qid:1\n", b"1\n1\n"),
     (b"1 qid:1\n1 qid:2\n1 qid:1\n", b"1\n1\n1\n")],
)  # fmt: skip
def test_the_reference_refuses_groups(text, sizes):
    with pytest.raises(reference.Malformed):
        reference.grouped_ids(reference.read_letor(text), reference.read_sizes(sizes))


def test_targets_are_named_alike():
    assert tuple(TARGETS) == fuzz.TARGETS
    assert {path.parent.name for path in KEPT} == set(TARGETS)


@pytest.mark.parametrize("error", [EOFError("x"), MemoryError(), IndexError("x"), ValueError("x"), SystemExit(1)])
def test_errors_of_others_are_seen(error, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise error

    monkeypatch.setattr(rw, "read_svmlight", broken)
    assert type(error).__name__ in problem_with(Letor(), b"1 qid:1 1:1\n", tmp_path)


def test_other_numbers_and_refusals_are_seen(tmp_path, monkeypatch):
    whole = rw.read_svmlight

    def wrong(path, **options):
        queries = whole(path, **options)
        return rw.Queries(np.nextafter(queries.X, 1), queries.y, queries.qid)

    monkeypatch.setattr(rw, "read_svmlight", wrong)
    assert "other features" in problem_with(Letor(), b"1 qid:1 1:0.1\n", tmp_path)

    def refusing(path, **options):
        raise rw.DataError("no")

    monkeypatch.setattr(rw, "read_svmlight", refusing)
    assert "refused, though it is right: no" in problem_with(Letor(), b"1 qid:1 1:0.1\n", tmp_path)
    monkeypatch.setattr("tests.fuzz.targets.read_scores", lambda path, queries: np.zeros(1))
    assert "no file of scores" in problem_with(Scores(), b"x\n", tmp_path)


@pytest.mark.parametrize(
    ("code", "told"),
    [
        ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", f"code -{int(signal.SIGSEGV)}"),
        ("import time; time.sleep(60)", "no answer for 1 seconds"),
        ("raise SystemExit('out of sorts')", "out of sorts"),
    ],
    ids=["crash", "hang", "exit"],
)
def test_processes_that_die_are_seen(code, told, tmp_path, monkeypatch):
    begin = 'print(\'{"begins": "letor"}\', flush=True)'

    class Worker(subprocess.Popen):
        def __init__(self, command, **options):
            super().__init__([sys.executable, "-c", f"{begin}\n{code}"], **options)

    monkeypatch.setattr(fuzz.subprocess, "Popen", Worker)
    monkeypatch.setattr(fuzz, "_LONGEST_CASE", 1.0)
    monkeypatch.setattr(fuzz, "_LONGEST_END", 1.0)
    (tmp_path / "current").write_bytes(b"the last input")
    findings = fuzz.Findings(tmp_path / "found")
    tried, left = fuzz.run_worker(tmp_path, 5.0, 1, ["letor"], findings)
    assert tried == 1
    assert left < 5
    assert len(findings) == 1
    (kept,) = Path(tmp_path / "found").iterdir()
    assert kept.read_bytes() == b"the last input"
    assert told in findings.problems[0]


@pytest.mark.parametrize(
    "content",
    [b"", b"x 1:1", b"-1 qid:1", b"1 qid: 1:1", b"1 1:1 1:1", b"1 2:1 1:1", b"1 1:1e999", b"1 1:1\r2:2\n", b"1 a:1"],
)
def test_the_reference_refuses(content):
    with pytest.raises(reference.Malformed):
        reference.read_letor(content)


def test_the_reference_reads():
    (row, other) = reference.read_letor(b" 1\tqid:a  1:1 3:NULL # docid = x y\r\n\n# z\n0.5 qid:\xc3\xa9#z\n")
    assert repr(row) == repr(reference.Row(1.0, "a", {1: 1.0, 3: float("nan")}, "x"))
    assert other == reference.Row(0.5, "é", {}, "z")
