"""CSR features, centred implicitly: X̂ᵀv = Xᵀv for any v that is centred query by query."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data import centred_sparse_kernels as kernels
from rankwright.data.centred import CentredQueries, Moments, QueryMoments
from rankwright.data.part import Part
from rankwright.machine.blas import one_thread_per_call
from rankwright.types import Array, Columns

# A column whose square falls below this share of itself by centring has lost digits: then queries are made dense one
# by one, and centred before they are multiplied.
_CANCELLED = 1e-4


class SparseQueries(CentredQueries):
    """X is never made dense; at most one query at a time is."""

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self._documents = (self.x.data, self.x.indices, self.x.indptr, self.rows, self.offsets)

    @property
    def _grouped(self) -> Any:
        """X with each query's rows together."""
        return self.x if self._part.is_in_order else self.x[self.rows]

    def moments(self) -> Moments:
        """XᵀX − Σ_q m_q x̄_q x̄_qᵀ, unless that cancels."""
        x = self._grouped.astype(np.float64)
        means = sp.diags_array(1 / np.sqrt(np.diff(self.offsets))) @ self._sums(x)  # √m_q x̄_q
        raw = x.T @ x
        gram = (raw - means.T @ means).toarray()
        self.check_finite(gram)
        if self._part.kept("cancels", lambda: bool((np.diag(gram) < _CANCELLED * raw.diagonal()).any())):
            return self.moments_without(())
        return Moments(gram, self.transposed_product(self.target[:, None])[:, 0])

    def _sums(self, x: Any) -> Any:
        """The sums of x over each query, CSR; x has each query's rows together."""
        every = np.arange(self.n_documents)
        indicator = sp.csr_array((np.ones(len(every)), every, self.offsets), shape=(self.n_queries, len(every)))
        return indicator @ x

    def means(self) -> Array:
        """Made dense."""
        means: Array = self._sums(self._grouped.astype(np.float64)).toarray() / np.diff(self.offsets)[:, None]
        return means

    def _cancels(self) -> bool:
        """Whether centring afterwards would lose digits."""
        raw = np.bincount(self._grouped.indices, self._grouped.data.astype(np.float64) ** 2, self.n_features)
        return bool((self.total_squares() < _CANCELLED * raw).any())

    def residual_products(self, weights: Array) -> Array:
        """One product after the other; or query by query, if centring afterwards would lose digits."""
        if not self._part.kept("cancels", self._cancels):
            return self.transposed_product(self.target[:, None] - self.product(weights))

        def add(first: int, last: int, out: Array) -> None:
            for q in range(first, last):
                block, _ = self.block(q)
                target = self.target[self.offsets[q] : self.offsets[q + 1], None]
                out += block.T @ (target - block @ weights)

        with one_thread_per_call():
            return self._part.sum_over_runs(add, weights.shape)

    def product(self, weights: Array) -> Array:
        """XW, centred afterwards."""
        return self.centre(self._grouped @ weights)

    def transposed_product(self, centred: Array) -> Array:
        """XᵀV: V is centred, so X need not be."""
        product: Array = self._grouped.T @ centred
        self.check_finite(product)
        return product

    def block(self, q: int) -> tuple[Array, Array]:
        """The query made dense, and centred."""
        begin, end = int(self.offsets[q]), int(self.offsets[q + 1])
        block = np.empty((end - begin, self.n_features))
        kernels.densify_query(self._documents, begin, end, block)
        mean: Array = block.mean(axis=0)
        block -= mean
        return block, mean

    def query_moments(self) -> QueryMoments:
        """From stored entries; documents without one add x̄² each."""
        documents, target = self._documents, self.target
        return self._moments_of(self.n_features, lambda *run: kernels.query_sums(documents, target, *run))

    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Columns b are centred, the others need not be."""
        known = (self._documents, columns, slots)
        self._part.over_runs(lambda first, last: kernels.column_products(*known, first, last, out))

    def _places(self, columns: Columns) -> Columns:
        """Where each column of X stands among ``columns``, or −1."""
        places = np.full(self.n_features, -1, np.intp)
        places[columns] = np.arange(len(columns))
        return places

    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """Looks at all stored entries, and takes those of these columns."""
        places, other_places = (self._places(selected), len(selected)), (self._places(columns), len(columns))
        known = (self._documents, self.target, places, other_places)
        return self._moments_of(
            len(columns), lambda first, last, *moments: kernels.block_products(*known, first, last, out, *moments)
        )

    def scores(self, columns: Columns, weights: Array) -> Array:
        """Looks at all stored entries, and takes those of these columns."""
        known, out = (self._documents, self._places(columns), weights), np.empty(self.n_documents)
        self._part.over_runs(lambda first, last: kernels.scores(*known, first, last, out))
        return out

    def total_squares(self) -> Array:
        """Query by query: the sum has no more than n numbers."""
        documents = self._documents
        totals = self._part.sum_over_runs(lambda *run: kernels.add_squares(documents, *run), (self.n_features,))
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
        known = (self._documents, residual, (weights, total_rows, *totals), alpha)
        return self._part.sum_over_runs(lambda *run: kernels.back_fitting_errors(*known, *run), (self.n_features,))
