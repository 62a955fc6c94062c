"""A worker that is killed in the middle of a fit costs time: weights are those of an undisturbed run, bit by bit."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import rankwright as rw
from tests.clusters.disturbed import LEARNERS, Deadly, Disturbed
from tests.clusters.made import dirty_queries, written

pytestmark = pytest.mark.peers


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize(("when", "moment"), [("in", 0.05), ("in", 0.5), ("in", 0.95), ("before", 0.5)])
def test_a_killed_worker_changes_nothing(fresh_client, monkeypatch, tmp_path, name, when, moment):
    from rankwright.dask.engine import DaskEngine

    queries = rw.dask.queries(written(dirty_queries(), tmp_path), client=fresh_client)
    disturbed = Disturbed(monkeypatch, DaskEngine)
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
