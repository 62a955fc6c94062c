"""Data frames of Spark, by Arrow: columns that are a feature each, or one column of vectors or arrays."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.errors import PySparkException

from rankwright.clusters.loading import Read, Reading
from rankwright.data.columns import INDICES, N_FEATURES, VALUES, choose_columns, numeric_features
from rankwright.data.frames import as_narwhals
from rankwright.data.queries import Queries
from rankwright.data.table_columns import FeatureColumn, TableColumns
from rankwright.data.table_features import tell_left_out
from rankwright.errors import DataError, ParameterError
from rankwright.machine.threads import on_this_thread
from rankwright.spark import worker

if TYPE_CHECKING:
    from pyspark import RDD
    from pyspark.sql import Column, DataFrame

_VECTORS = "features"  # what Spark's own learners call the column of vectors
_NAME = "the frame"


@dataclass(frozen=True)
class FrameReading:
    """How rows of a frame become queries.

    ``vectors`` is the column that has all features, if one has; ``columns`` are those that are read, and ``qid`` is the
    one of them that has query ids.
    """

    asked: TableColumns
    vectors: str | None
    columns: tuple[str, ...]
    qid: str

    @classmethod
    def of(cls, frame: DataFrame, asked: TableColumns, features: str | Sequence[str] | None) -> FrameReading:
        """By the types of the columns, which are the same in all partitions: what is left out is told here."""
        if twice := [name for name, count in Counter(frame.columns).items() if count > 1]:
            raise DataError(f"{_NAME}: two columns are named {twice[0]!r}: rename or drop one of them")
        kinds = {field.name: field.dataType for field in frame.schema.fields}
        asked, vectors = _with_features(kinds, asked, features)
        try:
            return cls._of_kinds(kinds, asked, vectors)
        except DataError as error:
            raise DataError(f"{_NAME}: {error}") from None

    @classmethod
    def _of_kinds(cls, kinds: Mapping[str, Any], asked: TableColumns, vectors: str | None) -> FrameReading:
        schema = as_narwhals(_arrow_schema(kinds).empty_table()).schema
        columns, chosen = choose_columns(schema, asked)
        _check_ids(columns.qid, kinds[columns.qid])
        used = {columns.qid, columns.label, columns.doc}
        if columns.sparse:
            used |= {INDICES, VALUES, N_FEATURES}
        elif vectors is not None:
            used.add(vectors)
            _check_vectors(vectors, kinds[vectors])
        else:
            found, left_out = numeric_features(schema, [each for each in chosen if not _is_read_anyway(each)])
            tell_left_out(left_out, f"{_NAME}: ")
            kept = [each for each in chosen if each.column in found or _is_read_anyway(each)]
            used.update(each.column for each in kept)
            if not asked.exact:
                asked = replace(asked, features=tuple(chain.from_iterable(map(_words, kept))))
        return cls(asked, vectors, tuple(name for name in kinds if name in used), columns.qid)

    def queries(self, table: pa.Table, name: str) -> Queries:
        """The queries of rows that have the columns which are read."""
        if self.vectors is None:
            return Reading(self.asked).queries(table, name)
        place = table.schema.get_field_index(self.vectors)
        x = _features(table.column(place), f"{name}: column {self.vectors!r}")
        # What the other columns are is found out with a plain feature in place of the vectors.
        plain = table.set_column(place, self.vectors, pa.array(np.zeros(table.num_rows)))
        queries = Reading(self.asked).queries(plain, name)
        return Queries.of_parts(x, queries.supervision, queries.grouping, None, queries.doc_ids)


def _with_features(
    kinds: Mapping[str, Any], asked: TableColumns, features: str | Sequence[str] | None
) -> tuple[TableColumns, str | None]:
    """What is asked for with the features, and which column has all of them, if one has."""
    nested = [name for name, kind in kinds.items() if _is_nested(kind)]
    if features is None:
        vectors = _VECTORS if _VECTORS in nested else None
        return (asked if vectors is None else replace(asked, features=(vectors,))), vectors
    named = (features,) if isinstance(features, str) else tuple(features)
    found = [name for name in named if name in nested]
    if found and len(named) > 1:
        raise ParameterError(
            f"features: column {found[0]!r} has vectors, so it has to be the only one; {len(named)} are named"
        )
    return replace(asked, features=named), found[0] if found else None


def _is_nested(kind: Any) -> bool:
    return kind.typeName() in ("array", "vector", "vectorudt")


def _arrow_schema(kinds: Mapping[str, Any]) -> pa.Schema:
    return pa.schema([(name, _arrow_type(kind)) for name, kind in kinds.items()])


def _arrow_type(kind: Any) -> pa.DataType:
    """The type that columns of a type of Spark have in memory, as far as that matters for what they can be."""
    from pyspark.sql.pandas.types import to_arrow_type
    from pyspark.sql.types import ArrayType, MapType, NullType, StructType, TimestampType

    if isinstance(kind, ArrayType):
        return pa.list_(_arrow_type(kind.elementType))
    if isinstance(kind, MapType):
        return pa.list_(pa.struct(_arrow_schema({"key": kind.keyType, "value": kind.valueType})))
    if isinstance(kind, StructType):
        return pa.struct(_arrow_schema({field.name: field.dataType for field in kind.fields}))
    if isinstance(kind, TimestampType):
        return pa.timestamp("us", "UTC")
    if isinstance(kind, NullType):
        return pa.float64()
    try:
        return to_arrow_type(kind)
    except PySparkException:
        return pa.month_day_nano_interval()  # the only plain type that Spark does not give to Arrow


def _is_read_anyway(each: FeatureColumn) -> bool:
    """Whether the user names the column itself, which may be numbers as text, or a value of it."""
    return each.is_named or each.values is not None


def _words(each: FeatureColumn) -> list[str]:
    """What to ask for to get a column that was chosen."""
    return [each.column] if each.values is None else [f"{each.column}={value}" for value in each.values]


def _check_ids(name: str, kind: Any) -> None:
    if kind.typeName() == "binary" or "interval" in kind.typeName():
        raise DataError(
            f"column {name!r} (qid) is {kind.simpleString()}: query ids are numbers, text or dates: cast it to a string"
        )


def _check_vectors(name: str, kind: Any) -> None:
    from pyspark.sql.types import ArrayType, BooleanType, NullType, NumericType

    if isinstance(kind, ArrayType) and not isinstance(kind.elementType, NumericType | BooleanType | NullType):
        raise DataError(f"column {name!r} is {kind.simpleString()}: features are arrays of numbers")


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
    plain = _plainly_named(frame)
    places = [frame.columns.index(name) for name in reading.columns]
    chosen = plain.select(*(_readable(plain, place, frame.columns[place] == reading.qid) for place in places))
    schema = _arrow_schema({field.name: field.dataType for field in chosen.schema.fields})

    def pack(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        for piece in worker.made(context.partitionId(), iter(batches), _read, reading, schema):
            yield pa.record_batch({"piece": pa.array([piece], pa.binary())})

    return chosen.mapInArrow(pack, "piece binary").rdd.map(_piece)


def _plainly_named(frame: DataFrame) -> DataFrame:
    """The frame with names that Spark takes for nothing else: dots, backticks and capitals mean something to it."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def _readable(frame: DataFrame, place: int, has_ids: bool) -> Column:
    """A column; dates and times that are ids as Spark writes them."""
    field = frame.schema.fields[place]
    column = frame[field.name]
    is_date = field.dataType.typeName() in ("date", "timestamp", "timestamp_ntz", "time")
    return column.cast("string").alias(field.name) if has_ids and is_date else column


def scored(frame: DataFrame, model: Any, reading: FrameReading, column: str) -> DataFrame:
    """A frame with a column of scores. A model that needs whole queries gets them one by one, by a shuffle."""
    from pyspark.sql.types import DoubleType, StructType

    if column in frame.columns:
        raise ParameterError(f"column: the frame has a column {column!r} already: name another one for the scores")
    names, plain = frame.columns, _plainly_named(frame)
    schema = StructType([*plain.schema.fields]).add("score", DoubleType())

    def score(table: pa.Table) -> pa.Table:
        read = table.rename_columns(names).select(reading.columns)
        with on_this_thread():
            found = model.predict(reading.queries(read, _NAME))
        return table.append_column("score", pa.array(found, pa.float64()))

    def score_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from score(pa.Table.from_batches([batch])).to_batches()

    formula = model.formula()
    if formula is not None and formula.filling is not None and formula.filling.by_query:
        found = plain.groupBy(plain.columns[names.index(reading.qid)]).applyInArrow(score, schema)
    else:
        found = plain.mapInArrow(score_batches, schema)
    return found.toDF(*names, column)


def _read(number: int, batches: Iterator[pa.RecordBatch], reading: FrameReading, schema: pa.Schema) -> Read:
    found = list(batches)  # none of a partition that is empty
    table = pa.Table.from_batches(found) if found else schema.empty_table()
    name = f"partition {number + 1}"
    table = _with_whole_ids(table.rename_columns(list(reading.columns)), reading.qid, name)
    return Read(reading.queries(table, name)).with_digest()


def _with_whole_ids(table: pa.Table, qid: str, name: str) -> pa.Table:
    """Query ids that are decimals as the whole numbers that they are: databases have whole numbers as decimals."""
    place = table.schema.get_field_index(qid)
    if not pa.types.is_decimal(table.schema.types[place]):
        return table
    try:
        return table.set_column(place, qid, table.column(place).cast(pa.int64()))
    except pa.ArrowInvalid as error:
        raise DataError(
            f"{name}: column {qid!r} (qid) has decimals that are no whole numbers of at most 18 digits ({error}): cast "
            "it to a string"
        ) from None


def _piece(row: Any) -> bytes:
    return bytes(row[0])
