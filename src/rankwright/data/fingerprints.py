"""Fingerprints of queries: those that a ranker has seen are known again, whatever their file, order or ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.supervision import Grades

Fingerprints = npt.NDArray[np.uint64]

_SKETCHED = 32
_DIGITS = 16
_VALUES_AT_A_TIME = 1 << 15


def query_fingerprints(queries: Queries) -> Fingerprints:
    """A number for each query, from its grades and the features of its first and its last document; ascending.

    Features count as float32 and those that are 0 not at all, so that text, CSR and frames give the same. A query
    without any feature in these two documents has nothing to be known by, and no number.
    """
    grouping = queries.grouping
    first, last = grouping.offsets[:-1], grouping.offsets[1:] - 1
    if grouping.order is not None:
        first, last = grouping.order[first], grouping.order[last]
    top, bottom = _of_rows(queries.X, first), _of_rows(queries.X, last)
    numbers = _mixed(top + _mixed(bottom + _of_grades(queries)))
    return np.unique(numbers[(top != 0) | (bottom != 0)])


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
    numbers = _mixed(values.view(np.uint32) ^ _mixed(columns.astype(np.uint64)))
    numbers[values == 0] = 0
    sums: Fingerprints = _sums(numbers, taken.indptr) if is_sparse else numbers.sum(axis=1, dtype=np.uint64)
    return sums


def _of_grades(queries: Queries) -> Fingerprints:
    """Σ over the documents of a query, of their grades and places; 0 if there are no grades."""
    if not isinstance(queries.supervision, Grades):
        return np.zeros(queries.n_queries, np.uint64)
    offsets = queries.grouping.offsets
    grades = queries.grouping.gather(queries.y) + 0.0  # not −0
    places = np.arange(len(grades)) - np.repeat(offsets[:-1], np.diff(offsets))
    return _sums(_mixed(grades.view(np.uint64) ^ _mixed(places.astype(np.uint64))), offsets)


def _sums(numbers: Fingerprints, ends: npt.NDArray[Any]) -> Fingerprints:
    """Σ numbers[ends[i]:ends[i + 1]], modulo 2⁶⁴."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(numbers, dtype=np.uint64)])
    between: Fingerprints = sums[ends[1:]] - sums[ends[:-1]]
    return between


def _mixed(numbers: Any) -> Fingerprints:
    """Numbers of 64 bits such that every bit depends on every bit of those given (SplitMix64)."""
    mixed: Fingerprints = (numbers + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64, copy=False)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def sketch_of(numbers: Fingerprints) -> str:
    """The least of the fingerprints as hexadecimal digits: few enough for a file.

    They are a random sample of the queries. So if a share p of all queries comes again, one of n does with
    probability 1 − (1 − p)ⁿ: of 32 with 0.97 for a tenth of the queries, and always for all of them.
    """
    return "".join(f"{number:0{_DIGITS}x}" for number in np.unique(numbers)[:_SKETCHED].tolist())


def sketched(text: str) -> Fingerprints:
    """The fingerprints of a sketch; a ValueError if it is none."""
    return np.frombuffer(bytes.fromhex(text), ">u8").astype(np.uint64)
