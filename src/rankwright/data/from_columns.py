"""Columns into queries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import scipy.sparse as sp

from rankwright.data.columns import EDGE, INDICES, N_FEATURES, VALUES, Columns, Schema
from rankwright.data.queries import Features, Queries
from rankwright.data.table_cells import grades_in
from rankwright.errors import DataError, RowError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.ids import fits_fixed_width
from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision

# Columns are copied into rows by blocks of this many rows, which stay in the processor's cache meanwhile.
_BLOCK_ROWS = 4096


def build_queries(table: nw.DataFrame[Any], columns: Columns, x: Features, *, decimal_mark: str = ".") -> Queries:
    """Queries with the given features; all the rest is read from the table."""
    qid = _ids(column_of(table, columns.qid), columns.qid)
    supervision = _supervision(table, columns, qid, decimal_mark)
    doc_ids = None if columns.doc is None else _ids(column_of(table, columns.doc), columns.doc)
    return Queries(x, supervision, qid, feature_names=columns.features, doc_ids=doc_ids)


def _supervision(table: nw.DataFrame[Any], columns: Columns, qid: npt.NDArray[Any], decimal_mark: str) -> Supervision:
    name = columns.label
    if name is None:
        return Grades(np.zeros(len(qid)))
    label = column_of(table, name)
    if columns.supervision is PreferenceGraph:
        _refuse_nulls(label, name)
        return _preference_graph(label, name, Grouping(qid, len(qid)))
    if pa.types.is_string(label.type) or pa.types.is_large_string(label.type):
        label = grades_in(label, name, decimal_mark=decimal_mark)
    _refuse_nulls(label, name)
    if pa.types.is_nested(label.type) or pa.types.is_temporal(label.type):
        raise DataError(f"column {name!r} ({columns.supervision.kind}) is {label.type}, not numeric")
    numbers = floats(label, np.float64)
    return FullRanking(numbers) if columns.supervision is FullRanking else Grades(numbers)


def feature_dtype(schema: Schema, names: Iterable[str]) -> type[np.float32] | type[np.float64]:
    """float32 if every feature is, float64 otherwise."""
    return np.float32 if all(schema[name] == nw.Float32 for name in names) else np.float64


def dense_features(table: nw.DataFrame[Any], names: Sequence[str]) -> npt.NDArray[np.floating[Any]]:
    """The columns of these names as the columns of a row-major matrix."""
    dtype = feature_dtype(table.schema, names)
    matrix = np.empty((len(table), len(names)), dtype=dtype)
    fill_rows(matrix, [floats(column_of(table, name), dtype) for name in names])
    return matrix


def fill_rows(matrix: npt.NDArray[Any], columns: Sequence[npt.NDArray[Any]]) -> None:
    """Set the columns of a row-major matrix, block by block of rows: much faster than column by column."""
    for start in range(0, len(matrix), _BLOCK_ROWS):
        block = matrix[start : start + _BLOCK_ROWS]
        for j, values in enumerate(columns):
            block[:, j] = values[start : start + _BLOCK_ROWS]


def floats(column: Any, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """An Arrow column of numbers or booleans as a NumPy array, without a copy where possible; null is NaN."""
    wanted = pa.from_numpy_dtype(dtype)
    numbers = column if column.type == wanted else column.cast(wanted, safe=False)
    return np.asarray(numbers.to_numpy(zero_copy_only=False))


def csr_features(table: nw.DataFrame[Any], n_features: int) -> sp.csr_array:
    """The CSR features whose rows are the lists in ``indices`` and ``values``, checked."""
    indices, lengths = _lists(column_of(table, INDICES), INDICES)
    values, value_lengths = _lists(column_of(table, VALUES), VALUES)
    uneven = lengths != value_lengths
    if uneven.any():
        row = int(np.argmax(uneven))
        raise DataError(f"row {row} has {lengths[row]} {INDICES} but {value_lengths[row]} {VALUES}")
    if indices.null_count or not (pa.types.is_integer(indices.type) or len(indices) == 0):
        raise DataError(f"column {INDICES!r} must hold lists of whole numbers without nulls, not of {indices.type}")
    if len(values) and not _are_numbers(values):
        raise DataError(f"column {VALUES!r} must hold lists of numbers, not of {values.type}")
    columns = np.asarray(indices.to_numpy(zero_copy_only=False))
    if columns.dtype != np.int32:
        columns = columns.astype(np.int64)
    outside = (columns < 0) | (columns >= n_features)
    if outside.any():
        entry = int(np.argmax(outside))
        row = int(np.searchsorted(np.cumsum(lengths), entry, side="right"))
        raise DataError(
            f"row {row} has a value for feature {columns[entry]}, but features go from 0 to {n_features - 1}"
        )
    dtype = np.float32 if values.type == pa.float32() else np.float64
    row_ends = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sp.csr_array((floats(values, dtype), columns, row_ends), shape=(len(lengths), n_features))
    if not matrix.has_canonical_format:
        matrix = matrix.copy()  # the arrays may be Arrow's own
        matrix.sum_duplicates()
    return matrix


def number_of_features(table: nw.DataFrame[Any]) -> int:
    """The one value of the column ``n_features``; a frame without rows has no features."""
    column = column_of(table, N_FEATURES)
    numbers = column.unique().to_pylist()
    if len(numbers) > 1 or not all(isinstance(number, int) and number >= 0 for number in numbers):
        raise DataError(f"column {N_FEATURES!r} must hold one whole number, the same in every row")
    return numbers[0] if numbers else 0


def _preference_graph(column: Any, name: str, grouping: Grouping) -> PreferenceGraph:
    edges, lengths = _lists(column, name)
    preferred = np.repeat(np.arange(len(lengths)), lengths)
    if len(edges) == 0:
        return PreferenceGraph(len(lengths), preferred, preferred)
    if not pa.types.is_struct(edges.type) or {field.name for field in edges.type} != {field.name for field in EDGE}:
        raise DataError(f"column {name!r} must hold lists of structs {{document, weight}}, not {column.type}")
    document, weight = (edges.field(field.name) for field in EDGE)
    if not pa.types.is_integer(document.type) or document.null_count or edges.null_count or not _are_numbers(weight):
        raise DataError(
            f"column {name!r}: every edge needs a document, the position of a row among its query's rows, "
            "and a weight, a number"
        )
    position = document.to_numpy(zero_copy_only=False).astype(np.int64)
    query = grouping.codes[preferred]
    outside = (position < 0) | (position >= np.diff(grouping.offsets)[query])
    if outside.any():
        edge = int(np.argmax(outside))
        raise DataError(
            f"row {preferred[edge]}: column {name!r} names document {position[edge]} of query "
            f"{grouping.query_of_row(int(preferred[edge]))!r}, which has documents 0 to "
            f"{np.diff(grouping.offsets)[query[edge]] - 1}"
        )
    other = grouping.gather(np.arange(len(lengths)))[grouping.offsets[query] + position]
    return PreferenceGraph(len(lengths), preferred, other, floats(weight, np.float64))


def _lists(column: Any, name: str) -> tuple[Any, npt.NDArray[np.int64]]:
    """The items of a column of lists, one after the other, and the length of each list."""
    _refuse_nulls(column, name)
    if pa.types.is_null(column.type):  # pandas knows no type of a column without rows
        return pa.array([], pa.float32()), np.zeros(0, np.int64)
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise DataError(f"column {name!r} must hold lists, not {column.type}")
    return column.flatten(), column.value_lengths().to_numpy(zero_copy_only=False).astype(np.int64)


def _are_numbers(items: Any) -> bool:
    return bool(pa.types.is_floating(items.type) or pa.types.is_integer(items.type))


def _ids(column: Any, name: str) -> npt.NDArray[Any]:
    """Query or document ids as an array; equal strings are made only once."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    _refuse_nulls(column, name)
    if pa.types.is_nested(column.type):
        raise DataError(f"column {name!r} holds {column.type}: ids must be single values")
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    encoded = column.dictionary_encode()
    distinct = encoded.dictionary.to_numpy(zero_copy_only=False)
    rows = encoded.indices.to_numpy()
    lengths = np.fromiter(map(len, distinct), np.int64, len(distinct))
    if fits_fixed_width(int(lengths.max(initial=0)), int(lengths[rows].sum()), len(rows)):
        distinct = distinct.astype(np.str_)
    return np.asarray(distinct[rows])


def column_of(table: nw.DataFrame[Any], name: str) -> Any:
    """A column as one Arrow array."""
    try:
        column = table.get_column(name).to_arrow()
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    except (pa.ArrowException, TypeError) as error:
        raise DataError(f"column {name!r} is not a column of one plain type: {error}") from None


def _refuse_nulls(column: Any, name: str) -> None:
    if column.null_count:
        row = int(np.argmax(column.is_null().to_numpy(zero_copy_only=False)))
        raise RowError(row, f"there is no value in column {name!r}: give it one, or drop the row")
