"""Functions of partitions as jobs of Spark: described, cancelled when interrupted, begun again if one is lost."""

from __future__ import annotations

import threading
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import cloudpickle
from py4j.protocol import Py4JError
from pyspark import InheritableThread
from pyspark.errors import PySparkException

from rankwright._version import __version__
from rankwright.clusters.engine import MOST_LOSSES
from rankwright.clusters.held import Answer
from rankwright.errors import DataError, ParameterError
from rankwright.spark.worker import Names

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

_naming = threading.Lock()
_used: set[int] = set()
_last = 0


def new_name(owner: Any) -> int:
    """A name for what workers keep for an object: they give it up when the object is gone."""
    global _last
    with _naming:
        name = _last = _last + 1
        _used.add(name)
    weakref.finalize(owner, _used.discard, name)
    return name


def names() -> Names:
    """The names that are in use."""
    with _naming:
        return Names(frozenset(_used), _last)


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

    def work(number: int, items: Iterator[Any]) -> Iterator[Any]:
        # Sent as it is, with what it imports: a worker may have nothing that it could be imported from.
        from importlib import import_module
        from pickle import loads
        from platform import node

        try:
            found = str(import_module("rankwright").__version__)
        except ImportError:
            found = None
        if found == version:
            function, arguments = loads(content)
            yield number, found, import_module("rankwright.spark.worker").done(number, items, function, *arguments)
        else:
            yield number, found, node()
            list(items)

    def add(items: Iterator[Any]) -> Iterator[Any]:
        from rankwright.spark.worker import added

        return added(items)

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
            losses += 1
            if "cancelled" in str(error) or context._jsc is None:
                raise
            if losses > MOST_LOSSES:
                first = next((line for line in str(error).splitlines() if "Exception" in line), "").strip()
                raise DataError(
                    f"Spark lost the work on some of {len(only):,} partitions {losses} times: Python workers may need "
                    f"more memory, or smaller partitions. It says: {first[:300]}"
                ) from error


def _run_once(context: SparkContext, what: str, rdd: RDD[Any], only: Sequence[int]) -> list[Any]:
    """The job is another thread's, with its description and a tag, besides what this thread says of its jobs.

    Each thread has one connection to Spark. If this one waited there and were interrupted, it could cancel nothing
    before the job has ended.
    """
    ended: Future[list[Any]] = Future()
    tag = f"rankwright-{uuid.uuid4().hex}"

    def job() -> None:
        try:
            context.addJobTag(tag)
            context.setJobDescription(f"Rankwright: {what}")
            ended.set_result(list(context.runJob(rdd, iter, only)))
        except BaseException as error:
            ended.set_exception(error)

    InheritableThread(target=job, daemon=True).start()
    try:
        return ended.result()
    finally:
        if not ended.done():
            context.cancelJobsWithTag(tag)
