"""Rows of queries that stand apart, brought together by an external sort: never more in memory than allowed.

Rows are sorted piece by piece as large as memory allows, by the places that they will have. The sorted pieces are kept
in one file, and then one stretch of places after the other is gathered from all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.streams.store import Rows, Store, StoreWriter, unnamed_file
from rankwright.judgments.ids import joined

_SHARE = 8  # of the memory, for a piece: it is there twice or three times while it is sorted


def sorted_rows(store: Store, folder: Path, memory: int) -> Iterator[Rows]:
    """The rows of a store query by query; ``row_codes`` has the number of each row's query."""
    step = max(1, int(memory / _SHARE / max(1.0, store.row_bytes())))
    bounds = np.arange(0, store.n_rows + step, step)
    with unnamed_file(folder) as file, StoreWriter(file, folder) as writer:
        cuts = [writer.n_rows + found for found in _sorted_pieces(store, writer, step, bounds)]
        pieces = writer.finish(np.zeros(1, np.int64), np.array([store.n_rows]), store.n_features)
        for stretch in range(len(bounds) - 1):
            runs = [(int(cut[stretch]), int(cut[stretch + 1])) for cut in cuts if cut[stretch + 1] > cut[stretch]]
            places = np.concatenate([pieces.array("places", *run) for run in runs])
            yield _joined([pieces.rows(*run) for run in runs]).take(np.argsort(places))


def _sorted_pieces(
    store: Store, writer: StoreWriter, step: int, bounds: npt.NDArray[np.int64]
) -> Iterator[npt.NDArray[np.int64]]:
    """Write sorted pieces; for each, how many rows before it is written end where each stretch of places begins."""
    next_place = store.offsets[:-1].copy()
    for first in range(0, store.n_rows, step):
        last = min(first + step, store.n_rows)
        codes = store.array("row_codes", first, last)
        places = _places(codes, next_place)
        order = np.argsort(places)
        yield np.searchsorted(places[order], bounds)
        writer.append(store.rows(first, last).take(order))
        writer.append_array("places", places[order])


def _places(codes: npt.NDArray[np.int64], next_place: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The place of each row: behind all rows of its query that came before it."""
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    begins = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(np.append(begins, len(ordered)))
    within = np.arange(len(ordered)) - np.repeat(begins, lengths)
    places = np.empty_like(codes)
    places[order] = next_place[ordered] + within
    next_place[ordered[begins]] += lengths
    return places


def _joined(parts: list[Rows]) -> Rows:
    xs = [part.x for part in parts]
    doc_ids = [part.doc_ids for part in parts if part.doc_ids is not None]
    return Rows(
        sp.vstack(xs, format="csr") if sp.issparse(xs[0]) else np.concatenate(xs),
        np.concatenate([np.asarray(part.labels) for part in parts]),
        joined(doc_ids) if doc_ids else None,
    )
