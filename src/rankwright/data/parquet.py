"""Queries in Parquet files: exact, typed, small, and read as fast as the columns can be decoded.

A file has the columns of a frame (:mod:`rankwright.data.frames`), and a note in its metadata, under the key
``rankwright``, which says in JSON what each column is, so that reading needs no arguments::

    {"version": 1, "supervision": "grades", "qid": "qid", "label": "label", "doc": null,
     "sparse": false, "n_features": 2, "features": ["bm25", "pagerank"]}

Row groups hold whole queries, so a program can take the file apart, or stream it, at any row group.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from rankwright.data.changes import told_if_changed
from rankwright.data.columns import (
    LABEL_COLUMNS,
    N_FEATURES,
    Columns,
    Schema,
    check_columns,
    check_parts,
    choose_columns,
    columns_of,
    numeric_features,
)
from rankwright.data.frames import as_narwhals
from rankwright.data.from_columns import (
    build_queries,
    csr_features,
    feature_dtype,
    fill_rows,
    floats,
    number_of_features,
)
from rankwright.data.parts import parts_of
from rankwright.data.paths import atomic_path, input_file
from rankwright.data.queries import Queries
from rankwright.data.selected_features import of_names
from rankwright.data.table_columns import FeatureColumn, TableColumns, chosen_features
from rankwright.data.table_features import table_features, tell_left_out
from rankwright.data.to_columns import arrow_schema, arrow_table
from rankwright.errors import DataError, ParseError
from rankwright.judgments.supervision import Grades
from rankwright.machine.runs import runs_of_queries
from rankwright.machine.threads import map_in_order

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

_NOTE_KEY = "rankwright"
_NOTE_VERSION = 1

# A row group is as large as either allows; a query that is larger still has a row group of its own.
_GROUP_ROWS = 2**16
_GROUP_BYTES = 2**26

# How much of a row group a thread reads at a time, at least one column.
_BLOCK_BYTES = 2**24

# A column with more distinct values than fit in this many bytes is stored plainly: a dictionary would not
# make the file smaller, and reading slower.
_DICTIONARY_BYTES = 2**15


@dataclass(frozen=True)
class Note:
    """What a file says about itself."""

    columns: Columns
    n_features: int


def write_parquet(queries: Queries | StreamedQueries, path: str | os.PathLike[str]) -> None:
    """Write queries to a Parquet file, from which :func:`read_parquet` gets them back exactly.

    Row groups hold whole queries. Rows of a query that do not stand together are brought together, queries
    in the order of their first rows; a preference graph's edges are sorted by their preferred document.
    The file is written whole or not at all. Queries that are read from files are written part by part.
    """
    parts = iter(parts_of(queries))
    first_part = next(parts)
    columns = _distinct_names(columns_of(first_part))
    # Nothing is null, and to say so spares the reader a bit per value.
    schema = pa.schema([field.with_nullable(False) for field in arrow_schema(first_part, queries.query_ids, columns)])
    note = _note_to_json(Note(columns, queries.n_features))
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(
            temporary, schema, compression="snappy", dictionary_pagesize_limit=_DICTIONARY_BYTES
        ) as writer,
    ):
        writer.add_key_value_metadata({_NOTE_KEY: note})
        for part in chain([first_part], parts):
            for first, last in runs_of_queries(part.grouping.offsets, _rows_per_group(part)):
                group = arrow_table(part[first:last], columns, schema)
                writer.write_table(group, row_group_size=len(group))


def read_parquet(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    qid: str | None = None,
    features: Sequence[str] | None = None,
    doc: str | None = None,
    one_hot: Sequence[str] | None = None,
) -> Queries:
    """Read queries from a Parquet file, written by :func:`write_parquet` or by any other program.

    A file of :func:`write_parquet` says itself which column is what; in other files the columns are found
    as :func:`~rankwright.from_frame` finds them. Each argument overrides one of these choices.
    Nulls in features become NaN. Dense features need little more memory than their array.

    Parameters
    ----------
    path : path of a Parquet file
    label, qid, doc : str, optional
        The columns of grades, query ids and document ids.
    features, one_hot : sequences of str, optional
        The feature columns, in order, and those to encode by their values, as :func:`~rankwright.from_frame` takes
        them; for CSR features of another program, ``features`` are the names of all of them.
    """
    return read_columns(path, TableColumns.of(label=label, qid=qid, doc=doc, features=features, one_hot=one_hot))


def read_columns(path: str | os.PathLike[str], asked: TableColumns) -> Queries:
    """The same, of columns that are asked for by one object."""
    with told_if_changed(path), told_as_parse_errors(path), pq.ParquetFile(path) as file:
        schema, note, columns, chosen = planned(file, asked)
        if any(each.values is not None for each in chosen):
            wanted = list(dict.fromkeys([*columns.apart_from_dense_features(), *(each.column for each in chosen)]))
            rows = _read(file, wanted)
            found = table_features(rows, chosen)
            tell_left_out(found.left_out, f"{os.fspath(path)}: ")
            return build_queries(rows, replace(columns, features=found.names), found.x)
        if not columns.sparse:
            names, left_out = numeric_features(schema, chosen)
            tell_left_out(left_out, f"{os.fspath(path)}: ")
            columns = replace(columns, features=names)
        check_columns(schema, columns)
        table = _read(file, columns.apart_from_dense_features())
        if not columns.sparse:
            x = _dense_features(path, file.metadata, schema, columns.dense_features())
        elif note is None:
            x = csr_features(table, number_of_features(_read(file, [N_FEATURES])))
        else:
            return of_names(build_queries(table, columns, csr_features(table, note.n_features)), asked)
        return build_queries(table, columns, x)


def planned(file: Any, asked: TableColumns) -> tuple[Schema, Note | None, Columns, list[FeatureColumn]]:
    """The types of an open file, what it says about itself, the part of each column, and the features chosen."""
    schema = as_narwhals(file.schema_arrow.empty_table()).schema
    note = _note_from_json(file.metadata.metadata or {})
    columns, chosen = choose_columns(schema, asked) if note is None else _overridden(schema, note.columns, asked)
    return schema, note, columns, chosen


@contextmanager
def told_as_parse_errors(path: str | os.PathLike[str]) -> Iterator[None]:
    """Whatever is wrong with the file: an error that names it."""
    input_file(path)
    try:
        yield
    except DataError as error:
        raise ParseError(path, str(error)) from None
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise ParseError(path, f"not a Parquet file, or cut short or damaged ({error})") from None


def _read(file: Any, names: list[str]) -> nw.DataFrame[Any]:
    # pyarrow also reads columns whose names go on after a dot: these are left out again.
    return as_narwhals(file.read(columns=names).select(names))


def _dense_features(
    path: str | os.PathLike[str], metadata: Any, schema: Schema, names: Sequence[str]
) -> npt.NDArray[np.floating[Any]]:
    """The features as one row-major matrix, filled a few columns of a row group at a time by several threads."""
    dtype = feature_dtype(schema, names)
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    matrix = np.empty((starts[-1], len(names)), dtype=dtype)

    def fill(group: int, first: int, last: int) -> None:
        wanted = list(names[first:last])
        # Reading with one file object from several threads is not safe; another one costs next to nothing.
        with pq.ParquetFile(path, metadata=metadata) as file:
            table = file.read_row_group(group, columns=wanted, use_threads=False)
        if len(table) != sizes[group]:
            raise DataError(f"row group {group} holds {len(table)} rows, not {sizes[group]} as the file says")
        rows = matrix[starts[group] : starts[group + 1], first:last]
        fill_rows(rows, [floats(table[name], dtype) for name in wanted])

    blocks = (
        (group, first, first + step)
        for group, size in enumerate(sizes)
        for step in [max(1, _BLOCK_BYTES // max(1, size * matrix.itemsize))]
        for first in range(0, len(names), step)
    )
    for _ in map_in_order(lambda block: fill(*block), blocks):
        pass
    return matrix


# Row groups


def _rows_per_group(queries: Queries) -> int:
    """How many rows a row group may have, of one query or several."""
    x: Any = queries.X
    if sp.issparse(x):
        row_bytes = x.nnz * (x.data.itemsize + x.indices.itemsize) / max(1, queries.n_documents)
    else:
        row_bytes = x.shape[1] * x.itemsize
    return max(1, min(_GROUP_ROWS, int(_GROUP_BYTES / max(1.0, row_bytes))))


# What a file says about itself


def _distinct_names(columns: Columns) -> Columns:
    """Feature columns have the names of the features; columns of other parts that clash get underscores."""
    taken = set(columns.dense_features())

    def free(name: str) -> str:
        while name in taken:
            name = f"_{name}"
        taken.add(name)
        return name

    return replace(
        columns,
        qid=free(columns.qid),
        label=None if columns.label is None else free(columns.label),
        doc=None if columns.doc is None else free(columns.doc),
    )


def _overridden(schema: Schema, noted: Columns, asked: TableColumns) -> tuple[Columns, list[FeatureColumn]]:
    """What the file says, except where the caller says otherwise, and which of its features are chosen."""
    columns = replace(
        noted,
        label=noted.label if asked.label is None else asked.label,
        supervision=noted.supervision if asked.label in (None, noted.label) else Grades,
        qid=noted.qid if asked.qid is None else asked.qid,
        doc=noted.doc if asked.doc is None else asked.doc,
    )
    check_parts(schema, columns if asked.features is None else replace(columns, features=None))
    if noted.sparse:
        return columns, []
    if asked.features is None and not asked.one_hot:
        return columns, [FeatureColumn(name, is_named=True) for name in columns.dense_features()]
    parts = [name for name in (columns.qid, columns.label, columns.doc) if name is not None]
    return columns, chosen_features(noted.dense_features(), asked, parts)


def _note_to_json(note: Note) -> str:
    columns = note.columns
    return json.dumps(
        {
            "version": _NOTE_VERSION,
            "supervision": columns.supervision.kind,
            "qid": columns.qid,
            "label": columns.label,
            "doc": columns.doc,
            "sparse": columns.sparse,
            "n_features": note.n_features,
            "features": columns.features,
        }
    )


def _note_from_json(metadata: dict[bytes, bytes]) -> Note | None:
    """The note in a file's metadata, checked; None if there is none."""
    text = metadata.get(_NOTE_KEY.encode())
    if text is None:
        return None
    try:
        said = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"the metadata {_NOTE_KEY!r} is damaged: {error}") from None
    version = said.get("version") if isinstance(said, dict) else None
    if isinstance(version, int) and version > _NOTE_VERSION:
        raise DataError(
            f"the file is of layout {version}, but this version of Rankwright reads layouts up to {_NOTE_VERSION}: "
            "upgrade Rankwright"
        )
    kinds = {kind.kind: kind for kind in LABEL_COLUMNS}
    match said:
        case {
            "version": 1,
            "supervision": str(kind),
            "qid": str(qid),
            "label": str(label),
            "doc": str() | None as doc,
            "sparse": bool(sparse),
            "n_features": int(n_features),
            "features": list() | None as features,
        } if kind in kinds and 0 <= n_features < 2**31 and _are_names(features, n_features, may_lack=sparse):
            names = None if features is None else tuple(features)
            return Note(Columns(qid, label, kinds[kind], doc, names, sparse), n_features)
    raise DataError(
        f"the metadata {_NOTE_KEY!r} is not what write_parquet writes: remove it and name the columns by the "
        "arguments of read_parquet, or write the file anew"
    )


def _are_names(features: list[object] | None, n_features: int, *, may_lack: bool) -> bool:
    """Whether these are the names of so many features."""
    if features is None:
        return may_lack
    return len(features) == n_features and all(isinstance(name, str) for name in features)
