"""A Python worker that is killed in the middle of a fit costs time: weights are those of an undisturbed run."""

import gc
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

import rankwright as rw
from tests.clusters import disturbed as killing
from tests.clusters.disturbed import LEARNERS, Deadly, Disturbed
from tests.clusters.made import dirty_queries
from tests.clusters.test_spark import frame_of

pytestmark = pytest.mark.peers

SPARK_LEARNERS = LEARNERS | {"structured": lambda: rw.StructuredRanker("ndcg@10", alpha=1e4, tol=0.5)}


@pytest.fixture(scope="module")
def queries(spark):
    return rw.spark.queries(frame_of(spark, dirty_queries(20), 2))


@pytest.fixture
def by_value():
    """Workers cannot import what tests have."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(killing)
    yield
    cloudpickle.unregister_pickle_by_value(killing)


@pytest.mark.parametrize("name", SPARK_LEARNERS)
@pytest.mark.usefixtures("by_value")
def test_a_killed_worker_changes_nothing(queries, monkeypatch, tmp_path, name):
    from rankwright.spark.engine import SparkEngine

    disturbed = Disturbed(monkeypatch, SparkEngine)
    usual = disturbed.during(None, None, lambda: SPARK_LEARNERS[name]().fit(queries))
    assert usual.coef_.any()
    count = disturbed.count
    for moment in (0.05, 0.5, 0.95):
        mark = tmp_path / f"killed-{moment}"
        at, mark_at = int(moment * count), mark

        def in_step(call, mark=mark_at):
            return call._replace(step=Deadly(call.step, mark))

        learned = disturbed.during(at, in_step, lambda: SPARK_LEARNERS[name]().fit(queries))
        assert mark.exists()
        np.testing.assert_array_equal(learned.coef_, usual.coef_)


def lost(queries):
    """All files of parts and states are removed, and what workers remember: each of them has some of it."""

    def lose(_):
        from shutil import rmtree

        from rankwright.spark.worker import _folder, _parts, _queries

        _parts.clear()
        _queries.clear()
        rmtree(_folder(), ignore_errors=True)

    for number in [*range(len(queries.partitions))] * 3:  # one by one, as others would write files there
        list(queries.partitions.results("lose", lose, only=[number]))


@pytest.mark.parametrize("group", [32, 2])
def test_what_a_machine_has_lost_is_brought_again(queries, monkeypatch, group):
    """Parts come from the cache, and what has changed states is done again; answers in groups are still the same."""
    from rankwright.clusters import engine
    from rankwright.spark import engine as spark_engine
    from rankwright.spark.engine import SparkEngine

    for module in (engine, spark_engine):
        monkeypatch.setattr(module, "PARTS_PER_SUM", group)
    behind, disturbed = [], Disturbed(monkeypatch, SparkEngine)
    message = SparkEngine._message

    def noted(engine, call, changes, **how):
        found = message(engine, call, changes, **how)
        behind.extend(number for number, answer in found.items() if answer.is_behind)
        return found

    monkeypatch.setattr(SparkEngine, "_message", noted)
    usual = disturbed.during(None, None, lambda: SPARK_LEARNERS["structured"]().fit(queries))
    assert not behind

    def before_step(call):
        lost(queries)
        return call

    learned = disturbed.during(disturbed.count // 2, before_step, lambda: SPARK_LEARNERS["structured"]().fit(queries))
    assert behind
    np.testing.assert_array_equal(learned.coef_, usual.coef_)


def test_partitions_that_are_no_longer_cached_are_made_again(spark, queries):
    usual = rw.RankRLS(1.0).fit(queries)
    queries.partitions.rdd.unpersist(blocking=True)
    np.testing.assert_array_equal(rw.RankRLS(1.0).fit(queries).coef_, usual.coef_)


def test_rows_that_come_back_otherwise_are_refused(spark, tmp_path):
    """What a frame is computed from has changed, and its cached rows are lost: that is no silent wrong answer."""
    path = str(tmp_path / "rows.json")

    def rows(_):
        import json
        from pathlib import Path

        return [tuple(row) for row in json.loads(Path(path).read_text())]

    given = [(1.0, 1, 0.5), (0.0, 1, 2.0), (2.0, 2, 1.0), (0.0, 2, 7.0)]
    (tmp_path / "rows.json").write_text(json.dumps(given))
    rdd = spark.sparkContext.parallelize([0], 1).flatMap(rows)
    queries = rw.spark.queries(spark.createDataFrame(rdd, "label double, qid long, x double"))
    usual = rw.RankRLS(1.0).fit(queries)
    lost(queries)
    queries.partitions.rdd.unpersist(blocking=True)
    np.testing.assert_array_equal(rw.RankRLS(1.0).fit(queries).coef_, usual.coef_)
    (tmp_path / "rows.json").write_text(json.dumps(given[::-1]))
    with pytest.raises(rw.DataError, match="partition 1 was lost, and when it was read again, it had other rows"):
        lost(queries)


def test_work_that_is_always_lost_is_told(queries):
    def die(_):
        os.kill(os.getpid(), signal.SIGKILL)

    told = r"Spark lost the work on some of 2 partitions 6 times: .* more memory.* says: Task .*: Python worker exited"
    with pytest.raises(rw.DataError, match=told):
        list(queries.partitions.results("dying", die))


@pytest.fixture
def runs(monkeypatch):
    """The descriptions of jobs, each as often as it was begun."""
    from rankwright.spark import jobs

    begun, plain = [], jobs._run_once

    def noted(context, what, *rest):
        begun.append(what)
        return plain(context, what, *rest)

    monkeypatch.setattr(jobs, "_run_once", noted)
    return begun


def impossible_cast(frame):
    return frame.selectExpr("label", "qid", "cast('a' || qid as double) as x")


def failing_function(frame):
    def refuse(_):
        raise ValueError("the order was cancelled\nby ExecutorLostFailure")

    return frame.mapInArrow(refuse, frame.schema)


@pytest.mark.parametrize(
    ("computed", "told"),
    [
        (impossible_cast, r"\[CAST_INVALID_INPUT\] The value 'a1' of the type"),
        (failing_function, "ValueError: the order was cancelled$"),
    ],
)
def test_a_frame_that_cannot_be_computed_is_told_at_once(spark, runs, computed, told):
    frame = spark.createDataFrame([(1.0, 1, 0.5), (0.0, 1, 2.0)], "label double, qid long, x double").coalesce(1)
    with pytest.raises(rw.DataError, match=f"^Spark could not compute the data: {told}") as caught:
        rw.spark.queries(computed(frame))
    assert caught.value.__cause__ is not None
    assert len(runs) == len(set(runs)) == 2  # the other one looks at versions


def test_results_that_are_too_large_for_the_driver_are_told_at_once(spark, queries, runs):
    conf = spark.sparkContext._jsc.sc().conf()
    conf.set("spark.driver.maxResultSize", "1m")
    try:
        with pytest.raises(rw.DataError, match=r"^Spark could not compute the data: Total size .*driver.maxResultSize"):
            list(queries.partitions.results("large", lambda _: os.urandom(2_000_000)))
    finally:
        conf.remove("spark.driver.maxResultSize")
    assert runs == ["large"]


def test_jobs_that_somebody_cancels_are_not_begun_again(spark, queries, runs):
    from py4j.protocol import Py4JJavaError

    def cancel():
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            time.sleep(0.05)
        spark.sparkContext.cancelAllJobs()

    Thread(target=cancel, daemon=True).start()
    with pytest.raises(Py4JJavaError, match="cancelled as part of cancellation of all jobs"):
        list(queries.partitions.results("sleeping", lambda _: time.sleep(60)))
    assert runs == ["sleeping"]


def test_a_worker_with_another_version_is_refused_before_answers_are_added_up(queries, monkeypatch):
    from rankwright.spark import jobs

    monkeypatch.setattr(jobs, "__version__", "9.9")
    with pytest.raises(rw.ParameterError, match=r"worker on \S+ has Rankwright .* this process has 9.9"):
        queries.partitions.asked("adding", lambda _: None, {0: (), 1: ()}, 2)


def test_workers_that_add_up_answers_need_this_version_too(queries, monkeypatch):
    """The second stage of a job is where another version is; any worker may get it."""
    from pyspark import RDD

    from rankwright.clusters.held import Answer

    plain = RDD.mapPartitions

    def with_another_version(rdd, function):
        def changed(items):
            import rankwright

            before, rankwright.__version__ = rankwright.__version__, "0.0"
            try:
                return iter(list(function(items)))
            finally:
                rankwright.__version__ = before

        return plain(rdd, changed)

    list(queries.partitions.results("files", lambda _: None))
    monkeypatch.setattr(RDD, "mapPartitions", with_another_version)
    with pytest.raises(rw.ParameterError, match=r"worker on \S+ has Rankwright 0.0, but this process has"):
        queries.partitions.asked("adding", lambda _: Answer(1), {0: (), 1: ()}, 2)


def test_other_programs_of_the_application_have_names_of_their_own(spark, queries, monkeypatch):
    """As another process would, that comes to the same numbers: it neither finds nor removes what is there."""
    from rankwright.spark import jobs

    def file(_):
        from rankwright.spark.worker import _path

        return _path(name, 0).stat().st_ino

    name = queries.partitions._name
    (before,) = queries.partitions.results("file", file, only=[0])
    with monkeypatch.context() as other:
        for what, new in {"_last": name.number - 1, "_used": set(), "_run_id": "other"}.items():
            other.setattr(jobs, what, new)
        theirs = rw.spark.queries(frame_of(spark, dirty_queries(10), 2))
        assert theirs.n_queries == 10
        del theirs
        gc.collect()
        assert rw.spark.queries(frame_of(spark, dirty_queries(10), 2)).n_queries == 10
    assert list(queries.partitions.results("file", file, only=[0])) == [before]


USING_FILES = """
import rankwright as rw
import rankwright.spark
from rankwright.clusters.loading import Reading
from rankwright.data.table_columns import TableColumns
from rankwright.spark.worker import _folder

queries = rw.spark.load("train.txt", Reading(TableColumns()), "local[1]", shuffle=False, memory="1GB")
(found,) = queries.partitions.results("files", lambda _: [path for path in _folder().rglob("*") if path.is_file()])
print(*found)
"""


@pytest.mark.usefixtures("java")
def test_files_go_with_the_application(tmp_path):
    """In a process of its own, as it ends Spark."""
    (tmp_path / "train.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    local = tmp_path / "local"
    local.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", USING_FILES],
        cwd=tmp_path,
        env=os.environ | {"SPARK_LOCAL_DIRS": str(local)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=120,
        check=True,
    )
    files = [Path(word) for word in ended.stdout.split()]
    assert files
    assert all(path.is_relative_to(local) and not path.exists() for path in files)


@contextmanager
def interrupted_after(seconds):
    """As by Ctrl-C, in the middle of what is done in this block."""

    class Enough(BaseException):
        pass

    def interrupt(*_):
        raise Enough

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(seconds)
    try:
        with pytest.raises(Enough):
            yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_whoever_is_interrupted_leaves_no_jobs_and_no_workers_that_go_on(spark, queries, tmp_path):
    psutil = pytest.importorskip("psutil")
    folder = str(tmp_path)

    def sleep(_):
        from pathlib import Path

        Path(folder, str(os.getpid())).touch()
        time.sleep(120)

    with interrupted_after(6):
        list(queries.partitions.results("sleeping", sleep))
    busy = [int(path.name) for path in tmp_path.iterdir()]
    assert busy
    end = time.monotonic() + 30
    while spark.sparkContext.statusTracker().getActiveJobsIds() or any(map(psutil.pid_exists, busy)):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert rw.RankRLS(1.0).fit(queries).coef_.any()


def test_a_job_that_begins_after_the_interruption_is_cancelled_too(spark, queries, monkeypatch):
    context, ended = spark.sparkContext, Event()
    plain = context.runJob

    def late(*given):
        time.sleep(3)
        try:
            return plain(*given)
        finally:
            ended.set()

    monkeypatch.setattr(context, "runJob", late)
    with interrupted_after(1):
        list(queries.partitions.results("sleeping", lambda _: time.sleep(60)))
    assert ended.wait(30)
