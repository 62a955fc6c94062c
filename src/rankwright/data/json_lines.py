"""JSON lines: one object per document, with the columns of a table.

``{"qid": "shoes", "label": 2, "bm25": 7.5}``. The features may also stand together, as an object or a list:
``{"qid": "shoes", "label": 2, "features": {"bm25": 7.5}}``; those of a list are f1, f2, … Values in other objects are
columns named by their way there, as ``price.net``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from rankwright.data.changes import told_if_changed
from rankwright.data.content import Content
from rankwright.data.frames import as_narwhals
from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns
from rankwright.data.text_table import TextTable, in_ruled_precision
from rankwright.errors import ParseError

_FEATURES = "features"


def read_json_lines(path: str | os.PathLike[str], asked: TableColumns | None = None) -> Queries:
    """Queries from JSON lines, plain or gzip; null, and what an object lacks, is missing."""
    lines = JsonLines(path, asked or TableColumns())
    return in_ruled_precision(lines.queries_of(lines.table, lines.chosen))


class JsonLines(TextTable):
    """A file as one table, with the part of each column."""

    def __init__(self, path: str | os.PathLike[str], asked: TableColumns) -> None:
        with told_if_changed(path):
            rows = _Rows(Content(path))
        if not rows.lines:
            raise ParseError(path, "the file holds no documents")
        self._lines = rows.lines
        self.table = pa.table(rows.columns())
        super().__init__(path, as_narwhals(self.table).schema, asked)

    def line_of(self, row: int) -> int:
        """The line that a row stands in, both counted from 1."""
        return self._lines[row - 1]


class _Rows:
    """The values of each column, and the line that each row stands in."""

    def __init__(self, content: Content) -> None:
        self.path = content.path
        self.lines: list[int] = []
        self._values: dict[str, list[Any]] = {}
        self._first_width: tuple[int, int] | None = None
        with content.open() as file:
            for line, text in enumerate(file, start=1):
                if text.strip():
                    self._add(line, self._parsed(line, text.strip()))

    def _parsed(self, line: int, text: bytes) -> dict[str, Any]:
        try:
            row = json.loads(text.decode("utf-8-sig" if line == 1 else "utf-8"))
            if b"\\ud" in text.lower():  # half of a letter may be escaped, which is no text
                json.dumps(row, ensure_ascii=False).encode()
        except UnicodeError:
            raise ParseError(self.path, "the text is not UTF-8", line=line) from None
        except json.JSONDecodeError as error:
            raise ParseError(
                self.path, f"{error.msg}; each line must hold one JSON object", line=line, column=error.colno
            ) from None
        except (RecursionError, ValueError) as error:
            raise ParseError(self.path, f"this cannot be read as JSON: {error}", line=line) from None
        if not isinstance(row, dict):
            raise ParseError(self.path, 'expected a JSON object, as {"qid": 1, "label": 0, …}', line=line)
        return row

    def _add(self, line: int, row: dict[str, Any]) -> None:
        n_rows = len(self.lines)
        for name, value in self._cells(line, row):
            values = self._values.setdefault(name, [])
            if len(values) > n_rows:
                raise ParseError(self.path, f"there are two values for {name!r}", line=line)
            values.extend([None] * (n_rows - len(values)))
            values.append(value)
        self.lines.append(line)

    def _cells(self, line: int, row: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, value in row.items():
            if name == _FEATURES and isinstance(value, dict):
                yield from self._flat(line, "", value)
            elif name == _FEATURES and isinstance(value, list):
                self._check_width(line, len(value))
                yield from ((f"f{number}", self._single(line, name, item)) for number, item in enumerate(value, 1))
            else:
                yield from self._flat(line, name, value)

    def _flat(self, line: int, name: str, value: Any) -> Iterator[tuple[str, Any]]:
        if not isinstance(value, dict):
            yield name, self._single(line, name, value)
            return
        for key, item in value.items():
            yield from self._flat(line, f"{name}.{key}" if name else key, item)

    def _single(self, line: int, name: str, value: Any) -> Any:
        if isinstance(value, list | dict):
            raise ParseError(
                self.path, f"column {name!r} holds a list or an object: only {_FEATURES!r} may be a list", line=line
            )
        return value

    def _check_width(self, line: int, width: int) -> None:
        first_line, first_width = self._first_width = self._first_width or (line, width)
        if width != first_width:
            raise ParseError(
                self.path, f"there are {width} features, but {first_width} in line {first_line}", line=line
            )

    def columns(self) -> dict[str, Any]:
        """The columns for Arrow: numbers, or text if any value is text."""
        return {name: self._column(name, values) for name, values in self._values.items()}

    def _column(self, name: str, values: list[Any]) -> Any:
        values.extend([None] * (len(self.lines) - len(values)))
        kinds = {type(value) for value in values} - {type(None)}
        if not kinds:
            return pa.nulls(len(values), pa.float64())
        if kinds == {bool}:
            return pa.array(values, pa.bool_())
        if kinds == {int} and all(value is None or -(2**63) <= value < 2**63 for value in values):
            return pa.array(values, pa.int64())
        if str in kinds or kinds == {int}:  # ids of many digits would be rounded as float64
            return pa.array([None if value is None else _text(value) for value in values], pa.large_string())
        try:
            return pa.array([None if value is None else float(value) for value in values], pa.float64())
        except OverflowError:
            row = next(row for row, value in enumerate(values) if isinstance(value, int) and abs(value) > 2**1023)
            raise ParseError(
                self.path, f"column {name!r} is a number too large for float64", line=self.lines[row]
            ) from None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
