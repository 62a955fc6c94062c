"""The compiled loops of :mod:`rankwright.data.precision`.

Rows stand query by query; ``begins[i]`` is true where a row is the first of its query. The row at position i of its
query is compared with the one at position ⌊i/2⌋.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel

# A difference is blurred if float32 changes it by more than one part in this many.
_PARTS = 16.0


@inlined_kernel
def _is_blurred(value: float, other: float) -> bool:
    """Whether rounding both numbers changes their difference by more than a sixteenth; never for NaN and infinity."""
    difference = value - other
    rounded = np.float64(np.float32(value)) - np.float64(np.float32(other))
    return bool(abs(rounded - difference) * _PARTS > abs(difference))


@kernel
def store_rows(cells: Any, width: int, begins: Any, stored: Any, blurred: Any, differing: Any) -> None:
    """Copy float64 cells into ``stored``, and count for each column the differences of rows, and those blurred.

    The counts are float64, as all else in the inner loop: so vector instructions do it.
    """
    first = 0
    for row in range(len(begins)):
        if begins[row]:
            first = row
        partner = first + (row - first) // 2
        values, others = cells[row * width : (row + 1) * width], cells[partner * width : (partner + 1) * width]
        target = stored[row * width : (row + 1) * width]
        if begins[row]:
            target[:] = values
            continue
        for j in range(width):
            target[j] = values[j]
            differing[j] += 1.0 if abs(values[j] - others[j]) > 0.0 else 0.0
            blurred[j] += 1.0 if _is_blurred(values[j], others[j]) else 0.0


@kernel
def has_blurred(starts: Any, columns: Any, values: Any, begins: Any) -> bool:
    """Whether any difference of two CSR rows is blurred. Nearly always none is, and this is the quick way to see it."""
    for k in range(starts[0], starts[-1]):
        if _is_blurred(values[k], 0.0):  # so small that float32 has no digits for it
            return True
    first = 0
    for row in range(len(begins)):
        if begins[row]:
            first = row
            continue
        partner = first + (row - first) // 2
        i, end_i = np.uint64(starts[row]), np.uint64(starts[row + 1])
        j, end_j = np.uint64(starts[partner]), np.uint64(starts[partner + 1])
        while i < end_i and j < end_j:  # which of two columns is less cannot be foretold, so it is no branch
            column, other = columns[i], columns[j]
            if column == other and _is_blurred(values[i], values[j]):
                return True
            i += np.uint64(column <= other)
            j += np.uint64(other <= column)
    return False


@kernel
def count_csr(starts: Any, columns: Any, values: Any, begins: Any, wanted: Any, blurred: Any, differing: Any) -> None:
    """What :func:`store_rows` counts, of CSR rows and for the columns in the rising list ``wanted`` alone."""
    first = 0
    for row in range(len(begins)):
        if begins[row]:
            first = row
            continue
        partner = first + (row - first) // 2
        i, end_i = starts[row], starts[row + 1]
        j, end_j = starts[partner], starts[partner + 1]
        while i < end_i or j < end_j:
            column = columns[i] if i < end_i and (j == end_j or columns[i] <= columns[j]) else columns[j]
            value = other = 0.0
            if i < end_i and columns[i] == column:
                value = values[i]
                i += 1
            if j < end_j and columns[j] == column:
                other = values[j]
                j += 1
            slot = np.searchsorted(wanted, column)
            if slot < len(wanted) and wanted[slot] == column:
                differing[slot] += 1.0 if abs(value - other) > 0.0 else 0.0
                blurred[slot] += 1.0 if _is_blurred(value, other) else 0.0
