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


def test_parts_that_dask_moves_are_made_anew(fresh_client, monkeypatch, tmp_path):
    """A worker that is retired hands over what it has; a part cannot be handed over, but its queries can."""
    from rankwright.dask.engine import DaskEngine

    queries = rw.dask.queries(written(dirty_queries(), tmp_path), client=fresh_client)
    disturbed = Disturbed(monkeypatch, DaskEngine)
    usual = disturbed.during(None, None, lambda: LEARNERS["structured"]().fit(queries))

    def before_step(call):
        fresh_client.retire_workers([min(fresh_client.nthreads())])
        return call

    learned = disturbed.during(disturbed.count // 2, before_step, lambda: LEARNERS["structured"]().fit(queries))
    np.testing.assert_array_equal(learned.coef_, usual.coef_)


def test_files_that_have_changed_are_refused_when_they_are_read_again(fresh_client, tmp_path):
    paths = written(dirty_queries(), tmp_path)
    queries = rw.dask.queries(paths, client=fresh_client)
    written(dirty_queries(seed=1), tmp_path)
    rw.RankRLS().fit(queries)  # it is in the workers' memory
    for pid in fresh_client.run(os.getpid).values():
        os.kill(pid, signal.SIGKILL)
    with pytest.raises(rw.DataError, match=r"part-\d.parquet was lost, and when it was read again, it had other rows"):
        rw.RankRLS().fit(queries)


def test_a_worker_killed_while_it_loads_or_scores_costs_time(fresh_client, tmp_path, monkeypatch):
    """Of tasks, too: reading, cutting, shuffling, scoring."""
    from rankwright.dask import partitions

    made = dirty_queries()
    rows = np.argsort(np.arange(made.n_documents) % 2, kind="stable")  # every query is in two files
    halves = [made.n_documents // 2, made.n_documents]
    paths = []
    for number, (begin, end) in enumerate(zip([0, halves[0]], halves, strict=True)):
        some = rows[begin:end]
        paths.append(tmp_path / f"half-{number}.parquet")
        rw.write_queries(rw.Queries(made.X[some], made.y[some], made.qid[some]), paths[-1])
    plain, killed = partitions.tasks, set()

    def tasks(client, what, function, *given):
        if what not in killed and what in ("read", "part", "take", "shuffle", "predict"):
            killed.add(what)
            function = Deadly(function, tmp_path / f"killed-{what}")
        return plain(client, what, function, *given)

    with pytest.warns(UserWarning, match="queries were split"):
        usual = rw.dask.queries(paths, client=fresh_client, shuffle=True)
    model = rw.RankRLS().fit(usual)
    expected = model.predict(usual)
    for module in (partitions, rw.dask):
        monkeypatch.setattr(module, "tasks", tasks)
    with pytest.warns(UserWarning, match="queries were split"):
        queries = rw.dask.queries(paths, client=fresh_client, shuffle=True)
    np.testing.assert_array_equal(model.predict(queries), expected)
    np.testing.assert_array_equal(rw.RankRLS().fit(queries).coef_, model.coef_)
    assert {path.name for path in tmp_path.glob("killed-*")} == {f"killed-{what}" for what in killed}
    assert {"read", "part", "take", "shuffle"} <= killed
