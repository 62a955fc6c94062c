"""Open and write any data file: LETOR / SVMlight text, tables, Parquet."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy.typing as npt

from rankwright.data.content import Content
from rankwright.data.other_formats import other_format
from rankwright.data.paths import input_file
from rankwright.data.queries import Queries
from rankwright.data.table_columns import TableColumns
from rankwright.errors import ParameterError, ParseError

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

_TEXT_SUFFIXES = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_ENDINGS = {"csv": (".csv", ".tsv", ".tab", ".psv"), "json lines": (".jsonl", ".ndjson")}


def read_queries(
    path: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
    features: Sequence[str] | None = None,
    one_hot: Sequence[str] | None = None,
    column_description: str | os.PathLike[str] | None = None,
    for_model: Any = None,
) -> Queries:
    """Read a data file: LETOR / SVMlight text, CSV, JSON lines or Parquet; all but Parquet plain or gzip.

    Which of them it is, its content tells, and for CSV (``.csv``, ``.tsv``) and JSON lines (``.jsonl``, ``.ndjson``)
    also its name; a pipe must hold text, or have such a name. CSV has a line of names first, and its columns are parted
    by commas, semicolons, tabs or bars. What is not read, such as an Excel workbook, is refused with the reason.

    Parameters
    ----------
    path : path
    dtype, missing : for LETOR text; the others know their own
        Without a ``dtype``, features are float32 if that loses nothing that matters within queries, else float64.
    label, qid, doc : str, optional
        Columns of tables; by default ``label``, ``qid`` and, if it is there, ``doc_id``.
    features, one_hot : sequences of str, optional
        Which columns are features, and which of text to encode by their values, as :func:`~rankwright.from_frame`
        takes them. Features of LETOR text are ``f1``, ``f2``, … or their numbers.
    column_description : path, optional
        CatBoost's description of the columns, for a file without a line of names.
    for_model : a fitted ranker or a model, optional
        Take the features that it names from a table, text encoded as it was for training; grades may be absent.
    """
    asked = TableColumns.of(label=label, qid=qid, doc=doc, features=features, one_hot=one_hot)
    if for_model is not None:
        asked = asked.for_model(for_model)
    return read_asked(path, asked, dtype=dtype, missing=missing, column_description=column_description)


def read_asked(
    path: str | os.PathLike[str],
    asked: TableColumns,
    *,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
    column_description: str | os.PathLike[str] | None = None,
) -> Queries:
    """The same, of columns that are asked for by one object."""
    kind = "csv" if column_description is not None else kind_of_file(path)
    if kind == "csv":
        from rankwright.data.csv import read_csv

        return read_csv(path, asked, column_description=column_description)
    if kind == "json lines":
        from rankwright.data.json_lines import read_json_lines

        return read_json_lines(path, asked)
    if kind == "parquet":
        from rankwright.data.parquet import read_columns

        return read_columns(path, asked)
    refuse_columns_of_text(path, asked)
    from rankwright.data.selected_features import of_numbers
    from rankwright.data.svmlight import read_svmlight

    return of_numbers(read_svmlight(path, dtype=dtype, missing=missing), asked, path)


def refuse_columns_of_text(path: str | os.PathLike[str], asked: TableColumns) -> None:
    """Raise a :class:`ParameterError` for columns that LETOR text does not have."""
    for parameter, name in asked.named().items():
        raise ParameterError(f"{parameter}: {os.fspath(path)} is LETOR text, which has no column {name!r} to name")
    if asked.one_hot:
        raise ParameterError(f"one_hot: {os.fspath(path)} is LETOR text, which has numbers only")


def kind_of_file(path: str | os.PathLike[str]) -> str:
    """What a file holds: by its content, or by its name where that says it; :class:`ParseError` if it is not read."""
    file = input_file(path)
    name = file.name.lower().removesuffix(".gz")
    by_name = next((kind for kind, endings in _ENDINGS.items() if name.endswith(endings)), None)
    if not file.is_file():
        return by_name or "text"
    with file.open("rb") as opened:
        if opened.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC:
            return "parquet"
    try:
        head = Content(file).head()
    except ParseError:  # of gzip that is damaged, the readers know more
        return by_name or "text"
    other = other_format(head)
    if other is not None:
        raise ParseError(path, f"this is {other}")
    if by_name is None and head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
        return "json lines"
    return by_name or ("csv" if _begins_with_names(head) else "text")


def _begins_with_names(head: bytes) -> bool:
    """Whether the first line is the names of a table's columns; LETOR text begins with a grade or a comment."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].strip()
    first = min((line.split(mark)[0] for mark in (b",", b";", b"\t", b"|") if mark in line), key=len, default=b"")
    return bool(re.fullmatch(rb'"?[A-Za-z_][^:#]*', first)) and b":" not in line


def write_queries(queries: Queries | StreamedQueries, path: str | os.PathLike[str]) -> None:
    """Write a data file, whole or not at all, in the format that its name asks for.

    ``.parquet`` and ``.pq`` are Parquet; ``.txt``, ``.svm``, ``.svmlight``, ``.libsvm``, ``.letor`` and
    ``.dat`` are LETOR / SVMlight text, compressed if ``.gz`` follows. Queries that are read from files are written part
    by part.
    """
    check_data_name(path)
    if Path(path).suffix.lower() in _PARQUET_SUFFIXES:
        from rankwright.data.parquet import write_parquet

        write_parquet(queries, path)
    else:
        from rankwright.data.svmlight import write_svmlight

        write_svmlight(queries, path)


def check_data_name(path: str | os.PathLike[str]) -> None:
    """Raise a :class:`ParameterError` if the name does not tell the format to write a data file in."""
    name = Path(path).name.lower()
    if not name.removesuffix(".gz").endswith(_TEXT_SUFFIXES) and not name.endswith(_PARQUET_SUFFIXES):
        raise ParameterError(
            f"{os.fspath(path)}: the name of a data file ends in {', '.join(_TEXT_SUFFIXES)} for text "
            f"(.gz may follow), or in {' or '.join(_PARQUET_SUFFIXES)} for Parquet"
        )
