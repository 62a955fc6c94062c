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

A candidate is worked on only when its error is asked for. `rankwright.selection.training_error` tells, without
looking at queries, which ones may be the best; most never are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwright.data.part import Part
from rankwright.engines.driver import share
from rankwright.selection import greedy_kernels as kernels
from rankwright.types import Array, Columns


class WeightsOfAll(NamedTuple):
    """Weights for each query of the data, query × feature."""

    weights: Array

    @property
    def nbytes(self) -> int:
        """Of all of them."""
        return self.weights.nbytes

    def of(self, part: Part) -> Array:
        """Those of a part's queries."""
        return self.weights[part.first_query : part.first_query + part.n_queries]


class Selected:
    """The features selected so far, in every problem.

    ``histories`` has β and ρ of features with those selected before them (feature × step × 2 × problem). It is the
    selector's; where in there those of a feature stand is told when it is added.
    """

    histories: Array

    def __init__(self, norms: Array, capacity: int, *, can_drop: bool) -> None:
        self._target_norms = np.append(norms, 0.0)  # ŷ_qᵀŷ_q; the last problem holds out nothing
        self.moments = np.empty((capacity, 4, len(norms) + 1))  # d, r, v and f of each when it was selected
        # Dropping features takes H between them, by the later one of a pair, and h = X̂_qᵀŷ_q.
        self.can_drop = can_drop
        dropped = capacity if can_drop else 0
        self.grams, self.products = np.empty((dropped, len(norms), dropped)), np.empty((len(norms), dropped))
        self.start(1.0)

    def start(self, alpha: float) -> None:
        """Nothing is selected."""
        self.alpha = alpha
        self.features: list[int] = []
        self._places: list[int] = []
        self.errors = self._target_norms.copy()  # held-out squared errors

    @property
    def size(self) -> int:
        """|S|."""
        return len(self.features)

    @property
    def places(self) -> Columns:
        """Where their histories are."""
        return np.array(self._places, np.intp)

    @property
    def query_errors(self) -> Array:
        """The squared error of each query by the model trained without it."""
        return self.errors[:-1]

    @property
    def error(self) -> float:
        """The squared leave-query-out error of the whole (paper G, eq. 7)."""
        return float(self.errors.sum())

    def add(self, feature: int, place: int, moments: Array) -> None:
        """Note a feature with the place of its history and its d, r, v, f."""
        self.moments[self.size] = moments
        pivot, covariance, norm, residual = moments
        gain = covariance / pivot
        self.errors += gain * (gain * norm - 2 * residual)
        self.features.append(feature)
        self._places.append(place)

    def note_products(self, inner: Array, product: Array) -> None:
        """Note, for dropping, H of the last feature with all selected ones and itself, and its h."""
        self.grams[self.size - 1, :, : self.size] = inner
        self.products[:, self.size - 1] = product

    def weights(self) -> Array:
        """The weights of the selected features in every problem; the last row is the model trained on all queries."""
        return self.unturned(self._gains())

    def held_out_weights(self) -> Array:
        """The weights of the selected features without each query."""
        return self.weights()[:-1]

    def held_out_weights_by_part(self) -> WeightsOfAll:
        """The same, to be sent to parts."""
        return WeightsOfAll(self.held_out_weights())

    def final_weights(self) -> Array:
        """The weights of the model trained on all queries."""
        gains = self._gains()
        kernels.back_substitute(self.histories, self.places, gains, gains.shape[1] - 1, gains.shape[1])
        final: Array = gains[:, -1].copy()
        return final

    def unturned(self, coefficients: Array) -> Array:
        """Coefficients of the orthogonalised features (× problems) to those of the features themselves, transposed."""
        places = self.places
        share(
            lambda first, last: kernels.back_substitute(self.histories, places, coefficients, first, last),
            coefficients.shape[1],
            self.size,
        )
        return np.ascontiguousarray(coefficients.T)

    def _gains(self) -> Array:
        """g of the orthogonalised features (× problems)."""
        gains: Array = self.moments[: self.size, kernels.COVARIANCE] / self.moments[: self.size, kernels.PIVOT]
        return gains

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
    nothing = np.zeros_like(rows[:1])
    before = np.cumsum(np.concatenate([nothing, rows[:-1]]), axis=0)
    after = np.cumsum(np.concatenate([nothing, rows[:0:-1]]), axis=0)[::-1]
    sums: Array = before + after
    return sums


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

    They lie column by column, and a column is brought up to date when it is asked for. Memory of columns that never
    are is not touched.
    """

    def __init__(self, problems: int, n_columns: int, capacity: int) -> None:
        self.history = np.empty((n_columns, max(capacity, 1), 2, problems))
        self.moments = np.empty((n_columns, 4, problems))
        self.changes = np.empty(n_columns)  # in the squared leave-query-out error, if a column is added
        self._done = np.empty(n_columns, np.intp)

    def start(self, squares: Array, products: Array) -> None:
        """Nothing is selected; H_ii and h_i of each query are given."""
        self._squares, self._products = squares, products
        self._done[:] = -1

    def bring_up(self, columns: Columns, selected: Selected, rows: Array, slots: Columns) -> None:
        """Take the selected features out of these columns; their rows of H are rows[slots[0]], rows[slots[1]], …"""
        lagging = columns[self._done[columns] < selected.size]
        if len(lagging) == 0:
            return
        of_data = (self._squares, self._products, rows, slots, selected.alpha)
        of_selected = (selected.histories, selected.places, selected.moments)
        of_columns = (self.history, self.moments, self.changes)
        share(
            lambda first, last: kernels.bring_up(lagging, self._done, *of_data, *of_selected, *of_columns, first, last),
            len(lagging),
            self.moments.shape[2] * (selected.size + 1),
        )

    def best_first(self, step: int) -> list[int]:
        """The columns that have been brought up to a step and no further, those that lessen the error most first."""
        columns = np.flatnonzero(self._done == step)
        best_first: list[int] = columns[np.argsort(self.changes[columns])].tolist()
        return best_first
