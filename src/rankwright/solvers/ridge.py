"""w_λ = (X̂ᵀX̂ + λI)⁻¹X̂ᵀŷ for every λ of a path (paper G, eq. 5), or X̂ᵀ(X̂X̂ᵀ + λI)⁻¹ŷ (eq. 6) if that is smaller.

The data are read once for X̂ᵀX̂; each λ then takes a Cholesky factor, which is cheaper than a share in one
eigendecomposition, and does not care about features on different scales. What normal equations lose in accuracy,
because they square the condition of X̂, iterative refinement brings back: the gradient is computed anew from the data,
for all λ in one more pass. Fewer documents than features: the same w from the singular value decomposition of X̂.
Large sparse data: conjugate gradients.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.exceptions import ConvergenceWarning

from rankwright.data.centred import Moments
from rankwright.engines.centred_sums import CentredSums
from rankwright.machine.blas import one_thread_per_call
from rankwright.solvers.conjugate_gradient import shifted_conjugate_gradients
from rankwright.types import Array

Solver = Literal["primal", "dual", "cg"]

# Beyond this many features, sparse and streamed data are solved by iteration: X̂ᵀX̂ would fill the memory.
_MOST_FEATURES_OF_MATRIX = 4096

# One eigendecomposition serves all λ if no column is so many times larger than another. Its error is that of the
# largest column everywhere, so with columns further apart it would know nothing of the smallest.
_LARGEST_RATIO = 1e4

# In matrices smaller than this, the threads of a BLAS spend more time waiting for each other than they save.
_WORTH_MORE_THREADS = 1000

# Factors of all λ are kept together up to so many numbers.
_MOST_NUMBERS_KEPT = 1 << 25

# An eigenvalue of a matrix with a diagonal of ones that is below minus this is negative indeed.
_LARGEST_ROUNDING = 1e-8

# Moments of float32 products serve if each correction takes off so much of the error, and few corrections are enough
# for weights that are exact to this part of them: features of float32 are no more exact.
_LARGEST_FACTOR = 0.1
_MOST_CORRECTIONS = 4
_LEAST_CORRECTION = 1e-7

# The relative gradient that iteration must come to.
_LARGEST_GRADIENT = 1e-8


class NotPositiveDefinite(ValueError):
    """A matrix that should be positive semidefinite is not."""


class RidgePath(NamedTuple):
    """Weights for every λ (λ × features), how they were found, and how large the gradients are, relative to w = 0.

    Those of "primal" are from before its one correction.
    """

    weights: Array
    solver: Solver
    gradients: Array


class ShiftedSystems:
    """(M + λ_l I)⁻¹ applied to column l, for every l; M is positive semidefinite."""

    def __init__(self, matrix: Array, alphas: Array) -> None:
        self._matrix, self._alphas = matrix, [float(alpha) for alpha in alphas]
        self._is_kept = matrix.size * len(self._alphas) <= _MOST_NUMBERS_KEPT
        self._kept = [_factor(matrix, alpha) for alpha in self._alphas] if self._is_kept else []

    def solve(self, columns: Array) -> Array:
        """One solution for each column, each with its own λ; a single vector is the column of all of them."""
        rows = columns.T if columns.ndim == 2 else [columns] * len(self._alphas)
        return np.stack([solve(row) for solve, row in zip(self._factors(), rows, strict=True)], axis=1)

    def _factors(self) -> Iterable[Callable[[Array], Array]]:
        """Those of large matrices are made when they are asked for: together they may take more than the data."""
        return self._kept if self._is_kept else (_factor(self._matrix, alpha) for alpha in self._alphas)


class SpectralSystems:
    """The same by one eigendecomposition for all λ; an eigenvalue that rounding made negative counts as 0."""

    def __init__(self, matrix: Array, alphas: Array) -> None:
        with one_thread_per_call():  # half of the work is too small for threads: they would wait for each other
            values, self._vectors = scipy.linalg.eigh(matrix, driver="evd")
        self._shifted = np.maximum(values, 0.0)[:, None] + np.asarray(alphas, np.float64)

    def solve(self, columns: Array) -> Array:
        """One solution for each column, each with its own λ; a single vector is the column of all of them."""
        turned = self._vectors.T @ columns
        solved: Array = self._vectors @ ((turned if columns.ndim == 2 else turned[:, None]) / self._shifted)
        return solved


def rough_solutions(moments: Moments, alphas: Array) -> Array:
    """(X̂ᵀX̂ + λI)⁻¹X̂ᵀŷ for every λ, features × λ, where rounding may have made X̂ᵀX̂ indefinite: it is never refused.

    By one eigendecomposition, unless features on very different scales make Cholesky factors the better choice.
    """
    gram, products = moments
    diagonal = np.diag(gram)
    positive = diagonal[diagonal > 0]
    if len(positive) and positive.max() > _LARGEST_RATIO**2 * positive.min():
        with suppress(NotPositiveDefinite):
            return ShiftedSystems(gram, alphas).solve(products)
    return SpectralSystems(gram, alphas).solve(products)


def _factor(matrix: Array, alpha: float) -> Callable[[Array], Array]:
    """The function v ↦ (M + λI)⁻¹v."""
    shifted = matrix.copy()
    shifted.flat[:: len(matrix) + 1] += alpha
    diagonal = np.diag(shifted)
    if not (diagonal > 0).all():
        raise NotPositiveDefinite
    scale = 1 / np.sqrt(diagonal)  # a diagonal of ones: the best scaling up to a factor of √n
    shifted *= scale[:, None] * scale
    try:
        factor = scipy.linalg.cho_factor(shifted, lower=True)
        return lambda v: scale * scipy.linalg.cho_solve(factor, scale * v)
    except scipy.linalg.LinAlgError:  # λ is below the rounding of M: leave out what cannot be told from 0
        values, vectors = scipy.linalg.eigh(shifted)
        if values[0] < -_LARGEST_ROUNDING:
            raise NotPositiveDefinite from None
        told_from_zero = values > len(values) * np.finfo(float).eps
        inverse = np.divide(1, values, out=np.zeros_like(values), where=told_from_zero)
        return lambda v: scale * (vectors @ (inverse * (vectors.T @ (scale * v))))


def choose_solver(data: CentredSums) -> Solver:
    """Primal or dual, whichever matrix is smaller; iteration for wide data that are CSR, or not kept in memory."""
    if data.has_little_room:
        return "primal" if data.n_features <= _MOST_FEATURES_OF_MATRIX else "cg"
    return "primal" if data.n_features <= data.n_documents else "dual"


def ridge_path(data: CentredSums, alphas: Array, solver: Solver | None = None) -> RidgePath:
    """The weights for every λ > 0 of ``alphas``."""
    chosen = solver or choose_solver(data)
    small = min(data.n_features, data.n_documents) < _WORTH_MORE_THREADS
    with one_thread_per_call() if small else nullcontext():
        weights, gradients = _SOLVERS[chosen](data, alphas)
    return RidgePath(np.ascontiguousarray(weights.T), chosen, gradients)


def warn_if_not_converged(path: RidgePath, alphas: Array) -> None:
    """Iteration may end before the gradient is small: then the user should know."""
    worst = int(np.argmax(path.gradients))
    if path.solver == "cg" and path.gradients[worst] > _LARGEST_GRADIENT:
        warnings.warn(
            f"conjugate gradients stopped for alpha = {alphas[worst]:g} with a relative gradient of "
            f"{path.gradients[worst]:.1e}: scale the features alike, or use a larger alpha",
            ConvergenceWarning,
            stacklevel=2,
        )


def _primal(data: CentredSums, alphas: Array) -> tuple[Array, Array]:
    moments, are_rough = data.rough_moments()
    if are_rough:
        with suppress(NotPositiveDefinite):  # rounding of float32 can make small eigenvalues negative
            corrected = _corrected(data, moments, alphas)
            if corrected is not None:
                return corrected
        moments = data.moments()
    systems = ShiftedSystems(moments.gram, alphas)
    weights = systems.solve(moments.products)
    gradient = data.residual_products(weights) - weights * alphas
    return weights + systems.solve(gradient), _relative(gradient, moments.products)


def _corrected(data: CentredSums, moments: Moments, alphas: Array) -> tuple[Array, Array] | None:
    """Weights from moments of float32 products, corrected by gradients in float64; None if that leads nowhere.

    Each correction is smaller than the one before by the same factor, that of the first one to the weights. So what
    is left behind one is known without another reading of the data.
    """
    systems = ShiftedSystems(moments.gram, alphas)
    weights = systems.solve(moments.products)
    factor = None
    for _ in range(_MOST_CORRECTIONS):
        gradient = data.residual_products(weights) - weights * alphas
        correction = systems.solve(gradient)
        weights += correction
        share = np.linalg.norm(correction, axis=0) / np.maximum(np.linalg.norm(weights, axis=0), np.finfo(float).tiny)
        factor = share if factor is None else factor
        if not (factor <= _LARGEST_FACTOR).all():
            return None
        if (share * factor <= _LEAST_CORRECTION).all():
            return weights, _relative(gradient, moments.products)
    return None


def _dual(data: CentredSums, alphas: Array) -> tuple[Array, Array]:
    """X̂ = USVᵀ: w = VS(S² + λI)⁻¹Uᵀŷ. Forming X̂X̂ᵀ would square the condition of X̂, with nothing to refine it by."""
    centred = data.matrix()
    left, values, right = scipy.linalg.svd(centred, full_matrices=False)
    shrunken = (values * (left.T @ data.target))[:, None] / (values[:, None] ** 2 + alphas)
    weights: Array = right.T @ shrunken
    gradient = centred.T @ (data.target[:, None] - centred @ weights) - weights * alphas
    return weights, _relative(gradient, centred.T @ data.target)


def _relative(columns: Array, scale: Array) -> Array:
    """The norms of columns, relative to that of ``scale``."""
    norms: Array = np.linalg.norm(columns, axis=0) / max(float(np.linalg.norm(scale)), np.finfo(float).tiny)
    return norms


def _cg(data: CentredSums, alphas: Array) -> tuple[Array, Array]:
    return shifted_conjugate_gradients(data.gram_times, data.target_products(), alphas)


_SOLVERS: dict[Solver, Callable[[CentredSums, Array], tuple[Array, Array]]] = {
    "primal": _primal,
    "dual": _dual,
    "cg": _cg,
}
