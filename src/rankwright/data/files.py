"""Open and write any data file by its name: LETOR / SVMlight text or Parquet, and files of scores."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from rankwright.data.paths import input_file
from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError, ParseError

_TEXT_SUFFIXES = (".txt", ".svm", ".svmlight", ".libsvm", ".letor", ".dat")
_PARQUET_SUFFIXES = (".parquet", ".pq")
_PARQUET_MAGIC = b"PAR1"
_GZIP_MAGIC = b"\x1f\x8b"
_LONGEST_SCORE = 10_000  # bytes of a line
_CHUNK = 1 << 20


def read_queries(
    path: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    missing: Literal["zero", "nan"] = "zero",
    label: str | None = None,
    qid: str | None = None,
    doc: str | None = None,
) -> Queries:
    """Read a data file: CSV if its name says so, Parquet if it starts as Parquet does, otherwise LETOR / SVMlight text.

    ``.csv`` is CSV and ``.tsv`` the same with tabs, with a line of names first; all three may be compressed by gzip.
    Else the name does not matter, so a file with an unusual ending can still be read; a pipe must hold text.
    ``dtype`` and ``missing`` are for LETOR text: the others know their own. Without a ``dtype``, the features are
    float32 if that loses nothing that matters within queries, else float64. ``label``, ``qid`` and ``doc`` name columns
    of CSV and Parquet; by default ``label``, ``qid`` and, if it is there, ``doc_id``. To choose more, call
    :func:`~rankwright.read_svmlight` or :func:`~rankwright.read_parquet`.
    """
    if _is_csv(path):
        from rankwright.data.csv import read_csv

        return read_csv(path, label=label, qid=qid, doc=doc)
    if _is_parquet(input_file(path)):
        from rankwright.data.parquet import read_parquet

        return read_parquet(path, label=label, qid=qid, doc=doc)
    for name, column in (("label", label), ("qid", qid), ("doc", doc)):
        if column is not None:
            raise ParameterError(f"{name}: {os.fspath(path)} is LETOR text, which has no columns to name")
    from rankwright.data.svmlight import read_svmlight

    return read_svmlight(path, dtype=dtype, missing=missing)


def _is_csv(path: str | os.PathLike[str]) -> bool:
    return Path(path).name.lower().removesuffix(".gz").endswith((".csv", ".tsv"))


def _is_parquet(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def write_queries(queries: Queries, path: str | os.PathLike[str]) -> None:
    """Write a data file, whole or not at all, in the format that its name asks for.

    ``.parquet`` and ``.pq`` are Parquet; ``.txt``, ``.svm``, ``.svmlight``, ``.libsvm``, ``.letor`` and
    ``.dat`` are LETOR / SVMlight text, compressed if ``.gz`` follows.
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


def read_scores(path: str | os.PathLike[str], queries: Queries) -> npt.NDArray[np.float64]:
    """Read one score per line, plain or gzip, for the documents of ``queries`` in their row order.

    Blank lines are allowed at the end. A :class:`ParseError` names the line that is not a number or is NaN.
    """
    content, further = _content(path, queries.n_documents)
    # What goes on behind the last document is counted, not read; blank lines before it are no end.
    lines = content.split(b"\n")[: queries.n_documents + 1] if further else content.rstrip().split(b"\n")
    count = content.count(b"\n") + further if further else len(lines)
    scores = np.empty(len(lines))
    for i, line in enumerate(lines):
        try:
            scores[i] = _number(line)
        except ValueError:
            told = line[:40].decode(errors="backslashreplace").strip()
            raise ParseError(path, f"expected one number, found {told!r}", line=i + 1) from None
    if np.isnan(scores).any():
        line_number = int(np.argmax(np.isnan(scores))) + 1
        raise ParseError(path, "the score is NaN, which has no place in a ranking", line=line_number)
    if count != queries.n_documents:
        raise DataError(
            f"{os.fspath(path)}: {count:,} scores for {queries.n_documents:,} documents; "
            "give one score per line, in the order of the documents"
        )
    return scores


def _content(path: str | os.PathLike[str], n_lines: int) -> tuple[bytes, int]:
    """The text of a file that should hold this many lines, and how many lines more it has than were kept.

    However much is packed into a gzip file, no more than such lines can take is kept, and blank lines at the end
    are not.
    """
    kept: list[bytes] = []
    size = lines = further = 0
    gap = b""
    for chunk in _chunks(path):
        if chunk.isspace():
            gap = b"\n\n"
        elif lines > n_lines or size > _LONGEST_SCORE * (n_lines + 1) + _CHUNK:
            further += chunk.count(b"\n")
        else:
            kept.append(gap + chunk)
            gap, size, lines = b"", size + len(chunk), lines + chunk.count(b"\n")
    return b"".join(kept), further


def _chunks(path: str | os.PathLike[str]) -> Iterator[bytes]:
    """A file piece by piece, uncompressed if it is compressed."""
    with input_file(path).open("rb") as file:
        compressed = file.peek(len(_GZIP_MAGIC)).startswith(_GZIP_MAGIC)
        stream = gzip.GzipFile(fileobj=file, mode="rb") if compressed else file
        try:
            while chunk := stream.read(_CHUNK):
                yield chunk
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise ParseError(path, f"the gzip data are damaged or cut off: {error}") from None


def _number(text: bytes) -> float:
    """The number in a line; unlike Python's literals, without ``_`` between digits."""
    if b"_" in text:
        raise ValueError
    return float(text)
