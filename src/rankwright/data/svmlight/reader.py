"""`read_svmlight`: LETOR and SVMlight text into Queries."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.arrays import checked_float_type
from rankwright.checks import check_choice, check_whole
from rankwright.data.one_query import warn_of_one_query
from rankwright.data.paths import input_file
from rankwright.data.precision import as_the_rule_says
from rankwright.data.queries import Features, Queries
from rankwright.data.svmlight import assembly
from rankwright.data.svmlight.assembly import Piece
from rankwright.data.svmlight.blocks import TextFile, open_text
from rankwright.data.svmlight.group_files import group_file_of
from rankwright.data.svmlight.layout import DENSE_FROM, Layout, ReadAgain, TooWide
from rankwright.data.svmlight.parser import Parser, tasks
from rankwright.errors import ParameterError, ParseError
from rankwright.judgments.grouping import Grouping
from rankwright.machine.threads import map_in_order

WHY_ONE_QUERY = (
    "{path}: The file has no qid: column, so all {rows:,} rows were read as one query. Put qid:<id> behind the grade "
    "on each line, or write how many rows each query has, one number per line, into {path}.query."
)
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def read_svmlight(
    path: str | os.PathLike[str],
    *,
    dtype: npt.DTypeLike | None = None,
    sparse: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    missing: Literal["zero", "nan"] = "zero",
) -> Queries:
    """Read ``<grade> qid:<id> <index>:<value> … # docid = <id>`` lines, plain or gzip-compressed.

    Rows keep the order of the file. Query ids are int64 if every one is a plain whole number, else text;
    in a file in which no line has a ``qid``, the queries are those of a file of group sizes beside it
    (``rank.train.query`` or ``rank.train.group`` for ``rank.train``, as LightGBM and XGBoost have them), or else
    all rows are one query, and a :class:`OneQueryWarning` says so. Document ids are what follows ``docid =`` in the
    comment, or a comment of a single word. A malformed line raises a :class:`ParseError` with file, line,
    column and what was expected, and nothing is returned.

    Parameters
    ----------
    path : path
        Whether it is compressed is seen from its content.
    dtype : float32, float64 or None
        Values are read as correctly rounded float64 and then stored in this type. None: float32 if that loses
        nothing that matters within queries, else float64, by the rule of :mod:`rankwright.data.precision`.
    sparse : bool or None
        True: CSR; False: dense; None: CSR if fewer than a quarter of the cells are in the file.
    n_features : int or None
        The number of columns, if the file may not show them all. None: up to the largest index.
    zero_based : bool or "auto"
        Whether features are numbered from 0. "auto": they are if a feature 0 occurs.
    missing : "zero" or "nan"
        What a feature becomes that a line does not mention. A value that is given as missing (``7:NULL``, ``7:nan``
        or another of the spellings in :mod:`rankwright.data.missing`, or nothing after ``7:``) is NaN in either case.
    """
    asked: dict[str, Any] = {"sparse": sparse, "n_features": n_features, "zero_based": zero_based}
    layout = first_layout(input_file(path), dtype=dtype, missing=missing, **asked)
    with group_file_of(layout.path) as groups, open_text(layout.path) as source:
        queries = _read_as_laid_out(source, replace(layout, groups=groups))[0]
    warn_of_one_query(queries)
    return queries


def read_parts(
    paths: Sequence[str | os.PathLike[str]], *, dtype: npt.DTypeLike | None, missing: Literal["zero", "nan"]
) -> list[Queries]:
    """Read the files of one collection alike: numbered from the same index, equally wide, of one type, dense or CSR."""
    layout = first_layout(input_file(paths[0]), dtype=dtype, missing=missing)
    with ExitStack() as stack:
        sources = [stack.enter_context(open_text(input_file(path))) for path in paths]
        parts, layouts = [], []
        for source, path in zip(sources, map(input_file, paths), strict=True):
            groups = stack.enter_context(group_file_of(path))
            part, found = _read_as_laid_out(source, replace(layout, path=path, groups=groups))
            parts.append(part)
            layouts.append(found)
            layout = replace(found, sparse=sp.issparse(part.X), may_turn_sparse=False, dtype=part.X.dtype)
            layout = replace(layout, by_rule=layout.by_rule and layout.dtype == _SINGLE)
        layout = replace(layout, by_rule=False, may_turn_zero_based=False)  # all is known
        base = min(found.first_index for found in layouts)
        width = max(part.n_features + found.first_index - base for part, found in zip(parts, layouts, strict=True))
        for i, found in enumerate(layouts):
            alike = found.first_index == base and parts[i].n_features == width and parts[i].X.dtype == layout.dtype
            if not alike:  # rare, so simply read it again
                again = replace(layout, path=found.path, groups=found.groups, first_index=base, n_features=width)
                parts[i] = _read_as_laid_out(sources[i], again)[0]
    for part in parts:
        warn_of_one_query(part)
    return parts


def read_with_first_index(
    path: str | os.PathLike[str], dtype: npt.DTypeLike | None, missing: str, zero_based: bool | str
) -> tuple[Queries, int]:
    """Read one file of a collection, and tell the number of its first feature: 0 if such a feature occurs, else 1."""
    layout = first_layout(input_file(path), dtype=dtype, missing=missing, zero_based=zero_based)
    with group_file_of(layout.path) as groups, open_text(layout.path) as source:
        queries, found = _read_as_laid_out(source, replace(layout, groups=groups))
    return queries, found.first_index


def first_layout(
    path: Path,
    *,
    dtype: npt.DTypeLike | None,
    missing: str,
    sparse: bool | None = None,
    n_features: int | None = None,
    zero_based: bool | str = "auto",
) -> Layout:
    """How a file is read at first, when nothing is known of it but what `read_svmlight` was asked for."""
    if zero_based not in (True, False, "auto"):
        raise ParameterError(f"zero_based must be True, False or 'auto', not {zero_based!r}")
    return Layout(
        path,
        _checked_dtype(dtype),
        by_rule=dtype is None,
        sparse=bool(sparse),
        may_turn_sparse=sparse is None and missing == "zero",
        first_index=0 if zero_based is True else 1,
        may_turn_zero_based=zero_based == "auto",
        n_features=_checked_n_features(n_features),
        fill=_checked_fill(missing, sparse),
    )


def _read_as_laid_out(source: TextFile, layout: Layout) -> tuple[Queries, Layout]:
    """Read a file, again if it turns out to be laid out differently, and tell how it is laid out."""
    if layout.by_rule and layout.groups is not None:
        layout = replace(layout, dtype=_DOUBLE)  # until it is known which rows are of one query
    while True:
        try:
            return _read(source, layout), layout
        except ReadAgain as again:
            layout = again.layout


def _read(source: TextFile, layout: Layout) -> Queries:
    parser = Parser(layout)
    parser.look_at(list(source.samples()), source.blocks())
    rows = 0 if layout.sparse else parser.rows_expected(source.size)
    parser.check_dense_size(source.size)
    if layout.may_turn_sparse and not layout.sparse and layout.dense_takes_too_much(rows, parser.width, source.size):
        raise ReadAgain(replace(layout, sparse=True))  # a wide row, where the samples have none
    whole = np.empty((rows, parser.width), layout.dtype)
    try:
        # Closed at once if a result is refused: no thread may go on parsing while the error is handled.
        with closing(map_in_order(parser.parse, tasks(source.blocks(), whole, parser.gaps))) as results:
            pieces = [parser.accept(result) for result in results]
    except TooWide:
        width = max(map_in_order(parser.width_of, source.blocks()))
        raise ReadAgain(replace(layout, least_width=width)) from None
    if not any(piece.rows for piece in pieces):
        raise ParseError(layout.path, "the file holds no documents, only comments or blank lines")
    return _queries(pieces, whole, parser)


def _queries(pieces: list[Piece], whole: npt.NDArray[Any], parser: Parser) -> Queries:
    """Put the pieces together; read again if the file as a whole is other than its samples."""
    layout = parser.layout
    rows = sum(piece.rows for piece in pieces)
    width = max(layout.n_features or 0, *(piece.width for piece in pieces))
    thin = sum(piece.given for piece in pieces) < DENSE_FROM * rows * width
    if layout.may_turn_sparse and thin and not layout.sparse:
        raise ReadAgain(replace(layout, sparse=True))
    qid = assembly.query_ids(pieces) if parser.with_qid else None
    together = qid is not None or layout.groups is None
    if layout.groups is not None:
        qid = layout.groups.query_ids(layout.path, qid, rows)
    dtype, grouping = layout.dtype, Grouping(qid, rows) if layout.by_rule else None
    together = together and (grouping is None or grouping.order is None)
    if layout.by_rule:
        blurs = not together or assembly.blur_of(pieces, None if layout.sparse else parser.blur).matters()
        dtype = _DOUBLE if blurs else _SINGLE
    if layout.dtype == _SINGLE and dtype == _DOUBLE:
        raise ReadAgain(replace(layout, dtype=_DOUBLE, by_rule=not together))
    x: Features
    if layout.sparse:
        x = assembly.csr_rows(pieces, rows, width, dtype)
        if layout.may_turn_sparse and not thin:
            x = x.toarray()
    else:
        layout.check_dense_size(rows, width, sum(piece.size for piece in pieces))
        x = assembly.dense_rows(pieces, whole, rows, width, layout.fill).astype(dtype, copy=False)
    if grouping is not None and not together:  # documents of a query meet only now
        x = as_the_rule_says(x, grouping)
    grades = np.concatenate([piece.grades for piece in pieces])
    doc_ids = assembly.document_ids(pieces)
    csr_parts = (x.indices, x.indptr) if sp.issparse(x) else ()
    for own in (grades, qid, doc_ids, *csr_parts):
        if own is not None:
            own.setflags(write=False)  # nobody else has them: Queries need not copy them
    queries = Queries(x, grades, qid, doc_ids=doc_ids)
    if qid is None:
        queries.grouping.why_one_query = WHY_ONE_QUERY.format(rows=rows, path=layout.path)
    return queries


def _checked_dtype(dtype: npt.DTypeLike | None) -> np.dtype[Any]:
    """The type asked for; float32 as a first guess if none is."""
    return _SINGLE if dtype is None else checked_float_type(dtype)


def _checked_n_features(n_features: int | None) -> int | None:
    if n_features is None:
        return None
    check_whole("n_features", n_features, 1, or_else="None")
    return int(n_features)


def _checked_fill(missing: str, sparse: bool | None) -> float:
    check_choice("missing", missing, ("zero", "nan"))
    if missing == "nan" and sparse:
        raise ParameterError("missing='nan' needs a dense array: in CSR what is absent is zero")
    return np.nan if missing == "nan" else 0.0
