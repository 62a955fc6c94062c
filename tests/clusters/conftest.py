"""A Dask cluster of two workers with a thread each, and queries on it."""

import os
import signal

import pytest


@pytest.fixture(scope="session")
def client():
    distributed = pytest.importorskip("distributed", reason="needs rankwright[dask]")
    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0}
    with (
        distributed.LocalCluster(host="127.0.0.1", dashboard_address=None, silence_logs=50, **workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def kill_worker(client):
    """Kill one of the cluster's own worker processes, by its id; another is started for it."""

    def kill(which=0):
        pids = sorted(client.run(os.getpid).values())
        os.kill(pids[which % len(pids)], signal.SIGKILL)

    return kill
