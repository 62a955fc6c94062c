"""Sums of columns that are the same to the last bit however their rows are ordered and cut into parts."""

from __future__ import annotations

import math

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel
from rankwright.types import Array, Columns


def doubled_sum(numbers: Array) -> DoubledSums:
    """The sum of all these numbers."""
    total = DoubledSums(1)
    total.add_rows(numbers.reshape(-1, 1))
    return total


class DoubledSums:
    """The sum of each column in twice the digits of float64: what rounding takes from a sum is added up beside it.

    Dual ascent and long line searches make differences of percents out of differences in the last digit. So what
    features are filled in with and divided by, and what solvers of structured losses sum up, must not depend on where
    parts begin and end. ``arrays`` are both, for kernels that `add_doubled`.
    """

    def __init__(self, n_columns: int) -> None:
        self._sums, self._lost = self.arrays = np.zeros((2, n_columns))

    def add_rows(self, rows: Array) -> None:
        """Add dense rows."""
        _add_rows(rows, self._sums, self._lost)

    def add_entries(self, columns: Columns, numbers: Array) -> None:
        """Add numbers, each to its column."""
        _add_entries(columns, numbers, self._sums, self._lost)

    def __add__(self, other: DoubledSums) -> DoubledSums:
        """The sums of both, as engines add up what parts return."""
        total = DoubledSums(len(self._sums))
        _add_both(self.arrays, other.arrays, total.arrays)
        return total

    @property
    def total(self) -> float:
        """The sum of the only column, rounded once."""
        total, lost = float(self._sums[0]), float(self._lost[0])
        return total + lost if math.isfinite(total) else total

    @property
    def values(self) -> Array:
        """The sums, rounded once. Of what is not finite, nothing is lost."""
        return np.where(np.isfinite(self._sums), self._sums + self._lost, self._sums)


@inlined_kernel
def add_doubled(number: float, column: int, sums: Array, lost: Array) -> None:
    """Add a number to a sum, and what rounding takes from it to what is lost."""
    before = sums[column]
    after = before + number
    taken = after - before
    lost[column] += (before - (after - taken)) + (number - taken)
    sums[column] = after


@kernel
def add_row_doubled(row: Array, sums: Array, lost: Array) -> None:
    """Add a number to each sum. Arrays that the calling kernel has made itself take vector instructions."""
    for j in range(len(row)):
        add_doubled(row[j], j, sums, lost)


@kernel
def _add_both(one: Array, other: Array, out: Array) -> None:
    for j in range(out.shape[1]):
        out[0, j] = one[0, j]
        out[1, j] = one[1, j] + other[1, j]
        add_doubled(other[0, j], j, out[0], out[1])


@kernel
def _add_rows(rows: Array, sums: Array, lost: Array) -> None:
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            add_doubled(rows[i, j], j, sums, lost)


@kernel
def _add_entries(columns: Columns, numbers: Array, sums: Array, lost: Array) -> None:
    for i in range(len(numbers)):
        add_doubled(numbers[i], columns[i], sums, lost)
