"""``rankwright train --ranker neural``: the model and the measures of the library, told and kept."""

import json

import numpy as np
import pytest

import rankwright as rw
from tests.needed import needs_torch

OPTIONS = ("--hidden", "8,4", "--epochs", 3, "--members", 2, "--measure", "map,ndcg@5")
PARAMETERS = {"hidden": (8, 4), "epochs": 3, "members": 2, "measures": "map, ndcg@5"}


@pytest.fixture(name="parts")
def drawn_parts():
    queries = rw.datasets.make_queries(
        n_queries=50, documents=8, n_features=5, n_informative=3, n_correlated=2, seed=2
    ).queries
    return queries[:30], queries[30:]


@pytest.fixture(name="files")
def written_files(parts, tmp_path):
    paths = [tmp_path / "train.txt", tmp_path / "vali.txt"]
    for part, path in zip(parts, paths, strict=True):
        rw.write_queries(part, path)
    return paths


@pytest.mark.peers
def test_the_model_and_its_measures_are_those_of_the_library(run, files, tmp_path):
    needs_torch()
    out = tmp_path / "model.json"
    ran = run("train", files[0], "--valid", files[1], "--ranker", "neural", *OPTIONS, "--out", out, "--json")
    assert (ran.code, ran.err) == (0, "")
    train, valid = (rw.read_queries(path) for path in files)
    ranker = rw.NeuralRanker(**PARAMETERS).fit(train, valid=valid)
    np.testing.assert_array_equal(rw.load_model(out).predict(valid), ranker.predict(valid))
    told = json.loads(ran.out)
    assert (told["ranker"], told["judged_on"], told["layers"]) == ("NeuralRanker", "valid", [16, 8, 1])
    assert told["epochs"] == [path.kept for path in ranker.paths_]
    expected = [(str(measure), value.mean) for measure, value in ranker.valid_.items()]
    assert [(entry["measure"], entry["mean"]) for entry in told["measures"]] == expected


@pytest.mark.peers
def test_what_is_told(run, files, tmp_path):
    needs_torch()
    ran = run("train", files[0], "--ranker", "neural", *OPTIONS, "--out", tmp_path / "model.json")
    assert (ran.code, ran.err) == (0, "")
    assert "5 → 16 → 8 → 1, silu" in ran.out
    assert "not measured: add --valid FILE" in ran.out  # a tenth of 30 queries is too few to hold out


@pytest.mark.peers
def test_a_share_of_queries_and_a_seed(run, parts, files, tmp_path):
    needs_torch()
    out = tmp_path / "model.json"
    options = (*OPTIONS, "--validation-share", 0.4, "--seed", 7)
    ran = run("train", files[0], "--ranker", "neural", *options, "--out", out, "--json")
    assert (ran.code, ran.err) == (0, "")
    train = rw.read_queries(files[0])
    ranker = rw.NeuralRanker(**PARAMETERS, validation_share=0.4, random_state=7).fit(train)
    np.testing.assert_array_equal(rw.load_model(out).predict(train), ranker.predict(train))
    assert json.loads(ran.out)["judged_on"] == "held-out"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--hidden", "8,x"), "--hidden must be whole numbers of at least 1, such as 64,32, or 0, not '8,x'"),
        (("--hidden", "8,0"), "--hidden must be"),
        (("--epochs", "0"), "--epochs must be a whole number of at least 1"),
        (("--seed", "-1"), "--seed must be a whole number of at least 0"),
        (("--validation-share", "1"), "validation_share must be a number from 0 to 0.9"),
        (("--members", "0"), "--members must be a whole number of at least 1"),
        (("--scale", "none"), "--scale is for linear rankers"),
    ],
)
def test_bad_options(run, files, tmp_path, options, problem):
    ran = run("train", files[0], "--ranker", "neural", *options, "--out", tmp_path / "model.json")
    assert ran.code == 2
    assert problem in ran.err
