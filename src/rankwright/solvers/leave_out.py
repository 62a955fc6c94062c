"""Scores of each query by the ranker trained without it, in closed form and for every λ (paper G, theorem 3.1).

With A = X̂ᵀX̂ + λI and b = X̂ᵀŷ, leaving out query q gives w^q = (A − X̂_qᵀX̂_q)⁻¹(b − X̂_qᵀŷ_q), and
X̂_q w^q = ŷ_q − (G_QQ)⁻¹a_Q with G = (X̂X̂ᵀ + λI)⁻¹ and a = Gŷ. A query takes the cheapest of

- for each λ a system as large as the query: I − X̂_q A⁻¹ X̂_qᵀ = λG_QQ,
- the same as a Neumann series, which is short where one query among many hardly matters,
- one tridiagonalisation of X̂ᵀX̂ − X̂_qᵀX̂_q, which serves all λ,
- for each λ a Cholesky factor of A − X̂_qᵀX̂_q.

Whichever it is, w^q is put into the equations that define it. Where the residual shows more than rounding, which takes
features on very different scales, the query is solved again by the last and most exact way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack

from rankwright.data.centred import CentredQueries, Moments
from rankwright.engines.blas import one_thread_per_call
from rankwright.engines.lapack import tridiagonalise
from rankwright.engines.threads import for_query_ranges
from rankwright.solvers.leave_out_kernels import backward_errors, solve_by_query, solve_by_series, solve_shifted
from rankwright.solvers.ridge import ShiftedSystems

Array = npt.NDArray[np.float64]

# The largest componentwise backward error of w^q that counts as rounding, for each feature.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)

# Measured: how much longer a flop takes there than in the other ways.
_PRICE_OF_TRIDIAGONALISATION = 4.0


class Block(NamedTuple):
    """What leaving out a query takes off the sums: centredᵀ·centred and centredᵀ·target.

    The query's documents come first, and their scores are (``centred`` + ``origin``)w + ``level``.
    """

    centred: Array
    target: Array
    origin: Array
    n_documents: int
    level: float = 0.0


def query_block(data: CentredQueries, q: int) -> Block:
    """The block of RankRLS: the query itself, as it was centred."""
    centred, mean = data.block(q)
    documents = slice(int(data.offsets[q]), int(data.offsets[q + 1]))
    return Block(centred, data.target[documents], mean, len(centred))


def leave_out_scores(
    moments: Moments, block_of: Callable[[int], Block], offsets: npt.NDArray[np.int64], alphas: Array
) -> Array:
    """Held-out scores, λ × documents, each query's documents together."""
    scores = np.empty((len(alphas), int(offsets[-1])))

    def work(first: int, last: int) -> None:
        for q in range(first, last):
            scores[:, offsets[q] : offsets[q + 1]] = leaver.scores(block_of(q))

    with one_thread_per_call():
        leaver = _Leaver(moments, alphas)
        for_query_ranges(work, offsets)
    return scores


class _Leaver:
    """Trains without one block at a time. Weights are λ × features."""

    def __init__(self, moments: Moments, alphas: Array) -> None:
        self._moments, self._alphas = moments, alphas
        values, self._vectors = scipy.linalg.eigh(moments.gram)
        self._inverses = 1 / (np.maximum(values, 0) + alphas[:, None])  # (Λ + λ)⁻¹
        self._turned_products = self._vectors.T @ moments.products

    def scores(self, block: Block) -> Array:
        """Scores of the block's documents, λ × documents."""
        weights = self._weights(block)
        levels = weights @ block.origin + block.level
        scores: Array = weights @ block.centred[: block.n_documents].T + levels[:, None]
        return scores

    def _weights(self, block: Block) -> Array:
        remaining = self._moments.products - block.target @ block.centred
        turned = block.centred @ self._vectors
        weights = self._cheapest(turned)(block, turned, remaining)
        errors = np.empty(len(self._alphas))
        backward_errors(*self._moments[:2], block.centred, remaining, self._alphas, weights, errors)
        poor = ~(errors <= _ROUNDING * len(remaining))
        if poor.any():
            weights[poor] = self._one_by_one(block, turned, remaining)[poor]
        return weights

    def _cheapest(self, turned: Array) -> Callable[[Block, Array, Array], Array]:
        """The way that takes the fewest flops. Terms of the series shrink like powers of the query's leverage."""
        (size, n), n_alphas = turned.shape, len(self._alphas)
        leverage = float(np.einsum("di,di->i", turned, turned) @ self._inverses[0])
        n_terms = np.log(1e-16) / np.log(leverage) if 0 < leverage < 1 else np.inf if leverage else 1
        flops = {
            self._by_series: n_terms * n_alphas * 4 * size * n,
            self._by_query: n_alphas * (2 * size**2 * n + size**3 / 3),
            self._by_features: size * n**2 + _PRICE_OF_TRIDIAGONALISATION * 4 / 3 * n**3,
            self._one_by_one: size * n**2 + n_alphas * n**3,
        }
        return min(flops, key=flops.__getitem__)

    def _by_series(self, block: Block, turned: Array, _: Array) -> Array:
        """As `_by_query`, with (I − M)⁻¹ = I + M + M² + …, M = X̂_q A⁻¹ X̂_qᵀ, which is small among many queries."""
        weights = np.empty(self._inverses.shape)
        solve_by_series(turned, block.target, self._inverses, self._turned_products, weights)
        return np.ascontiguousarray(weights @ self._vectors.T)

    def _by_query(self, block: Block, turned: Array, _: Array) -> Array:
        """r = (I − X̂_q A⁻¹ X̂_qᵀ)⁻¹(ŷ_q − X̂_q w) are the held-out residuals, and w^q = A⁻¹(b − X̂_qᵀr)."""
        weights = np.empty(self._inverses.shape)
        try:
            solve_by_query(turned, block.target, self._inverses, self._turned_products, weights)
        except np.linalg.LinAlgError:  # without the query, λ is all there is: the eigenvectors are not exact enough
            weights[:] = np.nan
        return np.ascontiguousarray(weights @ self._vectors.T)

    def _by_features(self, block: Block, _: Array, remaining: Array) -> Array:
        """QTQᵀ = X̂ᵀX̂ − X̂_qᵀX̂_q, then w^q = Q(T + λI)⁻¹Qᵀ(b − h) for all λ."""
        weights = np.empty(self._inverses.shape)
        solve_shifted(*tridiagonalise(self._remaining_gram(block)), self._alphas, remaining, weights)
        return weights

    def _one_by_one(self, block: Block, _: Array, remaining: Array) -> Array:
        """A scaled Cholesky factor for each λ: slow if there are many, but as exact as can be."""
        systems = ShiftedSystems(self._remaining_gram(block), self._alphas)
        return systems.solve(np.repeat(remaining[:, None], len(self._alphas), axis=1)).T.copy()

    def _remaining_gram(self, block: Block) -> Array:
        """X̂ᵀX̂ − X̂_qᵀX̂_q, an array of its own."""
        gram = block.centred.T @ block.centred
        return np.subtract(self._moments.gram, gram, out=gram)


def leave_out_kernel_scores(
    kernel_matrix: Array, target: Array, offsets: npt.NDArray[np.int64], centre: Callable[[Array], Array], alphas: Array
) -> Array:
    """The same in the dual, for any kernel matrix K over documents that stand query by query.

    The ranker without q has the dual weights a − G_{:,Q}r with r = (G_QQ)⁻¹a_Q. They are 0 on Q, and centred in every
    other query; both are imposed, since 1/λ may have blown up what rounding left there.
    """
    values, vectors = scipy.linalg.eigh(centre(np.ascontiguousarray(centre(kernel_matrix).T)))
    inverses = 1 / (np.maximum(values, 0)[:, None] + alphas)  # (Λ + λ)⁻¹, documents × λ
    projected = inverses * (vectors.T @ target)[:, None]
    scores = np.empty((len(alphas), len(target)))

    def work(first: int, last: int) -> None:
        for q in range(first, last):
            documents = slice(int(offsets[q]), int(offsets[q + 1]))
            rows, dual = vectors[documents], projected.copy()
            for l in range(len(alphas)):
                system = (rows * inverses[:, l]) @ rows.T
                residual = lapack.dposv(system, rows @ projected[:, l], lower=1)[1]
                dual[:, l] -= inverses[:, l] * (rows.T @ residual)
            weights = vectors @ dual
            weights[documents] = 0
            scores[:, documents] = (kernel_matrix[documents] @ centre(weights)).T

    with one_thread_per_call():
        for_query_ranges(work, offsets)
    return scores
