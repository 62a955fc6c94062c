"""Features after their transforms and with missing values filled in: block by block if dense, by entries if CSR."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.grouping import Grouping
from rankwright.errors import DataError
from rankwright.preparation.missing import Filling
from rankwright.preparation.transforms import Transforms

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

_ROWS_PER_BLOCK = 8192


class Block(NamedTuple):
    """Some rows of some columns in float64, filled in, and which of them were missing (None: none were)."""

    rows: slice
    values: Array
    missing: Mask | None


def dense_blocks(
    x: npt.NDArray[Any], grouping: Grouping | None, columns: Columns, transforms: Transforms, filling: Filling | None
) -> Iterator[Block]:
    """These columns of a dense X, a few rows at a time; without ``filling``, missing values stay NaN."""
    is_every = len(columns) == x.shape[1]
    means = None
    if filling is not None and filling.by_query:
        means = _query_means(x, grouping, columns, transforms, filling.values)
    for start in range(0, len(x), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        values = (x[rows] if is_every else x[rows, columns]).astype(np.float64)
        for place, column in enumerate(columns.tolist()):
            if column in transforms:
                values[:, place] = transforms[column](values[:, place])
        missing = np.isnan(values)
        if filling is None or not missing.any():
            yield Block(rows, values, None)
            continue
        if means is None or grouping is None:
            fill = np.broadcast_to(filling.values[columns], values.shape)
        else:
            fill = means[grouping.codes[rows]]
        values[missing] = fill[missing]
        yield Block(rows, values, missing)


def _query_means(
    x: npt.NDArray[Any], grouping: Grouping | None, columns: Columns, transforms: Transforms, otherwise: Array
) -> Array | None:
    """The mean of each column over the documents of a query that have it (N × columns); ``otherwise`` if none has.

    None if nothing is missing.
    """
    incomplete = [place for place, column in enumerate(columns.tolist()) if np.isnan(x[:, column]).any()]
    if not incomplete:
        return None
    known_queries = _needed(grouping)
    n_queries = len(known_queries.offsets) - 1
    means = np.tile(otherwise[columns], (n_queries, 1))
    for place in incomplete:
        column = int(columns[place])
        values = x[:, column].astype(np.float64)
        values = transforms[column](values) if column in transforms else values
        known = ~np.isnan(values)
        codes = known_queries.codes[known]
        counts, sums = np.bincount(codes, minlength=n_queries), np.bincount(codes, values[known], minlength=n_queries)
        np.divide(sums, counts, out=means[:, place], where=counts > 0)
    return means


def sparse_entries(
    x: Any, grouping: Grouping | None, transforms: Transforms, filling: Filling | None
) -> tuple[Array, Mask]:
    """The stored entries of a CSR X in float64, transformed and filled in, and which of them were missing."""
    values = x.data.astype(np.float64)
    for column, transform in transforms.items():
        own = x.indices == column
        values[own] = transform(values[own])
    missing = np.isnan(values)
    if filling is not None and missing.any():
        fill = filling.values[x.indices[missing]]
        values[missing] = _sparse_query_means(x, values, missing, grouping, fill) if filling.by_query else fill
    return values, missing


def _sparse_query_means(x: Any, values: Array, missing: Mask, grouping: Grouping | None, otherwise: Array) -> Array:
    """For each missing entry, the mean of its column over the documents of its query that have it, zeros included."""
    known_queries = _needed(grouping)
    rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
    cell = known_queries.codes[rows].astype(np.int64) * x.shape[1] + x.indices
    cells, of_entry, lacking = np.unique(cell[missing], return_inverse=True, return_counts=True)
    place = np.searchsorted(cells, cell[~missing])
    is_one = (place < len(cells)) & (cells[np.minimum(place, len(cells) - 1)] == cell[~missing])
    sums = np.bincount(place[is_one], values[~missing][is_one], minlength=len(cells))
    having = np.diff(known_queries.offsets)[cells // x.shape[1]] - lacking
    return np.where(having[of_entry] > 0, sums[of_entry] / np.maximum(having[of_entry], 1), otherwise)


def _needed(grouping: Grouping | None) -> Grouping:
    if grouping is None:
        raise DataError(
            "the model fills in a missing value by the mean of its query, so it must know the queries: "
            "give Queries, or rows with qid"
        )
    return grouping
