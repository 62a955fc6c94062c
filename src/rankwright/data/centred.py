"""Queries centred one by one, X̂_q = L_q X_q and ŷ_q = L_q y_q with L = I − 11ᵀ/m_q (paper G, section 2).

RankRLS is ridge regression on X̂ and ŷ, so everything that it needs of the data is a sum over queries of products of
X̂_q and ŷ_q. They are computed while X is read: X̂ is not stored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import for_query_ranges, sum_over_query_ranges
from rankwright.types import Array, Columns

# Fourth powers of larger numbers, and sums of them, may be too large for float64.
_LARGEST_FEATURE = 1e70
_VALUES_PER_BLOCK = 1 << 18


class Moments(NamedTuple):
    """X̂ᵀX̂ and X̂ᵀŷ over all queries."""

    gram: Array
    products: Array


class QueryMoments(NamedTuple):
    """For each query: the diagonal of H^q = X̂_qᵀX̂_q, and h^q = X̂_qᵀŷ_q."""

    squares: Array
    products: Array


class CentredQueries(ABC):
    """What learners that need X̂ and ŷ ask of the data. Documents stand query by query, as ``rows`` lists them.

    ``passes`` counts how often X has been read as a whole; scoring with a few columns of it is not counted.
    ``products_per_pass`` tells with how many columns `column_products` is little slower than with one.
    """

    products_per_pass = 1

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

    # What ridge regression asks

    @abstractmethod
    def moments(self) -> Moments:
        """X̂ᵀX̂ and X̂ᵀŷ, in one pass over X."""

    @abstractmethod
    def residual_products(self, weights: Array) -> Array:
        """X̂ᵀ(ŷ − X̂w) for every column w of ``weights``, from the data themselves, in one pass (CSR: two)."""

    @abstractmethod
    def product(self, weights: Array) -> Array:
        """X̂W, documents × columns of ``weights``, in one pass."""

    @abstractmethod
    def transposed_product(self, centred: Array) -> Array:
        """X̂ᵀV for V (documents × any) that is centred query by query, in one pass."""

    # What leaving queries out asks

    @abstractmethod
    def block(self, q: int) -> tuple[Array, Array]:
        """X̂_q as an array of its own, and x̄_q."""

    def moments_without(self, q: int) -> Moments:
        """X̂ᵀX̂ and X̂ᵀŷ over all queries but one, without subtracting anything, in one pass."""
        n = self.n_features

        def add(first: int, last: int, out: Array) -> None:
            for other in range(first, last):
                if other != q:
                    centred, _ = self.block(other)
                    out[:, :n] += centred.T @ centred
                    out[:, n] += self.target[self.offsets[other] : self.offsets[other + 1]] @ centred

        self.passes += 1
        sums = sum_over_query_ranges(add, self.offsets, (n, n + 1))
        return Moments(sums[:, :n].copy(), sums[:, n].copy())

    # What greedy selection asks

    @abstractmethod
    def query_moments(self) -> QueryMoments:
        """The diagonals of the queries' Gram matrices and the like, in one pass."""

    @abstractmethod
    def column_products(self, columns: Columns, slots: Columns, out: Array) -> None:
        """Rows b of H^q for every query q and the columns b = columns[j], into out[slots[j], q], in one pass."""

    @abstractmethod
    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """H^q between selected columns and others, into out[q], and the moments of the others, in one pass."""

    @abstractmethod
    def scores(self, columns: Columns, weights: Array) -> Array:
        """X_{d,columns} · weights[q] for each document d, with the weights of its query, in row order."""

    @abstractmethod
    def total_squares(self) -> Array:
        """The diagonal of X̂ᵀX̂, in one pass."""

    @abstractmethod
    def total_column_products(self, column: int) -> Array:
        """Row b of X̂ᵀX̂, in one pass."""

    @abstractmethod
    def back_fitting_errors(
        self, residual: Array, weights: Array, total_rows: Array, totals: tuple[Array, Array], alpha: float
    ) -> Array:
        """How the held-out error changes with each column added while all other weights stay, in one pass."""

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

    def _moments_of(self, n_columns: int, compute: Callable[[int, int, Array, Array], None]) -> QueryMoments:
        """What ``compute(first, last, squares, products)`` writes for all queries."""
        squares, products = np.empty((2, self.n_queries, n_columns))
        for_query_ranges(lambda first, last: compute(first, last, squares, products), self.offsets)
        self.passes += 1
        self.check_finite(squares)
        return QueryMoments(squares, products)

    def check_finite(self, sums: npt.NDArray[Any]) -> None:
        """Sums are finite if the features are: so looking for NaN and infinity costs no pass of its own.

        If some are not, the error names the first feature that is not.
        """
        if not np.isfinite(sums).all():
            check_features(self.queries)
            check_magnitude(self.queries)
            raise DataError("the features or grades are so large that their squares overflow: rescale them")


def check_features(queries: Queries, what: str = "") -> None:
    """Raise a `DataError` that tells the place of the first feature that is NaN or infinite, if there is one."""
    problem = "but rankers need finite numbers, not NaN or infinity: fill in or leave out missing values first"
    _check_each(queries, lambda values: ~np.isfinite(values), what, problem)


def check_magnitude(queries: Queries) -> None:
    """Raise a `DataError` that tells the place of the first feature so large that sums of its powers overflow.

    NaN and infinity are for `check_features` to tell. Numbers of float32 are never so large.
    """
    if queries.X.dtype == np.float64:
        problem = f"so large that its powers overflow: rescale this feature, to values below {_LARGEST_FEATURE:g}"
        _check_each(queries, lambda values: (np.abs(values) > _LARGEST_FEATURE) & np.isfinite(values), "", problem)


def _check_each(
    queries: Queries, is_odd: Callable[[npt.NDArray[Any]], npt.NDArray[np.bool_]], what: str, problem: str
) -> None:
    """Raise a `DataError` with the place of the first feature that is odd, if there is one."""
    x = queries.X
    values = x.data if sp.issparse(x) else x
    rows_at_a_time = _VALUES_PER_BLOCK if sp.issparse(x) else max(_VALUES_PER_BLOCK // max(x.shape[1], 1), 1)
    for start in range(0, len(values), rows_at_a_time):
        odd = is_odd(values[start : start + rows_at_a_time])
        if not odd.any():
            continue
        first = np.argwhere(odd)[0]
        place = start + int(first[0])
        row = int(np.searchsorted(x.indptr, place, side="right")) - 1 if sp.issparse(x) else place
        column = int(x.indices[place]) if sp.issparse(x) else int(first[1])
        raise DataError(
            f"{what}row {row} (query {queries.grouping.query_of_row(row)!r}), feature "
            f"{queries.feature_name(column)!r}: the value is {x[row, column]:g}, {problem}"
        )


def centred(queries: Queries) -> CentredQueries:
    """The queries' features and grades, centred query by query while they are read."""
    from rankwright.data.centred_dense import DenseQueries
    from rankwright.data.centred_sparse import SparseQueries

    return SparseQueries(queries) if sp.issparse(queries.X) else DenseQueries(queries)
