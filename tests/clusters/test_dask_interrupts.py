"""Ctrl-C ends the work on the cluster, and the cluster if it was started for it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import rankwright as rw
from tests.needed import needs_dask

pytestmark = pytest.mark.peers


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Enough to be busy for a while."""
    path = tmp_path_factory.mktemp("data") / "train.parquet"
    rw.write_queries(rw.datasets.make_queries(n_queries=2000, documents=40, n_features=40, seed=1).queries, path)
    return path


def started(data, engine):
    """A command in a session of its own, as a terminal starts it."""
    command = [
        Path(sys.executable).with_name("rankwright"),
        "train",
        data,
        "--engine",
        engine,
        "--ranker",
        "structured",
    ]
    return subprocess.Popen(
        [*command, "--out", data.with_name("model.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_until(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not (found := is_so()):
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)
    return found


def interrupted(process):
    """Ctrl-C of a terminal goes to all processes of the session."""
    os.killpg(process.pid, signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    assert told == "error: interrupted\n"


@pytest.mark.parametrize("pause", [0.0, 0.3, 3.0])
def test_an_own_cluster_ends(data, pause):
    needs_dask()
    psutil = pytest.importorskip("psutil")
    process = started(data, "dask")
    try:
        children = wait_until(lambda: psutil.Process(process.pid).children(recursive=True))
        time.sleep(pause)
        children = psutil.Process(process.pid).children(recursive=True) or children
        interrupted(process)
        psutil.wait_procs(children, timeout=20)
        assert not [child for child in children if child.is_running()]
    finally:
        process.kill()
    assert not data.with_name("model.json").exists()


def test_another_cluster_goes_on_without_the_work(data, fresh_client):
    process = started(data, f"dask={fresh_client.scheduler.address}")
    try:
        wait_until(lambda: any(fresh_client.run(n_held).values()))
        time.sleep(1.0)
        interrupted(process)
    finally:
        process.kill()
    wait_until(lambda: not fresh_client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))
    wait_until(lambda: not any(fresh_client.run(n_held).values()))
    assert len(fresh_client.nthreads()) == 2


def n_held():
    from rankwright.dask.engine import _parts

    return sum(map(len, _parts.values()))
