"""Columns of text as features: one for each value, 1 where the column has it and 0 elsewhere (one-hot)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rankwright.errors import DataError

MOST_VALUES = 1000
_MOST_BYTES = 4_000_000_000


def encoded(column: Any, name: str, values: Sequence[str]) -> list[tuple[str, npt.NDArray[np.float32]]]:
    """The features ``name=value`` of an Arrow column: of these values, or of all that occur, sorted.

    A value that is missing is one of its own, ``name=``. One that is not among ``values``, since training data did not
    have it, is 0 in all features.
    """
    codes = as_text(column, name).dictionary_encode()
    seen = codes.dictionary.to_pylist()
    if not values and len(seen) > MOST_VALUES:
        raise DataError(
            f"column {name!r} has {len(seen):,} distinct values, but at most {MOST_VALUES:,} are one-hot encoded: "
            "group them into fewer, or leave the column out"
        )
    wanted = values or sorted(seen)
    if len(wanted) * len(codes) * np.dtype(np.float32).itemsize > _MOST_BYTES:
        raise DataError(
            f"column {name!r} has {len(wanted):,} values in {len(codes):,} rows, which takes more than "
            f"{_MOST_BYTES / 1e9:.0f} GB one-hot encoded: group them into fewer, or leave the column out"
        )
    code_of = {value: code for code, value in enumerate(seen)}
    of_row = codes.indices.to_numpy(zero_copy_only=False)
    return [(f"{name}={value}", (of_row == code_of.get(value, -1)).astype(np.float32)) for value in wanted]


def as_text(column: Any, name: str) -> Any:
    """An Arrow column of any plain type as text; a missing value is empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        raise DataError(f"column {name!r} holds {column.type}: only single values are one-hot encoded")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), None, column)
    return pc.fill_null(column.cast(pa.large_string()), "")
