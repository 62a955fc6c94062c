"""CSV, block of lines by block of lines: the types of columns are found in a first reading, as of one table."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rankwright.data.changes import told_if_changed
from rankwright.data.columns import not_numbers
from rankwright.data.csv import csv_reader
from rankwright.data.frames import as_narwhals
from rankwright.data.queries import Queries
from rankwright.data.table_cells import NumberCounts, count_commas, count_numbers, first_that_is_none
from rankwright.data.table_columns import TableColumns
from rankwright.data.table_features import tell_left_out
from rankwright.errors import DataError, ParseError

_BLOCK = 1 << 24
_LONGEST_RECORD = 1 << 30


class CsvTables:
    """A CSV file as a series of tables."""

    by_rule = True

    def __init__(
        self, path: Path, asked: TableColumns, column_description: str | os.PathLike[str] | None = None
    ) -> None:
        self.path = path
        self._reader = csv_reader(path, asked, column_description=column_description)
        self._content = self._reader.content
        self._has_quotes = self._content.may_contain(b'"')
        self._mark = "."
        self._types: dict[str, Any] = {}
        self.chosen = list(self._reader.chosen)
        self._find_types()

    @property
    def qid(self) -> str:
        """The column of query ids."""
        return self._reader.columns.qid

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a few megabytes at a time."""
        with told_if_changed(self.path):
            yield from self._tables(self._types)

    def queries(self, table: pa.Table, before: int) -> Queries:
        """Queries from some of the rows."""
        return self._reader.queries_of(table, self.chosen, self._mark, before=before)

    # Blocks of whole records

    def _tables(self, types: dict[str, Any]) -> Iterator[pa.Table]:
        before = 0
        for block in self._blocks():
            table = self._reader.parsed(
                partial(pa.BufferReader, block), self._mark, has_quotes=self._has_quotes, types=types, before=before
            )
            before += len(table)
            yield table

    def _blocks(self) -> Iterator[bytes]:
        unfinished = b""
        with self._content.open() as file:
            while content := file.read(_BLOCK):
                content = unfinished + content
                end = self._last_end(content)
                if end:
                    yield content[:end]
                unfinished = content[end:]
                if len(unfinished) > _LONGEST_RECORD:
                    raise ParseError(self.path, "a row is longer than a gigabyte: is a quotation mark not closed?")
        if unfinished.strip():
            yield unfinished

    def _last_end(self, content: bytes) -> int:
        """Where the last whole record ends: behind a line break that is not within quotes."""
        end = content.rfind(b"\n") + 1
        while end and self._has_quotes and content.count(b'"', 0, end) % 2:
            end = content.rfind(b"\n", 0, end - 1) + 1
        return end

    # Types of columns

    def _find_types(self) -> None:
        counts, commas = self._looked_through()
        if self._reader.layout.delimiter == ";" and any(
            with_comma > 0 and 2 * fits > present for with_comma, fits, present in commas.values()
        ):
            self._mark = ","
            counts, _ = self._looked_through()
        left_out = {}
        for each in self.chosen:
            kind = self._types.get(each.column)
            if each.values is not None or kind is None or _is_number(kind):
                continue
            if pa.types.is_string(kind) and counts[each.column].are_numbers:
                continue
            if pa.types.is_string(kind) and not counts[each.column].are_text:
                self._tell_wrong_cell(each.column, counts[each.column])
            if each.is_named:
                schema = as_narwhals(pa.table({each.column: pa.array([], kind)})).schema
                raise DataError(f"{self.path}: {not_numbers(each.column, schema[each.column])}")
            left_out[each.column] = "text" if pa.types.is_string(kind) else "dates or times"
        tell_left_out(left_out, f"{self.path}: ")
        self.chosen = self._reader.chosen = [each for each in self.chosen if each.column not in left_out]

    def _looked_through(self) -> tuple[dict[str, NumberCounts], dict[str, Any]]:
        """What the cells of each column are: its type, and of those that are text anywhere, how many are numbers."""
        numbers = [each.column for each in self.chosen if each.values is None]
        counts = dict.fromkeys(numbers, NumberCounts())
        commas = {name: np.zeros(3, np.int64) for name in numbers}
        self._types = {}
        rows = 0
        label = self._reader.columns.label
        for table in self._tables({}):
            rows += len(table)
            for name in numbers:
                column = table[name]
                self._types[name] = _common(self._types.get(name), column.type)
                counts[name] += _counted(column, self._mark)
                if pa.types.is_string(column.type):
                    commas[name] += count_commas(column)
            if label is not None:
                commas[label] = commas.get(label, np.zeros(3, np.int64)) + count_commas(table[label])
        if not rows:
            raise ParseError(self.path, "there are names of columns, but no documents")
        return counts, commas

    def _tell_wrong_cell(self, name: str, counts: NumberCounts) -> None:
        before = 0
        for table in self._tables(self._types):
            if not count_numbers(table[name], decimal_mark=self._mark).are_numbers:
                error = first_that_is_none(table[name], name, counts, decimal_mark=self._mark)
                line = self._reader.line_of(before + error.row + 1)
                raise ParseError(self.path, error.problem, line=line)
            before += len(table)


def _is_number(kind: Any) -> bool:
    types = pa.types
    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_null(kind))


def _common(one: Any, other: Any) -> Any:
    """The type that Arrow finds for cells of both types."""
    if one is None or pa.types.is_null(one) or one == other:
        return other
    if pa.types.is_null(other):
        return one
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_temporal(one) and pa.types.is_temporal(other):
        return one  # whichever they are, they are left out
    return pa.string()


def _counted(column: Any, mark: str) -> NumberCounts:
    if pa.types.is_string(column.type):
        return count_numbers(column, decimal_mark=mark)
    present = len(column) - column.null_count
    is_number = pa.types.is_integer(column.type) or pa.types.is_floating(column.type)
    return NumberCounts(present, present * is_number, present * is_number)
