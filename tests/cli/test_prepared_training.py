"""``rankwright train`` and ``select`` scale features and fill in what is missing; models take features as they are."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import rankwright as rw
from rankwright.preparation.preparation import prepare
from rankwright.preparation.spread import within_query_spread

LINEAR = {
    "rankrls": rw.RankRLS(4.0),
    "regression": rw.RegressionRanker(4.0),
    "ranksvm": rw.RankSVM(4.0),
    "order-preserving": rw.OrderPreservingRanker(4.0),
    "structured": rw.StructuredRanker("ndcg@10", 4.0),
}


def drawn(seed, holes=True):
    """Features of very different sizes; values are missing at random, where documents are bad, and in a whole query."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(1, 26), 8))
    x = rng.standard_normal((200, 4))
    y = np.digitize(x[:, 0] + x[:, 1] + 0.5 * rng.standard_normal(200), [0, 1.5]).astype(float)
    x = x * [1e4, 1e-3, 1, 50] + [1e5, 0, 3, 0]
    if holes:
        x[rng.random(200) < 0.3, 0] = np.nan
        x[(rng.random(200) < 0.6) & (y == 0), 2] = np.nan
        x[qid == 7, 3] = np.nan
    return rw.Queries(x.astype(np.float32), y, qid)


@pytest.fixture(name="files")
def text_files(tmp_path):
    paths = tmp_path / "train.txt", tmp_path / "vali.txt"
    for seed, path in enumerate(paths):
        rw.write_svmlight(drawn(seed), path)
    return paths


@pytest.mark.parametrize("missing", [None, "mean", "query-mean"])
@pytest.mark.parametrize("name", LINEAR)
def test_a_model_is_that_of_the_columns(run, files, tmp_path, name, missing):
    out = tmp_path / "model.json"
    asked = () if missing is None else ("--missing", missing)
    ran = run("train", files[0], "--valid", files[1], "--ranker", name, "--alpha", 4, *asked, "--out", out)
    assert (ran.code, ran.err) == (0, "")
    train, valid = map(rw.read_queries, files)
    by, columns = prepare(train, missing=missing or "mean")
    expected = LINEAR[name].fit(columns).predict(by.prepared(valid))
    scores = rw.load_model(out).predict(valid)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-4 * np.ptp(expected))
    told = rw.evaluate(scores, valid, "ndcg@10").means[rw.nDCG @ 10]
    assert f"{told:.4f} ±" in ran.out
    assert "4 of 4 with a weight" in ran.out
    assert rw.load_model(out).parameters_["missing"] == (missing or "mean")


def test_scaling_makes_lambda_fit_all_features(run, tmp_path):
    """On features as they are, λ = 4 leaves nothing of a feature whose values are about 0.001."""
    complete = drawn(0, holes=False)
    rw.write_svmlight(complete, tmp_path / "train.txt")
    weights = {}
    for scale in ("spread", "none"):
        asked = ("--ranker", "rankrls", "--alpha", 4, "--scale", scale, "--out", tmp_path / "model.json")
        assert run("train", tmp_path / "train.txt", *asked).code == 0
        weights[scale] = rw.load_model(tmp_path / "model.json").coef_
    spread = within_query_spread(complete)[0]
    columns = rw.Queries(complete.X / spread.astype(np.float32), complete.y, complete.qid)
    np.testing.assert_allclose(weights["spread"], rw.RankRLS(4.0).fit(columns).coef_ / spread, rtol=1e-3)
    np.testing.assert_allclose(weights["none"], rw.RankRLS(4.0).fit(complete).coef_, rtol=1e-3)
    importance = {scale: np.abs(found) * spread for scale, found in weights.items()}
    assert importance["spread"][1] > 0.3 * importance["spread"][0]
    assert importance["none"][1] < 0.01 * importance["none"][0]


def test_select_tells_what_is_missing_and_weights_of_features_as_they_are(run, files, tmp_path):
    costs = tmp_path / "costs.csv"
    with costs.open("w", newline="") as file:
        csv.writer(file).writerows([("feature", "cost"), (1, 1), (2, 20), (3, 300), (4, 4000)])
    asked = ("--alpha", 4, "--measures", "ndcg@10", "--costs", costs, "--max-features", 4, "--json")
    ran = run("select", files[0], "--valid", files[1], *asked)
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    train = rw.read_queries(files[0])
    by, columns = prepare(train)
    per_column = np.array([1.0, 20, 300, 4000])[by.sources]
    names = {entry["feature"]: entry["name"] for entry in told["features"]}
    for row in told["path"]:
        chosen = np.array(row["selected"]) - 1
        assert row["cost"] == per_column[chosen].sum()
        ranker = rw.RankRLS(4.0).fit(columns.X[:, chosen], columns.y, qid=columns.qid)
        np.testing.assert_allclose(row["weights"], ranker.coef_ / by.scale[chosen], rtol=2e-3)
    assert all(columns.feature_names[number - 1] == name for number, name in names.items())
    assert "f3 is missing" in columns.feature_names


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (["train", "--scale", "unit", "--out", "x.json"], "--scale must be one of 'spread', 'none', not 'unit'"),
        (["train", "--missing", "median", "--out", "x.json"], "--missing must be one of 'mean', 'query-mean'"),
        (["select", "--scale", "unit"], "--scale must be one of 'spread', 'none'"),
        (["select", "--missing", "auto"], "--missing must be one of 'mean', 'query-mean'"),
        (["train", "--ranker", "rankboost", "--scale", "none", "--out", "x.json"], "--scale is for linear rankers"),
        (["train", "--ranker", "rankboost", "--missing", "mean", "--out", "x.json"], "--missing is for ranksvm"),
        (["fit", "--missing", "median", "--out", "x"], "--missing must be one of 'auto', 'mean', 'query-mean'"),
        (["fit", "--transform", "sqrt", "--out", "x"], "--transform must be one of 'auto', 'none', 'log', 'quantile'"),
    ],
)
def test_options_that_cannot_be(run, files, tmp_path, monkeypatch, command, told):
    monkeypatch.chdir(tmp_path)
    name, *options = command
    ran = run(name, files[0], *options)
    assert ran.code == 2
    assert told in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.txt", "vali.txt"]


def test_from_holes_to_scores_and_exports(run, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert (
        run("fit", files[0], "--test", files[1], "--ranker", "rankrls", "--rule", "best", "--out", "ranker").code == 0
    )
    model = tmp_path / "ranker" / "model.json"
    expected = rw.load_model(model).predict(rw.read_queries(files[1]))
    assert run("predict", model, files[1], "--out", "scores.txt").code == 0
    np.testing.assert_allclose(np.loadtxt("scores.txt"), expected)
    assert run("certify", model, files[1]).code == 0
    assert run("explain", model, files[1], "--query", 3).code == 0
    assert run("bounds", model, files[0]).code == 0
    exported = run("export", model, "--to", "python", "--out", "model.py")
    assert exported.code == 0
