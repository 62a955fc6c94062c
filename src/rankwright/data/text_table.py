"""`TextTable`: what CSV and JSON lines have in common, tables of text whose columns become queries."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Sequence

import pyarrow as pa

from rankwright.data.columns import Schema, choose_columns
from rankwright.data.frames import as_narwhals, queries_of_table
from rankwright.data.precision import as_the_rule_says
from rankwright.data.queries import Queries
from rankwright.data.table_columns import FeatureColumn, TableColumns
from rankwright.errors import DataError, ParseError, RowError


class TextTable(ABC):
    """A file as a table, with the part of each column."""

    def __init__(self, path: str | os.PathLike[str], schema: Schema, asked: TableColumns) -> None:
        self.path, self.where = path, f"{os.fspath(path)}: "
        try:
            self.columns, self.chosen = choose_columns(schema, asked)
        except DataError as error:
            raise DataError(f"{self.where}{error}") from None

    def queries_of(
        self, table: pa.Table, chosen: Sequence[FeatureColumn], mark: str = ".", *, before: int = 0
    ) -> Queries:
        """Queries from some rows, behind so many others, with all features as float64."""
        try:
            return queries_of_table(as_narwhals(table), self.columns, chosen, decimal_mark=mark, where=self.where)
        except RowError as error:
            raise ParseError(self.path, error.problem, line=self.line_of(before + error.row + 1)) from None
        except DataError as error:
            raise DataError(f"{self.where}{error}") from None

    @abstractmethod
    def line_of(self, row: int) -> int | None:
        """The line that a row begins in, both counted from 1."""


def in_ruled_precision(queries: Queries) -> Queries:
    """The same queries with features in float32, if the rule of :mod:`rankwright.data.precision` allows it."""
    x = as_the_rule_says(queries.X, queries.grouping)
    return Queries(x, queries.supervision, queries.qid, feature_names=queries.feature_names, doc_ids=queries.doc_ids)
