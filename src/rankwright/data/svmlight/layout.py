"""How a file of text is to be read, and what it would take to read it into a dense array."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankwright.errors import ParseError

if TYPE_CHECKING:
    from rankwright.data.svmlight.group_files import GroupFile

# In a file where fewer of the cells than this are given, CSR takes less room than a dense array.
DENSE_FROM = 0.25

# A dense array may take this many bytes, or this many times the bytes of its text, whatever is more.
_ALWAYS_ALLOWED = 1 << 28
_TIMES_THE_TEXT = 64

# While a file is read, a few numbers of eight bytes are kept for each column: so many single ones.
_KEPT_PER_COLUMN = 16


@dataclass(frozen=True)
class Layout:
    """How a file is to be read. ``by_rule``: ``dtype`` is a guess, and :mod:`rankwright.data.precision` decides."""

    path: Path
    dtype: np.dtype[Any]
    by_rule: bool
    sparse: bool
    may_turn_sparse: bool
    first_index: int
    may_turn_zero_based: bool
    n_features: int | None
    fill: float
    groups: GroupFile | None = None
    least_width: int = 0

    @property
    def parsed_dtype(self) -> np.dtype[Any]:
        """The type of cells as they are parsed: float64 where it is still open how they are to be stored."""
        return np.dtype(np.float64) if self.by_rule else self.dtype

    def dense_takes_too_much(self, rows: int, width: int, text: int) -> bool:
        """Whether dense rows would take beyond all measure more than their text: one feature has a huge number."""
        return (rows + _KEPT_PER_COLUMN) * width * self.dtype.itemsize > max(_ALWAYS_ALLOWED, _TIMES_THE_TEXT * text)

    def rows_always_allowed(self, width: int) -> int:
        """How many dense rows take so little that they are allowed whatever the text."""
        return _ALWAYS_ALLOWED // (max(width, 1) * self.dtype.itemsize)

    def check_dense_size(self, rows: int, width: int, text: int) -> None:
        """An error if dense rows would take too much."""
        if self.dense_takes_too_much(rows, width, text):
            raise ParseError(self.path, self.too_wide_for_dense(rows, width))

    def too_wide_for_dense(self, rows: int, width: int) -> str:
        """What is wrong with a feature of a huge number, and what to do."""
        size = rows * width * self.dtype.itemsize / 1e9
        if self.n_features is not None:
            wide = f"n_features={self.n_features} asks for {width:,} columns"
        else:
            wide = f"feature {width + self.first_index - 1} needs {width:,} columns"
        otherwise = "missing='zero'" if np.isnan(self.fill) else "sparse=True"
        return (
            f"{wide}, and a dense array of {rows:,} × {width:,} would take {size:,.1f} GB: number the features 1, 2, "
            f"3, … (if the numbers are hashes, keep fewer bits of them), or read it as CSR, with {otherwise}"
        )


class ReadAgain(Exception):
    """The file turned out to be laid out differently from what was assumed."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout


class TooWide(Exception):
    """A row that is wider than the place it has in the whole array."""
