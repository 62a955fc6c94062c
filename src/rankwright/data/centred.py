"""Queries centred one by one, X̂_q = L_q X_q and ŷ_q = L_q y_q with L = I − 11ᵀ/m_q (paper G, section 2).

RankRLS is ridge regression on X̂ and ŷ, so everything that it needs of the data is a sum over queries of products of
X̂_q and ŷ_q. They are computed while X is read: X̂ is not stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.part import Part
from rankwright.errors import DataError
from rankwright.machine.blas import one_thread_per_call
from rankwright.types import Array, Columns


class Moments(NamedTuple):
    """X̂ᵀX̂ and X̂ᵀŷ over all queries."""

    gram: Array
    products: Array


def sum_of_moments(*terms: Moments) -> Moments:
    """Those of several sets of queries together."""
    return Moments(*(np.sum(arrays, axis=0) for arrays in zip(*terms, strict=True)))


class QueryMoments(NamedTuple):
    """For each query: the diagonal of H^q = X̂_qᵀX̂_q, and h^q = X̂_qᵀŷ_q."""

    squares: Array
    products: Array


class CentredQueries(ABC):
    """X̂ and ŷ of a part: what learners that need them ask of it. Documents stand query by query.

    ``products_per_pass`` tells with how many columns `column_products` is little slower than with one.
    """

    products_per_pass = 1

    def __init__(self, part: Part) -> None:
        self._part = part
        self.x, self.rows, self.offsets = part.x, part.rows, part.offsets
        self.n_queries, self.n_documents, self.n_features = part.n_queries, part.n_documents, part.n_features
        judgments = part.judgments
        self.target = self.centre(judgments.grouping.gather(judgments.y))

    def centre(self, values: npt.NDArray[Any]) -> Array:
        """Values of documents, each query's documents together, minus their means in each query."""
        return centred_by_query(values, self.offsets)

    def norms(self) -> Array:
        """c^q = ŷ_qᵀŷ_q of each query."""
        norms: Array = np.add.reduceat(self.target**2, self.offsets[:-1])
        return norms

    # What ridge regression asks

    @abstractmethod
    def moments(self) -> Moments:
        """X̂ᵀX̂ and X̂ᵀŷ."""

    @property
    def are_worth_rounding(self) -> bool:
        """Whether moments of float32 products take far less time."""
        return False

    def rough_moments(self) -> Moments:
        """The same, but of float32 products if that takes far less time: for those who correct what they solve."""
        return self.moments()

    @abstractmethod
    def residual_products(self, weights: Array) -> Array:
        """X̂ᵀ(ŷ − X̂w) for every column w of ``weights``, from the data themselves."""

    @abstractmethod
    def product(self, weights: Array) -> Array:
        """X̂W, documents × columns of ``weights``."""

    @abstractmethod
    def transposed_product(self, centred: Array) -> Array:
        """X̂ᵀV for V (documents × any) that is centred query by query."""

    def matrix(self) -> Array:
        """X̂ as one array: for data with few documents."""
        x = self.x[self.rows].astype(np.float64, copy=False)
        centred = self.centre(x.toarray() if self._part.is_sparse else x)
        self.check_finite(centred)
        return centred

    # What leaving queries out asks

    @abstractmethod
    def block(self, q: int) -> tuple[Array, Array]:
        """X̂_q as an array of its own, and x̄_q."""

    @abstractmethod
    def means(self) -> Array:
        """x̄_q of every query, queries × features."""

    def moments_without(self, which: Collection[int]) -> Moments:
        """X̂ᵀX̂ and X̂ᵀŷ over all queries but some, query by query, without subtracting anything."""
        n = self.n_features

        def add(first: int, last: int, out: Array) -> None:
            for other in range(first, last):
                if other not in which:
                    own = self.query_moments_of(other)
                    out[:, :n] += own.gram
                    out[:, n] += own.products

        with one_thread_per_call():
            sums = self._part.sum_over_runs(add, (n, n + 1))
        return Moments(sums[:, :n].copy(), sums[:, n].copy())

    def query_moments_of(self, q: int) -> Moments:
        """X̂_qᵀX̂_q and X̂_qᵀŷ_q."""
        centred, _ = self.block(q)
        return Moments(centred.T @ centred, self._target_of(q) @ centred)

    def _target_of(self, q: int) -> Array:
        return self.target[self.offsets[q] : self.offsets[q + 1]]

    # What greedy selection asks

    @abstractmethod
    def query_moments(self) -> QueryMoments:
        """The diagonals of the queries' Gram matrices and the like."""

    @abstractmethod
    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Rows b of H^q for every query q and the columns b = columns[j], into out[slots[j], q]."""

    @abstractmethod
    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """H^q between selected columns and others, into out[q], and the moments of the others."""

    @abstractmethod
    def scores(self, columns: Columns, weights: Array) -> Array:
        """X_{d,columns} · weights[q] for each document d, with the weights of its query."""

    @abstractmethod
    def total_squares(self) -> Array:
        """The diagonal of X̂ᵀX̂."""

    @abstractmethod
    def total_column_products(self, column: int) -> Array:
        """Row b of X̂ᵀX̂."""

    @abstractmethod
    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
    ) -> Array:
        """How the held-out error changes with each column added while all other weights stay."""

    def query_grams(self, out: Array) -> Array:
        """H^q = X̂_qᵀX̂_q of every query, into out[q]; returns all h^q = X̂_qᵀŷ_q."""
        products = np.empty((self.n_queries, self.n_features))

        def work(first: int, last: int) -> None:
            with np.errstate(over="ignore", invalid="ignore"):  # told below, with its place
                for q in range(first, last):
                    centred, _ = self.block(q)
                    np.matmul(centred.T, centred, out=out[q])
                    products[q] = self._target_of(q) @ centred

        with one_thread_per_call():
            self._part.over_runs(work)
        self.check_finite(out)
        return products

    def _moments_of(self, n_columns: int, compute: Callable[[int, int, Array, Array], None]) -> QueryMoments:
        """What ``compute(first, last, squares, products)`` writes for all queries."""
        squares, products = np.empty((2, self.n_queries, n_columns))
        self._part.over_runs(lambda first, last: compute(first, last, squares, products))
        self.check_finite(squares)
        return QueryMoments(squares, products)

    def check_finite(self, sums: npt.NDArray[Any]) -> None:
        """Sums are finite if the features are: so looking for NaN and infinity costs no pass of its own.

        If some are not, the error names the first feature that is not.
        """
        if not np.isfinite(sums).all():
            self._part.check_features()
            raise DataError("the features or grades are so large that their squares overflow: rescale them")


def centred_by_query(values: npt.NDArray[Any], offsets: npt.NDArray[np.int64]) -> Array:
    """Values of documents, each query's documents together, minus their means in each query."""
    sizes = np.diff(offsets)
    shape = (-1,) + (1,) * (values.ndim - 1)
    means = np.add.reduceat(values, offsets[:-1], axis=0) / sizes.reshape(shape)
    centred: Array = values - np.repeat(means, sizes, axis=0)
    return centred


def centred(part: Part) -> CentredQueries:
    """The features and grades of a part, centred query by query while they are read."""
    from rankwright.data.centred_dense import DenseQueries
    from rankwright.data.centred_sparse import SparseQueries

    return SparseQueries(part) if part.is_sparse else DenseQueries(part)
