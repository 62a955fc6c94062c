"""JSON lines: read as a whole, so only where that is within the limit of memory."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from rankwright.data.content import Content
from rankwright.data.json_lines import JsonLines
from rankwright.data.queries import Queries
from rankwright.data.streams.sizes import told_bytes
from rankwright.data.table_columns import FeatureColumn, TableColumns
from rankwright.errors import DataError

_TIMES_THE_TEXT = 12  # what Python's objects for all values of a file take, about
_PACKED = 8


class JsonTables:
    """A file of JSON lines as one table."""

    by_rule = True

    def __init__(self, path: Path, asked: TableColumns, memory: int) -> None:
        self.path = path
        size = path.stat().st_size * (_PACKED if Content(path).is_compressed else 1)
        if size * _TIMES_THE_TEXT > memory:
            raise DataError(
                f"{path}: JSON lines are read as a whole, which for {told_bytes(size)} takes about "
                f"{told_bytes(size * _TIMES_THE_TEXT)}, more than the limit of {told_bytes(memory)}: write the data as "
                "Parquet, CSV or LETOR text, or as several smaller files"
            )
        self._lines = JsonLines(path, asked)
        self.chosen: list[FeatureColumn] = self._lines.chosen

    @property
    def qid(self) -> str:
        """The column of query ids."""
        return self._lines.columns.qid

    def tables(self) -> Iterator[pa.Table]:
        """All rows."""
        yield self._lines.table

    def queries(self, table: pa.Table, before: int) -> Queries:
        """Queries from some of the rows."""
        return self._lines.queries_of(table, self.chosen, before=before)
