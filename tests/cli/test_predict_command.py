"""``rankwright predict``."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankwright as rw

NAMES = ["bm25", "pagerank", "title [tf]", "url length", "clicks", "age"]


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(20, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float32).queries


@pytest.fixture(name="test")
def text_file(queries, tmp_path):
    path = tmp_path / "test.txt"
    rw.write_svmlight(queries, path)
    return path


@pytest.fixture(name="ranker")
def fitted_ranker(queries):
    return rw.RegressionRanker().fit(queries)


@pytest.fixture(name="model")
def model_file(ranker, tmp_path):
    path = tmp_path / "model.json"
    rw.save_model(ranker, path)
    return path


@pytest.fixture(name="named_model")
def model_file_with_names(queries, tmp_path):
    path = tmp_path / "named.json"
    rw.save_model(rw.RankRLS().fit(rw.Queries(queries.X, queries.y, queries.qid, feature_names=NAMES)), path)
    return path


def scores_of(text):
    return [float(line) for line in text.splitlines()]


def test_one_score_per_line_that_reads_back_the_same(run, ranker, model, queries, test):
    ran = run("predict", model, test)
    assert (ran.code, ran.err) == (0, "")
    assert scores_of(ran.out) == ranker.predict(queries).tolist()
    assert ran.out.splitlines() == [repr(score) for score in scores_of(ran.out)]


def test_a_file_of_scores_can_be_evaluated(run, ranker, model, queries, test, tmp_path):
    out = tmp_path / "scores.txt"
    ran = run("predict", model, test, "--out", out)
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert out.read_text() == run("predict", model, test).out
    told = json.loads(run("evaluate", out, test, "--measures", "map", "--json").out)
    assert told["measures"][0]["mean"] == rw.evaluate(ranker, queries, "map").means[rw.AP]


@pytest.mark.parametrize("sparse", [False, True])
def test_features_that_text_does_not_show_are_zero(run, ranker, model, queries, tmp_path, sparse):
    x = queries.X.copy()
    x[:, 4:] = 0
    if sparse:
        x[:, 1:4] = 0
    path = tmp_path / "narrow.txt"
    rows = zip(queries.y, queries.qid, x, strict=True)
    path.write_text(
        "".join(
            f"{y:g} qid:{q} {' '.join(f'{i + 1}:{float(v)!r}' for i, v in enumerate(row) if v)}\n" for y, q, row in rows
        )
    )
    assert rw.read_svmlight(path).n_features < 6
    ran = run("predict", model, path)
    assert ran.code == 0
    np.testing.assert_allclose(scores_of(ran.out), ranker.predict(x), rtol=1e-12, atol=1e-12)


def test_more_features_than_the_model_has(run, model, queries, tmp_path):
    wide = tmp_path / "wide.txt"
    rw.write_svmlight(rw.Queries(np.c_[queries.X, queries.y], queries.y, queries.qid), wide)
    ran = run("predict", model, wide)
    assert (ran.code, ran.out) == (65, "")
    assert "wide.txt: there are 7 features, but the model has 6" in ran.err


def test_features_are_picked_by_name(run, named_model, queries, test, tmp_path):
    order = [3, 5, 0, 1, 4, 2]
    names = ["new", *(NAMES[column] for column in order)]
    shuffled = tmp_path / "shuffled.parquet"
    x = np.c_[queries.y, queries.X[:, order]]
    rw.write_parquet(rw.Queries(x, queries.y, queries.qid, feature_names=names), shuffled)
    by_name, by_number = run("predict", named_model, shuffled), run("predict", named_model, test)
    assert (by_name.code, by_name.err, by_number.code, by_number.err) == (0, "", 0, "")
    np.testing.assert_allclose(scores_of(by_name.out), scores_of(by_number.out), rtol=1e-12, atol=1e-12)


def test_a_named_feature_that_is_missing(run, named_model, model, queries, tmp_path):
    narrow = tmp_path / "narrow.parquet"
    rw.write_parquet(rw.Queries(queries.X[:, :4], queries.y, queries.qid, feature_names=NAMES[:4]), narrow)
    ran = run("predict", named_model, narrow)
    assert (ran.code, ran.out) == (65, "")
    assert "narrow.parquet: there is no feature 'clicks'" in ran.err
    ran = run("predict", model, narrow)  # the model has no names, the data have: by number, all of them
    assert (ran.code, ran.out) == (65, "")
    assert "4 features, but the model has 6" in ran.err


def test_what_is_no_model(run, model, test):
    ran = run("predict", test, model)
    assert (ran.code, ran.out) == (65, "")
    assert "test.txt" in ran.err
    assert "no model file" in ran.err
    model.write_text(model.read_text().replace('"version": 1', '"version": 5'))
    ran = run("predict", model, test)
    assert (ran.code, ran.out) == (65, "")
    assert "newer Rankwright" in ran.err


def test_files_that_are_missing(run, model, test, tmp_path):
    none = tmp_path / "none"
    for arguments in ((none, test), (model, none)):
        ran = run("predict", *arguments)
        assert (ran.code, ran.out) == (66, "")
        assert str(none) in ran.err


def test_outputs_that_cannot_be(run, model, test, tmp_path):
    before = model.read_bytes(), test.read_bytes()
    assert run("predict", model, test, "--out", model).code == 2
    assert run("predict", model, test, "--out", test).code == 2
    assert run("predict", model, test, "--out", tmp_path / "none" / "scores.txt").code == 73
    assert (model.read_bytes(), test.read_bytes()) == before


def test_malformed_data_leave_no_output(run, model, test, tmp_path):
    with test.open("a") as file:
        file.write("1 qid:x 1:y\n")
    out = tmp_path / "scores.txt"
    ran = run("predict", model, test, "--out", out)
    assert ran.code == 65
    assert "line 161" in ran.err
    assert not out.exists()


def test_a_model_of_very_many_features_needs_no_memory_for_them(run, model, queries, ranker, test):
    """Features that the text does not show are 0, whatever the model says their number is."""
    content = json.loads(model.read_text())
    content["n_features"] = 10**8
    model.write_text(json.dumps(content))
    ran = run("predict", model, test)
    assert (ran.code, ran.err) == (0, "")
    assert scores_of(ran.out) == ranker.predict(queries).tolist()


def test_stumps_score_features_that_text_does_not_show_as_zero(run, queries, test, tmp_path):
    x = queries.X.copy()
    x[:, 3:] -= 5  # so that 0 is above their thresholds
    ranker = rw.RankBoost(40).fit(rw.Queries(x, queries.y, queries.qid))
    model = tmp_path / "stumps.json"
    rw.save_model(ranker, model)
    ran = run("predict", model, test)
    assert (ran.code, ran.err) == (0, "")
    assert scores_of(ran.out) == ranker.predict(queries).tolist()
    assert max(ranker.stump_features_) > 2
    cut = np.c_[queries.X[:, :3], np.zeros((queries.n_documents, 3))]
    rw.write_svmlight(rw.Queries(cut[:, :3], queries.y, queries.qid), test)
    ran = run("predict", model, test)
    assert (ran.code, ran.err) == (0, "")
    assert scores_of(ran.out) == ranker.predict(cut).tolist()
