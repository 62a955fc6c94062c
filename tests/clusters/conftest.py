"""Clusters of two workers with a thread each."""

import os
import shutil
from contextlib import contextmanager

import pytest


@contextmanager
def dask_cluster():
    distributed = pytest.importorskip("distributed", reason="needs rankwright[dask]")
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
def spark():
    """A Spark session of two Python workers, in which Python workers may be killed."""
    pytest.importorskip("pyspark", reason="needs rankwright[spark]")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java 17")
    from rankwright.spark.connecting import session_at

    session = session_at("local[2]")
    yield session
    session.stop()
