"""Learners on Spark find what they find in memory."""

import gc
import socket
import sys
import warnings
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

import rankwright as rw
from tests.clusters.made import assert_judged_alike, assert_learned_alike, dirty_queries

pytestmark = pytest.mark.peers

THREE = rw.search(0.1, 1.0, 10.0)
LEARNERS = {
    "rankrls": lambda: rw.RankRLS(alpha=THREE, measures="ndcg@5, err@10"),
    "regression": lambda: rw.RegressionRanker(alpha=THREE),
    "greedy": lambda: rw.GreedyRankRLS(n_features=3),
    "ranksvm": lambda: rw.RankSVM(alpha=10.0),
    "order-preserving": lambda: rw.OrderPreservingRanker(alpha=10.0),
    "structured": lambda: rw.StructuredRanker("ndcg@10", alpha=1e4, tol=0.5),
}


def frame_of(spark, queries, partitions=3, vectors=None, **columns):
    """A data frame of queries, whose partitions have whole queries."""
    cuts = queries.grouping.offsets[np.linspace(0, queries.n_queries, partitions + 1).astype(int)].tolist()
    rows = list(zip(queries.y.tolist(), queries.qid.tolist(), *columns.values(), strict=True))
    if vectors is None:
        names = ["label", "qid", *columns, *(f"x{column}" for column in range(queries.n_features))]
        rows = [(*row, *x) for row, x in zip(rows, queries.X.tolist(), strict=True)]
    else:
        names = ["label", "qid", *columns, "features"]
        rows = [(*row, vectors(x)) for row, x in zip(rows, queries.X, strict=True)]
    schema = spark.createDataFrame(rows[:1], names).schema
    slices = [rows[begin:end] for begin, end in pairwise(cuts)]
    rdd = spark.sparkContext.parallelize(slices, len(slices)).flatMap(list)
    return spark.createDataFrame(rdd, schema)


@pytest.fixture(scope="module")
def known():
    return dirty_queries(60)


@pytest.fixture(scope="module")
def queries(spark, known):
    return rw.spark.queries(frame_of(spark, known))


@pytest.mark.parametrize("name", LEARNERS)
def test_learners_find_what_they_find_in_memory_and_the_same_bits_again(queries, known, name):
    assert queries.n_parts == 3
    learned, expected = LEARNERS[name]().fit(queries), LEARNERS[name]().fit(known)
    assert_learned_alike(learned, expected)
    np.testing.assert_array_equal(LEARNERS[name]().fit(queries).coef_, learned.coef_)


@pytest.mark.parametrize("name", ["rankrls", "ranksvm", "structured"])
def test_answers_of_many_parts_are_added_up_on_their_way(spark, known, monkeypatch, name):
    """By the same tree that the program adds them by: as if there were two parts to a sum, of five."""
    from rankwright.clusters import engine
    from rankwright.spark import engine as spark_engine

    queries = rw.spark.queries(frame_of(spark, known, partitions=5))
    monkeypatch.setattr(engine, "PARTS_PER_SUM", 2)
    here = LEARNERS[name]().fit(queries)
    monkeypatch.setattr(spark_engine, "PARTS_PER_SUM", 2)
    plain, arrived = spark_engine.SparkEngine._message, []

    def noted(of_engine, *given, **how):
        answers = plain(of_engine, *given, **how)
        arrived.append([answer.is_added for answer in answers.values()])
        return answers

    monkeypatch.setattr(spark_engine.SparkEngine, "_message", noted)
    on_the_way = LEARNERS[name]().fit(queries)
    assert [False, True, False, True, False] in arrived
    np.testing.assert_array_equal(on_the_way.coef_, here.coef_)


def test_models_and_measures(queries, known):
    assert_judged_alike(queries, known)


def test_queries_have_what_queries_in_memory_have(queries, known):
    assert queries.query_ids.tolist() == known.query_ids.tolist()
    assert queries.feature_names == tuple(f"x{column}" for column in range(8))
    np.testing.assert_array_equal(queries.judgments.y, known.y)
    np.testing.assert_array_equal(queries.in_memory().X, known.X)
    taken = queries[np.arange(60) % 3 == 0]
    np.testing.assert_array_equal(taken.in_memory().X, known[np.arange(60) % 3 == 0].X)
    np.testing.assert_array_equal(queries.run(18, 25).X, known[18:25].X)  # over the end of a part
    assert "in 3 parts from a Spark DataFrame" in repr(queries)


def test_fit_finds_what_it_finds_in_memory(queries, known):
    options = {"rankers": ["rankrls"], "transform": "none"}
    result = rw.fit(queries[:40], valid=queries[40:50], test=queries[50:], **options)
    names = [f"x{column}" for column in range(8)]
    named = rw.Queries(known.X, known.y, known.qid, feature_names=names)
    expected = rw.fit(named[:40], valid=named[40:50], test=named[50:], **options)
    assert str(result) == str(expected)
    np.testing.assert_allclose(result.model.coef_, expected.model.coef_, rtol=1e-7, atol=1e-10)


def test_who_needs_all_documents_at_once_says_so(queries):
    with pytest.raises(rw.ParameterError, match="memory"):
        rw.KernelRankRLS().fit(queries)


def test_errors_of_steps_are_told(spark, known):
    x = known.X.copy()
    x[-3, 2] = np.inf
    with pytest.raises(rw.DataError, match="query "):
        rw.RankSVM().fit(rw.spark.queries(frame_of(spark, rw.Queries(x, known.y, known.qid))))


# Frames


def dense(x):
    from pyspark.ml.linalg import Vectors

    return Vectors.dense(x.tolist())


def dense_or_sparse(x):
    from pyspark.ml.linalg import Vectors

    return Vectors.sparse(len(x), [(int(j), float(x[j])) for j in np.flatnonzero(x)]) if x[0] > 0 else dense(x)


def array(x):
    return x.tolist()


@pytest.mark.parametrize("vectors", [dense, dense_or_sparse, array])
def test_columns_of_vectors_and_arrays(spark, known, vectors):
    given = rw.Queries(np.where(known.X > 0, known.X, 0.0), known.y, known.qid)
    found = rw.spark.queries(frame_of(spark, given, 2, vectors)).in_memory()
    assert sp.issparse(found.X) == (vectors is dense_or_sparse)
    np.testing.assert_array_equal(found.X.toarray() if sp.issparse(found.X) else found.X, given.X)
    assert found.qid.tolist() == given.qid.tolist()
    assert not found.has_feature_names


def test_named_columns_and_missing_values(spark, known):
    x = known.X.copy()
    x[::7, 1] = np.nan
    frame = frame_of(spark, rw.Queries(x, known.y, known.qid), weight=np.arange(len(x)).tolist())
    frame = frame.withColumnsRenamed({"label": "grade", "qid": "query"})
    columns = {"label": "grade", "qid": "query", "features": ["x1", "x4"]}
    found = rw.spark.queries(frame, **columns).in_memory()
    assert found.feature_names == ("x1", "x4")
    np.testing.assert_array_equal(found.X, x[:, [1, 4]])


def test_vectors_of_different_lengths_are_refused(spark):
    rows = [(1.0, 1, [1.0, 2.0]), (0.0, 1, [1.0])]
    frame = spark.createDataFrame(rows, ["label", "qid", "v"]).coalesce(1)
    with pytest.raises(rw.DataError, match="column 'v' has vectors of 2 features, but one of 1 in row 2"):
        rw.spark.queries(frame, features="v")
    with pytest.raises(rw.ParameterError, match="'v' has vectors, so it has to be the only one"):
        rw.spark.queries(frame, features=["v", "qid"])
    apart = spark.createDataFrame([(1.0, 1, [1.0, 2.0]), (0.0, 2, [1.0, 2.0, 3.0])], ["label", "qid", "v"])
    with pytest.raises(rw.DataError, match="partition 1 has 2 features, but other partitions have 3"):
        rw.spark.queries(apart.repartitionByRange(2, "qid"), features="v")


def test_a_split_query_is_refused_by_name_or_brought_together(spark, known):
    order = np.random.default_rng(0).permutation(known.n_documents)
    scattered = rw.Queries(known.X[order], known.y[order], known.qid[order])
    rows = [(float(y), str(q), *x) for y, q, x in zip(scattered.y, scattered.qid, scattered.X.tolist(), strict=True)]
    names = ["label", "qid", *(f"x{column}" for column in range(8))]
    frame = spark.createDataFrame(rows, names).coalesce(2).repartition(2)
    with pytest.raises(rw.DataError, match=r"query '.*' is split: some of its rows are in partition 1 and some in"):
        rw.spark.queries(frame)
    with pytest.warns(UserWarning, match=r"quer(y was|ies were) split over partitions: \d+ rows .* were moved"):
        together = rw.spark.queries(frame, shuffle=True)
    assert sorted(together.query_ids.tolist()) == sorted(known.query_ids.tolist())
    assert together.n_documents == known.n_documents
    expected = rw.RankRLS(1.0).fit(known)
    np.testing.assert_allclose(rw.RankRLS(1.0).fit(together).coef_, expected.coef_, rtol=1e-9, atol=1e-12)


def test_empty_partitions_are_no_parts(spark, known):
    frame = frame_of(spark, known, 2)
    found = rw.spark.queries(frame.filter("1 = 0").union(frame))
    assert found.n_parts == 2
    np.testing.assert_array_equal(found.in_memory().X, known.X)
    assert rw.RankRLS(1.0).fit(found).coef_ == pytest.approx(rw.RankRLS(1.0).fit(known).coef_)


@pytest.mark.parametrize("vectors", [None, dense, array])
def test_partitions_whose_rows_are_filtered_away(spark, known, vectors):
    """Spark does not know before that they are empty."""
    frame = frame_of(spark, known, 2, vectors)
    found = rw.spark.queries(frame.filter("label > 99").union(frame))
    assert found.n_parts == 2
    np.testing.assert_array_equal(found.in_memory().X, known.X)
    with pytest.raises(rw.DataError, match="a Spark DataFrame: there are no documents"):
        rw.spark.queries(frame.filter("label > 99"))


@pytest.mark.parametrize("missing", ["mean", "query-mean"])
def test_scores_are_a_column(spark, known, missing):
    x = known.X.copy()
    x[::7, 1] = np.nan
    names = [f"x{column}" for column in range(8)]
    given = rw.Queries(x, known.y, known.qid, feature_names=names)
    ranker = rw.RankRLS(1.0, missing=missing).fit(given)
    frame = frame_of(spark, given, document=np.arange(len(x)).tolist()).repartition(3)  # queries fall apart
    scored = rw.spark.predict(ranker, frame, column="points")
    assert scored.columns == [*frame.columns, "points"]
    found = {row["document"]: row["points"] for row in scored.select("document", "points").collect()}
    np.testing.assert_allclose([found[row] for row in range(len(x))], ranker.predict(given), rtol=1e-12, atol=1e-12)
    with pytest.raises(rw.ParameterError, match="has a column 'x1' already"):
        rw.spark.predict(ranker, frame, column="x1")


# Spark itself


def test_a_worker_with_another_version_is_refused_by_name(spark, known, monkeypatch):
    from rankwright.spark import jobs

    monkeypatch.setattr(jobs, "__version__", "9.9")
    with pytest.raises(rw.ParameterError, match=r"worker on \S+ has Rankwright .* this process has 9.9"):
        rw.spark.queries(frame_of(spark, known))


def test_jobs_have_descriptions_and_leave_those_of_others(spark, queries):
    context = spark.sparkContext
    context.setJobGroup("mine", "my own work")
    told = []
    rw.RankRLS(1.0).fit(queries.watched(told.append))
    assert told[0].what == "pass 1 over a Spark DataFrame"
    assert context.getLocalProperty("spark.jobGroup.id") == "mine"
    assert context.getLocalProperty("spark.job.description") == "my own work"
    context.setLocalProperty("spark.jobGroup.id", None)
    context.setLocalProperty("spark.job.description", None)


def test_what_nobody_has_any_more_is_given_up(spark, known):
    from rankwright.spark.worker import _folder

    before = set(spark.sparkContext._jsc.getPersistentRDDs())
    found = rw.spark.queries(frame_of(spark, known))
    rw.RankRLS(1.0).fit(found[:30])
    cached = set(spark.sparkContext._jsc.getPersistentRDDs()) - before
    name = found.partitions._name
    del found
    gc.collect()
    other = rw.spark.queries(frame_of(spark, known))  # the next jobs give it up
    assert not cached & set(spark.sparkContext._jsc.getPersistentRDDs())
    assert len(set(spark.sparkContext._jsc.getPersistentRDDs()) - before) == 1

    def folders(_):
        return [path.name for path in (_folder() / name.run).iterdir()]

    found = next(other.partitions.results("folders", folders))
    assert str(other.partitions._name.number) in found
    assert str(name.number) not in found


def test_rows_are_read_once(spark, known):
    count = spark.sparkContext.accumulator(0)
    frame = frame_of(spark, known)

    def counted(row):
        count.add(1)
        return row

    rw.spark.queries(spark.createDataFrame(frame.rdd.map(counted), frame.schema))
    assert count.value == known.n_documents


def test_garbage_may_be_collected_while_spark_answers(spark, known, monkeypatch):
    """Who asks Spark for anything there reads from a stream that is being read."""

    class InACycle:
        pass

    held = InACycle()
    held.itself, held.queries = held, rw.spark.queries(frame_of(spark, known))
    cached = held.queries.partitions.rdd.id()
    plain = socket.SocketIO.readinto
    errors = []
    monkeypatch.setattr(sys, "unraisablehook", errors.append)
    monkeypatch.setattr(sys, "excepthook", lambda *error: errors.append(error))
    gc.disable()
    try:
        del held
        with monkeypatch.context() as patched:
            patched.setattr(socket.SocketIO, "readinto", lambda *given: (gc.collect(), plain(*given))[1])
            assert spark.range(3).count() == 3
    finally:
        gc.enable()
    assert not errors
    rw.spark.queries(frame_of(spark, known))
    assert cached not in set(spark.sparkContext._jsc.getPersistentRDDs())


def test_nothing_listens_on_other_than_loopback(spark, queries):
    psutil = pytest.importorskip("psutil")
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    found = set()
    for process in processes:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            connections = process.net_connections(kind="inet")
        found |= {each.laddr.ip for each in connections if each.status == psutil.CONN_LISTEN}
    assert found
    assert all(address.removeprefix("::ffff:") == "127.0.0.1" for address in found)
