"""`open_queries`: data files larger than memory."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import numpy as np
import numpy.typing as npt

from rankwright.data.column_description import description_beside
from rankwright.data.files import kind_of_file, refuse_columns_of_text
from rankwright.data.one_query import warn_of_reason
from rankwright.data.paths import group_files, input_file
from rankwright.data.selected_features import of_names, of_numbers
from rankwright.data.streams.cache import ENDING, Cache, remove_caches
from rankwright.data.streams.sizes import memory_limit
from rankwright.data.streams.store import Store
from rankwright.data.streams.streamed import StreamedQueries
from rankwright.data.streams.text_rows import text_to_store
from rankwright.data.table_columns import TableColumns
from rankwright.errors import DataError, ParameterError
from rankwright.progress import Tell

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

_NO_DATA = (".query", ".group", ".cd", ".json", ".md", ".html", ".py", ENDING)


def open_queries(
    paths: Paths,
    *,
    memory: int | str = "4GB",
    cache: str | os.PathLike[str] | None = None,
    sort: bool = False,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
    features: Sequence[str] | None = None,
    one_hot: Sequence[str] | None = None,
    column_description: str | os.PathLike[str] | None = None,
    for_model: Any = None,
    progress: Tell | None = None,
) -> StreamedQueries:
    """Open data files that may be larger than memory: LETOR / SVMlight text, CSV or Parquet, text also as gzip.

    The queries are what :func:`~rankwright.read_queries` would give of all files one after the other, but only a part
    of them is in memory at a time. The files are read once, within the limit of memory, into a binary
    file beside the first of them, from which every pass is then read as fast as the disk is. It is used again as long
    as the files stay as they are.

    Parameters
    ----------
    paths : path, folder, pattern such as ``"part-*.txt"``, or several of them
        All of one format. Of a folder all data files are taken, in the order of their names.
    memory : int or str
        How much memory may be used: a number of bytes, or as ``"4GB"``, ``"500MB"`` or ``"2GiB"``.
    cache : path of a folder, optional
        Where to keep what was read, instead of beside the first file. :func:`~rankwright.remove_cache` removes it.
    sort : bool
        Bring rows of a query together that stand apart in the files, by a sort on disk; otherwise that is an error.
    dtype, missing, label, qid, doc, features, one_hot, column_description, for_model
        As :func:`~rankwright.read_queries` takes them.
    progress : function, optional
        Called with :class:`~rankwright.Progress` while the files are read for the first time: bytes read, of how many.
    """
    asked = TableColumns.of(label=label, qid=qid, doc=doc, features=features, one_hot=one_hot)
    if for_model is not None:
        asked = asked.for_model(for_model)
    return open_asked(
        paths,
        asked,
        memory=memory,
        cache=cache,
        sort=sort,
        dtype=dtype,
        missing=missing,
        column_description=column_description,
        progress=progress,
    )


def open_asked(
    paths: Paths,
    asked: TableColumns,
    *,
    memory: int | str,
    cache: str | os.PathLike[str] | None = None,
    sort: bool = False,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
    column_description: str | os.PathLike[str] | None = None,
    progress: Tell | None = None,
) -> StreamedQueries:
    """The same, of columns that are asked for by one object."""
    files = data_files(paths)
    limit = memory_limit(memory)
    kinds = {"csv" if column_description is not None else kind_of_file(file): file for file in files}
    if len(kinds) > 1:
        (one, a), (other, b) = list(kinds.items())[:2]
        raise DataError(f"files that are read as one must be of one format, but {a} is {one} and {b} is {other}")
    (kind,) = kinds
    options: dict[str, Any] = {"sort": sort, "kind": kind}
    read: Callable[..., Store]
    if kind == "text":
        for file in files:
            refuse_columns_of_text(file, asked)
        options |= {"dtype": None if dtype is None else str(np.dtype(dtype)), "missing": missing}
        beside = [found for file in files for found in group_files(file)]
        read = partial(text_to_store, files, dtype=dtype, missing=missing)
    else:
        options |= {"columns": asdict(asked), "description": column_description and os.fspath(column_description)}
        given = None if column_description is None else Path(column_description)
        beside = list({found: None for file in files if (found := given or description_beside(file)) is not None})
        read = partial(_tables_to_store, files, kind, asked, column_description, limit)

    def fill(file: BinaryIO, folder: Path, note: dict[str, Any]) -> Store:
        return read(file=file, folder=folder, sort=sort, note=note, memory=limit, progress=progress)

    store = Cache(files, options, cache).opened(fill, beside, _told(files))
    warn_of_reason(store.note.get("one query"), store.n_rows)
    queries = StreamedQueries(store, limit)
    if kind == "text" and asked.features is not None:
        queries = queries.mapped(partial(of_numbers, asked=asked, path=files[0]))
    if kind == "parquet" and store.is_sparse and asked.features is not None:
        queries = queries.mapped(partial(of_names, asked=asked))
    return queries


def _tables_to_store(
    files: Sequence[Path], kind: str, asked: TableColumns, description: Any, limit: int, **how: Any
) -> Store:
    from rankwright.data.streams.csv_tables import CsvTables
    from rankwright.data.streams.json_tables import JsonTables
    from rankwright.data.streams.parquet_tables import ParquetTables
    from rankwright.data.streams.table_rows import Tables, tables_to_store

    tables: list[Tables]
    if kind == "csv":
        tables = [CsvTables(file, asked, description) for file in files]
    elif kind == "parquet":
        tables = [ParquetTables(file, asked) for file in files]
    else:
        tables = [JsonTables(file, asked, limit) for file in files]
    return tables_to_store(tables, **how)


def remove_cache(paths: Paths, *, cache: str | os.PathLike[str] | None = None) -> list[Path]:
    """Remove what :func:`~rankwright.open_queries` keeps of these files, and tell which files that were."""
    return remove_caches(data_files(paths), cache)


def data_files(paths: Paths) -> list[Path]:
    """The files of paths, folders and patterns, each of which must be there."""
    given = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [file for path in given for file in _found(path)]
    if not files:
        raise ParameterError("paths: give at least one file, folder or pattern")
    for file in files:
        if not input_file(file).is_file():
            raise ParameterError(
                f"{file} is a pipe or a device, which can be read only once: write it into a file first"
            )
    twice = next((file for place, file in enumerate(files) if file in files[:place]), None)
    if twice is not None:
        raise ParameterError(f"paths: {twice} is named twice")
    return files


def _found(path: str | os.PathLike[str]) -> list[Path]:
    place = Path(path)
    if place.is_dir():
        found = sorted(file for file in place.iterdir() if file.is_file() and _is_data(file))
        if not found:
            raise FileNotFoundError(f"{place}: there are no data files in this folder")
        return found
    if not place.exists() and glob.has_magic(os.fspath(path)):
        matching = sorted(map(Path, glob.glob(os.fspath(path))))  # noqa: PTH207 (folders may be patterns, too)
        found = [file for file in matching if file.is_file() and _is_data(file)]
        if not found:
            raise FileNotFoundError(f"{os.fspath(path)}: there are no such files")
        return found
    return [input_file(place)]


def _is_data(file: Path) -> bool:
    return not file.name.startswith((".", "_")) and not file.name.removesuffix(".gz").endswith(_NO_DATA)


def _told(files: Sequence[Path]) -> str:
    return files[0].name if len(files) == 1 else f"{files[0].name} and {len(files) - 1} more"
