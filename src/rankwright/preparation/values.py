"""Features after their transforms and with missing values filled in: block by block if dense, by entries if CSR."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.preparation.missing import ROWS_PER_BLOCK, Filling, missing_counts
from rankwright.preparation.transforms import Transform, Transforms
from rankwright.types import Array, Columns

Mask = npt.NDArray[np.bool_]


class Block(NamedTuple):
    """Some rows of some columns in float64, filled in, and which of them were missing (None: none were)."""

    rows: slice
    values: Array
    missing: Mask | None


def dense_blocks(
    x: npt.NDArray[Any], grouping: Grouping | None, columns: Columns, transforms: Transforms, filling: Filling | None
) -> Iterator[Block]:
    """These columns of a dense X, a few rows at a time; without ``filling``, missing values stay NaN."""
    of_rows = _fill_of_rows(x, grouping, columns, transforms, filling)
    for start in range(0, len(x), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        values = _taken(x[rows], columns, transforms)
        missing = np.isnan(values)
        if filling is None or not missing.any():
            yield Block(rows, values, None)
            continue
        values[missing] = np.broadcast_to(of_rows(rows), values.shape)[missing]
        yield Block(rows, values, missing)


def _taken(x: npt.NDArray[Any], columns: Columns, transforms: Transforms) -> Array:
    """Some columns in float64, transformed."""
    values = (x if len(columns) == x.shape[1] else x[:, columns]).astype(np.float64)
    if transforms:
        for place, column in enumerate(columns.tolist()):
            if column in transforms:
                values[:, place] = transforms[column](values[:, place])
    return values


def _fill_of_rows(
    x: npt.NDArray[Any], grouping: Grouping | None, columns: Columns, transforms: Transforms, filling: Filling | None
) -> Callable[[slice], Array]:
    """What stands for missing values of these columns in some rows: the same in all, or the means of their queries."""
    if filling is None:
        return lambda rows: np.zeros(len(columns))
    values = filling.values[columns]
    incomplete = np.flatnonzero(missing_counts(x)[columns]) if filling.by_query else np.zeros(0, np.intp)
    if len(incomplete) == 0:
        return lambda rows: values
    queries = _needed(grouping)
    means = query_means(_taken(x, columns[incomplete], transforms), queries)
    means = np.where(np.isnan(means), values[incomplete], means)

    def of_rows(rows: slice) -> Array:
        fill = np.tile(values, (len(queries.codes[rows]), 1))
        fill[:, incomplete] = means[queries.codes[rows]]
        return fill

    return of_rows


def query_means(values: Array, grouping: Grouping) -> Array:
    """The mean of each column over the documents of a query that have it (N × columns); NaN if none has."""
    together = grouping.gather(values)
    known = ~np.isnan(together)
    starts = grouping.offsets[:-1]
    counts = np.add.reduceat(known, starts, axis=0, dtype=np.int64)
    sums = np.add.reduceat(np.where(known, together, 0.0), starts, axis=0)
    means: Array = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    return means


def sparse_entries(
    x: Any, grouping: Grouping | None, transforms: Transforms, filling: Filling | None
) -> tuple[Array, Mask]:
    """The stored entries of a CSR X in float64, transformed and filled in, and which of them were missing."""
    values = x.data.astype(np.float64)
    for transform, own in _entries_of(x.indices, transforms):
        values[own] = transform(values[own])
    missing = np.isnan(values)
    if filling is not None and missing.any():
        fill = filling.values[x.indices[missing]]
        values[missing] = _sparse_query_means(x, values, missing, grouping, fill) if filling.by_query else fill
    return values, missing


def _entries_of(indices: Columns, transforms: Transforms) -> Iterator[tuple[Transform, Columns]]:
    """Each transform with the places of the entries of its column, by one sort for all of them."""
    if not transforms:
        return
    order = np.argsort(indices, kind="stable")
    columns = np.fromiter(transforms, np.intp, len(transforms))
    ends = (np.searchsorted(indices[order], columns, side) for side in ("left", "right"))
    for transform, first, last in zip(transforms.values(), *ends, strict=True):
        yield transform, order[first:last]


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
