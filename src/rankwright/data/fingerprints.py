"""Fingerprints of queries: those that a ranker has seen are known again, whatever their file, ids or order."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.judgments.supervision import Grades

Fingerprints = npt.NDArray[np.uint64]

_SKETCHED = 256
_DIGITS = 16
_VALUES_AT_A_TIME = 1 << 15


def query_fingerprints(queries: AnyQueries) -> Fingerprints:
    """A number for each query, from its grades and the features of two of its documents; ascending.

    The two are those that lie farthest apart along a direction that is the same for all queries, so that the order of
    documents does not matter. Features count as float32, those that are 0 not at all, and all missing ones alike, so
    that text, CSR and frames give the same. A query without any feature in these two documents has nothing to be
    known by, and no number.
    """
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *each_part(queries, _of_part)]))


def _of_part(queries: Queries) -> Fingerprints:
    along = _along_a_direction(queries.X)
    top, bottom = (_of_rows(queries.X, _first_greatest(values, queries)) for values in (along, -along))
    numbers = mixed(top + mixed(bottom + _of_grades(queries)))
    known: Fingerprints = numbers[(top != 0) | (bottom != 0)]
    return known


def _along_a_direction(x: Any) -> npt.NDArray[np.float64]:
    """x · v for each row, with v between −1 and 1; a missing feature counts as 0, and so does a row that is not finite.

    If rows with a missing feature were all alike, the choice among them would depend on their order.
    """
    with np.errstate(all="ignore"):
        if sp.issparse(x):  # v may be far longer than all that is stored
            row = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
            products = _without_nan(x.data) * _direction(x.indices)
            along = np.bincount(row, products, minlength=x.shape[0]).astype(np.float64, copy=False)
        else:
            direction = _direction(np.arange(x.shape[1])).astype(x.dtype)
            along = (x @ direction).astype(np.float64)
            with_nan = np.flatnonzero(np.isnan(along))
            step = max(1, _VALUES_AT_A_TIME // max(1, x.shape[1]))
            for start in range(0, len(with_nan), step):
                rows = with_nan[start : start + step]
                along[rows] = _without_nan(x[rows]) @ direction
    along[~np.isfinite(along)] = 0.0
    return along


def _without_nan(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return np.where(np.isnan(values), values.dtype.type(0), values)


def _direction(columns: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    direction: npt.NDArray[np.float64] = (mixed(columns.astype(np.uint64)) >> np.uint64(11)) / 2.0**52 - 1
    return direction


def _first_greatest(values: npt.NDArray[np.float64], queries: Queries) -> npt.NDArray[Any]:
    """Of each query, the row with the greatest value; of equal ones the first."""
    grouping = queries.grouping
    if queries.n_queries == 0:
        return np.zeros(0, np.intp)
    values, starts = grouping.gather(values), grouping.offsets[:-1]
    is_greatest = values == np.repeat(np.maximum.reduceat(values, starts), queries.sizes)
    places = np.flatnonzero(is_greatest)
    places = places[np.searchsorted(places, starts)]
    return places if grouping.order is None else grouping.order[places]


def _of_rows(x: Any, rows: npt.NDArray[Any]) -> Fingerprints:
    """Σ over the features of a row that are not 0; 0 if there are none. A few rows at a time stay in the cache."""
    n_values = x.nnz if sp.issparse(x) else x.size
    step = max(1, _VALUES_AT_A_TIME * x.shape[0] // max(1, n_values))
    sums = np.empty(len(rows), np.uint64)
    for start in range(0, len(rows), step):
        few = slice(start, start + step)
        sums[few] = _of_few_rows(x[rows[few]])
    return sums


def _of_few_rows(taken: Any) -> Fingerprints:
    is_sparse = sp.issparse(taken)
    columns = taken.indices if is_sparse else np.arange(taken.shape[1])
    with np.errstate(over="ignore"):
        values = (taken.data if is_sparse else taken).astype(np.float32)
    values[np.isnan(values)] = np.nan  # whose bits may differ
    numbers = mixed(values.view(np.uint32) ^ mixed(columns.astype(np.uint64)))
    numbers[values == 0] = 0
    sums: Fingerprints = _sums(numbers, taken.indptr) if is_sparse else numbers.sum(axis=1, dtype=np.uint64)
    return sums


def _of_grades(queries: Queries) -> Fingerprints:
    """Σ over the documents of a query, of their grades; 0 if there are no grades."""
    if not isinstance(queries.supervision, Grades):
        return np.zeros(queries.n_queries, np.uint64)
    grades = queries.grouping.gather(queries.y) + 0.0  # not −0
    return _sums(mixed(grades.view(np.uint64)), queries.grouping.offsets)


def _sums(numbers: Fingerprints, ends: npt.NDArray[Any]) -> Fingerprints:
    """Σ numbers[ends[i]:ends[i + 1]], modulo 2⁶⁴."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(numbers, dtype=np.uint64)])
    between: Fingerprints = sums[ends[1:]] - sums[ends[:-1]]
    return between


def mixed(numbers: Any) -> Fingerprints:
    """Numbers of 64 bits such that every bit depends on every bit of those given (SplitMix64)."""
    mixed: Fingerprints = (numbers + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64, copy=False)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def sketch_of(numbers: Fingerprints) -> str:
    """The least of the fingerprints as hexadecimal digits: few enough for a file.

    They are a random sample of the queries. So if a share p of all queries comes again, one of n does with
    probability 1 − (1 − p)ⁿ: of 256 with 0.92 for a hundredth of the queries. Of up to 256 queries, all are kept.
    """
    return "".join(f"{number:0{_DIGITS}x}" for number in np.unique(numbers)[:_SKETCHED].tolist())


def sketched(text: str) -> Fingerprints:
    """The fingerprints of a sketch; a ValueError if it is none."""
    return np.frombuffer(bytes.fromhex(text), ">u8").astype(np.uint64)
