"""A store laid out otherwise: rows of a query brought together, CSR made dense, float64 stored as float32."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.precision import (
    Blur,
    CsrRows,
    beyond_single,
    counted_csr,
    csr_of_two_rows,
    stored_dense,
)
from rankwright.data.queries import Features
from rankwright.data.streams.sorting import sorted_rows
from rankwright.data.streams.store import Rows, Store, StoreWriter, unnamed_file

_SINGLE = np.dtype(np.float32)
_CELLS_AT_A_TIME = 1 << 21
_COPIED = 1 << 24


@dataclass(frozen=True)
class Laid:
    """How a store is to be laid out.

    ``dtype``: None if the rule of :mod:`rankwright.data.precision` is to decide. ``ends``: where the blocks end that it
    counts differences in; None for whole queries. ``apart``: the rows of a query are to be brought together.
    """

    dtype: np.dtype[Any] | None
    dense: bool
    ends: npt.NDArray[np.int64] | None
    apart: bool


def finished(store: Store, file: BinaryIO, folder: Path, laid: Laid, note: dict[str, Any], memory: int) -> Store:
    """The store as it is to be laid out, in the same file."""
    if laid.apart:
        store = _rewritten(store, sorted_rows(store, folder, memory), file, folder, note)
    dtype = laid.dtype
    if dtype is None:
        dtype = store.dtype if _is_blurred(store, laid.ends) else _SINGLE
    if dtype == store.dtype and laid.dense != store.is_sparse:
        return store
    rows = (Rows(_as(each.x, dtype, laid.dense), each.labels, each.doc_ids) for _, each in store.in_pieces())
    return _rewritten(store, rows, file, folder, note)


def _as(x: Features, dtype: np.dtype[Any], dense: bool) -> Features:
    return (x.toarray() if dense and sp.issparse(x) else x).astype(dtype, copy=False)


def _rewritten(store: Store, rows: Iterable[Rows], file: BinaryIO, folder: Path, note: dict[str, Any]) -> Store:
    """The same queries with other rows, first in a file without a name, then in place of what was there."""
    with unnamed_file(folder) as kept:
        with StoreWriter(kept, folder) as writer:
            for each in rows:
                writer.append(each)
            writer.finish(store.query_ids, store.sizes, store.n_features, names=store.given_names, note=note)
        kept.seek(0)
        file.seek(0)
        file.truncate()
        shutil.copyfileobj(kept, file, _COPIED)
    file.flush()
    return Store(file)


# What float32 would blur


def _is_blurred(store: Store, ends: npt.NDArray[np.int64] | None) -> bool:
    """Whether the rule asks for float64."""
    if store.n_features == 0:
        return False
    ends = _whole_queries(store) if ends is None else ends
    return (_blur_of_csr(store, ends) if store.is_sparse else _blur_of_dense(store, ends)).matters()


def _whole_queries(store: Store) -> npt.NDArray[np.int64]:
    """Ends of runs of whole queries that are looked at together."""
    step = max(1, _CELLS_AT_A_TIME // max(1, int(store.row_bytes() / 8)))
    ends, offsets = [0], store.offsets
    while ends[-1] < store.n_rows:
        first = int(np.searchsorted(offsets, ends[-1]))
        last = int(np.searchsorted(offsets, ends[-1] + step, side="right")) - 1
        ends.append(int(offsets[max(first + 1, last)]))
    return np.array(ends[1:], np.int64)


def _blur_of_dense(store: Store, ends: npt.NDArray[np.int64]) -> Blur:
    total = Blur()
    for first, last in pairwise([0, *ends.tolist()]):
        cells = store.rows(first, last).x.astype(np.float64, copy=False).reshape(-1)
        total.add(stored_dense(cells, store.n_features, _begins(store, first, last), np.empty(len(cells), np.float32)))
        total.beyond_single |= beyond_single(cells)
    return total


def _blur_of_csr(store: Store, ends: npt.NDArray[np.int64]) -> Blur:
    """Two readings: which columns have anything blurred, and how much that is in all of them."""
    wanted, total = np.zeros(0, np.int64), Blur()
    for part in _csr_parts(store, ends):
        total.beyond_single |= beyond_single(part.values)
        if part.has_blurred():
            wanted = np.union1d(wanted, part.columns)
    if len(wanted):
        for part in _csr_parts(store, ends):
            total.add(counted_csr(part, wanted.astype(np.int32)))
    return total


def _csr_parts(store: Store, ends: npt.NDArray[np.int64]) -> Iterator[CsrRows]:
    """The blocks, and each row at the end of a block with the next, if they are of one query."""
    is_begin = np.zeros(0, bool)
    before: CsrRows | None = None
    for first, last in pairwise([0, *ends.tolist()]):
        x = store.rows(first, last).x
        is_begin = _begins(store, first, last)
        goes_on = first > 0 and store.offsets[np.searchsorted(store.offsets, first)] != first
        part = CsrRows(x.indptr.astype(np.int64), x.indices, x.data.astype(np.float64, copy=False), is_begin)
        if before is not None and goes_on:
            yield csr_of_two_rows(before.copy_of_row(len(before.begins) - 1), part.copy_of_row(0))
        yield part
        before = part


def _begins(store: Store, first: int, last: int) -> npt.NDArray[np.bool_]:
    """For each row, whether it is the first of its query, or of all that are looked at."""
    begins = np.zeros(last - first, np.bool_)
    inside = store.offsets[np.searchsorted(store.offsets, first) : np.searchsorted(store.offsets, last)]
    begins[inside - first] = True
    begins[:1] = True
    return begins
