"""Clusters on this machine: Dask workers in processes of their own, and Spark with Python workers."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import rankwright as rw

if TYPE_CHECKING:
    from distributed import Client

    from rankwright.clusters.queries import ClusterQueries


@contextmanager
def dask_client(workers: int) -> Iterator[Client]:
    """So many workers with a thread each, in processes of their own; the scheduler is in this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
        ) as running,
        Client(running, set_as_default=False) as client,
    ):
        yield client


def on_spark(files: Sequence[Path], workers: int) -> ClusterQueries:
    """Queries in the memory of Spark with so many Python workers, which find the benchmarks where this process does."""
    from rankwright.clusters.loading import Reading
    from rankwright.data.table_columns import TableColumns

    paths = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    with mock.patch.dict(os.environ, PYTHONPATH=paths):
        return rw.spark.load(list(files), Reading(TableColumns()), f"local[{workers}]", shuffle=False, memory="4GB")
