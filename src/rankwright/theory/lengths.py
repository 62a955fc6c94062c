"""How long the feature vectors of documents are, query by query; all that risk bounds ask of X."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.query_blocks import QueryBlocks
from rankwright.types import Array


def squares(rows: Any) -> Array:
    """‖x‖² of each row."""
    found = rows.multiply(rows).sum(axis=1) if sp.issparse(rows) else np.einsum("ij,ij->i", rows, rows)
    return np.asarray(found, dtype=np.float64)


def largest_length(blocks: QueryBlocks) -> float:
    """max ‖x_i‖ over all documents."""
    return float(np.sqrt(max((squares(rows).max(initial=0.0) for _, _, rows in blocks), default=0.0)))


def spreads(blocks: QueryBlocks) -> Array:
    """Σ_i ‖x_i − x̄_q‖² of each query."""
    return np.concatenate([block_spreads(blocks, queries, rows) for queries, _, rows in blocks])


def block_spreads(blocks: QueryBlocks, queries: slice, rows: Any) -> Array:
    """Σ_i ‖x_i − x̄_q‖² of each query of a block."""
    offsets = blocks.offsets[queries.start : queries.stop + 1] - blocks.offsets[queries.start]
    sizes = np.diff(offsets)
    if sp.issparse(rows):
        # Σ‖d‖² − ‖Σd‖²/m with d = x − (the first x of the query), which a number added to a feature does not change.
        moved = rows - rows[np.repeat(offsets[:-1], sizes)]
        sums = blocks.sums(queries, moved)
        found: Array = np.maximum(np.add.reduceat(squares(moved), offsets[:-1]) - squares(sums) / sizes, 0.0)
    else:
        means = blocks.sums(queries, rows) / sizes[:, None]
        found = np.add.reduceat(squares(rows - np.repeat(means, sizes, axis=0)), offsets[:-1])
    return found


def squared_products(blocks: QueryBlocks, values: Array) -> Array:
    """‖X̂_qᵀ v_q‖² of each query, for a number v of each document, each query's together."""
    found = np.empty(len(blocks.offsets) - 1)
    sizes = np.diff(blocks.offsets)
    # X̂ᵀv = Xᵀv̂, which needs no centred copy of X.
    centred = values - np.repeat(np.add.reduceat(values, blocks.offsets[:-1]) / sizes, sizes)
    for queries, documents, rows in blocks:
        found[queries] = squares(blocks.sums(queries, rows, centred[documents]))
    return found
