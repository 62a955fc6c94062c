"""``rankwright explain``."""

import json

import numpy as np
import pytest

import rankwright as rw

NAMES = ["bm25", "pagerank", "title [tf]", "url length", "clicks", "age"]


@pytest.fixture(scope="module", name="queries")
def drawn_queries():
    return rw.datasets.make_queries(20, 8, 6, n_informative=3, n_correlated=2, seed=2, dtype=np.float32).queries


@pytest.fixture(scope="module", name="named")
def queries_with_names(queries):
    ids = [f"doc-{row}" for row in range(queries.n_documents)]
    qid = [f"query {q}" for q in queries.qid]
    return rw.Queries(queries.X, queries.y, qid, feature_names=NAMES, doc_ids=ids)


@pytest.fixture(name="test")
def text_file(queries, tmp_path):
    path = tmp_path / "test.txt"
    rw.write_svmlight(queries, path)
    return path


@pytest.fixture(name="parquet")
def parquet_file(named, tmp_path):
    path = tmp_path / "test.parquet"
    rw.write_parquet(named, path)
    return path


@pytest.fixture(name="ranker")
def fitted_ranker(named):
    return rw.RankRLS().fit(named)


@pytest.fixture(name="model")
def model_file(ranker, tmp_path):
    path = tmp_path / "model.json"
    rw.save_model(ranker, path)
    return path


def test_a_query_as_tables_and_json(run, ranker, model, named, parquet):
    ran = run("explain", model, parquet, "--query", "query 7", "--top", "3")
    assert (ran.code, ran.err) == (0, "")
    explanation = rw.explain(ranker, named, "query 7")
    first, *_, last = explanation.documents
    assert first.doc_id in ran.out
    assert last.doc_id not in ran.out
    assert "title [tf]" in run("explain", model, parquet, "--query", "query 7").out
    told = json.loads(run("explain", model, parquet, "--query", "query 7", "--json").out)
    assert told == json.loads(json.dumps(explanation.to_dict()))


def test_a_document_and_where_it_is_to_rise(run, ranker, model, named, parquet):
    explanation = rw.explain(ranker, named, "query 7", measure="map", convention="letor4")
    fifth = explanation.documents[4]
    asked = ("explain", model, parquet, "--query", "query 7", "--measure", "map", "--convention", "letor4")
    ran = run(*asked, "--document", fifth.doc_id, "--to-rank", 2)
    assert (ran.code, ran.err) == (0, "")
    assert f"{fifth.doc_id} from rank 5 to 2" in ran.out
    told = json.loads(run(*asked, "--document", 5, "--to-rank", 2, "--json").out)
    rise = explanation.rise(5, 2)
    assert told["rise"] == rise.to_dict()
    assert told["rise"]["after"] != told["rise"]["before"]
    assert told["contributions"] == explanation.why(5).to_dict()["contributions"]
    assert told["query"] == "query 7"
    by_row = json.loads(run(*asked, "--document", f"row:{fifth.row}", "--json").out)
    assert by_row["rise"] == explanation.rise(5).to_dict()
    ran = run(*asked, "--document", "rank:1")
    assert ran.code == 0
    assert "above the mean" in ran.out
    assert json.loads(run(*asked, "--document", "1", "--json").out)["rise"] is None


def test_whole_numbers_as_query_ids_and_features_by_number(run, ranker, model, queries, test):
    told = json.loads(run("explain", model, test, "--query", 7, "--json").out)
    assert told["query"] == 7
    mine = queries.select([7])
    assert [d["score"] for d in told["documents"]] == pytest.approx(sorted(mine.X @ ranker.coef_, reverse=True))
    assert set(told["documents"][0]["contributions"]) == set(NAMES)  # the text has no names, but the model has


@pytest.mark.parametrize("stumps", [False, True])
def test_features_that_text_does_not_show_are_zero(run, model, ranker, queries, test, stumps):
    if stumps:
        x = queries.X.copy()
        x[:, 3:] -= 5  # so that 0 is above their thresholds
        ranker = rw.RankBoost(40).fit(rw.Queries(x, queries.y, queries.qid))
        rw.save_model(ranker, model)
        assert max(ranker.stump_features_) > 2
    rw.write_svmlight(rw.Queries(queries.X[:, :3], queries.y, queries.qid), test)
    ran = run("explain", model, test, "--query", 7, "--json")
    assert (ran.code, ran.err) == (0, "")
    told = json.loads(ran.out)
    cut = np.c_[queries.X[:, :3], np.zeros((queries.n_documents, 3))]
    of_query = (ranker.predict(cut) if stumps else cut @ ranker.coef_)[queries.qid == 7]
    assert [d["score"] for d in told["documents"]] == pytest.approx(sorted(of_query, reverse=True))
    assert list(told["documents"][0]["contributions"]) == (["f1", "f2", "f3"] if stumps else NAMES[:3])
    for document in told["documents"]:
        assert sum(document["contributions"].values()) == pytest.approx(document["score"] - of_query.mean(), abs=1e-9)
    assert run("explain", model, test, "--query", 7, "--document", 5).code == 0


def test_what_cannot_be(run, model, parquet, test, tmp_path):
    for arguments, code, problem in (
        ((parquet, "--query", "query 77"), 2, "there is no query 'query 77': near it are query 7"),
        ((test, "--query", "x"), 2, "there is no query 'x': there are 1, 2, 3, 4, 5 and 15 more"),
        ((parquet, "--query", "query 7", "--document", "nobody"), 2, "has no document 'nobody'"),
        ((parquet, "--query", "query 7", "--document", "2", "--to-rank", "2"), 2, "to_rank must be"),
        ((parquet, "--query", "query 7", "--document", "1", "--to-rank", "1"), 2, "is the first already"),
        ((parquet, "--query", "query 7", "--to-rank", "1"), 2, "--to-rank needs --document"),
        ((parquet, "--query", "query 7", "--top", "0"), 2, "--top must be a whole number of at least 1"),
        ((parquet, "--query", "query 7", "--measure", "fame"), 2, "'fame' is not a measure"),
        ((parquet,), 2, "--query"),
        ((tmp_path / "none", "--query", "7"), 66, "none"),
    ):
        ran = run("explain", model, *arguments)
        assert (ran.code, ran.out) == (code, "")
        assert problem in ran.err


def test_values_that_are_missing(run, model, named, tmp_path):
    x = named.X.copy()
    x[3, 0] = np.nan
    path = tmp_path / "missing.parquet"
    rw.write_parquet(rw.Queries(x, named.y, named.qid, feature_names=NAMES, doc_ids=named.doc_ids), path)
    ran = run("explain", model, path, "--query", named.qid[3])
    assert (ran.code, ran.out) == (65, "")
    assert f"missing.parquet: query '{named.qid[3]}', document 'doc-3': feature 'bm25' is nan" in ran.err
    assert run("explain", model, path, "--query", named.qid[-1]).code == 0
