"""Whatever holds queries, as `Queries`: queries themselves, a data frame, or a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError, ParameterError


def checked_queries(queries: Any) -> AnyQueries:
    """Queries, in memory or not, where nothing else will do."""
    if not isinstance(queries, Queries | StreamedQueries):
        raise ParameterError(f"queries must be Queries, not {type(queries).__name__}")
    return queries


def as_queries(data: Any, columns: TableColumns, name: str = "the data") -> AnyQueries:
    """Queries as they are, read from the file of a path, or made of a pandas, polars or Arrow frame."""
    if isinstance(data, Queries | StreamedQueries):
        _refuse_columns(columns, name)
        return data
    if isinstance(data, str | os.PathLike):
        from rankwright.data.files import read_asked

        return read_asked(data, columns)
    from rankwright.data.columns import choose_columns
    from rankwright.data.frames import as_narwhals, queries_of_table

    try:
        table = as_narwhals(data)
        return queries_of_table(table, *choose_columns(table.schema, columns), where=f"{name}: ")
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def as_parts(train: Any, columns: TableColumns, **others: Any) -> tuple[AnyQueries, dict[str, AnyQueries | None]]:
    """Training data, and others with the same features: frames and files are matched by the names of these."""
    queries = as_queries(train, columns, "the training data")
    alike = columns.for_features(queries.feature_names) if queries.has_feature_names else columns
    given = {name: data for name, data in others.items() if data is not None}
    read = {
        name: data if isinstance(data, Queries | StreamedQueries) else as_queries(data, alike, f"the {name} data")
        for name, data in given.items()
    }
    files = [train, *given.values()]
    if all(isinstance(data, str | os.PathLike) for data in files):
        queries, *parts = equally_wide(files, [queries, *read.values()])
        read = dict(zip(given, parts, strict=True))
    return queries, {name: read.get(name) for name in others}


def equally_wide(files: Sequence[str | os.PathLike[str]], read: Sequence[Any]) -> list[Any]:
    """What was read from files of one collection, with as many features: text does not tell of those that are all 0."""
    if any(queries.has_feature_names for queries in read) or len({queries.n_features for queries in read}) == 1:
        return list(read)
    if not all(isinstance(queries, Queries) for queries in read):
        most = max(queries.n_features for queries in read)
        return [widened(queries, most) for queries in read]
    from rankwright.data.svmlight.reader import read_parts

    return read_parts(files, dtype=None, missing="zero")


def widened(queries: Any, n_features: int) -> Any:
    """The same with more features, which are 0 in all documents."""
    if not isinstance(queries, Queries):
        return queries.mapped(partial(widened, n_features=n_features))
    x: Any = queries.X
    if sp.issparse(x):
        x = sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], n_features))
    else:
        x = np.hstack([x, np.zeros((x.shape[0], n_features - x.shape[1]), x.dtype)])
    return Queries(x, queries.supervision, queries.qid, doc_ids=queries.doc_ids)


def _refuse_columns(columns: TableColumns, name: str) -> None:
    given = [*columns.named(), *(["features"] if columns.features else []), *(["one_hot"] if columns.one_hot else [])]
    if given:
        raise ParameterError(f"{given[0]}: {name} are Queries, which have no columns to name: give a frame or a file")
