"""CSV with a line of names: one row per document, and a column for each feature."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv

from rankwright.data.changes import told_if_changed
from rankwright.data.columns import DOC_ID
from rankwright.data.frames import from_frame
from rankwright.data.paths import input_file
from rankwright.data.precision import as_the_rule_says
from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParseError

_ROW = re.compile(r"[Rr]ow #(\d+)")


def read_csv(
    path: str | os.PathLike[str], *, label: str | None = None, qid: str | None = None, doc: str | None = None
) -> Queries:
    """Queries from CSV, or from text with tabs if the name has ``.tsv``; plain or gzip.

    The columns named by ``label``, ``qid`` and ``doc`` are the grades, the queries and the document ids (``label``,
    ``qid`` and ``doc_id`` by default); all others are features, and must be numbers. An empty field is missing: NaN.
    The features are float32 or float64 by the rule of :mod:`rankwright.data.precision`, as those of LETOR text are.
    """
    ids = [qid or "qid", doc or DOC_ID]
    with told_if_changed(path):
        table = _table(input_file(path))
        _check_names_and_text(path, table)
        rounded = [name for name in ids if table.column_names.count(name) == 1 and _may_be_rounded(table[name])]
        if rounded:
            table = _table(input_file(path), as_text=rounded)
    try:
        queries = from_frame(table, label=label or "label", qid=qid or "qid", doc=doc)
    except DataError as error:
        raise DataError(f"{os.fspath(path)}: {error}") from None
    x = as_the_rule_says(queries.X, queries.grouping)
    return Queries(x, queries.supervision, queries.qid, feature_names=queries.feature_names, doc_ids=queries.doc_ids)


def _may_be_rounded(column: pa.ChunkedArray) -> bool:
    """Whether Arrow took ids of too many digits for int64 for numbers of float64, in which some become equal."""
    return pa.types.is_floating(column.type) and bool(pc.any(pc.greater_equal(pc.abs(column), 2.0**53)).as_py())


def _table(path: Path, as_text: Sequence[str] = ()) -> pa.Table:
    try:
        return _read(path, as_text, use_threads=True)
    except pa.ArrowInvalid:
        pass
    except OSError as error:
        raise _as_parse_error(path, error) from None
    try:
        return _read(path, as_text, use_threads=False)  # so that Arrow knows the line
    except pa.ArrowInvalid as error:
        raise ParseError(path, _told(str(error)), line=_line(str(error))) from None


def _as_parse_error(path: Path, error: OSError) -> OSError | ParseError:
    """What zlib says of a damaged file has no number; a file that may not be read has one."""
    return error if error.errno else ParseError(path, f"the gzip data are damaged or cut off: {error}")


def _check_names_and_text(path: str | os.PathLike[str], table: pa.Table) -> None:
    """Refuse columns without a name, text that is not UTF-8, and names without rows."""
    try:
        names = table.column_names
    except UnicodeDecodeError:
        raise ParseError(path, "the names of the columns are not UTF-8 text", line=1) from None
    if "" in names:
        raise ParseError(
            path, f"column {names.index('') + 1} has no name: give it one, or leave it out if it numbers rows", line=1
        )
    for name, kind in zip(names, table.schema.types, strict=True):
        if pa.types.is_binary(kind):  # what Arrow makes of other texts
            raise ParseError(path, f"column {name!r} holds text that is not UTF-8")
    if not table.num_rows:
        raise ParseError(path, "there are names of columns, but no documents")


def _read(path: Path, as_text: Sequence[str], *, use_threads: bool) -> pa.Table:
    parsed = pa_csv.ParseOptions(delimiter=_delimiter(path))
    converted = pa_csv.ConvertOptions(column_types=dict.fromkeys(as_text, pa.string()))
    return pa_csv.read_csv(path, pa_csv.ReadOptions(use_threads=use_threads), parsed, converted)


def _delimiter(path: Path) -> str:
    return "\t" if path.name.lower().removesuffix(".gz").endswith(".tsv") else ","


def _line(problem: str) -> int | None:
    """The line that Arrow complains of: rows are counted from 1, the names included."""
    row = _ROW.search(problem)
    return int(row[1]) if row else None


def _told(problem: str) -> str:
    """The first line of Arrow's complaint, without what `_line` has told."""
    told = problem.splitlines()[0].removeprefix("CSV parse error: ")
    return _ROW.sub("", told).replace(": : ", ": ").strip(" :")
