"""Greedy RankRLS that only reads the data: the held-out error of every candidate feature (paper G, algorithm 1).

For each query q there is the problem of training without it; one more problem leaves out nothing. In a problem,
features are orthogonalised as they are selected: x̃_i is candidate i minus its ridge regression on the selected
features, over the training queries. Four numbers tell all about a candidate,

    in training        d_i = x̃_iᵀx̃_i plus what λ adds,   r_i = x̃_iᵀŷ,
    on query q         v_i = x̃_iᵀx̃_i,                    f_i = x̃_iᵀ(ŷ − Xw):

adding it gives x̃_i the weight g = r_i/d_i, and changes the held-out squared error by g(g v_i − 2 f_i). Selecting b
takes β_i x̃_b off every other candidate, where β_i = x̃_bᵀx̃_i/d_b in training, and with ρ_i = x̃_bᵀx̃_i on query q

    d_i −= β_i² d_b,   r_i −= β_i r_b,   v_i −= 2β_i ρ_i − β_i² v_b,   f_i −= β_i f_b + g_b(ρ_i − β_i v_b).

All β and ρ are kept, to find those of the next b from row b of the Gram matrix H^q = X̂_qᵀX̂_q: 2·N·n·k numbers, where
algorithm 1 keeps and rewrites two matrices as large as the data. X is read for these rows, at most once per selected
feature; or once in all, if the N Gram matrices fit in memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.engines.threads import for_query_ranges, sum_over_query_ranges
from rankwright.selection import greedy_kernels as kernels

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]


class Selected:
    """The features selected so far, in every problem."""

    def __init__(self, norms: Array, capacity: int, *, can_drop: bool) -> None:
        problems = len(norms) + 1
        self._target_norms = np.append(norms, 0.0)  # ŷ_qᵀŷ_q; the last problem holds out nothing
        self.moments = np.empty((problems, 4, capacity))  # d, r, v and f of each when it was selected
        self._factors = np.empty((problems, capacity, capacity))  # β of each with those before
        # Dropping features takes H between them, by the later one of a pair, and h = X̂_qᵀŷ_q.
        self.can_drop = can_drop
        dropped = capacity if can_drop else 0
        self.grams, self.products = np.empty((dropped, len(norms), dropped)), np.empty((len(norms), dropped))
        self.start(1.0)

    def start(self, alpha: float) -> None:
        """Nothing is selected."""
        self.alpha = alpha
        self.features: list[int] = []
        self.errors = self._target_norms.copy()  # held-out squared errors

    @property
    def size(self) -> int:
        """|S|."""
        return len(self.features)

    @property
    def error(self) -> float:
        """The squared leave-query-out error of the whole (paper G, eq. 7)."""
        return float(self.errors.sum())

    def add(self, feature: int, moments: Array) -> None:
        """Note a feature with its d, r, v, f."""
        self.moments[:, :, self.size] = moments
        pivot, covariance, norm, residual = moments.T
        gain = covariance / pivot
        self.errors += gain * (gain * norm - 2 * residual)
        self.features.append(feature)

    def note_history(self, history: Array) -> None:
        """Keep β of the last feature with those before it."""
        step = self.size - 1
        self._factors[:, step, :step] = history[:, 0, :step]

    def note_products(self, inner: Array, product: Array) -> None:
        """Note, for dropping, H of the last feature with all selected ones and itself, and its h."""
        self.grams[self.size - 1, :, : self.size] = inner
        self.products[:, self.size - 1] = product

    def weights(self) -> Array:
        """The weights of the selected features in every problem; the last row is the model trained on all queries."""
        moments = self.moments[:, :, : self.size]
        return self.unturned(moments[:, kernels.COVARIANCE] / moments[:, kernels.PIVOT])

    def final_weights(self) -> Array:
        """The weights of the model trained on all queries."""
        moments = self.moments[-1:, :, : self.size]
        weights = moments[:, kernels.COVARIANCE] / moments[:, kernels.PIVOT]
        kernels.back_substitute(self._factors[-1:], self.size, weights, 0, 1)
        final: Array = weights[0]
        return final

    def unturned(self, coefficients: Array) -> Array:
        """Coefficients of the orthogonalised features (problems × features) to those of the features themselves."""
        for_query_ranges(
            lambda first, last: kernels.back_substitute(self._factors, self.size, coefficients, first, last),
            np.arange(len(coefficients) + 1) * self.size,
        )
        return coefficients

    def errors_without_each(self) -> Array:
        """The squared leave-query-out error of S without its first, second, … feature."""
        grams, products, weights = self._grams(), self.products[:, : self.size], self.weights_without_each()
        residual = np.einsum("qjs,qjs->qs", weights, grams @ weights - 2 * products[:, :, None])
        errors: Array = residual.sum(axis=0) + float(self._target_norms.sum())
        return errors

    def weights_without_each(self) -> Array:
        """w − P_j w_j/P_jj with P = (A − H)⁻¹: weights (query × feature × feature left out) without one feature."""
        every = np.arange(self.size)
        remaining = sum_over_others(self._grams())
        remaining[:, every, every] += self.alpha
        inverse = _scaled_inverse(remaining)
        weights = inverse @ sum_over_others(self.products[:, : self.size])[:, :, None]
        diagonal = np.diagonal(inverse, axis1=1, axis2=2)[:, None, :]
        without: Array = weights - inverse * (np.swapaxes(weights, 1, 2) / diagonal)
        without[:, every, every] = 0
        return without

    def _grams(self) -> Array:
        """H between the selected features, for every query."""
        lower = np.tril(self.grams[: self.size, :, : self.size].transpose(1, 0, 2))
        grams: Array = lower + np.tril(lower, -1).transpose(0, 2, 1)
        return grams


def sum_over_others(rows: Array) -> Array:
    """Σ_{p≠q} rows[p] for every q, by sums from both ends: nothing is subtracted."""
    flat = rows.reshape(len(rows), 1, -1)
    out, nothing = np.empty((len(rows), flat.shape[2])), np.zeros(flat.shape[2])
    kernels.sum_over_others(flat, 0, nothing, nothing, 0, len(rows), out)
    return out.reshape(rows.shape)


def _scaled_inverse(matrices: Array) -> Array:
    """The inverses of positive definite matrices, scaled to diagonals of ones first."""
    scale = 1 / np.sqrt(np.diagonal(matrices, axis1=1, axis2=2))
    scales = scale[:, :, None] * scale[:, None, :]
    try:
        inverses = np.linalg.inv(matrices * scales)
    except np.linalg.LinAlgError:  # λ is below the rounding of some
        inverses = np.linalg.pinv(matrices * scales, hermitian=True)
    scaled: Array = inverses * scales
    return scaled


class Candidates:
    """Some columns of X in every problem: β and ρ of each with every selected feature, and d, r, v, f.

    Columns that have been selected stay until they are g of w with g² ≥ 2w, and are then left out: moving the others
    together takes about as long as a step does, of which it then saves g/w for g steps, and half of that on the way.
    """

    def __init__(self, problems: int, n_columns: int, capacity: int) -> None:
        self._history = np.empty((problems, 2 * max(capacity, 1) * n_columns))  # rows of β and ρ, step by step
        self._moments = np.empty((problems, 4 * n_columns))
        self._all_columns = np.arange(n_columns)
        # Sums over all other queries: from those before and after a block of problems, and from those in it.
        self._block = max(1, math.isqrt(problems))
        self._n_blocks = -(-problems // self._block)
        self._lay_out(self._all_columns)

    def _lay_out(self, columns: Columns) -> None:
        """Take the front of each problem's memory for these columns."""
        self._columns = columns
        self._place_of = np.full(len(self._all_columns), -1)
        self._place_of[columns] = np.arange(len(columns))
        self._is_gone = np.zeros(len(columns), bool)

    def start(self, squares: Array, products: Array, alpha: float) -> None:
        """Nothing is selected: v = H_ii and f = h_i on the query, d = Σ H_ii + λ and r = Σ h_i over the others."""
        self._lay_out(self._all_columns)
        sums = squares[:, None], products[:, None]
        around = self._sums_around_blocks(sums[0], 0), self._sums_around_blocks(sums[1], 0)
        self._add_up(
            lambda first, last, changes: kernels.start(
                *sums, *around, self._block, alpha, self._moments, first, last, changes
            )
        )

    def sweep(
        self,
        step: int,
        products: Array,
        slot: int,
        selected: Selected,
        history: Array,
        column: int | None = None,
    ) -> None:
        """Take the feature selected at ``step``, whose rows of H are products[:, slot], out of all columns.

        ``history`` has its β and ρ; if it is one of the columns, they are written there first.
        """
        place, width = -1 if column is None else int(self._place_of[column]), len(self._columns)
        kept = self._kept_without(place)
        if len(kept) < width:
            self._lay_out(self._columns[kept])
        of_b = (place, history, selected.moments, selected.alpha)
        of_all = (kept, self._columns, self._history, self._moments)
        around = self._sums_around_blocks(products, slot)
        self._add_up(
            lambda first, last, changes: kernels.sweep(
                products, slot, around, self._block, step, *of_b, width, *of_all, first, last, changes
            )
        )

    def _kept_without(self, place: int) -> Columns:
        """The places to keep once the column at a place has gone, too: all, if leaving out does not pay yet."""
        if place >= 0:
            self._is_gone[place] = True
        gone, width = int(self._is_gone.sum()), len(self._columns)
        return np.flatnonzero(~self._is_gone) if 2 * width <= gone**2 and gone < width else np.arange(width)

    def _sums_around_blocks(self, products: Array, slot: int) -> Array:
        """Σ products[q, slot] over the queries before each block, and after it."""
        around = np.empty((2, self._n_blocks, products.shape[2]))
        kernels.sums_around_blocks(products, slot, self._block, *around)
        return around

    def _add_up(self, add: Callable[[int, int, Array], None]) -> None:
        """Run over all blocks of problems, and add up the changes in the order of the problems."""
        width = len(self._columns)
        blocks = np.arange(self._n_blocks + 1) * (self._block * width)
        self._changes = sum_over_query_ranges(add, blocks, (width,))

    def changes(self, columns: Columns) -> Array:
        """What adding each of the columns changes in the squared leave-query-out error."""
        changes: Array = self._changes[self._place_of[columns]]
        return changes

    def best_first(self) -> Columns:
        """The columns that have not been selected, those that lessen the squared error most first."""
        left = np.flatnonzero(~self._is_gone)
        best_first: Columns = self._columns[left[np.argsort(self._changes[left])]]
        return best_first

    def history(self, column: int, size: int) -> Array:
        """β and ρ (2 × size) of a column with the selected features, in every problem."""
        rows = self._rows(self._history, 2 * size)
        return rows[:, :, self._place_of[column]].reshape(len(rows), size, 2).swapaxes(1, 2)

    def moments(self, column: int) -> Array:
        """d, r, v and f of a column in every problem."""
        return self._rows(self._moments, 4)[:, :, self._place_of[column]].copy()

    def _rows(self, memory: Array, count: int) -> Array:
        """The first rows of each problem."""
        width = len(self._columns)
        return memory[:, : count * width].reshape(len(memory), count, width)
