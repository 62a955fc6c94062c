"""CSR features, centred implicitly: X̂ᵀv = Xᵀv for any v that is centred query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data import centred_sparse_kernels as kernels
from rankwright.data.centred import CentredQueries, Moments, QueryMoments
from rankwright.data.queries import Queries
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import for_query_ranges, sum_over_query_ranges
from rankwright.types import Array, Columns

# A column whose square falls below this share of itself by centring has lost digits: then queries are made dense one
# by one, and centred before they are multiplied.
_CANCELLED = 1e-4


class SparseQueries(CentredQueries):
    """X is never made dense; at most one query at a time is."""

    def __init__(self, queries: Queries) -> None:
        super().__init__(queries)
        x = queries.X
        self._x = x
        self._parts = (x.data, x.indices, x.indptr)
        self._cancels = False

    @property
    def _grouped(self) -> Any:
        """X with each query's rows together."""
        return self._x if self.queries.grouping.order is None else self._x[self.rows]

    def moments(self) -> Moments:
        """XᵀX − Σ_q m_q x̄_q x̄_qᵀ, unless that cancels."""
        x, sizes = self._x.astype(np.float64), np.diff(self.offsets)
        ones = np.ones(self.n_documents)
        indicator = sp.csr_array((ones, self.rows, self.offsets), shape=(self.n_queries, self.n_documents))
        means = sp.diags_array(1 / np.sqrt(sizes)) @ (indicator @ x)  # √m_q x̄_q
        raw = x.T @ x
        gram = (raw - means.T @ means).toarray()
        self.passes += 1
        self.check_finite(gram)
        self._cancels = bool((np.diag(gram) < _CANCELLED * raw.diagonal()).any())
        if self._cancels:
            with one_thread_per_call():
                return self.moments_without(-1)
        return Moments(gram, self.transposed_product(self.target[:, None])[:, 0])

    def residual_products(self, weights: Array) -> Array:
        """One product after the other; or query by query, if centring afterwards would lose digits."""
        if not self._cancels:
            return self.transposed_product(self.target[:, None] - self.product(weights))

        def add(first: int, last: int, out: Array) -> None:
            for q in range(first, last):
                block, _ = self.block(q)
                target = self.target[self.offsets[q] : self.offsets[q + 1], None]
                out += block.T @ (target - block @ weights)

        self.passes += 1
        with one_thread_per_call():
            return sum_over_query_ranges(add, self.offsets, weights.shape)

    def product(self, weights: Array) -> Array:
        """XW, centred afterwards."""
        self.passes += 1
        return self.centre(self._grouped @ weights)

    def transposed_product(self, centred: Array) -> Array:
        """XᵀV: V is centred, so X need not be."""
        self.passes += 1
        product: Array = self._grouped.T @ centred
        self.check_finite(product)
        return product

    def block(self, q: int) -> tuple[Array, Array]:
        """The query made dense, and centred."""
        begin, end = int(self.offsets[q]), int(self.offsets[q + 1])
        block = np.empty((end - begin, self.n_features))
        kernels.densify_query(*self._parts, self.rows, begin, end, block)
        mean: Array = block.mean(axis=0)
        block -= mean
        return block, mean

    def query_moments(self) -> QueryMoments:
        """From stored entries; documents without one add x̄² each."""
        return self._moments_of(
            self.n_features,
            lambda first, last, squares, products: kernels.query_sums(
                *self._parts, self.rows, self.offsets, self.target, first, last, squares, products
            ),
        )

    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Columns b are centred, the others need not be."""
        for_query_ranges(
            lambda first, last: kernels.column_products(
                *self._parts, self.rows, self.offsets, columns, slots, first, last, out
            ),
            self.offsets,
        )
        self.passes += 1

    def _places(self, columns: Columns) -> Columns:
        """Where each column of X stands among ``columns``, or −1."""
        places = np.full(self.n_features, -1, np.intp)
        places[columns] = np.arange(len(columns))
        return places

    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """Looks at all stored entries, and takes those of these columns."""
        places, other_places = self._places(selected), self._places(columns)
        return self._moments_of(
            len(columns),
            lambda first, last, squares, products: kernels.block_products(
                *self._parts,
                self.rows,
                self.offsets,
                self.target,
                places,
                len(selected),
                other_places,
                len(columns),
                first,
                last,
                out,
                squares,
                products,
            ),
        )

    def scores(self, columns: Columns, weights: Array) -> Array:
        """Looks at all stored entries, and takes those of these columns."""
        places, out = self._places(columns), np.empty(self.n_documents)
        for_query_ranges(
            lambda first, last: kernels.scores(
                *self._parts, self.rows, self.offsets, places, weights, first, last, out
            ),
            self.offsets,
        )
        return out

    def total_squares(self) -> Array:
        """Query by query: the sum has no more than n numbers."""
        self.passes += 1
        totals = sum_over_query_ranges(
            lambda first, last, out: kernels.add_squares(*self._parts, self.rows, self.offsets, first, last, out),
            self.offsets,
            (self.n_features,),
        )
        self.check_finite(totals)
        return totals

    def total_column_products(self, column: int) -> Array:
        """Xᵀx̂_b."""
        values = self._grouped[:, [column]].toarray()[:, 0].astype(np.float64)
        return self.transposed_product(self.centre(values)[:, None])[:, 0]

    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
    ) -> Array:
        """The columns that each query has entries of."""
        known = (*self._parts, self.rows, self.offsets, residual, weights, total_rows, *totals)
        self.passes += 1
        return sum_over_query_ranges(
            lambda first, last, out: kernels.back_fitting_errors(*known, alpha, first, last, out),
            self.offsets,
            (self.n_features,),
        )
