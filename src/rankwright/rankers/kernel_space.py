"""Training documents in the feature space of a kernel: vectors whose products are the kernels, exactly.

K = RRᵀ by a Cholesky factor with pivots. Row i of R are the coordinates of document i in an orthonormal basis of the
space that the documents span, so that whatever a linear ranker does with the rows of R it does in the feature space of
the kernel: distances, margins and norms are the same. What its weights are in that space is a sum over the pivots, a
few documents that span the same space as all of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import lapack, solve_triangular

from rankwright.data.finite import check_features, check_magnitude
from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError
from rankwright.models.kernels import Kernel, blocks, plain
from rankwright.types import Array, Columns

# K of so many documents takes 0.8 GB, and so does R.
_MOST_DOCUMENTS = 10_000
# By how much more than rounding K and RRᵀ may differ.
_ROUNDINGS = 1e3


class KernelSpace(NamedTuple):
    """The space that some documents span.

    Attributes
    ----------
    kernel : what documents are compared by
    documents : the pivots, one to a row
    factor : L with LLᵀ = K of the pivots, lower triangular
    """

    kernel: Kernel
    documents: Any
    factor: Array

    @classmethod
    def of(cls, kernel: Kernel, queries: Queries) -> tuple[Self, Array]:
        """The space of the documents of these queries, and their coordinates, one document to a row."""
        if queries.n_documents > _MOST_DOCUMENTS:
            raise DataError(
                f"there are {queries.n_documents:,} documents, and the kernels of all pairs of them would take "
                f"{8e-9 * queries.n_documents**2:,.1f} GB: a kernel is for {_MOST_DOCUMENTS:,} documents at most. Use "
                "some of the queries, or a linear ranker"
            )
        matrix = checked_kernels(kernel, queries)
        factor, pivots = _factor(matrix, kernel)
        return cls(kernel, plain(queries.X)[pivots], factor[pivots]), factor

    def coordinates(self, x: Any) -> Array:
        """Those of other documents, as far as they lie in this space: no score depends on what is beside it."""
        x, rank = plain(x), len(self.factor)
        found = [
            solve_triangular(self.factor, self.kernel.matrix(x[first:last], self.documents).T, lower=True).T
            for first, last in blocks(x.shape[0], rank)
        ]
        return np.concatenate([np.zeros((0, rank)), *found])

    def dual(self, weights: Array) -> Array:
        """The weights of the pivots, for weights of coordinates (one λ to a row, or one vector)."""
        solved: Array = solve_triangular(self.factor, weights.T, lower=True, trans="T").T
        return solved


def checked_kernels(kernel: Kernel, queries: Queries) -> Array:
    """K of all documents, whose features must be numbers."""
    check_features(queries)
    check_magnitude(queries)
    x = plain(queries.X)
    matrix = kernel.matrix(x, x)
    overflows = ~np.isfinite(matrix)
    if overflows.any():
        row = int(np.argmax(overflows.sum(axis=1)))  # others overflow beside it alone
        raise DataError(f"row {row}: kernel {kernel.of!r} overflows: rescale the features")
    return matrix


def not_positive(kernel: Kernel) -> ParameterError:
    """What to say of a kernel that is none."""
    return ParameterError(
        f"kernel {kernel.of!r} is not positive semidefinite on these documents: choose another, or other parameters "
        "of it"
    )


def _factor(matrix: Array, kernel: Kernel) -> tuple[Array, Columns]:
    """R with K = RRᵀ up to rounding, and the rows that are pivots."""
    n = len(matrix)
    probe = np.random.default_rng(0).choice([-1.0, 1.0], n)
    expected = matrix @ probe
    largest = float(np.diagonal(matrix).max(initial=0.0))
    factored, pivots, rank, _ = lapack.dpstrf(matrix.T, lower=1)  # a column of K is a row of it
    order = pivots - 1
    factor = np.empty((n, rank))
    factor[order] = np.tril(factored)[:, :rank]
    off = np.abs(expected - factor @ (factor.T @ probe)).max(initial=0.0)
    if not off <= _ROUNDINGS * n * n * np.finfo(np.float64).eps * largest:
        raise not_positive(kernel)
    return factor, order[:rank]
