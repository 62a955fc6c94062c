"""Selectors: what is kept of the data while features are selected. `selection.greedy` has the mathematics."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from rankwright.data.centred import CentredQueries, QueryMoments
from rankwright.selection import greedy_kernels as kernels
from rankwright.selection.greedy import Array, Candidates, Columns, Selected

# What a block of candidates may take where no state of all candidates is kept.
_BLOCK_BYTES = 1 << 25


class Selector(ABC):
    """Selects features one after the other; every kind of it comes to the same features and errors.

    ``start(alpha)`` comes first, and begins anew for another λ. Features can be dropped only if ``can_drop``.
    """

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        self.data = data
        self.capacity = capacity
        self.selected = Selected(data.norms(), capacity, can_drop=can_drop)
        self._coming: list[int] = []  # features sure to be selected next

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
        self._coming = [feature for place, feature in enumerate(self.selected.features) if place != position]
        self.start(self.selected.alpha)
        while self._coming:
            self.add(self._coming.pop(0))

    def held_out_scores(self, weights: Array) -> Array:
        """The scores of every query by the model trained without it; ``weights`` are those of the selected features."""
        return self.data.scores(np.array(self.selected.features, np.intp), weights[:-1])


class KeepingSelector(Selector):
    """Keeps β and ρ of all features: a step costs O(N·n·k) beside the rows of H that it needs."""

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        steps = capacity if can_drop else capacity - 1  # the last feature is not taken out of the others
        self._candidates = Candidates(data.n_queries + 1, data.n_features, steps)
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
            selected.note_products(products[:, slot, selected.features], target_product)
        self._candidates.sweep(step, products, slot, selected, self._history, feature)
        selected.note_history(self._history)

    @abstractmethod
    def _row_of(self, feature: int) -> tuple[Array, int, Array]:
        """An array with row b of H of every query, its place in there, and h_b."""


class StreamSelector(KeepingSelector):
    """Reads X once to start with, and again whenever a feature is selected whose row of H is not at hand.

    Such a pass takes little longer for several rows than for one. So it also computes those of the features that now
    lessen the error most: some of them will be selected next. The rows of the last two passes are kept.
    """

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._moments = data.query_moments()
        self._per_pass = max(1, min(data.products_per_pass, capacity - 1))
        self._rows = np.empty((2 * self._per_pass, data.n_queries, data.n_features))
        self._features = np.full(2 * self._per_pass, -1)  # whose rows they are
        self._older = 0

    def start(self, alpha: float) -> None:
        """Select nothing, and bring the candidates back to their beginning."""
        super().start(alpha)
        self._candidates.start(*self._moments, alpha)

    def _row_of(self, feature: int) -> tuple[Array, int, Array]:
        if feature not in self._features:
            self._read_rows(feature)
        rows = self._rows[int(np.argmax(self._features == feature))]
        return rows[:, None], 0, self._moments.products[:, feature]

    def _read_rows(self, feature: int) -> None:
        """Compute the row of a feature and of those likely to follow, in place of the older half of the rows."""
        newer = self._per_pass - self._older
        at_hand = set(self._features[newer : newer + self._per_pass].tolist())
        likely = dict.fromkeys([feature, *self._coming, *self._candidates.best_first()])
        columns = np.array([column for column in likely if column not in at_hand][: self._per_pass], np.intp)
        slots = slice(self._older, self._older + len(columns))
        self.data.column_products(columns, self._rows[slots])
        self._features[slots] = columns
        self._older = newer


class GramSelector(KeepingSelector):
    """Reads X once for the Gram matrices of all queries, and then never again, whatever λ and k are tried."""

    def __init__(self, data: CentredQueries, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        n = data.n_features
        self._grams = np.empty((data.n_queries, n, n))
        self._products = data.query_grams(self._grams)
        self._squares = np.diagonal(self._grams, axis1=1, axis2=2).copy()

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
            inner = np.column_stack([products[:, :, 0], moments.squares[:, 0]])
            self.selected.note_products(inner, moments.products[:, 0])

    def _worked_through(self, columns: Columns) -> tuple[Candidates, Array, QueryMoments]:
        """The columns after all selected features were taken out of them, and their rows of H."""
        selected, problems = self.selected, self.data.n_queries + 1
        products = np.empty((self.data.n_queries, selected.size, len(columns)))
        moments = self.data.block_products(np.array(selected.features, np.intp), columns, products)
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
