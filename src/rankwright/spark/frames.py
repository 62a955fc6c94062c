"""Data frames of Spark, by Arrow: columns that are a feature each, or one column of vectors or arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from rankwright.clusters.loading import Read, Reading
from rankwright.data.columns import QID
from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError, ParameterError
from rankwright.machine.threads import on_this_thread
from rankwright.spark import worker

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import DataFrame

_VECTORS = "features"  # what Spark's own learners call the column of vectors


@dataclass(frozen=True)
class FrameReading:
    """How rows of a frame become queries. ``vectors`` is the column that has all features, if one has."""

    asked: TableColumns
    vectors: str | None

    @classmethod
    def of(cls, frame: DataFrame, asked: TableColumns, features: str | Sequence[str] | None) -> FrameReading:
        """By the types of the columns."""
        nested = [field.name for field in frame.schema.fields if _is_nested(field.dataType)]
        if features is None:
            vectors = _VECTORS if _VECTORS in nested else None
            return cls(asked if vectors is None else replace(asked, features=(vectors,)), vectors)
        named = (features,) if isinstance(features, str) else tuple(features)
        found = [name for name in named if name in nested]
        if not found:
            return cls(replace(asked, features=named), None)
        if len(named) > 1:
            raise ParameterError(
                f"features: column {found[0]!r} has vectors, so it has to be the only one; {len(named)} are named"
            )
        return cls(replace(asked, features=named), found[0])

    def queries(self, table: pa.Table, name: str) -> Queries:
        """The queries of rows."""
        if self.vectors is None:
            return Reading(self.asked).of(table, name).queries
        place = table.schema.get_field_index(self.vectors)
        x = _features(table.column(place), f"{name}: column {self.vectors!r}")
        # What the other columns are is found out with a plain feature in place of the vectors.
        plain = table.set_column(place, self.vectors, pa.array(np.zeros(table.num_rows)))
        queries = Reading(self.asked).of(plain, name).queries
        return Queries.of_parts(x, queries.supervision, queries.grouping, None, queries.doc_ids)


def _is_nested(kind: Any) -> bool:
    return kind.typeName() in ("array", "vector", "vectorudt")


def _features(column: pa.ChunkedArray, where: str) -> Any:
    """Features of vectors: CSR if one of them is sparse."""
    rows = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if rows.null_count:
        raise DataError(f"{where} has no vector in row {int(np.flatnonzero(rows.is_null())[0]) + 1} of its rows")
    if pa.types.is_struct(rows.type):
        is_sparse = rows.field("type").to_numpy(zero_copy_only=False) == 0
        if is_sparse.any():
            return _csr(rows, is_sparse, where)
        rows = rows.field("values")
    lengths = np.asarray(rows.value_lengths())
    _check_lengths(lengths, where)
    return _numbers(rows).reshape(len(lengths), int(lengths[0]) if len(lengths) else 0)


def _csr(rows: pa.StructArray, is_sparse: Any, where: str) -> Any:
    lists = rows.field("values")
    stored = np.asarray(lists.value_lengths()).astype(np.int64)
    widths = np.where(is_sparse, np.asarray(rows.field("size").fill_null(0)), stored)
    _check_lengths(widths, where)
    indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(stored)])
    indices = np.arange(indptr[-1]) - np.repeat(indptr[:-1], stored)  # as dense vectors have them
    indices[np.repeat(is_sparse, stored)] = np.asarray(rows.field("indices").flatten())
    return sp.csr_array((_numbers(lists), indices, indptr), shape=(len(stored), int(widths[0])))


def _numbers(lists: pa.ListArray) -> Any:
    flat = lists.flatten()
    kind = np.float32 if flat.type == pa.float32() else np.float64
    return flat.to_numpy(zero_copy_only=False).astype(kind, copy=False)  # what is null in an array is missing


def _check_lengths(lengths: Any, where: str) -> None:
    if len(lengths) and (other := np.flatnonzero(lengths != lengths[0])).size:
        raise DataError(
            f"{where} has vectors of {lengths[0]} features, but one of {lengths[other[0]]} in row {other[0] + 1}"
        )


def packed_partitions(frame: DataFrame, reading: FrameReading) -> RDD[bytes]:
    """The partitions of a frame as packed queries, made by Arrow."""
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema)

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for piece in worker.made(context.partitionId(), iter(batches), _read, reading, schema):
            yield pa.record_batch({"piece": pa.array([piece], pa.binary())})

    return frame.mapInArrow(pack, "piece binary").rdd.map(_piece)


def scored(frame: DataFrame, model: Any, reading: FrameReading, column: str) -> DataFrame:
    """A frame with a column of scores. A model that needs whole queries gets them one by one, by a shuffle."""
    from pyspark.sql.types import DoubleType, StructType

    if column in frame.columns:
        raise ParameterError(f"column: the frame has a column {column!r} already: name another one for the scores")
    schema = StructType([*frame.schema.fields]).add(column, DoubleType())

    def score(table: pa.Table) -> pa.Table:
        with on_this_thread():
            found = model.predict(reading.queries(table, "the frame"))
        return table.append_column(column, pa.array(found, pa.float64()))

    def score_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from score(pa.Table.from_batches([batch])).to_batches()

    formula = model.formula()
    if formula is not None and formula.filling is not None and formula.filling.by_query:
        return frame.groupBy(reading.asked.qid or QID).applyInArrow(score, schema)
    return frame.mapInArrow(score_batches, schema)


def _read(number: int, batches: Iterator[pa.RecordBatch], reading: FrameReading, schema: pa.Schema) -> Read:
    found = list(batches)  # none of a partition that is empty
    table = pa.Table.from_batches(found) if found else schema.empty_table()
    return Read(reading.queries(table, f"partition {number + 1}"))


def _piece(row: Any) -> bytes:
    return bytes(row[0])
