"""`FitResult.save`: what the command writes, all or none, and never over another fit unasked."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.cli.main import main
from rankwright.fitting.folder import FILES, AnotherFit
from rankwright.fitting.request import Request

FAST = ["regression", "rankrls"]


@pytest.fixture(scope="module", name="queries")
def made_queries():
    return rw.datasets.make_queries(45, 8, 6, n_informative=3, n_correlated=1, seed=2, dtype=np.float64).queries


@pytest.fixture(scope="module", name="result")
def fitted(queries):
    return rw.fit(queries[:30], test=queries[30:], rankers=FAST, folds=3)


@pytest.fixture(scope="module", name="other")
def fitted_otherwise(queries):
    return rw.fit(queries[:30], rankers=["rankrls"], folds=3, measure="map")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_it_writes_what_the_command_writes(queries, tmp_path):
    for name, part in (("train", queries[:30]), ("test", queries[30:])):
        rw.write_svmlight(part, tmp_path / f"{name}.txt")
    options = ["--test", str(tmp_path / "test.txt"), "--ranker", ",".join(FAST), "--out", str(tmp_path / "command")]
    assert main(["fit", str(tmp_path / "train.txt"), *options]) == 0
    train, test = (rw.read_queries(tmp_path / f"{name}.txt") for name in ("train", "test"))
    rw.fit(train, test=test, rankers=FAST).save(tmp_path / "python")
    command, python = contents(tmp_path / "command"), contents(tmp_path / "python")
    assert sorted(command) == sorted(python) == sorted(FILES)
    assert command["leaderboard.csv"] == python["leaderboard.csv"]
    models = [json.loads(files["model.json"]) for files in (command, python)]
    records = [model.pop("training") for model in models]
    assert models[0] == models[1]
    for record in records:
        del record["command"], record["fingerprint"]
        for part in record["data"]:
            part["name"] = part["name"].removesuffix(".txt")
            assert len(part.pop("sha256")) == 64
    assert records[0] == records[1]
    pages = [re.sub(rb"(?s)How to reproduce</h2>.*", b"", files["report.html"]) for files in (command, python)]
    titles = [re.sub(rb"train\.txt: |30 queries: ", b"", page) for page in pages]
    assert titles[0] == titles[1]


def test_the_report_and_the_model_say_how_they_were_made(result, tmp_path):
    result.save(tmp_path / "out")
    call = "rankwright.fit(train, test=test, measure='ndcg@10', rankers=['regression', 'rankrls'], folds=3, "
    call += "rule='one-standard-error', convention='default', delta=0.05, seed=0)"
    training = rw.load_model(tmp_path / "out" / "model.json").training_
    assert training["command"] == call
    assert training["fingerprint"] == result.fingerprint
    page = (tmp_path / "out" / "report.html").read_text()
    assert call.replace("'", "&#x27;") in page or call.replace("'", "&#39;") in page or call in page
    assert "numpy" in page
    assert np.__version__ in page
    assert result.request.data[0]["sha256"] in page


def test_the_leaderboard_reads_as_numbers(result, tmp_path):
    result.save(tmp_path / "out")
    with (tmp_path / "out" / "leaderboard.csv").open(newline="", encoding="utf-8") as file:
        rows = {row["ranker"]: row for row in csv.DictReader(file)}
    means = {name: float(row["held_out_mean"]) for name, row in rows.items()}
    best, baseline = max(means.values()), means[result.baseline_title]
    for entry in result.entries:
        row = rows[entry.family.title]
        assert float(row["held_out_mean"]) == pytest.approx(entry.values.mean())
        assert float(row["difference_from_baseline"]) == pytest.approx(entry.values.mean() - baseline)
        told = row["difference_from_best"]
        assert float(told or 0) == pytest.approx(entry.values.mean() - best, abs=1e-12)
        exponent = np.log2(entry.setting.alpha)
        assert row["lambda"] == f"2^{exponent:g}"
        assert row["setting"] == f"λ = 2^{exponent:g}"
    assert rows[result.baseline_title]["lambda"] == rows[result.baseline_title]["difference_from_baseline"] == ""


# Whose folder it is


def test_the_same_fit_may_be_saved_again(queries, result, tmp_path):
    result.save(tmp_path / "out")
    before = contents(tmp_path / "out")
    rw.fit(queries[:30], test=queries[30:], rankers=FAST, folds=3).save(tmp_path / "out")
    assert contents(tmp_path / "out") == before


def test_another_fit_is_not_overwritten_unasked(result, other, tmp_path):
    folder = tmp_path / "out"
    result.save(folder)
    before = contents(folder)
    with pytest.raises(
        AnotherFit, match=r"another fit \(.* for nDCG @ 10, trained on train, written 2.*overwrite=True"
    ):
        other.save(folder)
    with pytest.raises(FileExistsError):
        other.save(str(folder), overwrite=False)
    assert contents(folder) == before
    other.save(folder, overwrite=True)
    assert rw.load_model(folder / "model.json").training_["fingerprint"] == other.fingerprint


@pytest.mark.parametrize(
    "training",
    [{}, {"fingerprint": None}, {"fingerprint": 7}, {"fingerprint": "../etc"}, {"data": "x", "measures": [1, {}]}],
    ids=["nothing", "none", "a number", "other text", "of another kind"],
)
def test_a_model_of_something_else_is_not_overwritten_unasked(result, tmp_path, training):
    rw.save_model(result.model, tmp_path / "model.json", training=training)
    before = contents(tmp_path)
    with pytest.raises(AnotherFit, match="a model that no fit is known to have made"):
        result.save(tmp_path)
    assert contents(tmp_path) == before
    result.save(tmp_path, overwrite=True)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"format": "other"}', b"\xff"])
def test_a_file_that_is_no_model_is_not_overwritten_unasked(result, tmp_path, content):
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(AnotherFit, match=r"a model\.json that is no model file of Rankwright"):
        result.save(tmp_path)
    assert contents(tmp_path) == {"model.json": content}


def test_files_of_others_stay(result, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "report.html").write_text("left by a run that was killed before its model was there")
    result.save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert sorted(contents(tmp_path)) == sorted([*FILES, "notes.txt"])


def test_all_or_none(result, other, tmp_path, monkeypatch):
    def full(path, text, **options):
        if "model" in path.name:
            raise OSError(28, "No space left on device")
        return write(path, text, **options)

    write = Path.write_text
    other.save(tmp_path / "there")
    before = contents(tmp_path / "there")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        for folder in ("new", "there"):
            with pytest.raises(OSError, match="No space"):
                result.save(tmp_path / folder, overwrite=True)
    assert not (tmp_path / "new").exists()
    assert contents(tmp_path / "there") == before


def test_a_folder_that_cannot_be_made(result, tmp_path):
    with pytest.raises(FileNotFoundError):
        result.save(tmp_path / "no" / "out")
    (tmp_path / "file").write_text("mine")
    with pytest.raises(FileExistsError):
        result.save(tmp_path / "file")
    assert contents(tmp_path) == {"file": b"mine"}


def test_a_folder_in_the_place_of_a_file(result, tmp_path):
    (tmp_path / "model.json").mkdir()
    with pytest.raises(IsADirectoryError, match=r"model\.json is a folder"):
        result.save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["model.json"]


# What makes it the same fit


def request(X, y, qid, **options):
    return Request({"train": rw.Queries(X, y, qid)}, {"measure": rw.nDCG @ 10, "seed": 0, **options}).fingerprint


def test_the_same_data_and_options_are_the_same_fit():
    X, y, qid = np.eye(3), [1, 0, 1], ["b", "a", "b"]
    same = request(X, y, qid)
    assert request(X.copy(order="F"), np.array(y), qid) == same
    assert request(X, y, qid, budget=5.0, delta=0.1, baseline="f1") == same
    assert request(X, y, qid, costs=[1, 2.5]) == request(X, y, qid, costs=np.array([1, 2.5], object))
    others = [
        request(X + 1e-9, y, qid),
        request(X, [1, 0, 2], qid),
        request(X, y, ["a", "b", "b"]),
        request(sp.csr_array(X), y, qid),
        request(X.astype(np.float32), y, qid),
        request(X, y, qid, measure="map"),
        request(X, y, qid, seed=1),
        request(X, y, qid, costs=[1, 2]),
        request(X, y, qid, convention=rw.CONVENTIONS["letor4"]),
    ]
    assert len({same, *others}) == len(others) + 1
