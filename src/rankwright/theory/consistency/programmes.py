"""What the search has of linear programmes: their matrices, and fractions near their solutions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from rankwright.theory.consistency.orders import Array, Distribution

MARGIN = 1e-7  # a margin below this is none
_LARGEST_DENOMINATOR = 10**6


def near(value: float) -> Fraction:
    """The fraction that a number of a solution probably is."""
    return Fraction(float(value)).limit_denominator(_LARGEST_DENOMINATOR)


def simplified(p: Array) -> Distribution:
    """A distribution with such fractions."""
    shares = [near(max(share, 0.0)) for share in p]
    total = sum(shares, Fraction(0))
    return tuple(share / total for share in shares)


def sparse(entries: Sequence[tuple[int, int, float]], n_rows: int, n_columns: int) -> Any:
    """A sparse matrix of (row, column, value)."""
    rows, columns, values = np.array(entries, dtype=np.float64).reshape(-1, 3).T
    return coo_array((values, (rows.astype(np.intp), columns.astype(np.intp))), shape=(n_rows, n_columns)).tocsr()
