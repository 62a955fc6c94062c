"""Which Spark session it is, and whether its Python workers are like this process."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import sys
import warnings
from tempfile import TemporaryFile
from typing import IO, Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from rankwright.clusters.interrupts import interrupted_later
from rankwright.errors import ParameterError
from rankwright.spark.jobs import answers

_PYTHON = "PYSPARK_PYTHON"
_QUIET = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF"}
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
    _check_java()
    os.environ.setdefault(_PYTHON, sys.executable)
    master = master or os.environ.get("MASTER") or "local[*]"
    settings = _QUIET | (_ON_THIS_MACHINE if master.startswith("local") else {})
    conf = SparkConf().setAppName("Rankwright").setMaster(master).setAll(list(settings.items()))
    with TemporaryFile() as said, interrupted_later(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")  # which is not used here
        try:
            session = _started(conf, said)
        except (Py4JError, PySparkException) as error:
            said.seek(0)
            reason = _reason(f"{said.read().decode(errors='replace')}\n{error}")
            raise ParameterError(f"master: there is no Spark at {master!r}{reason}") from None
    atexit.register(session.stop)
    return session


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    if shutil.which(f"{home}/bin/java" if home else "java") is None:
        where = f"in JAVA_HOME, {home}" if home else "here"
        raise ParameterError(
            f"Spark needs Java 17 or newer, but there is no program `java` {where}: install it (on Debian and Ubuntu "
            "the package openjdk-17-jre-headless), or set JAVA_HOME to the folder of a Java that is there"
        )


def _started(conf: SparkConf, said: IO[bytes]) -> SparkSession:
    """A new session. What Java and Python workers of this machine have to say goes to a file, not to the terminal."""
    context = SparkContext(conf=conf, gateway=SparkContext._gateway or launch_gateway(conf, {"stderr": said}))
    context._accumulatorServer.handle_error = lambda *_: None  # it would tell that Java ends, while the program does
    return SparkSession.builder.getOrCreate()


def _reason(text: str) -> str:
    """What Java says of the first thing that went wrong, if that says anything."""
    found = re.search(r"^.*?(?:Exception|Error): (.+)$", text, re.MULTILINE)
    return f": {found[1][:200]}" if found and "stopped SparkContext" not in found[1] else ""


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
    answers(context, "version of workers", context.parallelize(range(tasks), tasks), range(tasks), None, _nothing)
    return context


def _nothing(number: int, items: Any) -> None:
    """Done by anyone."""
