"""`rankwright train` with a kernel: features are scaled, and the scales are part of the model."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.cli.main import main
from tests.rankers.test_kernel_structured import dirty

SCALES = np.array([1.0, 1000.0, 1.0, 0.01])


def written(folder, name, seed, stored=np.asarray):
    queries = dirty(40, seed=seed)
    queries = rw.Queries(stored(queries.X * SCALES), queries.y, [f"{name} {qid}" for qid in queries.qid])
    rw.write_queries(queries, folder / f"{name}.parquet")
    return rw.read_queries(folder / f"{name}.parquet")


def run(*words):
    return main([str(word) for word in words])


@pytest.mark.parametrize("stored", [np.asarray, lambda x: x.astype(np.float32), sp.csr_array], ids=["", "32", "CSR"])
@pytest.mark.parametrize("ranker", ["kernel-rankrls", "kernel-structured"])
def test_a_model_of_features_as_they_are(tmp_path, capsys, ranker, stored):
    train, test = (written(tmp_path, name, seed, stored) for name, seed in (("train", 0), ("test", 1)))
    model, scores = tmp_path / "model.json", tmp_path / "scores.txt"
    options = ("--kernel", "rbf", "--gamma", "0.2", "--alpha", "0.5", "--valid", tmp_path / "test.parquet")
    assert run("train", tmp_path / "train.parquet", "--ranker", ranker, *options, "--out", model) == 0
    assert "with a weight, in the kernel rbf (gamma = 0.2)" in " ".join(capsys.readouterr().out.split())
    assert run("predict", model, tmp_path / "test.parquet", "--out", scores) == 0
    content = json.loads(model.read_text())
    scale = np.array(content["standardisation"][1])
    own = {"kernel-rankrls": rw.KernelRankRLS, "kernel-structured": rw.KernelStructuredRanker}[ranker]
    x = [np.asarray(each.X.toarray() if sp.issparse(each.X) else each.X, np.float64) / scale for each in (train, test)]
    known = own(alpha=0.5, gamma=0.2).fit(rw.Queries(x[0], train.y, train.qid)).predict(x[1])
    np.testing.assert_allclose(np.loadtxt(scores), known, atol=5e-3 * np.ptp(known))
    capsys.readouterr()
    assert run("certify", model, tmp_path / "train.parquet") == 0
    assert "trained on these queries (40 of 40 recognised)" in " ".join(capsys.readouterr().out.split())


def test_scale_none_takes_features_as_they_are(tmp_path):
    written(tmp_path, "train", 0)
    model = tmp_path / "model.json"
    assert (
        run("train", tmp_path / "train.parquet", "--ranker", "kernel-rankrls", "--scale", "none", "--out", model) == 0
    )
    assert json.loads(model.read_text())["standardisation"] is None


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        (("--ranker", "kernel-rankrls", "--kernel", "gauss"), 2, "--kernel must be one of 'linear', 'rbf', 'poly', "),
        (("--ranker", "kernel-rankrls", "--gamma", "-1"), 2, "--gamma: '-1' is not a number above 0"),
        (
            ("--ranker", "ranksvm", "--gamma", "1"),
            2,
            "--gamma is for kernel-rankrls, kernel-structured and",
        ),
        (("--ranker", "kernel-structured", "--measure", "err"), 2, "--measure: structured optimises the first"),
    ],
)
def test_bad_options_are_named(tmp_path, capsys, options, code, told):
    written(tmp_path, "train", 0)
    assert run("train", tmp_path / "train.parquet", *options, "--out", tmp_path / "model.json") == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "model.json").exists()


def test_missing_values_are_named(tmp_path, capsys):
    queries = dirty()
    x = queries.X.copy()
    x[5, 1] = np.nan
    rw.write_queries(rw.Queries(x, queries.y, queries.qid), tmp_path / "train.parquet")
    command = ("train", tmp_path / "train.parquet", "--ranker", "kernel-rankrls", "--out", tmp_path / "model.json")
    assert run(*command) == 65
    assert "feature 'f2': the value is nan" in capsys.readouterr().err
