"""Functions of partitions as jobs of Spark: described, cancelled when interrupted, begun again if one is lost."""

from __future__ import annotations

import itertools
import uuid
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import cloudpickle
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from rankwright._version import __version__
from rankwright.errors import DataError, ParameterError
from rankwright.spark import worker

if TYPE_CHECKING:
    from pyspark import RDD, SparkContext

# A job that fails so often in a row takes more than a worker has.
_MOST_LOSSES = 5
_LOCAL_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")

_names = itertools.count(1)
_used: set[int] = set()
_last = 0


def new_name(owner: Any) -> int:
    """A name for what workers keep for an object: they give it up when the object is gone."""
    global _last
    _last = next(_names)
    _used.add(_last)
    weakref.finalize(owner, _used.discard, _last)
    return _last


def names() -> worker.Names:
    """The names that are in use."""
    return worker.Names(frozenset(_used), _last)


def packed_function(function: Any, *arguments: Any) -> bytes:
    """A function with what it is given after the items of a partition."""
    content: bytes = cloudpickle.dumps((function, arguments))
    return content


def collected(context: SparkContext, what: str, rdd: RDD[Any], content: bytes, only: Sequence[int]) -> dict[int, Any]:
    """What a packed function of a partition's number and items returns, of some partitions, by a job for all of them.

    What it raises is among what is returned: see `Answer`.
    """
    version = __version__

    def work(number: int, items: Iterator[Any]) -> Iterator[Any]:
        # Sent as it is, with what it imports: a worker may have nothing that it could be imported from.
        from importlib import import_module
        from platform import node

        try:
            found = str(import_module("rankwright").__version__)
        except ImportError:
            found = "none"
        if found != version:
            for _ in items:
                pass
            return iter([(number, found, node())])
        return iter([(number, found, import_module("rankwright.spark.worker").worked(number, items, content))])

    results = _run(context, what, rdd.mapPartitionsWithIndex(work), only)
    for _, found, host in results:
        if found != version:
            has = "no Rankwright" if found == "none" else f"Rankwright {found}"
            raise ParameterError(
                f"the Python worker on {host} has {has}, but this process has {version}: install that version on all "
                "executors"
            )
    return {number: answer for number, _, answer in results}


def _run(context: SparkContext, what: str, rdd: RDD[Any], only: Sequence[int]) -> list[Any]:
    losses = 0
    while True:
        try:
            with _described(context, what):
                return list(context.runJob(rdd, _all, only))
        except (Py4JError, PySparkException) as error:
            losses += 1
            if "cancelled" in str(error) or context._jsc is None:
                raise
            if losses > _MOST_LOSSES:
                first = next((line for line in str(error).splitlines() if "Exception" in line), "").strip()
                raise DataError(
                    f"Spark lost the work on some of {len(only):,} partitions {losses} times: Python workers may need "
                    f"more memory, or smaller partitions. It says: {first[:300]}"
                ) from error


def _all(items: Iterator[Any]) -> Iterator[Any]:
    return items


@contextmanager
def _described(context: SparkContext, what: str) -> Iterator[None]:
    """A job group of our own, which is cancelled if somebody interrupts us."""
    before = [context.getLocalProperty(name) for name in _LOCAL_PROPERTIES]
    group = f"rankwright-{uuid.uuid4().hex}"
    context.setJobGroup(group, f"Rankwright: {what}", interruptOnCancel=True)
    try:
        yield
    except (Py4JError, PySparkException):
        raise
    except BaseException:
        context.cancelJobGroup(group)
        raise
    finally:
        if context._jsc is not None:
            for name, value in zip(_LOCAL_PROPERTIES, before, strict=True):
                context.setLocalProperty(name, value)
