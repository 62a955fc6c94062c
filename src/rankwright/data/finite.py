"""Features that are not finite numbers, or too large: an error that tells where the first of them is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import DataError

# Fourth powers of larger numbers, and sums of them, may be too large for float64.
_LARGEST_FEATURE = 1e70
_VALUES_PER_BLOCK = 1 << 18


def check_features(queries: Queries, what: str = "") -> None:
    """Raise a `DataError` that tells the place of the first feature that is NaN or infinite, if there is one."""
    problem = "but rankers need finite numbers, not NaN or infinity: fill in or leave out missing values first"
    _check_each(queries, lambda values: ~np.isfinite(values), what, problem)


def check_not_infinite(queries: Queries, what: str = "", *, as_float32: bool = False) -> None:
    """Raise a `DataError` that tells the place of the first infinite feature; NaN are missing values, and pass.

    ``as_float32`` counts what is infinite in float32, too.
    """
    problem = "but trees need finite numbers, or NaN where a value is missing: cap this feature"
    if as_float32:
        problem = "but XGBoost's trees need numbers of float32, or NaN where a value is missing: cap or rescale it"
    largest = np.finfo(np.float32 if as_float32 else np.float64).max
    _check_each(queries, lambda values: np.abs(values) > largest, what, problem)


def check_magnitude(queries: Queries) -> None:
    """Raise a `DataError` that tells the place of the first feature so large that sums of its powers overflow.

    NaN and infinity are for `check_features` to tell. Numbers of float32 are never so large.
    """
    if queries.X.dtype == np.float64:
        problem = f"so large that its powers overflow: rescale this feature, to values below {_LARGEST_FEATURE:g}"
        _check_each(queries, lambda values: (np.abs(values) > _LARGEST_FEATURE) & np.isfinite(values), "", problem)


def _check_each(
    queries: Queries, is_odd: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]], what: str, problem: str
) -> None:
    """Raise a `DataError` with the place of the first feature that is odd, if there is one."""
    x = queries.X
    values = x.data if sp.issparse(x) else x
    rows_at_a_time = _VALUES_PER_BLOCK if sp.issparse(x) else max(_VALUES_PER_BLOCK // max(x.shape[1], 1), 1)
    for start in range(0, len(values), rows_at_a_time):
        odd = is_odd(values[start : start + rows_at_a_time])
        if not odd.any():
            continue
        first = np.argwhere(odd)[0]
        place = start + int(first[0])
        row = int(np.searchsorted(x.indptr, place, side="right")) - 1 if sp.issparse(x) else place
        column = int(x.indices[place]) if sp.issparse(x) else int(first[1])
        raise DataError(
            f"{what}row {row} (query {queries.grouping.query_of_row(row)!r}), feature "
            f"{queries.feature_name(column)!r}: the value is {x[row, column]:g}, {problem}"
        )
