"""Dense features, centred a block of rows at a time, in a core's cache, and multiplied there."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from rankwright.data import centred_dense_kernels as kernels
from rankwright.data.centred import CentredQueries, Moments, QueryMoments
from rankwright.data.part import Part
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.runs import runs_of_queries
from rankwright.types import Array, Columns

# Rows that are centred together: a block of them stays in a core's cache between centring and multiplying.
_ROWS_PER_BLOCK = 1024
# In float32 they are multiplied so many at a time: sums over them stay exact enough, and adding these up costs little.
_SINGLE_ROWS_PER_BLOCK = 2048
# Of fewer columns, multiplying takes hardly longer than reading.
_COLUMNS_WORTH_SINGLE = 256
# Rows of H that `column_products` computes in little more than the time of reading X.
_PRODUCTS_PER_PASS = 6


class DenseQueries(CentredQueries):
    """X is read where it is."""

    products_per_pass = _PRODUCTS_PER_PASS

    def __init__(self, part: Part) -> None:
        super().__init__(part)
        self._documents = (self.x, self.rows, self.offsets)

    def _blocks(
        self, first: int, last: int, n_rows: int = _ROWS_PER_BLOCK, dtype: npt.DTypeLike = np.float64
    ) -> Iterator[Array]:
        """[X̂ ŷ] of queries first … last − 1, a block of rows at a time; each block is valid until the next."""
        n, offsets = self.n_features, self.offsets
        buffer = np.empty((n_rows, n + 1), dtype)
        for start, stop in runs_of_queries(offsets, n_rows, first, last):
            means = np.empty((stop - start, n))
            kernels.means(self._documents, start, stop, means)
            for begin in range(int(offsets[start]), int(offsets[stop]), n_rows):  # a long query: many blocks
                end = min(begin + n_rows, int(offsets[stop]))
                block = buffer[: end - begin]
                kernels.centre_rows(self._documents, start, means, begin, end, block)
                block[:, n] = self.target[begin:end]
                yield block

    def _sum_over_blocks(
        self,
        shape: tuple[int, ...],
        write_term: Callable[[Array, Array], object],
        n_rows: int = _ROWS_PER_BLOCK,
        dtype: npt.DTypeLike = np.float64,
    ) -> Array:
        """Σ over blocks [X̂ ŷ] of what ``write_term(block, out)`` writes, in one pass; terms have the type of blocks."""

        def add(first: int, last: int, total: Array) -> None:
            term = np.empty(shape, dtype)
            with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` tells it, with its place
                for block in self._blocks(first, last, n_rows, dtype):
                    write_term(block, term)
                    np.add(total, term, out=total)

        with one_thread_per_call():
            return self._part.sum_over_runs(add, shape)

    def moments(self) -> Moments:
        """The Gram matrix of [X̂ ŷ] has both."""
        return self._moments(_ROWS_PER_BLOCK, np.float64)

    @property
    def are_worth_rounding(self) -> bool:
        """Whether there are many columns, of float32 numbers."""
        return self.x.dtype == np.float32 and self.n_features >= _COLUMNS_WORTH_SINGLE

    def rough_moments(self) -> Moments:
        """Of many float32 columns: blocks are centred in float64, multiplied in float32, and added up in float64."""
        return self._moments(_SINGLE_ROWS_PER_BLOCK, np.float32) if self.are_worth_rounding else self.moments()

    def _moments(self, n_rows: int, dtype: npt.DTypeLike) -> Moments:
        n = self.n_features
        sums = self._sum_over_blocks(
            (n + 1, n + 1), lambda block, out: np.matmul(block.T, block, out=out), n_rows, dtype
        )
        self.check_finite(sums)
        return Moments(sums[:n, :n].copy(), sums[:n, n].copy())

    def residual_products(self, weights: Array) -> Array:
        """Both products with a block while it is in the cache."""
        to_residuals = np.vstack([-weights, np.ones(weights.shape[1])])  # [X̂ ŷ] to ŷ − X̂w

        def write_term(block: Array, out: Array) -> None:
            np.matmul(block[:, :-1].T, block @ to_residuals, out=out)

        return self._sum_over_blocks(weights.shape, write_term)

    def product(self, weights: Array) -> Array:
        """Block by block."""
        return np.concatenate([block[:, :-1] @ weights for block in self._blocks(0, self.n_queries)])

    def transposed_product(self, centred: Array) -> Array:
        """Row by row of V with the rows of X, a block at a time: X is not converted as a whole."""
        total = np.zeros((self.n_features, centred.shape[1]))
        for begin in range(0, self.n_documents, _ROWS_PER_BLOCK):
            rows = self.rows[begin : begin + _ROWS_PER_BLOCK]
            total += self.x[rows].astype(np.float64, copy=False).T @ centred[begin : begin + _ROWS_PER_BLOCK]
        return total

    def block(self, q: int) -> tuple[Array, Array]:
        """Centred into fresh memory."""
        begin, end = int(self.offsets[q]), int(self.offsets[q + 1])
        mean, block = np.empty((1, self.n_features)), np.empty((end - begin, self.n_features))
        kernels.means(self._documents, q, q + 1, mean)
        kernels.centre_rows(self._documents, q, mean, begin, end, block)
        return block, mean[0]

    def query_moments(self) -> QueryMoments:
        """Also keeps the means, for `column_products`."""
        means = self._part.kept("query means", lambda: np.empty((self.n_queries, self.n_features)))
        known = (self._documents, self.target)
        return self._moments_of(
            self.n_features, lambda first, last, *moments: kernels.query_sums(*known, first, last, means, *moments)
        )

    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Both columns are centred before they are multiplied, so that large offsets do no harm."""
        known = (self._documents, self._part.kept("query means", self.means), columns, slots)
        self._part.over_runs(lambda first, last: kernels.column_products(*known, first, last, out))

    def means(self) -> Array:
        """In the order of memory."""
        means = np.empty((self.n_queries, self.n_features))
        self._part.over_runs(lambda first, last: kernels.means(self._documents, first, last, means[first:last]))
        return means

    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """Reads these columns only."""
        known = (self._documents, self.target, selected, columns)
        return self._moments_of(
            len(columns), lambda first, last, *moments: kernels.block_products(*known, first, last, out, *moments)
        )

    def scores(self, columns: Columns, weights: Array) -> Array:
        """Reads these columns only."""
        known, out = (self._documents, columns, weights), np.empty(self.n_documents)
        self._part.over_runs(lambda first, last: kernels.scores(*known, first, last, out))
        return out

    def total_squares(self) -> Array:
        """The sum over queries."""
        total: Array = self.query_moments().squares.sum(axis=0)
        return total

    def total_column_products(self, column: int) -> Array:
        """The sum over queries."""
        products = np.empty((1, self.n_queries, self.n_features))
        self.column_products(np.array([column], np.intp), np.zeros(1, np.intp), products)
        total: Array = products[0].sum(axis=0)
        return total

    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
    ) -> Array:
        """All columns of every query."""
        known = (self._documents, residual, (weights, total_rows, *totals), alpha)
        return self._part.sum_over_runs(lambda *run: kernels.back_fitting_errors(*known, *run), (self.n_features,))
