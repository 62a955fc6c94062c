"""What ``rankwright reproduce large-margin`` writes and tells."""

from __future__ import annotations

import json

import pytest
import typer
from typer.testing import CliRunner

from rankwright.cli.output import Exit, Failure
from rankwright.cli.reproduce import large_margin
from tests.reproduce.layout import write_synthetic_folds

app = typer.Typer(rich_markup_mode=None)
app.command()(large_margin)


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "80"})


@pytest.fixture(scope="module", name="letor")
def letor_folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("letor")
    write_synthetic_folds(root / "OHSUMED", seed=1)
    return root


def test_writes_its_files_and_tells_the_averages(letor, tmp_path):
    out = tmp_path / "deep" / "results"
    ran = run("--data", letor, "--out", out)
    assert ran.exit_code == 0
    assert sorted(path.name for path in out.iterdir()) == ["ohsumed.svg", "results.json", "tables.md"]
    rows = json.loads((out / "results.json").read_text())
    shown = [line.split() for line in ran.output.splitlines()]
    measures = ["NDCG@1", "NDCG@3", "NDCG@5", "NDCG@10", "mean of NDCG@1, 3, 5, 10", "mean of NDCG@1 to 10", "MAP"]
    for system in ("Regression", "RankSVM", "RankBoost", "Convex bound", "Tight bound"):
        of_system = {row["measure"]: row["ours"] for row in rows if (row["fold"], row["system"]) == ("avg", system)}
        assert [*system.split(), *(f"{of_system[measure]:.4f}" for measure in measures)] in shown
    assert ["RankSVM†", "0.4952", "0.4649", "0.4579", "0.4411", "0.4648", "–", "0.4469"] in shown
    (p,) = [row["ours"] for row in rows if (row["system"], row["measure"]) == ("Tight bound", "p against RankSVM")]
    (line,) = [line for line in shown if line[:4] == ["Tight", "bound", "−", "RankSVM"]]
    assert line[5] == f"{p:.4f}"
    assert f"wrote tables.md, results.json, ohsumed.svg to {out}" in " ".join(ran.output.split())


def test_without_collections_it_tells_what_it_looked_for(tmp_path):
    (tmp_path / "data").mkdir()
    ran = run("--data", tmp_path / "data", "--out", tmp_path / "out")
    assert isinstance(ran.exception, Failure)
    assert ran.exception.code == Exit.NO_INPUT
    assert "OHSUMED and MQ2008" in str(ran.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_nothing_is_left_behind_on_failure(letor, tmp_path):
    inside = letor / "OHSUMED" / "Fold5" / "test.txt"
    content = inside.read_bytes()
    inside.write_text("1 qid:1 1:one\n")
    try:
        ran = run("--data", letor, "--out", tmp_path / "deep" / "results")
    finally:
        inside.write_bytes(content)
    assert "Fold5" in str(ran.exception)
    assert list(tmp_path.iterdir()) == []
