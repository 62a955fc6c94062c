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
algorithm 1 keeps and rewrites two matrices as large as the data. X is read once per selected feature, for these rows;
or once in all, if the N Gram matrices fit in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.data.centred import CentredQueries, QueryMoments
from rankwright.engines.threads import for_query_ranges, sum_over_query_ranges
from rankwright.selection import greedy_kernels as kernels

Array = npt.NDArray[np.float64]
Columns = npt.NDArray[np.intp]

# What a block of candidates may take where no state of all candidates is kept.
_BLOCK_BYTES = 1 << 25


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
        self.grams, self.products = np.empty((dropped, problems, dropped)), np.empty((problems, dropped))
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
        grams, products, weights = self._grams(), self.products[:-1, : self.size], self.weights_without_each()
        residual = np.einsum("qjs,qjs->qs", weights, grams @ weights - 2 * products[:, :, None])
        errors: Array = residual.sum(axis=0) + float(self._target_norms.sum())
        return errors

    def weights_without_each(self) -> Array:
        """w − P_j w_j/P_jj with P = (A − H)⁻¹: weights (query × feature × feature left out) without one feature."""
        every = np.arange(self.size)
        remaining = sum_over_others(self._grams())
        remaining[:, every, every] += self.alpha
        inverse = _scaled_inverse(remaining)
        weights = inverse @ sum_over_others(self.products[:-1, : self.size])[:, :, None]
        diagonal = np.diagonal(inverse, axis1=1, axis2=2)[:, None, :]
        without: Array = weights - inverse * (np.swapaxes(weights, 1, 2) / diagonal)
        without[:, every, every] = 0
        return without

    def _grams(self) -> Array:
        """H between the selected features, for every query."""
        lower = np.tril(self.grams[: self.size, :-1, : self.size].transpose(1, 0, 2))
        grams: Array = lower + np.tril(lower, -1).transpose(0, 2, 1)
        return grams


def sum_over_others(rows: Array) -> Array:
    """Σ_{p≠q} rows[p] for every q, by sums from both ends: nothing is subtracted."""
    flat = rows.reshape(len(rows), 1, -1)
    out = np.empty((len(rows), flat.shape[2]))
    kernels.sum_over_others(flat, 0, out)
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

    Columns that have been selected stay until half of all are, and are then left out: moving takes time, too.
    """

    def __init__(self, problems: int, n_columns: int, capacity: int) -> None:
        self._problems, self._capacity = problems, max(capacity, 1)
        self._all_columns = np.arange(n_columns)
        self._history_memory = np.empty(problems * self._capacity * 2 * n_columns)
        self._moments_memory = np.empty(problems * 4 * n_columns)
        self._others = np.empty((problems, n_columns))
        self._lay_out(self._all_columns)

    def _lay_out(self, columns: Columns) -> None:
        """Take the front of the memory for these columns."""
        problems, width = self._problems, len(columns)
        self._columns = columns
        self._place_of = np.full(len(self._all_columns), -1)
        self._place_of[columns] = np.arange(width)
        history, moments = (problems, self._capacity, 2, width), (problems, 4, width)
        self._history = self._history_memory[: np.prod(history)].reshape(history)
        self._moments = self._moments_memory[: np.prod(moments)].reshape(moments)
        self._changes = np.zeros(width)

    def start(self, squares: Array, products: Array, alpha: float) -> None:
        """Nothing is selected: v = H_ii and f = h_i on the query, d = Σ H_ii + λ and r = Σ h_i over the others."""
        self._lay_out(self._all_columns)
        pivot, covariance, norm, residual = np.moveaxis(self._moments, 1, 0)
        norm[:-1], residual[:-1] = squares, products
        norm[-1] = residual[-1] = 0
        pivot[:] = sum_over_others(norm) + alpha
        covariance[:] = sum_over_others(residual)
        self._add_up(lambda first, last, changes: kernels.add_changes(self._moments, first, last, changes))

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
        others = self._others  # made once: memory that is touched for the first time takes longer than the sums
        kernels.sum_over_others(products, slot, others)
        place = -1 if column is None else int(self._place_of[column])
        of_b = (place, history, selected.moments, selected.alpha)
        of_all = (self._columns, self._history, self._moments)
        self._add_up(
            lambda first, last, changes: kernels.sweep(
                products, slot, others, step, *of_b, *of_all, first, last, changes
            )
        )

    def _add_up(self, add: Callable[[int, int, Array], None]) -> None:
        """Run over all problems, and add up the changes in the order of the problems."""
        width = len(self._columns)
        self._changes = sum_over_query_ranges(add, np.arange(self._problems + 1) * width, (width,))

    def leave_out(self, features: list[int]) -> None:
        """Narrow the memory in use, if at least half of the columns are among these features."""
        places = np.flatnonzero(~np.isin(self._columns, features))
        if 0 < 2 * len(places) <= len(self._columns):
            width, step = len(self._columns), len(features)
            unused = 2 * (self._capacity - step)
            kernels.keep_places(self._history_memory, self._problems, 2 * step, unused, width, places)
            kernels.keep_places(self._moments_memory, self._problems, 4, 0, width, places)
            changes = self._changes[places]
            self._lay_out(self._columns[places])
            self._changes = changes

    def changes(self, columns: Columns) -> Array:
        """What adding each of the columns changes in the squared leave-query-out error."""
        changes: Array = self._changes[self._place_of[columns]]
        return changes

    def history(self, column: int, size: int) -> Array:
        """β and ρ (2 × size) of a column with the selected features, in every problem."""
        return self._history[:, :size, :, self._place_of[column]].swapaxes(1, 2)

    def moments(self, column: int) -> Array:
        """d, r, v and f of a column in every problem."""
        return self._moments[:, :, self._place_of[column]].copy()


class Selector(ABC):
    """Selects features one after the other; every kind of it comes to the same features and errors.

    ``start(alpha)`` comes first, and begins anew for another λ. Features can be dropped only if ``can_drop``.
    """

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        self.data = data
        self.capacity = capacity
        self.selected = Selected(data.norms(), capacity, can_drop=can_drop)

    def start(self, alpha: float) -> None:
        """Select nothing."""
        self.selected.start(alpha)

    @abstractmethod
    def errors_with(self, columns: Columns) -> Array:
        """The squared leave-query-out error with each of the columns added."""

    @abstractmethod
    def add(self, feature: int) -> None:
        """Select a feature."""

    def drop(self, position: int) -> None:
        """Take the feature at a position of the selection back out: select the others again."""
        others = [feature for place, feature in enumerate(self.selected.features) if place != position]
        self.start(self.selected.alpha)
        for feature in others:
            self.add(feature)

    def held_out_scores(self, weights: Array) -> Array:
        """The scores of every query by the model trained without it; ``weights`` are those of the selected features."""
        return self.data.scores(np.array(self.selected.features, np.intp), weights[:-1])


class KeepingSelector(Selector):
    """Keeps β and ρ of all features: a step costs O(N·n·k) beside the rows of H that it needs."""

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._candidates = Candidates(data.n_queries + 1, data.n_features, capacity)
        self._history = np.empty((data.n_queries + 1, 2, capacity))  # β and ρ of the last feature with those before

    def errors_with(self, columns: Columns) -> Array:
        """Read off the state."""
        return self.selected.error + self._candidates.changes(columns)

    def scores_with(self, column: int, weights: Array) -> Array:
        """Held-out scores of every query with one more column added; ``weights`` are those of the selected ones."""
        selected, moments = self.selected, self._candidates.moments(column)
        gain = moments[:, kernels.COVARIANCE] / moments[:, kernels.PIVOT]
        regression = selected.unturned(self._candidates.history(column, selected.size)[:, 0].copy())
        changed = np.column_stack([weights - regression * gain[:, None], gain])
        return self.data.scores(np.array([*selected.features, column], np.intp), changed[:-1])

    def add(self, feature: int) -> None:
        """Select a feature, and take it out of all others."""
        selected, step = self.selected, self.selected.size
        selected.add(feature, self._candidates.moments(feature))
        if selected.size == self.capacity and not selected.can_drop:  # nothing more will be asked of the others
            selected.note_history(self._candidates.history(feature, step))
            return
        products, slot, target_product = self._row_of(feature)
        if selected.can_drop:
            selected.note_products(products[:, slot, selected.features], np.append(target_product, 0.0))
        self._candidates.sweep(step, products, slot, selected, self._history, feature)
        selected.note_history(self._history)
        self._candidates.leave_out(selected.features)

    @abstractmethod
    def _row_of(self, feature: int) -> tuple[Array, int, Array]:
        """An array with row b of H in every problem, its place in there, and h_b."""


class StreamSelector(KeepingSelector):
    """Reads X once to start with and once for every selected feature."""

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._moments = data.query_moments()
        self._row = np.zeros((data.n_queries + 1, 1, data.n_features))

    def start(self, alpha: float) -> None:
        """Select nothing, and bring the candidates back to their beginning."""
        super().start(alpha)
        self._candidates.start(*self._moments, alpha)

    def _row_of(self, feature: int) -> tuple[Array, int, Array]:
        self.data.column_products(feature, self._row[:-1, 0])
        return self._row, 0, self._moments.products[:, feature]


class GramSelector(KeepingSelector):
    """Reads X once for the Gram matrices of all queries, and then never again, whatever λ and k are tried."""

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        n = data.n_features
        self._grams = np.zeros((data.n_queries + 1, n, n))
        self._products = data.query_grams(self._grams[:-1])
        self._squares = np.diagonal(self._grams[:-1], axis1=1, axis2=2).copy()

    def start(self, alpha: float) -> None:
        """Select nothing, and bring the candidates back to their beginning."""
        super().start(alpha)
        self._candidates.start(self._squares, self._products, alpha)

    def _row_of(self, feature: int) -> tuple[Array, int, Array]:
        return self._grams, feature, self._products[:, feature]


class DirectSelector(Selector):
    """Keeps nothing of candidates that are not selected: each is worked through from the start, a block at a time.

    A step costs O(m·k) for each candidate asked for (paper G, section 5), so it suits random subsets of candidates
    and data so wide that 2·N·n·k numbers are too many.
    """

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._histories = np.empty((capacity, data.n_queries + 1, 2, capacity))  # β and ρ with those before

    def errors_with(self, columns: Columns) -> Array:
        """Work through the columns, a block at a time, each block in one pass over X."""
        per_column = 8 * (self.data.n_queries + 1) * (3 * self.selected.size + 8)
        width = max(1, _BLOCK_BYTES // per_column)
        blocks = [columns[start : start + width] for start in range(0, len(columns), width)]
        changes = [self._worked_through(block)[0].changes(np.arange(len(block))) for block in blocks]
        return self.selected.error + np.concatenate(changes)

    def add(self, feature: int) -> None:
        """Select a feature: work through it once more, and keep what it has to do with those selected."""
        size = self.selected.size
        candidate, products, moments = self._worked_through(np.array([feature], np.intp))
        self._histories[size, :, :, :size] = candidate.history(0, size)
        self.selected.add(feature, candidate.moments(0))
        self.selected.note_history(self._histories[size])
        if self.selected.can_drop:
            inner = np.column_stack([products[:, :, 0], np.append(moments.squares[:, 0], 0.0)])
            self.selected.note_products(inner, np.append(moments.products[:, 0], 0.0))

    def _worked_through(self, columns: Columns) -> tuple[Candidates, Array, QueryMoments]:
        """The columns after all selected features were taken out of them, and their rows of H."""
        selected, problems = self.selected, self.data.n_queries + 1
        products = np.zeros((problems, selected.size, len(columns)))
        moments = self.data.block_products(np.array(selected.features, np.intp), columns, products[:-1])
        candidates = Candidates(problems, len(columns), selected.size)
        candidates.start(*moments, selected.alpha)
        for step in range(selected.size):
            candidates.sweep(step, products, step, selected, self._histories[step])
        return candidates, products, moments


class BackFittingSelector(DirectSelector):
    """Rates a candidate by the weight it would get if those of the selected features stayed as they are.

    Only then are all weights fitted again ("back-fitting", paper G, section 5, after Vincent & Bengio 2002). A feature
    that no document of a query has changes nothing there, so a step costs O(k) per stored entry of X. The rating is
    an approximation; the errors of what was selected are exact.
    """

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._totals = data.total_squares(), data.transposed_product(data.target[:, None])[:, 0]
        self._total_rows = np.zeros((capacity, data.n_features))

    def add(self, feature: int) -> None:
        """Select a feature, and note its row of X̂ᵀX̂."""
        super().add(feature)
        self._total_rows[self.selected.size - 1] = self.data.total_column_products(feature)

    def errors_with(self, columns: Columns) -> Array:
        """An approximation: with the weights of the selected features as they are."""
        selected = self.selected
        weights = selected.weights()
        scores = self.data.queries.grouping.gather(self.held_out_scores(weights))
        changes = self.data.back_fitting_errors(
            self.data.target - self.data.centre(scores),
            weights[:-1],
            self._total_rows[: selected.size],
            self._totals,
            selected.alpha,
        )
        return selected.error + changes[columns]
