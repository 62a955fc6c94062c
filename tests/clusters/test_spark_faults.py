"""A Python worker that is killed in the middle of a fit costs time: weights are those of an undisturbed run."""

import json
import os
import signal
import time

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

    for _ in range(3):
        list(queries.partitions.results("lose", lose))


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
    with pytest.raises(rw.DataError, match="partition 1 was lost, and when Spark made it again, it had other rows"):
        lost(queries)


def test_work_that_is_always_lost_is_told(queries):
    def die(_):
        os.kill(os.getpid(), signal.SIGKILL)

    with pytest.raises(rw.DataError, match=r"Spark lost the work on some of 2 partitions 6 times: .* more memory"):
        list(queries.partitions.results("dying", die))


def test_whoever_is_interrupted_leaves_no_jobs_and_no_workers_that_go_on(spark, queries, tmp_path):
    psutil = pytest.importorskip("psutil")
    folder = str(tmp_path)

    def sleep(_):
        from pathlib import Path

        Path(folder, str(os.getpid())).touch()
        time.sleep(120)

    class Enough(BaseException):
        pass

    def interrupt(*_):
        raise Enough

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.alarm(6)
    try:
        with pytest.raises(Enough):
            list(queries.partitions.results("sleeping", sleep))
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
    busy = [int(path.name) for path in tmp_path.iterdir()]
    assert busy
    end = time.monotonic() + 30
    while spark.sparkContext.statusTracker().getActiveJobsIds() or any(map(psutil.pid_exists, busy)):
        assert time.monotonic() < end
        time.sleep(0.1)
    assert rw.RankRLS(1.0).fit(queries).coef_.any()
