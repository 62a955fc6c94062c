"""What the search has of linear programmes: their matrices, and fractions near their solutions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import coo_array

from rankwright.theory.consistency.elimination import solution
from rankwright.theory.consistency.orders import Distribution, Number
from rankwright.types import Array

MARGIN = 1e-7  # a margin below this is none
_LARGEST_DENOMINATOR = 10**6
_DEPENDENT = 1e-9  # rows that differ from others by no more, as a share, say nothing new


def near(value: float | Fraction, largest_denominator: int = _LARGEST_DENOMINATOR) -> Fraction:
    """The fraction that a number of a solution probably is."""
    return Fraction(value).limit_denominator(largest_denominator)


def simplified(p: Iterable[float | Fraction], largest_denominator: int = _LARGEST_DENOMINATOR) -> Distribution | None:
    """A distribution with such fractions; None if all of them are 0."""
    shares = [near(max(share, 0), largest_denominator) for share in p]
    total = sum(shares, Fraction(0))
    return tuple(share / total for share in shares) if total else None


def exact_distribution(p: Array, zeros: Sequence[Sequence[Number]], *, is_exact: bool) -> Distribution:
    """The distribution near p with the same support at which these linear functions are 0, if that is a single one.

    If the functions are known in floating point only, it is as near to that as floating point is.
    """
    support = np.flatnonzero(p > MARGIN).tolist()
    rows = [[Fraction(1)] * len(support), *([row[k] for k in support] for row in zeros)]
    if is_exact:
        found = solution(rows, [Fraction(1)] + [Fraction(0)] * len(zeros))
    else:
        matrix, right = np.array(rows, dtype=np.float64), np.append(1.0, np.zeros(len(zeros)))
        nearest = p[support] + np.linalg.lstsq(matrix, right - matrix @ p[support], rcond=_DEPENDENT)[0]
        found = [Fraction(share) / sum(map(Fraction, nearest.tolist())) for share in nearest.tolist()]
    if found is None or min(found) < 0:
        simple = simplified(p.tolist())
        assert simple is not None
        return simple
    shares = dict(zip(support, found, strict=True))
    return tuple(shares.get(k, Fraction(0)) for k in range(len(p)))


def on_kernel(x: Array, rows: Sequence[Sequence[Fraction]]) -> Array:
    """The point nearest to x at which rows · x = 0."""
    if not rows:
        return x
    matrix = np.array(rows, dtype=np.float64)
    nearest: Array = x - np.linalg.lstsq(matrix, matrix @ x, rcond=_DEPENDENT)[0]
    return nearest


def sparse(entries: Sequence[tuple[int, int, float]], n_rows: int, n_columns: int) -> Any:
    """A sparse matrix of (row, column, value)."""
    rows, columns, values = np.array(entries, dtype=np.float64).reshape(-1, 3).T
    return coo_array((values, (rows.astype(np.intp), columns.astype(np.intp))), shape=(n_rows, n_columns)).tocsr()
