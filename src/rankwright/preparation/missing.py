"""Missing values, which are NaN in a dense array and stored NaN in CSR: where they are, and what stands for them."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.judgments.grouping import Grouping
from rankwright.types import Array

MissingName = Literal["mean", "query-mean"]
MISSING: tuple[MissingName, ...] = get_args(MissingName)

ROWS_PER_BLOCK = 8192  # that are looked at in float64 at a time, so that X is never converted as a whole


class Filling(NamedTuple):
    """What stands for a missing value of each feature: ``values``, or the mean of the query if it knows one.

    Values are those of transformed features. The mean of a query is over its documents that have the feature; where
    none has it, ``values`` stand in.
    """

    values: Array
    by_query: bool


def has_missing(x: Any) -> bool:
    """Whether any value is missing."""
    if sp.issparse(x):
        return bool(np.isnan(x.data).any())
    starts = range(0, len(x), ROWS_PER_BLOCK)
    return any(bool(np.isnan(x[start : start + ROWS_PER_BLOCK]).any()) for start in starts)


def missing_counts(x: Any) -> npt.NDArray[np.int64]:
    """How many documents lack each feature."""
    n = x.shape[1]
    if sp.issparse(x):
        return np.bincount(x.indices[np.isnan(x.data)], minlength=n)
    counts = np.zeros(n, np.int64)
    for start in range(0, len(x), ROWS_PER_BLOCK):
        counts += np.isnan(x[start : start + ROWS_PER_BLOCK]).sum(axis=0)
    return counts


def missing_within_queries(x: Any, grouping: Grouping) -> npt.NDArray[np.bool_]:
    """Whether some query has documents with the feature and documents without it: else being missing ranks nothing."""
    n, sizes = x.shape[1], np.diff(grouping.offsets)
    if sp.issparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))[np.isnan(x.data)]
        pairs, counts = np.unique(grouping.codes[rows] * n + x.indices[np.isnan(x.data)], return_counts=True)
        varies = np.zeros(n, bool)
        varies[pairs[counts < sizes[pairs // n]] % n] = True
        return varies
    columns = np.flatnonzero(missing_counts(x))
    lacking = np.add.reduceat(grouping.gather(np.isnan(x[:, columns])), grouping.offsets[:-1], axis=0, dtype=np.int64)
    varies = np.zeros(n, bool)
    varies[columns] = ((lacking > 0) & (lacking < sizes[:, None])).any(axis=0)
    return varies
