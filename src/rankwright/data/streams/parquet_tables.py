"""Parquet, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rankwright.data.changes import told_if_changed
from rankwright.data.columns import N_FEATURES, check_columns, numeric_features
from rankwright.data.frames import as_narwhals
from rankwright.data.from_columns import build_queries, csr_features, dense_features, number_of_features
from rankwright.data.parquet import planned, told_as_parse_errors
from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns
from rankwright.data.table_features import table_features, tell_left_out

_BATCH_BYTES = 1 << 25


class ParquetTables:
    """A Parquet file as a series of tables."""

    by_rule = False

    def __init__(self, path: Path, asked: TableColumns) -> None:
        self.path = path
        with told_as_parse_errors(path), pq.ParquetFile(path) as file:
            self._schema, note, self._columns, self.chosen = planned(file, asked)
            self._n_features = None if note is None else note.n_features
            self._told = False
            if not self._columns.sparse and not self._encodes:
                names, left_out = numeric_features(self._schema, self.chosen)
                tell_left_out(left_out, f"{path}: ")
                self._columns = replace(self._columns, features=names)
            if not self._encodes:
                check_columns(self._schema, self._columns)
            groups = [file.metadata.row_group(group) for group in range(file.metadata.num_row_groups)]
            row_bytes = sum(group.total_byte_size for group in groups) / max(1, file.metadata.num_rows)
        self._batch_rows = max(64, int(_BATCH_BYTES / max(1.0, row_bytes, 8.0 * len(self.chosen))))

    @property
    def qid(self) -> str:
        """The column of query ids."""
        return self._columns.qid

    @property
    def _encodes(self) -> bool:
        return any(each.values is not None for each in self.chosen)

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a few megabytes at a time."""
        wanted = list(dict.fromkeys([*self._columns.apart_from_dense_features(), *self._features()]))
        # With its own buffers, Arrow would hold all groups of rows that it has read.
        opened = partial(pq.ParquetFile, self.path, pre_buffer=False)
        with told_if_changed(self.path), told_as_parse_errors(self.path), opened() as file:
            for batch in file.iter_batches(self._batch_rows, columns=wanted):
                # pyarrow also reads columns whose names go on after a dot: these are left out again.
                yield pa.Table.from_batches([batch]).select(wanted)

    def _features(self) -> list[str]:
        if self._columns.sparse:
            return [N_FEATURES] if self._n_features is None else []
        return [each.column for each in self.chosen] if self._encodes else list(self._columns.dense_features())

    def queries(self, table: pa.Table, before: int) -> Queries:
        """Queries from some of the rows."""
        with told_as_parse_errors(self.path):
            rows = as_narwhals(table)
            if self._columns.sparse:
                width = number_of_features(rows) if self._n_features is None else self._n_features
                return build_queries(rows, self._columns, csr_features(rows, width))
            if not self._encodes:
                return build_queries(rows, self._columns, dense_features(rows, self._columns.dense_features()))
            found = table_features(rows, self.chosen)
            if not self._told:
                tell_left_out(found.left_out, f"{self.path}: ")
                self._told = True
            return build_queries(rows, replace(self._columns, features=found.names), found.x)
