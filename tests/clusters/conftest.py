"""Clusters of two workers with a thread each."""

from contextlib import contextmanager

import pytest

from tests.needed import needs_dask, needs_spark


@contextmanager
def dask_cluster():
    needs_dask()
    import distributed

    workers = {"n_workers": 2, "threads_per_worker": 1, "memory_limit": 0, "dashboard_address": "127.0.0.1:0"}
    with (
        distributed.LocalCluster(host="127.0.0.1", silence_logs=50, **workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def client():
    """One cluster for all tests that leave its workers alone."""
    with dask_cluster() as client:
        yield client


@pytest.fixture
def fresh_client():
    """A cluster whose workers may be killed."""
    with dask_cluster() as client:
        yield client


@pytest.fixture(scope="session")
def java():
    """A test on Spark is skipped where it cannot run, but where changes are checked it fails."""
    needs_spark()


@pytest.fixture(scope="session")
def spark(java):
    """A Spark session of two Python workers, in which Python workers may be killed."""
    from rankwright.spark.connecting import session_at

    session = session_at("local[2]")
    yield session
    session.stop()
