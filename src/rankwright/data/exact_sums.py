"""Sums of columns that are the same to the last bit however their rows are ordered and cut into parts."""

from __future__ import annotations

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel
from rankwright.types import Array, Columns


class ExactSums:
    """The sum of each column in twice the digits of float64: what rounding takes from a sum is added up beside it.

    Dual ascent makes differences of percents out of differences in the last digit. So what features are filled in with
    and divided by, and what a solver begins with, must not depend on where parts begin and end.
    """

    def __init__(self, n_columns: int) -> None:
        self._sums, self._lost = np.zeros(n_columns), np.zeros(n_columns)

    def add_rows(self, rows: Array) -> None:
        """Add dense rows."""
        _add_rows(rows, self._sums, self._lost)

    def add_entries(self, columns: Columns, numbers: Array) -> None:
        """Add numbers, each to its column."""
        _add_entries(columns, numbers, self._sums, self._lost)

    def __add__(self, other: ExactSums) -> ExactSums:
        """The sums of both, as engines add up what parts return."""
        total = ExactSums(len(self._sums))
        total.add_rows(np.stack([self._sums, other._sums]))
        total._lost += self._lost + other._lost
        return total

    @property
    def values(self) -> Array:
        """The sums, rounded once. Of what is not finite, nothing is lost."""
        return np.where(np.isfinite(self._sums), self._sums + self._lost, self._sums)


@inlined_kernel
def _add(number: float, column: int, sums: Array, lost: Array) -> None:
    before = sums[column]
    after = before + number
    taken = after - before
    lost[column] += (before - (after - taken)) + (number - taken)
    sums[column] = after


@kernel
def _add_rows(rows: Array, sums: Array, lost: Array) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            _add(rows[i, j], j, sums, lost)


@kernel
def _add_entries(columns: Columns, numbers: Array, sums: Array, lost: Array) -> None:
    for i in range(len(numbers)):
        _add(numbers[i], columns[i], sums, lost)
