"""Which Spark session it is, and whether its Python workers are like this process."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rankwright.clusters.interrupts import interrupted_later
from rankwright.errors import ParameterError
from rankwright.spark.jobs import answers

_PYTHON = "PYSPARK_PYTHON"
# Nothing of a session on this machine listens to others. Files as sockets make a job three times faster.
_ON_THIS_MACHINE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.python.unix.domain.socket.enabled": "true",
}


def session_at(master: str | None) -> SparkSession:
    """The active session, or a new one: by default on the processors of this machine."""
    active = SparkSession.getActiveSession()
    if active is not None:
        running = active.sparkContext.master
        if master is not None and master != running:
            raise ParameterError(
                f"master: a Spark session at {running!r} is active, so there can be none at {master!r}"
            )
        return active
    os.environ.setdefault(_PYTHON, sys.executable)
    master = master or os.environ.get("MASTER") or "local[*]"
    builder = SparkSession.builder.appName("Rankwright").master(master).config("spark.ui.enabled", "false")
    builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.log.level", "OFF")
    for name, value in _ON_THIS_MACHINE.items() if master.startswith("local") else ():
        builder = builder.config(name, value)
    try:
        with interrupted_later():
            session = builder.getOrCreate()
    except (Py4JError, PySparkException) as error:
        reason = next((line for line in str(error).splitlines() if "Exception" in line), str(error))
        raise ParameterError(f"master: there is no Spark at {master!r}: {reason[:200]}") from None
    atexit.register(session.stop)
    return session


def check_workers(session: SparkSession) -> SparkContext:
    """The context of a session whose Python workers have this version of Rankwright."""
    try:
        context = session.sparkContext
    except (AttributeError, PySparkException):
        raise ParameterError(
            "a Spark Connect session cannot keep queries on its executors: use a classic session (with master=…)"
        ) from None
    if _PYTHON not in os.environ and context.getConf().get("spark.pyspark.python") is None:
        context.pythonExec = sys.executable
    tasks = max(context.defaultParallelism, 1)
    answers(context, "version of workers", context.parallelize(range(tasks), tasks), range(tasks), _nothing)
    return context


def _nothing(number: int, items: Any) -> None:
    """Done by anyone."""
