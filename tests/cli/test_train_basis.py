"""`rankwright train --ranker basis`: a formula is printed, written, and used by every other command."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.rankers.test_basis_ranker import curved


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("basis")
    rw.write_parquet(curved(40), folder / "train.parquet")
    rw.write_parquet(curved(20, seed=1), folder / "test.parquet")
    return folder


@pytest.fixture(name="trained")
def trained_model(run, files):
    out = files / "model.json"
    ran = run("train", files / "train.parquet", "--ranker", "basis", "--terms", 5, "--hinges", 4, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    return ran, rw.load_model(out), out


def test_it_trains_what_the_library_trains_and_prints_the_formula(trained):
    ran, model, _ = trained
    expected = rw.BasisRanker(rw.search(), n_terms=rw.search(range(1, 6)), hinges=4).fit(curved(40))
    assert model.formula_text() == expected.formula_text()
    printed = "".join(ran.out.split())
    assert "formula" + "".join(expected.formula_text().split()) in printed
    assert f"selectedfrom{expected.n_candidates_}" in printed


def test_json_has_the_formula(run, files):
    arguments = ("--ranker", "basis", "--terms", 2, "--hinges", 0, "--valid", files / "test.parquet", "--json")
    told = json.loads(run("train", files / "train.parquet", *arguments, "--out", files / "other.json").out)
    assert told["ranker"] == "BasisRanker"
    assert told["formula"] == rw.load_model(files / "other.json").formula_text()
    assert told["judged_on"] == "valid"
    assert told["terms"] <= 2


def test_other_commands_take_the_model(run, files, trained):
    _, model, path = trained
    test = files / "test.parquet"
    scores = [float(line) for line in run("predict", path, test).out.split()]
    np.testing.assert_allclose(scores, model.predict(rw.read_parquet(test)), rtol=1e-6)
    assert "ranked by BasisRanker, 4 of 6 features" in run("explain", path, test, "--query", 3).out
    assert run("certify", path, test).code == 0
    assert "COALESCE" in run("export", path, "--to", "sql").out
    refused = run("export", path, "--to", "solr")
    assert refused.code == 2
    assert "solr cannot compute products, hinges and logarithms of features" in refused.err


def test_options_are_checked(run, files):
    train = files / "train.parquet"
    assert "--terms" in run("train", train, "--ranker", "basis", "--terms", 0, "--out", files / "no.json").err
    refused = run("train", train, "--ranker", "rankrls", "--terms", 3, "--out", files / "no.json").err
    assert "--terms is for basis, not for rankrls" in refused
    assert not (files / "no.json").exists()
