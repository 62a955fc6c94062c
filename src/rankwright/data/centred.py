"""Queries centred one by one, X̂_q = L_q X_q and ŷ_q = L_q y_q with L = I − 11ᵀ/m_q (paper G, section 2).

RankRLS is ridge regression on X̂ and ŷ, so everything that it needs of the data is a sum over queries of products of
X̂_q and ŷ_q. They are computed here while X is read: X̂ is never stored, and X is never copied.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data import centred_kernels as kernels
from rankwright.data.queries import Queries
from rankwright.engines.blas import one_thread_per_call
from rankwright.engines.threads import for_query_ranges
from rankwright.errors import DataError

Array = npt.NDArray[np.float64]

# Rows that are centred together: a block of them stays in a core's cache between centring and multiplying.
_ROWS_PER_BLOCK = 1024


class Moments(NamedTuple):
    """X̂ᵀX̂, X̂ᵀŷ and ŷᵀŷ over all queries."""

    gram: Array
    products: Array
    norm: float


class QueryMoments(NamedTuple):
    """For each query: the diagonal of H^q = X̂_qᵀX̂_q, h^q = X̂_qᵀŷ_q and c^q = ŷ_qᵀŷ_q."""

    squares: Array
    products: Array
    norms: Array


class CentredQueries(ABC):
    """What learners that need X̂ and ŷ ask of the data. Documents stand query by query, as ``rows`` lists them.

    ``passes`` counts how often X has been read.
    """

    def __init__(self, queries: Queries) -> None:
        if queries.n_documents == 0:
            raise DataError("there are no documents to learn from")
        if queries.n_features == 0:
            raise DataError("the queries have no features to learn from")
        grouping = queries.grouping
        self.queries = queries
        self.offsets = grouping.offsets
        self.rows = np.arange(queries.n_documents) if grouping.order is None else grouping.order
        self.n_queries, self.n_documents, self.n_features = queries.n_queries, queries.n_documents, queries.n_features
        self.target = self.centre(grouping.gather(queries.y))
        self.passes = 0

    @property
    def is_sparse(self) -> bool:
        """Whether X is CSR."""
        return bool(sp.issparse(self.queries.X))

    def centre(self, values: npt.NDArray[Any]) -> Array:
        """Values of documents, each query's documents together, minus their means in each query."""
        sizes = np.diff(self.offsets)
        shape = (-1,) + (1,) * (values.ndim - 1)
        means = np.add.reduceat(values, self.offsets[:-1], axis=0) / sizes.reshape(shape)
        centred: Array = values - np.repeat(means, sizes, axis=0)
        return centred

    def norms(self) -> Array:
        """c^q = ŷ_qᵀŷ_q of each query."""
        norms: Array = np.add.reduceat(self.target**2, self.offsets[:-1])
        return norms

    @abstractmethod
    def moments(self) -> Moments:
        """X̂ᵀX̂ and the like, in one pass over X."""

    @abstractmethod
    def residual_products(self, weights: Array) -> Array:
        """X̂ᵀ(ŷ − X̂w) for every column w of ``weights``, from the data themselves, in one pass."""

    @abstractmethod
    def product(self, weights: Array) -> Array:
        """X̂W, documents × columns of ``weights``, in one pass."""

    @abstractmethod
    def centred_matrix(self) -> Array:
        """X̂ as one array: for data with few documents."""

    @abstractmethod
    def transposed_product(self, centred: Array) -> Array:
        """X̂ᵀV for V (documents × any) that is centred query by query."""

    @abstractmethod
    def block(self, q: int) -> tuple[Array, Array]:
        """X̂_q as an array of its own, and x̄_q."""

    @abstractmethod
    def query_moments(self) -> QueryMoments:
        """The diagonals of the queries' Gram matrices and the like, in one pass."""

    @abstractmethod
    def column_products(self, column: int, out: Array) -> None:
        """Row b of H^q for every query q, into out[q], in one pass."""

    @abstractmethod
    def scores(self, columns: npt.NDArray[np.intp], weights: Array) -> Array:
        """X_{d,columns} · weights[q] for each document d, with the weights of its query, in row order."""

    @abstractmethod
    def block_products(self, selected: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], out: Array) -> QueryMoments:
        """H^q between selected columns and others, into out[q], and the moments of the others, in one pass."""

    @abstractmethod
    def total_squares(self) -> Array:
        """The diagonal of X̂ᵀX̂."""

    @abstractmethod
    def total_column_products(self, column: int) -> Array:
        """Row b of X̂ᵀX̂."""

    @abstractmethod
    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, total_squares: Array, total_products: Array
    ) -> Array:
        """How the held-out error changes with each column added while all other weights stay, in one pass."""

    def _sum_over_queries(self, n: int, add: Callable[[int, int, Array], None]) -> Array:
        """Σ over runs of queries of what ``add(first, last, out)`` adds to n numbers, in the order of the runs."""
        parts: dict[int, Array] = {}

        def work(first: int, last: int) -> None:
            parts[first] = np.zeros(n)
            add(first, last, parts[first])

        for_query_ranges(work, self.offsets)
        self.passes += 1
        total: Array = np.sum([parts[first] for first in sorted(parts)], axis=0)
        return total

    def _block_moments(self, n_columns: int, compute: Callable[[int, int, Array, Array], None]) -> QueryMoments:
        squares, products = np.empty((2, self.n_queries, n_columns))
        for_query_ranges(lambda first, last: compute(first, last, squares, products), self.offsets)
        self.passes += 1
        self.check_finite(squares)
        return QueryMoments(squares, products, self.norms())

    def query_grams(self, out: Array) -> Array:
        """H^q = X̂_qᵀX̂_q of every query, into out[q], in one pass; returns all h^q = X̂_qᵀŷ_q."""
        products = np.empty((self.n_queries, self.n_features))

        def work(first: int, last: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # told below, with its place
                for q in range(first, last):
                    centred, _ = self.block(q)
                    np.matmul(centred.T, centred, out=out[q])
                    products[q] = self.target[self.offsets[q] : self.offsets[q + 1]] @ centred

        with one_thread_per_call():
            for_query_ranges(work, self.offsets)
        self.passes += 1
        self.check_finite(out)
        return products

    def check_finite(self, sums: npt.NDArray[Any]) -> None:
        """Sums are finite if the features are: so looking for NaN and infinity costs no pass of its own.

        If some are not, the error names the first feature that is not.
        """
        if np.isfinite(sums).all():
            return
        x = self.queries.X
        values = x.data if sp.issparse(x) else x
        for start in range(0, len(values), 65536):
            odd = np.argwhere(~np.isfinite(values[start : start + 65536]))
            if len(odd):
                raise self._not_finite(start + int(odd[0][0]), None if sp.issparse(x) else int(odd[0][1]))
        raise DataError("the features are so large that their squares overflow: rescale them")

    def _not_finite(self, place: int, column: int | None) -> DataError:
        x, row = self.queries.X, place
        if column is None:
            row, column = int(np.searchsorted(x.indptr, place, side="right")) - 1, int(x.indices[place])
        query = self.queries.grouping.query_of_row(row)
        return DataError(
            f"row {row} (query {query!r}), feature {self.queries.feature_name(column)!r}: the value is "
            f"{x[row, column]:g}, but rankers learn from finite numbers: fill in or leave out missing values first"
        )


class _DenseQueries(CentredQueries):
    def __init__(self, queries: Queries) -> None:
        super().__init__(queries)
        self._x = queries.X if queries.X.flags.c_contiguous else np.ascontiguousarray(queries.X)
        self._x.setflags(write=False)
        self._means = np.empty((0, 0))

    def _blocks(self, first: int, last: int) -> Iterator[Array]:
        """[X̂ ŷ] of queries first … last − 1, a block of rows at a time; each block is valid until the next."""
        n, offsets = self.n_features, self.offsets
        buffer = np.empty((_ROWS_PER_BLOCK, n + 1))
        while first < last:
            stop = int(np.searchsorted(offsets, offsets[first] + _ROWS_PER_BLOCK, side="right")) - 1
            stop = min(max(stop, first + 1), last)
            means = np.empty((stop - first, n))
            kernels.dense_means(self._x, self.rows, offsets, first, stop, means)
            for begin in range(int(offsets[first]), int(offsets[stop]), _ROWS_PER_BLOCK):  # a long query: many blocks
                end = min(begin + _ROWS_PER_BLOCK, int(offsets[stop]))
                block = buffer[: end - begin]
                kernels.centre_rows(self._x, self.rows, offsets, first, means, begin, end, block)
                block[:, n] = self.target[begin:end]
                yield block
            first = stop

    def _sum_over_blocks(self, shape: tuple[int, ...], write_term: Callable[[Array, Array], object]) -> Array:
        """Σ over blocks [X̂ ŷ] of what ``write_term(block, out)`` writes, in one pass."""
        total, lock = np.zeros(shape), Lock()

        def work(first: int, last: int) -> None:
            part, term = np.zeros(shape), np.empty(shape)
            with np.errstate(over="ignore", invalid="ignore"):  # `check_finite` tells it, with its place
                for block in self._blocks(first, last):
                    write_term(block, term)
                    np.add(part, term, out=part)
            with lock:
                np.add(total, part, out=total)

        with one_thread_per_call():
            for_query_ranges(work, self.offsets)
        self.passes += 1
        return total

    def moments(self) -> Moments:
        n = self.n_features
        sums = self._sum_over_blocks((n + 1, n + 1), lambda block, out: np.matmul(block.T, block, out=out))
        self.check_finite(sums)
        return Moments(sums[:n, :n].copy(), sums[:n, n].copy(), float(sums[n, n]))

    def residual_products(self, weights: Array) -> Array:
        to_residuals = np.vstack([-weights, np.ones(weights.shape[1])])  # [X̂ ŷ] to ŷ − X̂w

        def write_term(block: Array, out: Array) -> None:
            np.matmul(block[:, :-1].T, block @ to_residuals, out=out)

        return self._sum_over_blocks(weights.shape, write_term)

    def product(self, weights: Array) -> Array:
        self.passes += 1
        return np.concatenate([block[:, :-1] @ weights for block in self._blocks(0, self.n_queries)])

    def centred_matrix(self) -> Array:
        self.passes += 1
        centred = self.centre(self._x[self.rows].astype(np.float64, copy=False))
        self.check_finite(centred)
        return centred

    def transposed_product(self, centred: Array) -> Array:
        self.passes += 1
        product: Array = self._x.T @ self.queries.grouping.scatter(centred)
        return product

    def block(self, q: int) -> tuple[Array, Array]:
        begin, end = int(self.offsets[q]), int(self.offsets[q + 1])
        mean, block = np.empty((1, self.n_features)), np.empty((end - begin, self.n_features))
        kernels.dense_means(self._x, self.rows, self.offsets, q, q + 1, mean)
        kernels.centre_rows(self._x, self.rows, self.offsets, q, mean, begin, end, block)
        return block, mean[0]

    def query_moments(self) -> QueryMoments:
        shape = (self.n_queries, self.n_features)
        self._means, squares, products = np.empty(shape), np.empty(shape), np.empty(shape)
        for_query_ranges(
            lambda first, last: kernels.dense_query_sums(
                self._x, self.rows, self.offsets, self.target, first, last, self._means, squares, products
            ),
            self.offsets,
        )
        self.passes += 1
        self.check_finite(squares)
        return QueryMoments(squares, products, self.norms())

    def column_products(self, column: int, out: Array) -> None:
        for_query_ranges(
            lambda first, last: kernels.dense_column_products(
                self._x, self.rows, self.offsets, self._means, column, first, last, out
            ),
            self.offsets,
        )
        self.passes += 1

    def block_products(self, selected: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], out: Array) -> QueryMoments:
        return self._block_moments(
            len(columns),
            lambda first, last, squares, products: kernels.dense_block_products(
                self._x,
                self.rows,
                self.offsets,
                self.target,
                selected,
                columns,
                first,
                last,
                out,
                squares,
                products,
            ),
        )

    def total_squares(self) -> Array:
        total: Array = self.query_moments().squares.sum(axis=0)
        return total

    def total_column_products(self, column: int) -> Array:
        products = np.empty((self.n_queries, self.n_features))
        self.column_products(column, products)
        total: Array = products.sum(axis=0)
        return total

    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, total_squares: Array, total_products: Array
    ) -> Array:
        known = (self.rows, self.offsets, residual, weights, total_rows, total_squares, total_products)
        return self._sum_over_queries(
            self.n_features,
            lambda first, last, out: kernels.dense_back_fitting_errors(self._x, *known, first, last, out),
        )

    def scores(self, columns: npt.NDArray[np.intp], weights: Array) -> Array:
        out = np.empty(self.n_documents)
        for_query_ranges(
            lambda first, last: kernels.dense_scores(
                self._x, self.rows, self.offsets, columns, weights, first, last, out
            ),
            self.offsets,
        )
        return out


class _SparseQueries(CentredQueries):
    def __init__(self, queries: Queries) -> None:
        super().__init__(queries)
        x = queries.X
        self._x = x
        self._parts = (x.data, x.indices, x.indptr)

    @property
    def _grouped(self) -> Any:
        """X with each query's rows together."""
        return self._x if self.queries.grouping.order is None else self._x[self.rows]

    def _query_totals(self) -> Any:
        """m_q x̄_qᵀ of every query, as CSR."""
        ones = np.ones(self.n_documents)
        indicator = sp.csr_array((ones, self.rows, self.offsets), shape=(self.n_queries, self.n_documents))
        return indicator @ self._x.astype(np.float64)

    def moments(self) -> Moments:
        x, totals = self._x.astype(np.float64), self._query_totals()
        roots = sp.diags_array(1 / np.sqrt(np.diff(self.offsets)))
        scaled = roots @ totals
        gram = (x.T @ x - scaled.T @ scaled).toarray()
        self.passes += 1
        self.check_finite(gram)
        return Moments(gram, self.transposed_product(self.target[:, None])[:, 0], float(self.target @ self.target))

    def residual_products(self, weights: Array) -> Array:
        return self.transposed_product(self.target[:, None] - self.product(weights))

    def product(self, weights: Array) -> Array:
        self.passes += 1
        return self.centre(self._grouped @ weights)

    def centred_matrix(self) -> Array:
        self.passes += 1
        return self.centre(self._grouped.toarray().astype(np.float64))

    def transposed_product(self, centred: Array) -> Array:
        self.passes += 1
        product: Array = self._grouped.T @ centred
        self.check_finite(product)
        return product

    def block(self, q: int) -> tuple[Array, Array]:
        begin, end = int(self.offsets[q]), int(self.offsets[q + 1])
        block = np.empty((end - begin, self.n_features))
        kernels.densify_query(*self._parts, self.rows, begin, end, block)
        mean: Array = block.mean(axis=0)
        block -= mean
        return block, mean

    def query_moments(self) -> QueryMoments:
        shape = (self.n_queries, self.n_features)
        means, squares, products = np.empty(shape), np.empty(shape), np.empty(shape)
        for_query_ranges(
            lambda first, last: kernels.sparse_query_sums(
                *self._parts, self.rows, self.offsets, self.target, first, last, means, squares, products
            ),
            self.offsets,
        )
        self.passes += 1
        self.check_finite(squares)
        return QueryMoments(squares, products, self.norms())

    def column_products(self, column: int, out: Array) -> None:
        for_query_ranges(
            lambda first, last: kernels.sparse_column_products(
                *self._parts, self.rows, self.offsets, column, first, last, out
            ),
            self.offsets,
        )
        self.passes += 1

    def _places(self, columns: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
        """Where each column of X stands among ``columns``, or −1."""
        places = np.full(self.n_features, -1, np.intp)
        places[columns] = np.arange(len(columns))
        return places

    def block_products(self, selected: npt.NDArray[np.intp], columns: npt.NDArray[np.intp], out: Array) -> QueryMoments:
        places, other_places = self._places(selected), self._places(columns)
        return self._block_moments(
            len(columns),
            lambda first, last, squares, products: kernels.sparse_block_products(
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

    def total_squares(self) -> Array:
        sizes, totals = np.diff(self.offsets), self._query_totals()
        squares = np.asarray((self._x.astype(np.float64) ** 2).sum(axis=0)).ravel()
        of_means = np.asarray((sp.diags_array(1 / sizes) @ totals**2).sum(axis=0)).ravel()
        self.passes += 1
        self.check_finite(squares)
        centred_squares: Array = np.maximum(squares - of_means, 0)
        return centred_squares

    def total_column_products(self, column: int) -> Array:
        values = self._grouped[:, [column]].toarray()[:, 0].astype(np.float64)
        return self.transposed_product(self.centre(values)[:, None])[:, 0]

    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, total_squares: Array, total_products: Array
    ) -> Array:
        known = (self.rows, self.offsets, residual, weights, total_rows, total_squares, total_products)
        return self._sum_over_queries(
            self.n_features,
            lambda first, last, out: kernels.sparse_back_fitting_errors(*self._parts, *known, first, last, out),
        )

    def scores(self, columns: npt.NDArray[np.intp], weights: Array) -> Array:
        place, out = self._places(columns), np.empty(self.n_documents)
        for_query_ranges(
            lambda first, last: kernels.sparse_scores(
                *self._parts, self.rows, self.offsets, place, weights, first, last, out
            ),
            self.offsets,
        )
        return out


def centred(queries: Queries) -> CentredQueries:
    """The queries' features and grades, centred query by query while they are read."""
    return _SparseQueries(queries) if sp.issparse(queries.X) else _DenseQueries(queries)
