"""The columns of a table that are features, as numbers; text among them is encoded or left out, and that is told."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from rankwright.data.columns import is_numeric, kind_of, not_numbers
from rankwright.data.from_columns import column_of, fill_rows, floats
from rankwright.data.one_hot import encoded
from rankwright.data.table_cells import numbers_in
from rankwright.data.table_columns import FeatureColumn
from rankwright.errors import DataError

# Of columns that are left out, so many are named.
_MOST_NAMED = 5


@dataclass(frozen=True)
class TableFeatures:
    """Features with their names, and the columns that are none, each with what is known of it."""

    x: npt.NDArray[np.floating[Any]]
    names: tuple[str, ...]
    left_out: dict[str, str]


def table_features(
    table: nw.DataFrame[Any], chosen: Iterable[FeatureColumn], *, decimal_mark: str = "."
) -> TableFeatures:
    """The chosen columns of a table as one matrix: float32 if all that are numbers are, float64 otherwise."""
    columns: list[tuple[str, Any]] = []
    left_out: dict[str, str] = {}
    for each in chosen:
        if each.values is not None:
            columns += encoded(column_of(table, each.column), each.column, each.values)
            continue
        numbers = _numbers(table, each.column, decimal_mark)
        if numbers is not None:
            columns.append((each.column, numbers))
        elif each.is_named or table.schema[each.column].is_nested():
            raise DataError(not_numbers(each.column, table.schema[each.column]))
        else:
            left_out[each.column] = _described(table, each.column)
    single = all(values.dtype == np.float32 if isinstance(values, np.ndarray) else values.type == pa.float32()
                 for _, values in columns)  # fmt: skip
    dtype = np.float32 if single else np.float64
    x = np.empty((len(table), len(columns)), dtype)
    fill_rows(x, [values if isinstance(values, np.ndarray) else floats(values, dtype) for _, values in columns])
    return TableFeatures(x, tuple(name for name, _ in columns), left_out)


def _numbers(table: nw.DataFrame[Any], name: str, decimal_mark: str) -> Any:
    """A column of numbers, booleans, or text that is numbers; None for any other."""
    dtype = table.schema[name]
    if is_numeric(dtype):
        return column_of(table, name)
    if dtype not in (nw.String, nw.Object, nw.Unknown):
        return None
    column = column_of(table, name)
    if pa.types.is_null(column.type):
        return column.cast(pa.float64())
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return numbers_in(column, name, decimal_mark=decimal_mark)
    if pa.types.is_nested(column.type):
        raise DataError(not_numbers(name, dtype))
    return None if pa.types.is_temporal(column.type) or pa.types.is_binary(column.type) else column


def _described(table: nw.DataFrame[Any], name: str) -> str:
    kind = kind_of(table.schema[name])
    with suppress(Exception):  # what cannot be compared cannot be counted, whichever library says so
        count = int(table.get_column(name).n_unique())
        return f"{kind}, {count:,} distinct value{'s' * (count != 1)}"
    return kind


def tell_left_out(left_out: dict[str, str], where: str = "") -> None:
    """Warn of columns that are no features."""
    if not left_out:
        return
    told = [f"{name!r} ({kind})" for name, kind in list(left_out.items())[:_MOST_NAMED]]
    more = len(left_out) - len(told)
    which = f"{', '.join(told)}{f' and {more} more' if more else ''}"
    count = "1 column that is" if len(left_out) == 1 else f"{len(left_out)} columns that are"
    warnings.warn(
        f"{where}left out {count} not numeric: {which}. To use one, encode it by its values with --one-hot (one_hot=); "
        "document ids are named with --doc (doc=)",
        stacklevel=2,
    )
