"""float32 or float64: the one rule for features that come as text, which has no types.

A ranking depends on features only through the differences of documents of one query. Rounding the features to
float32 *blurs* a difference if it changes it by more than a sixteenth, as when both documents get the same number.

    Features are float32 if, for each of them, at most one in a thousand of its differences is blurred,
    and if no number is too large for float32. They are float64 otherwise.

float32 keeps six decimal digits and more of every number, so this holds of most features; not of a time in seconds
since 1970, of long identifiers, or of whatever varies little in a query beside how large it is.

The differences that are looked at are those of the document at position i of its query, counted from 0, and the one
at position ⌊i/2⌋, if they are not 0: one for each document but the first, near and far ones, whatever the order of the
documents is. In a text file, positions are counted anew in every block of it, and the first document of a block
is compared with the last of the block before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.precision_kernels import count_csr, has_blurred, store_rows
from rankwright.judgments.grouping import Grouping
from rankwright.machine.runs import runs_of_queries
from rankwright.machine.threads import map_in_order

Counts = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_MOST_BLURRED = 0.001
_CELLS_AT_A_TIME = 1 << 20


@dataclass
class Blur:
    """Of how many differences of each feature (column) float32 blurs how many, and whether a number is too large."""

    blurred: Counts = field(default_factory=lambda: np.zeros(0))
    differing: Counts = field(default_factory=lambda: np.zeros(0))
    beyond_single: bool = False

    def add(self, other: Blur) -> None:
        """Count the differences of other documents too; they may have more features."""
        self.blurred = _padded_sum(self.blurred, other.blurred)
        self.differing = _padded_sum(self.differing, other.differing)
        self.beyond_single |= other.beyond_single

    def matters(self, most: float = _MOST_BLURRED) -> bool:
        """Whether the features are to be float64."""
        return self.beyond_single or bool(np.any(self.blurred > most * self.differing))


def _padded_sum(a: Counts, b: Counts) -> Counts:
    total = np.zeros(max(len(a), len(b)))
    total[: len(a)] += a
    total[: len(b)] += b
    return total


def query_begins(qids: npt.NDArray[Any]) -> Flags:
    """For each row, whether it is the first of a stretch of rows of one query."""
    begins = np.ones(len(qids), np.bool_)
    begins[1:] = qids[1:] != qids[:-1]
    return begins


def stored_dense(cells: npt.NDArray[np.float64], width: int, begins: Flags, stored: npt.NDArray[Any]) -> Blur:
    """Store the float64 cells of dense rows as what ``stored`` is, and tell what float32 blurs."""
    blur = Blur(np.zeros(width), np.zeros(width))
    store_rows(cells, width, begins, stored, blur.blurred, blur.differing)
    return blur


# The columns and the float64 values of one row; a dense row needs no columns.
Row: TypeAlias = tuple[npt.NDArray[Any], npt.NDArray[np.float64]]
NO_ROW: Row = (np.empty(0, np.int32), np.empty(0))


def blur_of_two_rows(a: Row, b: Row) -> Blur:
    """What float32 blurs of two dense rows; features that one of them lacks are not blurred."""
    width = min(len(a[1]), len(b[1]))
    cells = np.concatenate([a[1][:width], b[1][:width]])
    return stored_dense(cells, width, np.array([True, False]), np.empty(2 * width, np.float32))


class CsrRows(NamedTuple):
    """Rows ``columns[starts[i]:starts[i + 1]]``, query by query, of float64 values.

    Where none of their differences is blurred, values of float32 will do: they differ where float64 does.
    """

    starts: npt.NDArray[np.int64]
    columns: npt.NDArray[Any]
    values: npt.NDArray[Any]
    begins: Flags

    def copy_of_row(self, row: int) -> Row:
        """One row, which outlasts the others."""
        entries = slice(self.starts[row], self.starts[row + 1])
        return self.columns[entries].copy(), self.values[entries].copy()

    def has_blurred(self) -> bool:
        """Whether any difference is blurred, or so small a number that it may be."""
        return bool(has_blurred(*self))


def csr_of_two_rows(a: Row, b: Row) -> CsrRows:
    """Two rows of one query."""
    starts = np.cumsum([0, len(a[0]), len(b[0])])
    return CsrRows(starts, np.concatenate([a[0], b[0]]), np.concatenate([a[1], b[1]]), np.array([True, False]))


def blur_of_csr(parts: Sequence[CsrRows], have_blurred: Sequence[bool]) -> Blur:
    """What float32 blurs in CSR rows: only columns of the parts that have anything blurred are looked at."""
    columns = [np.unique(part.columns) for part, has in zip(parts, have_blurred, strict=True) if has]
    if not columns:
        return Blur()
    wanted = np.unique(np.concatenate(columns))
    total = Blur()
    for blur in map_in_order(lambda part: counted_csr(part, wanted), parts):
        total.add(blur)
    return total


def counted_csr(part: CsrRows, wanted: npt.NDArray[Any]) -> Blur:
    """What float32 blurs in some columns of CSR rows, which ascend."""
    blur = Blur(np.zeros(len(wanted)), np.zeros(len(wanted)))
    count_csr(*part, wanted, blur.blurred, blur.differing)
    return blur


def as_the_rule_says(x: Any, grouping: Grouping) -> Any:
    """float64 features, dense or CSR, as float32 if the rule allows it, else as they are."""
    if x.shape[1] == 0:
        return x.astype(np.float32)
    return _csr_as_the_rule_says(x, grouping) if sp.issparse(x) else _dense_as_the_rule_says(x, grouping)


def _csr_as_the_rule_says(x: sp.csr_array, grouping: Grouping) -> sp.csr_array:
    rows = x if grouping.order is None else x[grouping.order]
    begins = np.zeros(x.shape[0], np.bool_)
    begins[grouping.offsets[:-1]] = True
    part = CsrRows(rows.indptr.astype(np.int64), rows.indices, rows.data, begins)
    blur = blur_of_csr([part], [part.has_blurred()])
    blur.beyond_single = beyond_single(x.data)
    return x if blur.matters() else x.astype(np.float32)


def beyond_single(values: npt.NDArray[np.float64]) -> bool:
    """Whether a finite number is infinite in float32."""
    with np.errstate(over="ignore"):
        return bool(np.any(np.isinf(values.astype(np.float32)) & np.isfinite(values)))


def _dense_as_the_rule_says(x: npt.NDArray[np.float64], grouping: Grouping) -> npt.NDArray[Any]:
    width = x.shape[1]
    single, total = np.empty(x.shape, np.float32), Blur()
    step = max(1, _CELLS_AT_A_TIME // max(1, width))
    offsets = grouping.offsets
    for first, last in runs_of_queries(offsets, step):
        rows = slice(int(offsets[first]), int(offsets[last]))
        places = rows if grouping.order is None else grouping.order[rows]
        begins = np.zeros(rows.stop - rows.start, np.bool_)
        begins[offsets[first:last] - offsets[first]] = True
        stored = np.empty(len(begins) * width, np.float32)
        cells = np.ascontiguousarray(x[places]).reshape(-1)
        total.add(stored_dense(cells, width, begins, stored))
        total.beyond_single |= beyond_single(cells)
        single[places] = stored.reshape(-1, width)
    return x if total.matters() else single
