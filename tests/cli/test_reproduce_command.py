"""``rankwright reproduce``."""

from __future__ import annotations

import json
import shutil
import sys

import pytest
from typer.testing import CliRunner

from rankwright.cli.main import app
from tests.reproduce.layout import write_synthetic_folds, write_synthetic_yahoo


@pytest.fixture(scope="module", name="letor")
def letor_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("letor")
    write_synthetic_folds(root / "MQ2008", seed=1)
    return root


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def test_writes_its_files_and_tells_the_averages(run, letor, tmp_path):
    out = tmp_path / "deep" / "results"
    ran = run("reproduce", "greedy-rankrls", "--data", letor, "--out", out)
    assert ran.code == 0
    assert names_in(out) == ["figure3.svg", "figure4.svg", "results.json", "tables.md"]
    assert str(out) in ran.err
    rows = json.loads((out / "results.json").read_text())
    for table, measure in ((7, "MAP"), (8, "P@10"), (9, "MeanNDCG"), (10, "NDCG@10")):
        averages = [row for row in rows if (row["table"], row["fold"]) == (table, "avg")]
        figures = [f"{row[side]:.4f}" for row in averages for side in ("ours", "paper")]
        (line,) = [line for line in ran.out.splitlines() if f"MQ2008 {measure} " in line]
        assert line.split()[2:] == figures
    agree = sum(abs(row["ours"] - row["paper"]) <= 1e-4 for row in rows if None not in row.values())
    published = sum(row["paper"] is not None for row in rows)
    assert published == 75
    assert f"MQ2008: {agree} of 75 published figures agree" in ran.out


def test_the_collection_itself_may_be_given(run, letor, tmp_path):
    inside, itself = tmp_path / "a", tmp_path / "b"
    assert run("reproduce", "greedy-rankrls", "--data", letor, "--out", inside).code == 0
    assert run("reproduce", "greedy-rankrls", "--data", letor / "MQ2008", "--out", itself).code == 0
    for name in names_in(inside):
        assert (inside / name).read_bytes() == (itself / name).read_bytes()


def test_without_collections_it_tells_what_it_looked_for(run, tmp_path):
    (tmp_path / "data").mkdir()
    for data in (tmp_path / "data", tmp_path / "none"):
        ran = run("reproduce", "greedy-rankrls", "--data", data, "--out", tmp_path / "out")
        assert (ran.code, ran.out) == (66, "")
        assert str(data) in ran.err
    assert "MQ2007 and MQ2008" in run("reproduce", "greedy-rankrls", "--data", tmp_path / "data", "--out", "o").err
    assert names_in(tmp_path) == ["data"]


def test_a_missing_fold_is_malformed_data(run, letor, tmp_path):
    shutil.copytree(letor, tmp_path / "letor")
    shutil.rmtree(tmp_path / "letor" / "MQ2008" / "Fold2")
    ran = run("reproduce", "greedy-rankrls", "--data", tmp_path / "letor", "--out", tmp_path / "out")
    assert ran.code == 65
    assert "fold 2" in ran.err
    assert not (tmp_path / "out").exists()


def test_folds_with_different_features_are_malformed_data(run, letor, tmp_path):
    shutil.copytree(letor, tmp_path / "letor")
    with (tmp_path / "letor" / "MQ2008" / "Fold3" / "test.txt").open("a") as file:
        file.write("0 qid:999 1:1 6:1\n")
    ran = run("reproduce", "greedy-rankrls", "--data", tmp_path / "letor", "--out", tmp_path / "out")
    assert ran.code == 65
    assert "fold 3 has 6 features, but fold 1 has 5" in ran.err


def test_progress_is_shown_on_a_terminal(run, letor, tmp_path, monkeypatch):
    assert "training" not in run("reproduce", "greedy-rankrls", "--data", letor, "--out", tmp_path).err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run("reproduce", "greedy-rankrls", "--data", letor, "--out", tmp_path)
    assert ran.code == 0
    assert "training on five folds" in ran.err


def test_output_that_cannot_be_created(run, letor, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "taken" / "tables.md").mkdir(parents=True)
    for out in (tmp_path / "file", tmp_path / "file" / "below", tmp_path / "taken"):
        ran = run("reproduce", "greedy-rankrls", "--data", letor, "--out", out)
        assert ran.code == 73
        assert str(out) in ran.err


def test_wrong_usage(run, tmp_path):
    assert run("reproduce").code == 2
    assert "Missing command" in run("reproduce").err
    assert run("reproduce", "slow-rankrls").code == 2
    assert "--data" in run("reproduce", "greedy-rankrls", "--out", tmp_path).err
    assert "--data" in run("reproduce", "order-preserving", "--out", tmp_path).err


@pytest.mark.parametrize("experiment", ["greedy-rankrls", "order-preserving"])
def test_nothing_is_left_behind_on_failure(run, letor, tmp_path, monkeypatch, experiment):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    out = tmp_path / "deep" / "results"
    with monkeypatch.context() as patch:
        patch.setattr("rankwright.data.paths.Path.replace", fail)
        ran = run("reproduce", experiment, "--data", letor, "--out", out)
    assert ran.code == 73
    assert "No space left" in ran.err
    assert names_in(tmp_path) == []

    broken = tmp_path / "letor"
    shutil.copytree(letor, broken)
    (broken / "MQ2008" / "Fold5" / "test.txt").write_text("1 qid:1 1:one\n")
    ran = run("reproduce", experiment, "--data", broken, "--out", out)
    assert ran.code == 65
    assert "Fold5" in ran.err
    assert names_in(tmp_path) == ["letor"]

    out.mkdir(parents=True)
    (out / "tables.md").write_text("older results")
    assert run("reproduce", experiment, "--data", broken, "--out", out).code == 65
    assert (out / "tables.md").read_text() == "older results"
    assert names_in(out) == ["tables.md"]


# order-preserving


def test_order_preserving_writes_its_files_and_tells_the_averages(run, letor, tmp_path):
    out = tmp_path / "deep" / "results"
    ran = run("reproduce", "order-preserving", "--data", letor, "--out", out)
    assert ran.code == 0
    assert names_in(out) == ["results.json", "tables.md"]
    assert f"wrote tables.md, results.json to {out}" in " ".join(ran.err.split())
    averages = [row for row in json.loads((out / "results.json").read_text()) if row["fold"] == "avg"]
    shown = [line.replace(" ↓", "").split() for line in ran.out.splitlines()]
    for system in ("PreOrder", "Consist^Norm+DCG", "Position"):
        figures = [f"{row['ours']:.4f}" for row in averages if row["system"] == system]
        assert [system, *figures] in shown
    for measure in ("MAP", "NDCG@10"):
        rows = [row for row in averages if row["measure"] == measure]
        assert [measure, *(f"{row['ours']:.4f}" for row in rows), f"{rows[0]['paper']:.4f}"] in shown


def test_order_preserving_without_out_writes_nothing(run, letor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = run("reproduce", "order-preserving", "--data", letor / "MQ2008")
    assert ran.code == 0
    assert "Consist^NDCG" in ran.out
    assert "wrote" not in ran.err
    assert names_in(tmp_path) == []


def test_order_preserving_on_yahoo(run, tmp_path):
    write_synthetic_yahoo(tmp_path / "yahoo", seed=2)
    ran = run("reproduce", "order-preserving", "--data", tmp_path / "yahoo")
    assert ran.code == 0
    (line,) = [line.split() for line in ran.out.splitlines() if line.split()[:1] == ["Consist^NDCG"]]
    assert [cell for cell in line if cell in ("0.4472", "1.7021", "0.8374")] == ["0.4472", "1.7021", "0.8374"]
    assert "SVM-rank" not in ran.out
    assert "MQ2008" not in ran.out


def test_order_preserving_without_collections_tells_what_it_looked_for(run, tmp_path):
    ran = run("reproduce", "order-preserving", "--data", tmp_path, "--out", tmp_path / "out")
    assert (ran.code, ran.out) == (66, "")
    assert "MQ2007 and MQ2008" in ran.err
    assert "set1.train.txt" in ran.err
    assert names_in(tmp_path) == []


def test_order_preserving_refuses_grades_above_the_greatest(run, tmp_path):
    write_synthetic_yahoo(tmp_path / "yahoo", seed=2)
    with (tmp_path / "yahoo" / "set1.valid.txt").open("a") as file:
        file.write("5 qid:high 1:1\n")
    ran = run("reproduce", "order-preserving", "--data", tmp_path / "yahoo")
    assert ran.code == 65
    assert "grade 5, above 4" in ran.err


def test_order_preserving_shows_progress_on_a_terminal(run, letor, tmp_path, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = run("reproduce", "order-preserving", "--data", letor)
    assert ran.code == 0
    assert "training on every fold" in ran.err


@pytest.mark.parametrize("name", [("reproduce",), ("reproduce", "greedy-rankrls"), ("reproduce", "order-preserving")])
def test_help_tells_exit_codes(name):
    shown = CliRunner().invoke(app, [*name, "--help"], prog_name="rankwright", env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert "Exit codes:" in shown.output
    assert "..." not in shown.output.partition("Commands:")[2]
