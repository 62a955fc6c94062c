"""Functions of partitions as jobs of Spark: described, cancelled when interrupted, begun again if one is lost."""

from __future__ import annotations

import re
import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import cloudpickle
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from rankwright._version import __version__
from rankwright.clusters.engine import MOST_LOSSES
from rankwright.clusters.held import Answer
from rankwright.errors import DataError, ParameterError
from rankwright.spark.worker import Name, Names

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

_run_id = uuid.uuid4().hex  # other programs of the same application count from 1 as well
_naming = threading.Lock()
_used: set[int] = set()
_last = 0

# What Java says of a Python worker that was killed, of an executor that was, and of what it had for others. That a
# connection was reset, or a file ended, may as well be the fault of whatever the data are read from.
_LOST = re.compile("Python worker exited unexpectedly|ExecutorLostFailure|FetchFailed")
_CANCELLED = re.compile(r"(\[SPARK_JOB_CANCELLED\] )?Job \d+ cancelled ")
_UNTELLING = re.compile(r"\s|An error occurred while calling|An exception was thrown from|Traceback \(")
_OF_JAVA = re.compile(r"^: (([a-z]\w*\.)+[\w$]+: )?(Job aborted due to stage failure: )?")


def new_name(owner: Any) -> Name:
    """A name for what workers keep for an object: they give it up when the object is gone."""
    global _last
    with _naming:
        number = _last = _last + 1
        _used.add(number)
    weakref.finalize(owner, _used.discard, number)
    return Name(_run_id, number)


def names() -> Names:
    """The names that are in use."""
    with _naming:
        return Names(_run_id, frozenset(_used), _last)


def answers(
    context: SparkContext,
    what: str,
    rdd: RDD[Any],
    only: Sequence[int],
    groups: Mapping[int, int] | None,
    function: Callable[..., Any],
    *arguments: Any,
) -> dict[int, Answer]:
    """``function(number, items, *arguments)`` of some partitions of an RDD, by a job for all of them.

    Those of all partitions may have groups, within which the answers are added up before they get here.
    """
    version, content = __version__, cloudpickle.dumps((function, arguments))

    def here(number: int | None, name: str, *given: Any) -> Iterator[Any]:
        # Sent as it is, with what it imports: a worker may have nothing that it could be imported from.
        from importlib import import_module
        from platform import node

        try:
            found = str(import_module("rankwright").__version__)
        except ImportError:
            found = None
        if found != version:
            return iter([(number, found, node())])
        return iter(getattr(import_module("rankwright.spark.worker"), name)(*given))

    def work(number: int, items: Iterator[Any]) -> Iterator[Any]:
        return here(number, "answered", number, items, version, content)

    def add(items: Iterator[Any]) -> Iterator[Any]:
        return here(None, "added", items)

    answers, job = {}, rdd.mapPartitionsWithIndex(work)
    if groups is not None:
        count = max(groups.values()) + 1
        job = job.keyBy(lambda item: groups[item[0]]).partitionBy(count, int).values().mapPartitions(add)
        only = range(count)
    for number, found, answer in _run(context, what, job, only):
        if found != version:
            has = "no Rankwright" if found is None else f"Rankwright {found}"
            raise ParameterError(
                f"the Python worker on {answer} has {has}, but this process has {version}: install that version on all "
                "executors"
            )
        answers[number] = answer
    return answers


def _run(context: SparkContext, what: str, rdd: RDD[Any], only: Sequence[int]) -> list[Any]:
    losses = 0
    while True:
        try:
            return _run_once(context, what, rdd, only)
        except (Py4JError, PySparkException) as error:
            reason = _reason(error)
            of_java = isinstance(error, Py4JJavaError)
            if context._jsc is None or (of_java and _CANCELLED.match(reason)):
                raise
            if not (of_java and _LOST.search(str(error))):
                raise DataError(f"Spark could not compute the data: {reason}") from error
            losses += 1
            if losses > MOST_LOSSES:
                raise DataError(
                    f"Spark lost the work on some of {len(only):,} partitions {losses} times: Python workers may need "
                    f"more memory, or smaller partitions. It says: {reason}"
                ) from error


def _reason(error: Exception) -> str:
    """The first line that tells something: neither who was called, nor where in a program that was."""
    for line in str(error).splitlines():
        if line.strip() and not _UNTELLING.match(line):
            return _OF_JAVA.sub("", line).strip()[:300]
    return type(error).__name__


def _run_once(context: SparkContext, what: str, rdd: RDD[Any], only: Sequence[int]) -> list[Any]:
    """The job is another thread's, with its description and a tag, besides what this thread says of its jobs.

    Each thread has one connection to Spark. If this one waited there and were interrupted, it could cancel nothing
    before the job has ended.
    """
    ended: Future[list[Any]] = Future()
    tag = f"rankwright-{uuid.uuid4().hex}"

    def job() -> None:
        if not ended.set_running_or_notify_cancel():
            return
        try:
            context.addJobTag(tag)
            context.setJobDescription(f"Rankwright: {what}")
            ended.set_result(list(context.runJob(rdd, iter, only)))
        except BaseException as error:
            ended.set_exception(error)

    try:
        InheritableThread(target=job, daemon=True).start()
        return ended.result()
    finally:
        if not (ended.done() or ended.cancel()):
            threading.Thread(target=_cancel, args=(context, tag, ended), daemon=True).start()


def _cancel(context: SparkContext, tag: str, ended: Future[list[Any]]) -> None:
    """Until it has ended: a job that its thread has yet to submit is not cancelled by the first attempt."""
    with suppress(Py4JError, AttributeError):  # Spark has ended, and its jobs with it
        while not ended.done():
            context.cancelJobsWithTag(tag)
            wait([ended], timeout=0.2)
