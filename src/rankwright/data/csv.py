"""CSV with a line of names: one row per document, and a column for each feature.

Commas, semicolons, tabs or bars part the columns: the line of names tells which. Files that CatBoost reads have no
such line; their column description names the columns (:mod:`rankwright.data.column_description`).
"""

from __future__ import annotations

import csv
import io
import itertools
import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import pyarrow as pa
import pyarrow.csv as pa_csv

from rankwright.data.changes import told_if_changed
from rankwright.data.column_description import Description, description_beside, read_description
from rankwright.data.columns import LABEL_COLUMNS, QID
from rankwright.data.content import Content, damaged_gzip
from rankwright.data.missing import MISSING_SPELLINGS
from rankwright.data.queries import Queries
from rankwright.data.table_cells import has_decimal_commas, ids_in
from rankwright.data.table_columns import FeatureColumn, TableColumns
from rankwright.data.text_table import TextTable, in_ruled_precision
from rankwright.errors import ParseError
from rankwright.judgments.supervision import Grades

DELIMITERS = ",;\t|"
_ROW = re.compile(r"[Rr]ow #(\d+)")
_COLUMN = re.compile(r"In CSV column #(\d+)")
_IS_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")

# Arrow compares letter by letter.
_MISSING = sorted(
    {
        "".join(letters)
        for word in MISSING_SPELLINGS
        for letters in itertools.product(*((letter, letter.upper()) for letter in word))
    }
)


@dataclass(frozen=True)
class _Layout:
    """The names of the columns, what parts them, and in which line the names are (0: nowhere)."""

    names: tuple[str, ...]
    delimiter: str
    header_line: int


def read_csv(
    path: str | os.PathLike[str],
    asked: TableColumns | None = None,
    *,
    column_description: str | os.PathLike[str] | None = None,
) -> Queries:
    """Queries from CSV, plain or gzip.

    The columns for ``label``, ``qid`` and ``doc`` are the grades, the queries and the document ids (``label``, ``qid``
    and ``doc_id`` by default); all others are features. Empty fields and the other spellings of
    :mod:`rankwright.data.missing` are missing: NaN. Columns of text are left out with a warning, or one-hot encoded.
    The features are float32 or float64 by the rule of :mod:`rankwright.data.precision`, as those of LETOR text are.
    """
    with told_if_changed(path):
        return csv_reader(path, asked or TableColumns(), column_description=column_description).queries()


def csv_reader(
    path: str | os.PathLike[str], asked: TableColumns, *, column_description: str | os.PathLike[str] | None
) -> CsvReader:
    """What is known of a file from its line of names, or from a description of its columns."""
    content = Content(path)
    described = None if column_description is None else read_description(column_description)
    layout = _named_layout(content, asked) if described is None else None
    if layout is None:
        described = described or _description_of(content)
        layout = _described_layout(content, described)
    if described is not None:
        asked = described.parts(asked, layout.names)
        described.tell_unused(content.path)
    return CsvReader(content, layout, asked)


class CsvReader(TextTable):
    """Reads the columns that are asked for."""

    def __init__(self, content: Content, layout: _Layout, asked: TableColumns) -> None:
        super().__init__(content.path, {name: nw.Float64() for name in layout.names if name}, asked)
        self.content, self.layout = content, layout

    def queries(self) -> Queries:
        """All rows."""
        table, mark = self._table(), "."
        if not table.num_rows:
            raise ParseError(self.content.path, "there are names of columns, but no documents")
        if self.layout.delimiter == ";" and self._has_decimal_commas(table):
            table, mark = self._table(decimal_mark=","), ","
        return in_ruled_precision(self.queries_of(table, self.chosen, mark))

    def queries_of(
        self, table: pa.Table, chosen: Sequence[FeatureColumn], mark: str = ".", *, before: int = 0
    ) -> Queries:
        """The same, of ids that may be whole numbers."""
        place = table.column_names.index(self.columns.qid)
        table = table.set_column(place, self.columns.qid, ids_in(table[self.columns.qid]))
        return super().queries_of(table, chosen, mark, before=before)

    def _has_decimal_commas(self, table: pa.Table) -> bool:
        numbers = [each.column for each in self.chosen if each.values is None]
        numbers += [] if self.columns.label is None else [self.columns.label]
        return any(pa.types.is_string(table[name].type) and has_decimal_commas(table[name]) for name in numbers)

    # By Arrow

    def _table(self, *, decimal_mark: str = ".") -> pa.Table:
        has_quotes = self.content.may_contain(b'"')
        compression = "gzip" if self.content.is_compressed else None
        with self.content.for_arrow() as source:
            try:
                return self.parsed(
                    lambda: pa.input_stream(source, compression=compression), decimal_mark, has_quotes=has_quotes
                )
            except OSError as error:  # what zlib says of a damaged file has no number; a file not to be read has one
                raise error if error.errno else damaged_gzip(self.content.path, error) from None

    def parsed(
        self,
        opened: Callable[[], Any],
        decimal_mark: str,
        *,
        has_quotes: bool,
        types: Mapping[str, Any] | None = None,
        before: int = 0,
    ) -> pa.Table:
        """The wanted columns of a stream, of these types where they are known, behind so many other rows."""
        parts = self.columns.apart_from_dense_features()
        as_text = [*parts, *(each.column for each in self.chosen if each.values is not None)]
        converted = pa_csv.ConvertOptions(
            column_types={**(types or {}), **dict.fromkeys(as_text, pa.string())},
            include_columns=list(dict.fromkeys([*parts, *(each.column for each in self.chosen)])),
            null_values=_MISSING,
            decimal_point=decimal_mark,
        )
        # A line break can only be part of a field in quotes; to look for it takes time.
        options = pa_csv.ParseOptions(delimiter=self.layout.delimiter, newlines_in_values=has_quotes)
        header_line = 0 if before else self.layout.header_line
        try:
            with opened() as stream:
                return pa_csv.read_csv(stream, self._read_options(header_line, True), options, converted)
        except pa.ArrowInvalid:
            pass
        try:
            with opened() as stream:  # so that Arrow knows the line
                return pa_csv.read_csv(stream, self._read_options(header_line, False), options, converted)
        except pa.ArrowInvalid as error:
            raise self._as_parse_error(str(error), before - bool(header_line)) from None

    def _read_options(self, header_line: int, use_threads: bool) -> Any:
        return pa_csv.ReadOptions(
            use_threads=use_threads,
            column_names=[name or f"\0{place}" for place, name in enumerate(self.layout.names)],
            skip_rows=max(0, header_line - 1),
            skip_rows_after_names=int(header_line > 0),
        )

    def _as_parse_error(self, problem: str, before: int) -> ParseError:
        row, column = _ROW.search(problem), _COLUMN.search(problem)
        line = self.line_of(before + int(row[1])) if row else None
        told = problem.splitlines()[0].removeprefix("CSV parse error: ")
        told = _ROW.sub("", told).replace(": : ", ": ").strip(" :")
        if column and "UTF8" in problem:
            told = f"column {self.layout.names[int(column[1])]!r} holds text that is not UTF-8"
        return ParseError(self.content.path, told, line=line)

    def line_of(self, row: int) -> int | None:
        """The line that a row begins in, counted from 1: fields in quotes can be longer than a line."""
        try:
            records = _records(self.content, self.layout.delimiter)
            skipped = row - 1 + bool(self.layout.header_line)
            return next(itertools.islice(records, skipped, None))[0]
        except (csv.Error, StopIteration):
            return None


# The line of names


def _named_layout(content: Content, asked: TableColumns) -> _Layout | None:
    """How the file is laid out by its first line; None if that holds data, as in files without names."""
    label, qid = asked.label or LABEL_COLUMNS[Grades], asked.qid or QID
    first = _first_line(content)
    found = []
    for delimiter in sorted(DELIMITERS, key=lambda each: -_outside_quotes(first).count(each)):
        line, names = _header(content, delimiter)
        found.append(_Layout(names, delimiter, line))
        if {label, qid} <= set(names):
            break
    layout = found[-1] if {label, qid} <= set(found[-1].names) else found[0]
    names = layout.names
    if not {label, qid} & set(names) and any(map(_IS_NUMBER.fullmatch, names)):
        return None
    if names[0] == "" and len(names) > 1:
        warnings.warn(
            f"{content.path}: left out column 1, which has no name: pandas writes its row numbers so", stacklevel=2
        )
    if "" in names[1:]:
        problem = f"column {names.index('', 1) + 1} has no name: give it one, or leave it out if it numbers rows"
        raise ParseError(content.path, problem, line=layout.header_line)
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise ParseError(content.path, f"two columns are named {twice!r}", line=layout.header_line)
    return layout


def _described_layout(content: Content, described: Description) -> _Layout:
    first = _first_line(content)
    delimiter = "\t" if "\t" in first else max(DELIMITERS, key=_outside_quotes(first).count)
    line, row = _header(content, delimiter)
    return _Layout(described.names(row), delimiter, line if described.has_names(row) else 0)


def _description_of(content: Content) -> Description:
    beside = description_beside(content.path) if "\t" in _first_line(content) else None
    if beside is None:
        raise ParseError(
            content.path,
            "the first line contains numbers, not column names: add a header line, or, if CatBoost "
            "reads the file, give its column description (--column-description, column_description=)",
            line=1,
        )
    return read_description(beside)


def _first_line(content: Content) -> str:
    with content.open() as file:
        text = file.readline(1 << 24).decode("utf-8-sig", errors="replace")
        while text and not text.strip():
            text = file.readline(1 << 24).decode("utf-8", errors="replace")
    if not text:
        raise ParseError(content.path, "the file is empty")
    return text


def _outside_quotes(text: str) -> str:
    return re.sub(r'"[^"]*"', "", text)


def _header(content: Content, delimiter: str) -> tuple[int, tuple[str, ...]]:
    """The line of names, and its number."""
    try:
        line, names = next(_records(content, delimiter), (1, []))
        "".join(names).encode()
    except UnicodeEncodeError:
        raise ParseError(content.path, "the names of the columns are not UTF-8 text", line=1) from None
    except csv.Error as error:
        raise ParseError(content.path, f"this is not a CSV file: {error}", line=1) from None
    if not names:
        raise ParseError(content.path, "there is no header line with column names", line=1)
    return line, tuple(name.strip() for name in names)


def _records(content: Content, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows with the number of the line that each begins in; blank lines are none."""
    with content.open() as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="surrogateescape", newline="")
        reader, line = csv.reader(text, delimiter=delimiter), 1
        for record in reader:
            if record:
                yield line, record
            line = reader.line_num + 1
