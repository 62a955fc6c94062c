"""Features times weights, and back: what a linear ranker trained by its scores' gradients asks of the data.

Documents stand query by query, as a `Grouping` lists them. A learner goes through runs of whole queries that fit a
core's cache: Xw, something with the scores, then Xᵀv of the same rows, so that X comes from memory once for both.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data import product_kernels as kernels
from rankwright.data.part import Part
from rankwright.machine.runs import runs_of_queries
from rankwright.types import Array

_BYTES_PER_BLOCK = 1 << 20  # smaller blocks would fit a nearer cache, but each costs some calls from Python


class FeatureProducts:
    """Xw and Xᵀv for runs of the queries of a part, dense and CSR alike."""

    def __init__(self, part: Part) -> None:
        x = part.x
        self.offsets, self.is_sparse = part.offsets, part.is_sparse
        self.n_queries, self.n_documents, self.n_features = part.n_queries, part.n_documents, part.n_features
        self._x, self._rows = x, part.rows
        if self.is_sparse:
            self._parts = (x.data, x.indices, x.indptr)
            size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
        else:
            size = x.nbytes
        self._documents_per_block = max(1, _BYTES_PER_BLOCK * x.shape[0] // max(size, 1))

    def dense(self) -> tuple[npt.NDArray[np.floating], npt.NDArray[np.intp]]:
        """X in C order, and the row of each document; only where X is dense."""
        return self._x, self._rows

    def parts(self) -> tuple[Any, Any, Any, Any, Any]:
        """What kernels for either kind of features take: X, or data, indices and indptr of CSR, and the rows."""
        if self.is_sparse:
            return None, *self._parts, self._rows
        return self._x, None, None, None, self._rows

    def blocks(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """Runs of whole queries whose features fit a core's cache."""
        return runs_of_queries(self.offsets, self._documents_per_block, first, last)

    def scores(self, first: int, last: int, weights: Array, out: Array) -> None:
        """Write Xw of queries first … last − 1 to their places in ``out``."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if len(weights) != self.n_features:  # kernels do not look
            raise ValueError(f"{len(weights)} weights for {self.n_features} features")
        if self.is_sparse:
            kernels.sparse_scores(*self._parts, self._rows, weights, begin, end, out)
        else:
            kernels.dense_scores(self._x, self._rows, weights, begin, end, out)

    def add_transposed(self, first: int, last: int, values: Array, out: Array) -> None:
        """Add Xᵀv of queries first … last − 1 to ``out``."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if self.is_sparse:
            kernels.add_sparse_transposed(*self._parts, self._rows, values, begin, end, out)
        else:
            kernels.add_dense_transposed(self._x, self._rows, values, begin, end, out)

    def query_products(self, first: int, last: int, values: Array, out: Array) -> None:
        """Write X_qᵀv_q of each query q = first … last − 1 to row q of ``out``."""
        if self.is_sparse:
            kernels.sparse_query_products(*self._parts, self._rows, self.offsets, values, first, last, out)
        else:
            kernels.dense_query_products(self._x, self._rows, self.offsets, values, first, last, out)

    def add_squares(self, first: int, last: int, values: Array, out: Array) -> None:
        """Add Σ_d v_d x_d² of the documents of queries first … last − 1 to ``out``, for each feature."""
        begin, end = int(self.offsets[first]), int(self.offsets[last])
        if self.is_sparse:
            kernels.add_sparse_squares(*self._parts, self._rows, values, begin, end, out)
        else:
            kernels.add_dense_squares(self._x, self._rows, values, begin, end, out)

    def rows_of(self, first: int, last: int) -> Array:
        """The features of queries first … last − 1, dense."""
        rows = self._rows[self.offsets[first] : self.offsets[last]]
        part = self._x[rows].toarray() if self.is_sparse else self._x[rows]
        features: Array = part.astype(np.float64, copy=False)
        return features
