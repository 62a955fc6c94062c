"""Scores of each query by the ranker trained without it, in closed form and for every λ (paper G, theorem 3.1).

With A = X̂ᵀX̂ + λI and b = X̂ᵀŷ, leaving out query q gives w^q = (A − X̂_qᵀX̂_q)⁻¹(b − X̂_qᵀŷ_q), and
X̂_q w^q = ŷ_q − (G_QQ)⁻¹a_Q with G = (X̂X̂ᵀ + λI)⁻¹ and a = Gŷ. A query takes the cheapest of

- for each λ a system as large as the query: I − X̂_q A⁻¹ X̂_qᵀ = λG_QQ,
- the same as a Neumann series, which is short where one query among many hardly matters,
- one tridiagonalisation of X̂ᵀX̂ − X̂_qᵀX̂_q, which serves all λ,
- for each λ a Cholesky factor of A − X̂_qᵀX̂_q.

Whichever it is, w^q is put into the equations that define it. Where the residual shows more than rounding, which takes
features on very different scales, the query is solved again by the last way, which does not care about scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.linalg
from scipy.linalg import lapack

from rankwright.data.centred import Moments
from rankwright.data.part import Part
from rankwright.engines.driver import share_by_size
from rankwright.engines.engine import Engine
from rankwright.judgments.judgments import Judgments
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.lapack import tridiagonalise
from rankwright.machine.runs import runs_of_queries
from rankwright.solvers.leave_out_kernels import (
    MOST_TERMS,
    backward_errors,
    solve_by_query,
    solve_by_series,
    solve_shifted,
)
from rankwright.solvers.ridge import ShiftedSystems
from rankwright.types import Array

# The largest componentwise backward error of w^q that counts as rounding, for each feature.
_ROUNDING = 4 * float(np.finfo(np.float64).eps)

# The largest relative residual of dual weights that counts as rounding.
_LARGEST_RESIDUAL = 1e-11

# A query that leaves less than this share of the square of some feature, λ included, is not subtracted from the sums.
_LEFT_BY_SUBTRACTING = 1e-6

# Measured: how much longer a flop takes there than in the other ways.
_PRICE_OF_TRIDIAGONALISATION = 4.0


# Queries that outweigh all others are summed without each other, at a time as many as have so many products together.
_GRAM_NUMBERS = 1 << 23

# Of so many documents, scores are there at once for every λ.
_DOCUMENTS_AT_A_TIME = 4096


class Block(NamedTuple):
    """What leaving out a query takes off the sums: centredᵀ·centred and centredᵀ·target.

    The query's documents come first, and their scores are (``centred`` + ``origin``)w + ``level``.
    """

    centred: Array
    target: Array
    origin: Array
    n_documents: int
    level: float = 0.0

    def scores(self, weights: Array) -> Array:
        """Scores of the documents, λ × documents, for weights λ × features."""
        levels = weights @ self.origin + self.level
        scores: Array = weights @ self.centred[: self.n_documents].T + levels[:, None]
        return scores

    def outweighs(self, totals: Array, alpha: float) -> bool:
        """Whether taking it off ``totals``, the squares of all features, would leave few digits of them, beside λ."""
        squares = np.einsum("di,di->i", self.centred, self.centred)
        return bool((totals - squares + alpha < _LEFT_BY_SUBTRACTING * totals).any())


def query_block(part: Part, q: int) -> Block:
    """The block of RankRLS: the query itself, as it was centred."""
    centred, mean = part.centred.block(q)
    documents = slice(int(part.offsets[q]), int(part.offsets[q + 1]))
    return Block(centred, part.centred.target[documents], mean, len(centred))


BlockOf = Callable[[Part, int], Block]


class LeaveOut:
    """Scores of each query by the ranker trained without it, of data that are known by their sums.

    A query that outweighs all others is not taken off the sums: ``moments_without`` sums the others anew. A query is
    such for some feature, so there are hardly more of them than features.
    """

    def __init__(
        self,
        engine: Engine,
        moments: Moments,
        block_of: BlockOf,
        moments_without: Callable[[list[int]], list[Moments]],
        alphas: Array,
    ) -> None:
        self._engine, self._block_of, self._moments_without = engine, block_of, moments_without
        with one_thread_per_call():
            self._leaver = Leaver(moments, alphas)

    def scores(self) -> Array:
        """Held-out scores, λ × documents, each query's documents together."""
        scores = np.empty((self._leaver.n_alphas, self._engine.n_documents))
        heavy = self._engine.fill(_write_scores, scores, self._leaver, self._block_of, axis=1, by="document")
        for q, of_query, _ in self._heavy_scores(heavy):
            scores[:, self._engine.offsets[q] : self._engine.offsets[q + 1]] = of_query
        return scores

    def values(self, values_of: ValuesOf, n_values: int) -> Array:
        """What ``values_of`` makes of the held-out scores, queries × λ × values. Scores do not leave their part."""
        values = np.empty((self._engine.n_queries, self._leaver.n_alphas, n_values))
        heavy = self._engine.fill(_write_values, values, self._leaver, self._block_of, values_of)
        for q, of_query, judgments in self._heavy_scores(heavy):
            values[q] = values_of(of_query, judgments)[0]
        return values

    def _heavy_scores(self, heavy: list[list[int]]) -> Iterator[_QueryScores]:
        """The held-out scores of queries that outweigh all others."""
        queries = [q for of_part in heavy for q in of_part]
        at_a_time = max(1, _GRAM_NUMBERS // self._engine.n_features**2)
        for begin in range(0, len(queries), at_a_time):
            some = queries[begin : begin + at_a_time]
            weights = map(self._leaver.weights_without, self._moments_without(some))
            for found in self._engine.each(_scores_of_queries, self._block_of, dict(zip(some, weights, strict=True))):
                yield from found


# What is made of scores, λ × documents, and the judgments of these documents: queries × λ × values.
ValuesOf = Callable[[Array, Judgments], Array]

# A query, its scores and its judgments.
_QueryScores = tuple[int, Array, Judgments]


def _write_scores(part: Part, room: Array, leaver: Leaver, block_of: BlockOf) -> list[int]:
    """Write the held-out scores of a part's queries; returns those that outweigh all others, which it leaves out."""

    def write(first: int, last: int, scores: Array) -> None:
        room[:, part.offsets[first] : part.offsets[last]] = scores

    return _for_runs(part, leaver, block_of, write)


def _write_values(part: Part, room: Array, leaver: Leaver, block_of: BlockOf, values_of: ValuesOf) -> list[int]:
    """The same for what is made of the scores, which are never there all at once."""

    def write(first: int, last: int, scores: Array) -> None:
        room[first:last] = values_of(scores, part.judgments.run(first, last))

    return _for_runs(part, leaver, block_of, write)


def _for_runs(part: Part, leaver: Leaver, block_of: BlockOf, write: Callable[[int, int, Array], None]) -> list[int]:
    """Call ``write(first, last, scores)`` on runs of queries; scores of those that are returned are 0."""
    heavy: list[int] = []

    def scores_of(q: int) -> Array:
        block = block_of(part, q)
        if not leaver.is_outweighed_by(block):
            return leaver.scores(block)
        heavy.append(part.first_query + q)
        return np.zeros((leaver.n_alphas, block.n_documents))

    def work(begin: int, end: int) -> None:
        for first, last in runs_of_queries(part.offsets, _DOCUMENTS_AT_A_TIME, begin, end):
            write(first, last, np.concatenate([scores_of(q) for q in range(first, last)], axis=1))

    with one_thread_per_call():
        part.over_runs(work)
    return sorted(heavy)


def _scores_of_queries(part: Part, block_of: BlockOf, weights: dict[int, Array]) -> list[_QueryScores]:
    """The scores of those of some queries that the part has, each by weights of its own."""
    own = part.places_of(weights)
    return [(q, block_of(part, at).scores(weights[q]), part.judgments.run(at, at + 1)) for q, at in own.items()]


class Leaver:
    """Trains without one block at a time. Weights are λ × features."""

    def __init__(self, moments: Moments, alphas: Array) -> None:
        self._moments, self._alphas, self.n_alphas = moments, alphas, len(alphas)
        self._totals, self._least_alpha = np.diag(moments.gram).copy(), float(alphas.min())
        values, self._vectors = scipy.linalg.eigh(moments.gram)
        self._inverses = 1 / (np.maximum(values, 0) + alphas[:, None])  # (Λ + λ)⁻¹
        self._largest_inverse = self._inverses.max(axis=0)
        self._turned_products = self._vectors.T @ moments.products

    def is_outweighed_by(self, block: Block) -> bool:
        """Whether a block is not to be taken off the sums."""
        return block.outweighs(self._totals, self._least_alpha)

    def weights_without(self, moments: Moments) -> Array:
        """Weights by the sums over all other queries."""
        return ShiftedSystems(moments.gram, self._alphas).solve(moments.products).T

    def scores(self, block: Block) -> Array:
        """Scores of the block's documents, λ × documents."""
        return block.scores(self._weights(block))

    def _weights(self, block: Block) -> Array:
        remaining = self._moments.products - block.target @ block.centred
        turned = block.centred @ self._vectors
        weights = self._cheapest(turned)(block, turned, remaining)
        errors = np.empty(len(self._alphas))
        backward_errors(*self._moments, block.centred, remaining, self._alphas, weights, errors)
        poor = ~(errors <= _ROUNDING * len(remaining))
        if poor.any():
            weights[poor] = self._one_by_one(block, turned, remaining)[poor]
        return weights

    def _cheapest(self, turned: Array) -> Callable[[Block, Array, Array], Array]:
        """The way that takes the fewest flops."""
        (size, n), n_alphas = turned.shape, len(self._alphas)
        prices = [
            (self._n_terms(turned) * n_alphas * 4 * size * n, self._by_series),
            (n_alphas * (2 * size**2 * n + size**3 / 3), self._by_query),
            (size * n**2 + _PRICE_OF_TRIDIAGONALISATION * 4 / 3 * n**3, self._by_features),
            (size * n**2 + n_alphas * n**3, self._one_by_one),  # n³/3 for a factor, and as much again in small calls
        ]
        return min(prices, key=lambda price: price[0])[1]

    def _n_terms(self, turned: Array) -> float:
        """How many terms of the series count: they shrink like powers of the query's leverage, or faster."""
        leverage = float(np.einsum("di,di->i", turned, turned) @ self._largest_inverse)
        n_terms = np.log(1e-16) / np.log(leverage) if 0 < leverage < 1 else np.inf
        return 1.0 if leverage == 0 else float(n_terms) if n_terms < MOST_TERMS else np.inf

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
        return ShiftedSystems(self._remaining_gram(block), self._alphas).solve(remaining).T.copy()

    def _remaining_gram(self, block: Block) -> Array:
        """X̂ᵀX̂ − X̂_qᵀX̂_q, an array of its own."""
        gram = block.centred.T @ block.centred
        return np.subtract(self._moments.gram, gram, out=gram)


def leave_out_kernel_scores(
    kernel_matrix: Array, target: Array, offsets: npt.NDArray[np.int64], centre: Callable[[Array], Array], alphas: Array
) -> Array:
    """The same in the dual, for any kernel matrix K over documents that stand query by query.

    The ranker without q has the dual weights a − G_{:,Q}r with r = (G_QQ)⁻¹a_Q. They are 0 on Q, and centred in every
    other query; both are imposed, since 1/λ may have blown up what rounding left there. They too are put into their
    equations, and solved for anew if they do not fulfil them.
    """
    centred = doubly_centred(kernel_matrix, centre)
    values, vectors = scipy.linalg.eigh(centred)
    inverses = 1 / (np.maximum(values, 0)[:, None] + alphas)  # (Λ + λ)⁻¹, documents × λ
    projected = inverses * (vectors.T @ target)[:, None]
    scores = np.empty((len(alphas), len(target)))

    def work(first: int, last: int) -> None:
        for q in range(first, last):
            documents = slice(int(offsets[q]), int(offsets[q + 1]))
            dual = _dual_without(documents, vectors, inverses, projected)
            dual[documents] = 0
            dual = _fulfilling(centre(dual), centred, target, documents, alphas)
            scores[:, documents] = (kernel_matrix[documents] @ centre(dual)).T

    with one_thread_per_call():
        share_by_size(work, offsets)
    return scores


def doubly_centred(kernel_matrix: Array, centre: Callable[[Array], Array]) -> Array:
    """LKL."""
    return centre(np.ascontiguousarray(centre(kernel_matrix).T))


def _dual_without(documents: slice, vectors: Array, inverses: Array, projected: Array) -> Array:
    """a − G_{:,Q}(G_QQ)⁻¹a_Q, documents × λ; NaN where G_QQ cannot be factored."""
    rows, dual = vectors[documents], projected.copy()
    for l in range(dual.shape[1]):
        system = (rows * inverses[:, l]) @ rows.T
        _, residual, failed = lapack.dposv(system, rows @ projected[:, l], lower=1)
        dual[:, l] -= inverses[:, l] * (rows.T @ residual) if not failed else np.nan
    weights: Array = vectors @ dual
    return weights


def _fulfilling(dual: Array, centred: Array, target: Array, documents: slice, alphas: Array) -> Array:
    """Dual weights that fulfil (LKL + λI)a = ŷ on all documents but some, where a is 0: those given, or better ones."""
    residual = target[:, None] - centred @ dual - dual * alphas
    residual[documents] = 0
    poor = ~(np.linalg.norm(residual, axis=0) <= _LARGEST_RESIDUAL * np.linalg.norm(target))
    if poor.any():
        others = np.delete(np.arange(len(target)), documents)
        systems = ShiftedSystems(centred[np.ix_(others, others)], alphas[poor])
        solved = systems.solve(target[others])
        left = target[others, None] - centred[np.ix_(others, others)] @ solved - solved * alphas[poor]
        dual[np.ix_(others, np.flatnonzero(poor))] = solved + systems.solve(left)
    return dual
