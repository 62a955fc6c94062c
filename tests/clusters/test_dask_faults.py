"""A worker that is killed in the middle of a fit costs time: weights are those of an undisturbed run, bit by bit."""

import os
import signal
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.clusters.made import dirty_queries, written

pytestmark = pytest.mark.peers

LEARNERS = {
    "rankrls": lambda: rw.RankRLS(alpha=rw.search(0.1, 1.0, 10.0)),
    "ranksvm": lambda: rw.RankSVM(alpha=1.0),
    "greedy": lambda: rw.GreedyRankRLS(n_features=4),
    "structured": lambda: rw.StructuredRanker("ndcg@10", alpha=10.0),
}


class Deadly:
    """A step after which the first worker that has done it is killed, before it can answer."""

    def __init__(self, step, mark):
        self.step, self.mark = step, mark
        self.changes_state = getattr(step, "changes_state", False)

    def __call__(self, part, *sent):
        result = self.step(part, *sent)
        with suppress(FileExistsError):
            os.close(os.open(self.mark, os.O_CREAT | os.O_EXCL))
            os.kill(os.getpid(), signal.SIGKILL)
        return result


class Disturbed:
    """Counts the messages of engines; one of them is deadly, or comes after a worker was killed."""

    def __init__(self, monkeypatch):
        import cloudpickle

        from rankwright.dask import engine

        self.count, self.at, self.disturb = 0, None, None
        plain = engine.DaskEngine._message

        def message(of_engine, call, changes):
            self.count += 1
            if self.count - 1 == self.at:
                call = cloudpickle.dumps(self.disturb(cloudpickle.loads(call)))
            return plain(of_engine, call, changes)

        monkeypatch.setattr(engine.DaskEngine, "_message", message)

    def during(self, at, disturb, learn):
        self.count, self.at, self.disturb = 0, at, disturb
        learned = learn()
        self.at = None
        return learned


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("when", "moment"), [("in", 0.05), ("in", 0.5), ("in", 0.95), ("before", 0.5)])
def test_a_killed_worker_changes_nothing(fresh_client, monkeypatch, tmp_path, name, when, moment):
    queries = rw.dask.queries(written(dirty_queries(), tmp_path), client=fresh_client)
    disturbed = Disturbed(monkeypatch)
    usual = disturbed.during(None, None, lambda: LEARNERS[name]().fit(queries))
    mark = Path(tmp_path / "killed")

    def in_step(call):
        return call._replace(step=Deadly(call.step, mark))

    def before_step(call):
        os.kill(max(fresh_client.run(os.getpid).values()), signal.SIGKILL)
        mark.touch()
        return call

    at, disturb = int(moment * disturbed.count), in_step if when == "in" else before_step
    learned = disturbed.during(at, disturb, lambda: LEARNERS[name]().fit(queries))
    assert mark.exists()
    np.testing.assert_array_equal(learned.coef_, usual.coef_)
