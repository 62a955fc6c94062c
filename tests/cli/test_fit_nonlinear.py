"""``rankwright fit --nonlinear``, and every other command with the models that it writes."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.fitting import nonlinear
from rankwright.fitting.nonlinear import BoostedTrees, Formulas, KernelMaps, LambdaRank, Networks
from tests.fitting.curved import curved_queries

CORE = ["kernel-map", "basis"]
EXTRAS = ["boosted", "lambdarank", "xendcg", "neural"]


@pytest.fixture(autouse=True)
def one_small_draw(monkeypatch):
    monkeypatch.setattr(nonlinear, "_MOST_DRAWS", 1)
    monkeypatch.setattr(nonlinear, "_FIRST_TREES", (10, 30))
    small = {"components": (50,), "loss": ("rankrls",), "scaling": ("standard",), "kind": ("orthogonal",)}
    monkeypatch.setattr(KernelMaps, "space", small)
    monkeypatch.setattr(Formulas, "space", {"hinges": (2,), "products": (True,), "rule": ("best",)})
    monkeypatch.setattr(Networks, "space", {"hidden": ((8,),), "epochs": (3,)})


@pytest.fixture(scope="module", name="folder")
def data_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("curved")
    made = curved_queries(45, dirty=False)
    for name, part in (("train", made[:25]), ("vali", made[25:35]), ("test", made[35:])):
        rw.write_queries(part, folder / f"{name}.parquet")
    return folder


@pytest.mark.parametrize("name", [*CORE, *(pytest.param(name, marks=pytest.mark.peers) for name in EXTRAS)])
def test_every_command_takes_the_model(run, folder, tmp_path, name):
    out, test = tmp_path / "ranker", folder / "test.parquet"
    ran = run("fit", folder / "train.parquet", "--valid", folder / "vali.parquet", "--ranker", name, "--out", out)
    assert (ran.code, ran.err) == (0, ""), ran.err
    assert "▶ Chosen: " in ran.out
    model = out / "model.json"
    expected = rw.load_model(model).predict(rw.read_queries(test))

    ran = run("predict", model, test, "--out", tmp_path / "scores.txt")
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(np.loadtxt(tmp_path / "scores.txt"), expected, rtol=1e-6)

    ran = run("evaluate", tmp_path / "scores.txt", test, "--measures", "ndcg@10")
    assert ran.code == 0, ran.err
    ran = run("certify", model, test, "--measure", "ndcg@10", "--json")
    assert ran.code == 0, ran.err
    assert json.loads(ran.out)

    query = str(rw.read_queries(test).query_ids[0])
    ran = run("explain", model, test, "--query", query)
    assert ran.code == 0, ran.err
    assert "bm25" in ran.out

    ran = run("export", model, "--to", "python", "--out", tmp_path / "model.py")
    assert ran.code == 0, ran.err
    assert (tmp_path / "model.py").read_text()
    report = (out / "report.html").read_text()
    assert ("The chosen ranker is a formula: " if name == "basis" else "is no weighted sum of features") in report


def test_linear_and_nonlinear_on_one_leaderboard(run, folder, tmp_path):
    options = ["--ranker", "rankrls,kernel-map,basis", "--test", folder / "test.parquet", "--folds", "3"]
    ran = run("fit", folder / "train.parquet", *options, "--out", tmp_path / "out", "--json")
    assert ran.code == 0, ran.err
    told = json.loads(ran.out)
    assert {row["ranker"] for row in told["leaderboard"]} > {"RankRLS", "kernel map", "formula"}
    assert [row["ranker"] for row in told["beyond_linear"]["rows"] if row["difference"] is None] == ["RankRLS"]
    rows = {row["ranker"]: row for row in told["leaderboard"]}
    assert rows["formula"]["alpha"] is None
    assert rows["formula"]["setting"] == "hinges 2, products True, rule best"


def test_what_is_not_installed_is_told(run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(nonlinear, "find_spec", lambda name: None)
    options = ["--ranker", "rankrls", "--nonlinear", "--folds", "2"]
    ran = run("fit", folder / "train.parquet", *options, "--out", tmp_path / "out")
    assert ran.code == 0, ran.err
    text = " ".join(ran.out.split())
    for family in (BoostedTrees, LambdaRank, Networks):
        assert f"Left out: {family.title}, {family.extra} is not installed: pip install" in text


def test_an_unknown_ranker_is_refused_by_name(run, folder, tmp_path):
    ran = run("fit", folder / "train.parquet", "--ranker", "forest", "--out", tmp_path / "out")
    assert ran.code == 2
    assert "--ranker must be some of" in ran.err
    assert "kernel-map" in ran.err
