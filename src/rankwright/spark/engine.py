"""`SparkEngine`: every pass is a job, whose tasks find their parts on the machines where they have been."""

from __future__ import annotations

from rankwright.clusters.engine import PARTS_PER_SUM, ClusterEngine
from rankwright.clusters.held import Answer
from rankwright.clusters.queries import ClusterQueries
from rankwright.spark import worker
from rankwright.spark.jobs import new_name
from rankwright.spark.partitions import SparkPartitions


class SparkQueries(ClusterQueries):
    """Queries in the memory of Spark's executors, made by :func:`rankwright.spark.queries`."""

    partitions: SparkPartitions


SparkQueries._kind = SparkQueries


class SparkEngine(ClusterEngine):
    """Parts stay where they are, but who gets to work on one may be another process than the last time.

    So learners are not told that parts keep what they have computed, though a process does as long as it can: jobs are
    dear, and learners that expect nothing ask less often.
    """

    def __init__(self, queries: SparkQueries) -> None:
        super().__init__(queries)
        self._queries: SparkQueries
        self._name = new_name(self)

    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]], *, may_add: bool) -> dict[int, Answer]:
        """One job, which answers for all parts: Spark makes again what is lost.

        The results of many parts are added up in groups, in a second stage of the job.
        """
        whole = self._queries.whole
        sent = {n: (self._name, n, (self._before[n], whole), call, *changes[n]) for n in changes}
        what = f"pass {self.passes} over {self._queries._source.told()}"
        group = PARTS_PER_SUM if may_add and len(sent) > PARTS_PER_SUM else None
        return dict(zip(changes, self._queries.partitions.asked(what, worker.answer, sent, group), strict=True))
