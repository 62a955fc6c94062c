"""Queries on Spark: parts live with its executors, and learners send steps to them as jobs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

try:
    import pyspark  # noqa: F401 - to tell what is missing
except ImportError as error:
    raise ImportError("rankwright.spark needs PySpark and Java 17: pip install 'rankwright[spark]'") from error

from rankwright.clusters.loading import Given, Read, Reading, loaded
from rankwright.data.table_columns import TableColumns
from rankwright.engines import ENGINES
from rankwright.spark.connecting import check_workers, session_at
from rankwright.spark.engine import SparkEngine, SparkQueries
from rankwright.spark.frames import FrameReading, packed_partitions, scored
from rankwright.spark.partitions import SparkPartitions, made_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["SparkQueries", "predict", "queries"]

ENGINES[SparkQueries] = SparkEngine


def queries(
    frame: DataFrame,
    *,
    shuffle: bool = False,
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
    features: str | Sequence[str] | None = None,
    for_model: Any = None,
    memory: int | str = "4GB",
) -> SparkQueries:
    """Queries of a Spark data frame, which stay with the executors.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
        A row for each document. Parts are its partitions: have as many as there are cores, or more. Equal partitions
        give equal results, to the last bit.
    shuffle : bool
        Bring the rows of queries together that are in several partitions, and tell how many rows that moved; otherwise
        such a query is an error.
    label, qid, doc : str, optional
        The columns of grades, query ids and document ids, as :func:`~rankwright.from_frame` takes them; query ids that
        are dates or times are taken as the text that Spark writes, whole decimals as integers.
    features : str or sequence of str, optional
        A column of vectors (``VectorUDT``) or arrays, or columns that are a feature each. By default the column
        ``features`` if it has vectors or arrays, else all other columns whose type is one of numbers.
    for_model : optional
        Take the features that this model names; there may be no grades.
    memory : int or str
        How much memory learners may use in this process; parts have that of the executors.
    """
    asked = TableColumns.of(label=label, qid=qid, doc=doc)
    if for_model is not None:
        asked = asked.for_model(for_model)
    reading = FrameReading.of(frame, asked, features)
    check_workers(frame.sparkSession)
    rdd = packed_partitions(frame, reading)
    given = Given.frame(range(rdd.getNumPartitions()), "a Spark DataFrame")
    source = loaded(lambda _: SparkPartitions(rdd, given.data), Reading(reading.asked), given, 0, shuffle=shuffle)
    return SparkQueries(source, memory)


def predict(
    ranker: Any,
    frame: DataFrame,
    *,
    qid: str | None = None,
    features: str | Sequence[str] | None = None,
    column: str = "score",
) -> DataFrame:
    """A Spark data frame with a column of scores, computed where its rows are when somebody asks for them.

    Parameters
    ----------
    ranker : a fitted ranker, or a model
    frame : pyspark.sql.DataFrame
        A row for each document; queries may be split over partitions.
    qid, features : as :func:`queries` takes them
        By default features are found by the names that the ranker knows, or in the column ``features``. Queries are
        brought together only for rankers with ``missing="query-mean"``.
    column : str
        The name of the new column.
    """
    check_workers(frame.sparkSession)
    model = ranker.model()
    asked = TableColumns.of(qid=qid).for_model(model)
    return scored(frame, model, FrameReading.of(frame, asked, features), column)


def load(files: Any, reading: Reading, master: str | None, *, shuffle: bool, memory: int | str) -> SparkQueries:
    """Queries of files, read by Python workers: all of them must find the files under the same path."""
    context = check_workers(session_at(master))
    given = Given.files(files)

    def read(way: Reading) -> SparkPartitions:
        rdd = context.parallelize(given.data, len(given.data))
        return SparkPartitions(made_of(rdd, _read_file, way), range(len(given.data)))

    return SparkQueries(loaded(read, reading, given, context.defaultParallelism, shuffle=shuffle), memory)


def _read_file(number: int, paths: Iterator[Path], reading: Reading) -> Read:
    (path,) = paths
    return reading.of(path, path.name)
