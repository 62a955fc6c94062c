"""A fit of queries that are read part by part, held against the same fit in memory."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from rankwright.data.streams import source
from rankwright.data.streams.chained import chained
from rankwright.fitting.folder import Origin, save_fit

CLOSED = ["regression", "rankrls"]


def dirty_queries(n_queries=90, seed=3):
    """Text ids in no order, queries of one document or without a relevant one; constant, missing and wild features."""
    rng = np.random.default_rng(seed)
    sizes = np.where(rng.random(n_queries) < 0.2, 1, rng.integers(2, 20, n_queries))
    x = rng.normal(size=(sizes.sum(), 6)).astype(np.float32)
    x[:, 2] = 3
    x[:, 5] = np.exp(3 * x[:, 5])
    y = np.clip(np.round(x[:, 0] + x[:, 1] / 2 + rng.normal(size=len(x))), 0, 4)
    y[rng.random(len(x)) < 0.3] = 0
    x[rng.random(len(x)) < 0.1, 4] = np.nan
    ids = np.array([f"q{i * 7919 % 1009}" for i in range(n_queries)])
    y[np.repeat(np.arange(n_queries), sizes) % 10 == 0] = 0
    names = ["bm25", "clicks", "constant", "age", "often missing", "heavy"]
    documents = [f"d{i}" for i in range(len(x))]
    return rw.Queries(x, y, np.repeat(ids, sizes), feature_names=names, doc_ids=documents)


def sparse(queries):
    return rw.Queries(
        sp.csr_array(queries.X),
        queries.supervision,
        queries.qid,
        feature_names=queries.feature_names,
        doc_ids=queries.doc_ids,
    )


@pytest.fixture
def streamed(tmp_path, monkeypatch):
    """Writes queries to a file and opens it such that they come in several parts."""
    monkeypatch.setattr(source, "_LARGEST_PART", 5_000)

    def write_and_open(queries, name="queries.parquet"):
        rw.write_queries(queries, tmp_path / name)
        stream = rw.open_queries(tmp_path / name, memory="1MB")
        assert stream.n_parts > 3
        return stream

    return write_and_open


def assert_same_fit(one, other):
    assert one.fingerprint == other.fingerprint
    assert one.chosen == other.chosen
    assert [entry.setting for entry in one.entries] == [entry.setting for entry in other.entries]
    for a, b in zip(one.models, other.models, strict=True):
        np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-8, atol=1e-12)
    assert one.model._seen_queries.keys() == other.model._seen_queries.keys()
    assert one.model.sketch_of_seen() == other.model.sketch_of_seen()
    assert one.baseline == other.baseline
    for a, b in zip(one.final_scores, other.final_scores, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
    assert str(one) == str(other)


def report_of(result, folder):
    """What the page tells, but for the time that scoring takes, with figures rounded."""
    report = save_fit(result, folder, Origin("fit", []))
    del report["cost"]["seconds"]
    return json.loads(json.dumps(report), parse_float=lambda text: f"{float(text):.7g}")


@pytest.mark.parametrize("layout", ["dense", "sparse"])
@pytest.mark.parametrize("how", [("mean", "none"), ("query-mean", "quantile")])
def test_cross_validation_part_by_part_is_that_in_memory(streamed, tmp_path, layout, how):
    queries = dirty_queries() if layout == "dense" else sparse(dirty_queries())
    stream = streamed(queries)
    options = {"rankers": [*CLOSED, "ranksvm"], "folds": 3, "missing": how[0], "transform": how[1]}
    in_memory, by_parts = rw.fit(queries, **options), rw.fit(stream, **options)
    assert_same_fit(in_memory, by_parts)
    assert report_of(in_memory, tmp_path / "one") == report_of(by_parts, tmp_path / "other")


def test_preparations_are_chosen_alike(streamed):
    queries = dirty_queries()
    options = {"rankers": ["rankrls"], "folds": 3, "measure": "err@5"}
    in_memory, by_parts = rw.fit(queries, **options), rw.fit(streamed(queries), **options)
    assert len(in_memory.tried) == len(by_parts.tried) > 1
    assert_same_fit(in_memory, by_parts)


def test_order_preserving_part_by_part_is_that_in_memory(streamed):
    queries = dirty_queries(60)
    options = {"rankers": ["order-preserving"], "folds": 2, "missing": "mean", "transform": "none"}
    assert_same_fit(rw.fit(queries, **options), rw.fit(streamed(queries), **options))


@pytest.mark.parametrize("in_files", ["all", "train", "valid"])
def test_validation_and_test_queries_may_each_be_in_memory_or_not(streamed, tmp_path, in_files):
    queries = dirty_queries(120)
    parts = {"train": queries[:60], "valid": queries[60:90], "test": queries[90:]}
    read = {
        role: streamed(part, f"{role}.parquet") if in_files in ("all", role) else part for role, part in parts.items()
    }
    options = {"rankers": [*CLOSED, "ranksvm"], "missing": "mean", "transform": "none"}
    in_memory = rw.fit(parts["train"], valid=parts["valid"], test=parts["test"], **options)
    by_parts = rw.fit(read["train"], valid=read["valid"], test=read["test"], **options)
    assert_same_fit(in_memory, by_parts)
    for one, other in zip(in_memory.certificates, by_parts.certificates, strict=True):
        assert (one.bound, one.guaranteed, one.n_queries) == (pytest.approx(other.bound, abs=1e-9), True, 30)
    assert report_of(in_memory, tmp_path / "one") == report_of(by_parts, tmp_path / "other")


@pytest.mark.parametrize("costs", [None, [1.0, 2.0, 1.0, 5.0, 1.0, 3.0]])
def test_greedy_selection_part_by_part_is_that_in_memory(streamed, costs):
    queries = dirty_queries(60)
    options = {"rankers": ["greedy-rankrls"], "folds": 2, "missing": "mean", "transform": "log", "costs": costs}
    in_memory, by_parts = rw.fit(queries, **options), rw.fit(streamed(queries), **options)
    assert in_memory.selection == by_parts.selection
    assert_same_fit(in_memory, by_parts)


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_structured_ranker_part_by_part_is_that_in_memory(streamed, layout):
    """Means and scales are the same bits for every cut, as dual ascent would make much of the last one."""
    queries = dirty_queries(60) if layout == "dense" else sparse(dirty_queries(60))
    options = {"rankers": ["structured"], "folds": 2, "missing": "mean", "transform": "none", "rule": "best"}
    assert_same_fit(rw.fit(queries, **options), rw.fit(streamed(queries), **options))


def test_chained_queries_are_the_same_whether_in_memory_or_not(streamed):
    first, second = dirty_queries(40, seed=1), dirty_queries(30, seed=2)
    expected = chained(first, second)
    assert expected.n_queries == 70  # though ids come twice
    streams = streamed(first, "a.parquet"), streamed(second, "b.parquet")
    for one, other in ((streams[0], streams[1]), (first, streams[1]), (streams[0], second)):
        found = chained(one, other)
        assert found.n_parts > 3
        for part in (found.in_memory(), found[20:60].in_memory()):
            rows = np.isin(expected.grouping.codes, part.query_ids)
            np.testing.assert_array_equal(part.X, expected.X[rows])
            np.testing.assert_array_equal(part.y, expected.y[rows])
            np.testing.assert_array_equal(part.qid, expected.qid[rows])
        assert found.feature_names == first.feature_names
    some = chained(streams[0][::2], streams[1].mapped(lambda queries: queries))
    np.testing.assert_array_equal(some.in_memory().X, chained(first[::2], second).X)


def test_chained_queries_have_one_type_of_features(streamed):
    first, second = dirty_queries(40, seed=1), sparse(dirty_queries(30, seed=2))
    found = chained(streamed(first, "a.parquet"), second)
    assert found.is_sparse
    assert all(sp.issparse(part.X) for part in found.parts())
    np.testing.assert_array_equal(found.in_memory().X.toarray(), chained(first, second).X.toarray())


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (lambda q: rw.Queries(q.X, np.ones(q.n_documents), q.qid), "the training data: there is nothing to learn"),
        (lambda q: rw.Queries(np.where(q.X > 2.5, np.inf, q.X), q.y, q.qid), "the training data have infinite values"),
        (lambda q: rw.Queries(q.X, np.zeros(q.n_documents), np.arange(q.n_documents)), "every row is its own query"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_in_the_same_words(streamed, changed, told):
    queries = changed(dirty_queries())
    for each in (queries, streamed(queries)):
        with pytest.raises(rw.DataError, match=told):
            rw.fit(each, rankers=["rankrls"])


def test_models_score_rank_and_are_compared_part_by_part(streamed):
    queries = dirty_queries()
    stream = streamed(queries)
    one, other = (rw.RankRLS(alpha).fit(queries) for alpha in (1.0, 1e6))
    np.testing.assert_allclose(one.predict(stream), one.predict(queries), rtol=1e-12)
    np.testing.assert_array_equal(one.rank(stream), one.rank(queries))
    assert one.score(stream) == pytest.approx(one.score(queries), rel=1e-12)
    systems = {"one": one, "other": other, "scores": other.predict(queries)}
    assert str(rw.compare(systems, stream, "err@10")) == str(rw.compare(systems, queries, "err@10"))
    with pytest.raises(rw.ParameterError, match="leave them out"):
        rw.evaluate(one, stream, qid=queries.qid)


def test_certificates_know_queries_of_a_stream_again(streamed):
    queries = dirty_queries()
    stream = streamed(queries)
    ranker = rw.RankRLS().fit(queries[:50])
    for which in (slice(None), slice(50, None)):
        in_memory, by_parts = (rw.theory.certificate(ranker, each[which]) for each in (queries, stream))
        assert in_memory.doubts == by_parts.doubts
        assert by_parts.bound == pytest.approx(in_memory.bound, abs=1e-12)
    assert rw.theory.certificate(ranker, stream).doubts
    assert rw.theory.certificate(ranker, stream[50:]).guaranteed
