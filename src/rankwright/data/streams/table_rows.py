"""Tables, batch by batch into a store: what `read_queries` would give, without holding it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankwright.data.one_hot import MOST_VALUES, as_text
from rankwright.data.queries import Queries
from rankwright.data.streams.rewriting import Laid, finished
from rankwright.data.streams.runs import Runs
from rankwright.data.streams.store import Rows, Store, StoreWriter
from rankwright.data.table_columns import FeatureColumn
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.supervision import FullRanking, Grades
from rankwright.progress import Progress, Tell


class Tables(Protocol):
    """A file as a series of Arrow tables, of one type in each column."""

    path: Path
    chosen: list[FeatureColumn]
    by_rule: bool
    """Whether the rule of :mod:`rankwright.data.precision` says how features are stored."""

    @property
    def qid(self) -> str:
        """The column of query ids."""

    def tables(self) -> Iterator[pa.Table]:
        """All rows, a few megabytes at a time."""

    def queries(self, table: pa.Table, before: int) -> Queries:
        """Queries from some of the rows, behind so many others."""


def tables_to_store(
    files: Sequence[Tables],
    file: BinaryIO,
    folder: Path,
    *,
    sort: bool,
    note: dict[str, Any],
    memory: int,
    progress: Tell | None = None,
) -> Store:
    """Write the rows of tables, read as one, into an open file; ``folder`` takes what is needed on the way."""
    _encode_alike(files)
    runs = Runs(may_be_apart=sort)
    first: Queries | None = None
    total, done = sum(each.path.stat().st_size for each in files), 0.0
    with StoreWriter(file, folder) as writer:
        for each in files:
            row = 0
            for table in _whole_queries(each):
                queries = each.queries(table, row)
                first = queries[:0] if first is None else first
                _check_alike(first, queries, each.path)
                if sort and not isinstance(queries.supervision, Grades):
                    raise ParameterError(f"sort=True takes grades, but {each.path} has a {queries.supervision.kind}")
                codes, lengths = runs.add(queries.qid, str(each.path), row)
                writer.append(_rows(queries, first.X.dtype))
                if sort:
                    writer.append_array("row_codes", np.repeat(codes, lengths))
                row += len(table)
            done += each.path.stat().st_size
            if progress is not None:
                progress(Progress(f"reading {each.path.name}", done, total, in_bytes=True))
        if first is None:
            raise DataError(f"{files[0].path}: there are no documents")
        store = writer.finish(
            runs.query_ids(),
            np.array(runs.sizes, np.int64),
            first.n_features,
            names=first.feature_names if first.has_feature_names else None,
            note=note,
        )
    by_rule = files[0].by_rule
    laid = Laid(dtype=None if by_rule else store.dtype, dense=not store.is_sparse, ends=None, apart=runs.are_apart)
    return finished(store, file, folder, laid, note, memory)


def _rows(queries: Queries, dtype: Any) -> Rows:
    supervision = queries.supervision
    labels: Any = supervision
    if isinstance(supervision, Grades):
        labels = supervision.values
    elif isinstance(supervision, FullRanking):
        labels = supervision.ranks
    return Rows(queries.X.astype(dtype, copy=False), labels, queries.doc_ids)


def _check_alike(first: Queries, other: Queries, path: Path) -> None:
    """All must have the same features and the same kind of supervision."""
    if first.feature_names != other.feature_names:
        mine, others = set(first.feature_names), set(other.feature_names)
        differing = sorted(mine ^ others)[:3]
        told = f"as {', '.join(map(repr, differing))}" if differing else "as their order"
        raise DataError(
            f"{path}: its features are not those that were read before, {told}: name the columns to read with "
            "features= (--features), alike in all files"
        )
    if type(first.supervision) is not type(other.supervision):
        raise DataError(f"{path}: a {other.supervision.kind} after a {first.supervision.kind}")


def _whole_queries(file: Tables) -> Iterator[pa.Table]:
    """The tables, cut so that rows of a query which stand together are in one of them."""
    kept: list[pa.Table] = []
    for table in file.tables():
        if not len(table):
            continue
        ids = _plain(table[file.qid])
        if kept and not _plain(kept[-1][file.qid])[-1].equals(ids[0]):
            yield pa.concat_tables(kept)
            kept = []
        differs = pc.not_equal(ids[1:], ids[:-1])
        last = pc.fill_null(differs, True).to_numpy(zero_copy_only=False)
        begins = int(np.flatnonzero(last)[-1]) + 1 if last.any() else 0
        if begins:
            yield pa.concat_tables([*kept, table.slice(0, begins)])
            kept = []
        kept.append(table.slice(begins))
    if kept:
        yield pa.concat_tables(kept)


def _plain(column: Any) -> Any:
    """A column as one array of its values."""
    whole = column.combine_chunks()
    return whole.dictionary_decode() if pa.types.is_dictionary(whole.type) else whole


def _encode_alike(files: Sequence[Tables]) -> None:
    """Columns of text that are encoded by all their values: the values of all files, as they would be of one."""
    names = [each.column for each in files[0].chosen if each.values == ()]
    if not names:
        return
    seen: dict[str, set[str]] = {name: set() for name in names}
    for file in files:
        for table in file.tables():
            for name in names:
                seen[name].update(as_text(table[name].combine_chunks(), name).unique().to_pylist())
                if len(seen[name]) > MOST_VALUES:
                    raise DataError(
                        f"column {name!r} has more than {MOST_VALUES:,} distinct values, and no more are one-hot "
                        "encoded: group them into fewer, or leave the column out"
                    )
    for file in files:
        file.chosen = [
            each._replace(values=tuple(sorted(seen[each.column]))) if each.values == () else each
            for each in file.chosen
        ]
