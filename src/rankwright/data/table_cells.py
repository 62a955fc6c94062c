"""Cells of text into numbers: what is missing, what is a number, and which cell of a column is neither."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankwright.data.missing import MISSING_SPELLINGS
from rankwright.errors import RowError

_DIGITS = r"([0-9]+{mark}?[0-9]*|{mark}[0-9]+)([eE][+-]?[0-9]+)?"
_NUMBER = r"^[+-]?({digits}|inf|infinity|Inf|Infinity|INF)$"
# Numbers as people and spreadsheets write them, too: 1,234.5 and 0,5 are meant as numbers, whichever they are.
_LIKE_A_NUMBER = r"^[+-]?[0-9.,]*[0-9][0-9.,]*([eE][+-]?[0-9]+)?$|" + _NUMBER.format(digits=_DIGITS.format(mark=r"\."))
_WHOLE = r"^(0|-?[1-9][0-9]{0,18})$"
_BLANKS = " \t"


def numbers_in(column: Any, name: str, *, decimal_mark: str = ".") -> Any:
    """A column of text as numbers, null where they are missing; None if it is not a column of numbers.

    It is one if all its cells are numbers or missing. If only most of them are, it is meant to be one, and a
    :class:`RowError` names the first cell that is not.
    """
    counts = count_numbers(column, decimal_mark=decimal_mark)
    if counts.are_numbers:
        cells = _trimmed(column)
        return _as_numbers(cells, _is_present(cells), decimal_mark)
    if counts.are_text:
        return None
    raise first_that_is_none(column, name, counts, decimal_mark=decimal_mark)


@dataclass(frozen=True)
class NumberCounts:
    """Of the cells of a column: how many are not missing, are numbers, and look like numbers, however written."""

    present: int = 0
    numbers: int = 0
    alike: int = 0

    def __add__(self, other: NumberCounts) -> NumberCounts:
        return NumberCounts(self.present + other.present, self.numbers + other.numbers, self.alike + other.alike)

    @property
    def are_numbers(self) -> bool:
        """Whether all are numbers."""
        return self.numbers == self.present

    @property
    def are_text(self) -> bool:
        """Whether most are not meant to be numbers."""
        return not self.are_numbers and 2 * self.alike <= self.present


def count_numbers(column: Any, *, decimal_mark: str = ".") -> NumberCounts:
    """How many cells of a column of text are numbers."""
    cells = _trimmed(column)
    present = _is_present(cells)
    n_numbers = _count(pc.and_(present, pc.match_substring_regex(cells, _number_pattern(decimal_mark))))
    n_alike = _count(pc.and_(present, pc.match_substring_regex(cells, _LIKE_A_NUMBER)))
    return NumberCounts(_count(present), n_numbers, n_alike)


def first_that_is_none(column: Any, name: str, counts: NumberCounts, *, decimal_mark: str) -> RowError:
    """What to raise for the first cell that is not a number, in a column that has been counted so."""
    cells = _trimmed(column)
    present = _is_present(cells)
    is_number = pc.and_(present, pc.match_substring_regex(cells, _number_pattern(decimal_mark)))
    row = _first(pc.and_not(present, is_number))
    others = f"; {counts.numbers:,} of its {counts.present:,} values are numbers" if counts.numbers else ""
    why = _why(cells[row].as_py(), decimal_mark)
    return RowError(row, f"column {name!r} is {_cell(column, row)}, {why}{others}")


def grades_in(column: Any, name: str, *, decimal_mark: str = ".") -> Any:
    """A column of text as numbers, null where they are missing; a :class:`RowError` names a cell that is no number."""
    cells = _trimmed(column)
    present = _is_present(cells)
    wrong = pc.and_not(present, pc.match_substring_regex(cells, _number_pattern(decimal_mark)))
    if _count(wrong):
        row = _first(wrong)
        raise RowError(row, f"column {name!r} is {_cell(column, row)}, which is not a number: grades are numbers")
    return _as_numbers(cells, present, decimal_mark)


def has_decimal_commas(column: Any) -> bool:
    """Whether most cells that are not missing are numbers with a decimal comma, or whole."""
    commas, fits, present = count_commas(column)
    return commas > 0 and 2 * fits > present


def count_commas(column: Any) -> tuple[int, int, int]:
    """How many cells are numbers with a decimal comma, such numbers or whole ones, and not missing."""
    cells = _trimmed(column)
    present = _is_present(cells)
    fits = pc.and_(present, pc.match_substring_regex(cells, _number_pattern(",")))
    return _count(pc.and_(fits, pc.match_substring(cells, ","))), _count(fits), _count(present)


def ids_in(column: Any) -> Any:
    """Ids from text: int64 if all are whole numbers that fit and have no leading zeros, else as they are written.

    An empty one is null; among whole numbers, so is every spelling of a missing value.
    """
    present = _is_present(column)
    is_whole = pc.match_substring_regex(column, _WHOLE)
    if _count(present) and not _count(pc.and_not(present, is_whole)):
        with suppress(pa.ArrowInvalid):  # too large for int64
            return pc.if_else(present, column, None).cast(pa.int64())
    return pc.if_else(pc.equal(column, ""), None, column)


def _trimmed(column: Any) -> Any:
    return pc.utf8_trim(column.cast(pa.large_string()), characters=_BLANKS)


def _is_present(cells: Any) -> Any:
    missing = pc.is_in(pc.utf8_lower(cells), value_set=pa.array(MISSING_SPELLINGS, cells.type))
    return pc.fill_null(pc.and_(pc.is_valid(cells), pc.invert(missing)), False)


def _number_pattern(mark: str) -> str:
    return _NUMBER.format(digits=_DIGITS.format(mark=rf"\{mark}"))


def _as_numbers(cells: Any, present: Any, mark: str) -> Any:
    plain = cells if mark == "." else pc.replace_substring(cells, mark, ".")
    return pc.if_else(present, pc.utf8_ltrim(plain, characters="+"), None).cast(pa.float64())


def _count(mask: Any) -> int:
    return int(pc.sum(mask).as_py() or 0)


def _first(mask: Any) -> int:
    return int(np.argmax(np.asarray(pc.fill_null(mask, False).to_numpy(zero_copy_only=False))))


def _cell(column: Any, row: int) -> str:
    """A cell for an error message, cut if it is long."""
    text = column[row].as_py()
    return repr(text if len(text) <= 40 else text[:39] + "…")


def _why(cell: str, mark: str) -> str:
    if mark == "," and "." in cell:
        return "but numbers in this file have decimal commas: write all of them alike"
    if "," in cell:
        return "which is not a number: write 0.5, or 0,5 in all columns of a file with semicolons"
    return "which is not a number: correct it, or leave the column out of the features"
