"""Selectors: what is kept of the data while features are selected. `selection.greedy` has the mathematics."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Protocol

import numpy as np

from rankwright.data.centred import QueryMoments
from rankwright.data.part import Part
from rankwright.engines.centred_sums import CentredSums
from rankwright.selection import greedy_kernels as kernels
from rankwright.selection.greedy import Candidates, Selected
from rankwright.selection.training_error import TrainingErrors
from rankwright.types import Array, Columns

# What a block of candidates may take where no state of all candidates is kept.
_BLOCK_BYTES = 1 << 25


class WeightsByPart(Protocol):
    """Weights for each query of the data, as they are sent to parts; ``nbytes`` is what they take here."""

    @property
    def nbytes(self) -> int:
        """In this process."""

    def of(self, part: Part) -> Array:
        """Those of a part's queries: query × feature."""


class Selection(Protocol):
    """The features selected so far."""

    features: list[int]

    @property
    def size(self) -> int:
        """How many they are."""

    @property
    def error(self) -> float:
        """Their squared leave-query-out error (paper G, eq. 7)."""

    @property
    def query_errors(self) -> Array:
        """The squared error of each query by the model trained without it."""

    def errors_without_each(self) -> Array:
        """The squared leave-query-out error without the first, second, … of them."""

    def held_out_weights_by_part(self) -> WeightsByPart:
        """Their weights without each query."""

    def final_weights(self) -> Array:
        """Their weights in the model trained on all queries."""


class Selector(ABC):
    """Selects features one after the other; every kind of it comes to the same features and errors.

    ``start(alpha)`` comes first, and begins anew for another λ. Features can be dropped only if ``can_drop``.
    """

    selected: Selection

    def __init__(self, data: CentredSums, capacity: int) -> None:
        self.data, self.capacity = data, capacity

    @abstractmethod
    def start(self, alpha: float) -> None:
        """Select nothing."""

    @abstractmethod
    def errors_with(self, columns: Columns) -> Array:
        """The squared leave-query-out error with each of the columns added."""

    def error_bounds(self, columns: Columns) -> Array | None:
        """What these errors are not below, if that is known without computing them."""
        return None

    @abstractmethod
    def add(self, feature: int) -> None:
        """Select a feature."""

    @abstractmethod
    def drop(self, position: int) -> None:
        """Take the feature at a position of the selection back out."""


class OrthogonalSelector(Selector):
    """Orthogonalises features as they are selected, in every problem."""

    selected: Selected

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity)
        self.selected = Selected(data.norms(), capacity, can_drop=can_drop)
        self._coming: list[int] = []  # features sure to be selected next

    def start(self, alpha: float) -> None:
        """Select nothing."""
        self.selected.start(alpha)

    def drop(self, position: int) -> None:
        """Select the others again."""
        self._coming = [feature for place, feature in enumerate(self.selected.features) if place != position]
        self.start(self.selected.alpha)
        while self._coming:
            self.add(self._coming.pop(0))


class KeepingSelector(OrthogonalSelector):
    """Keeps β and ρ of the features it had to look at: a step costs O(N·k) for each of them that may be the best.

    They are all of them if none lessens the error by much. A row of H is needed of every selected feature.
    """

    def __init__(self, data: CentredSums, capacity: int, moments: QueryMoments, *, can_drop: bool) -> None:
        steps = capacity if can_drop else capacity - 1  # the last feature is not taken out of the others
        self._candidates = Candidates(data.n_queries + 1, data.n_features, steps)
        super().__init__(data, capacity, can_drop=can_drop)
        self.selected.histories = self._candidates.history
        self._moments = moments
        totals = moments.squares.sum(axis=0), moments.products.sum(axis=0)
        self._training = TrainingErrors(*totals, self.selected.error, capacity)
        self._slots: list[int] = []  # of the selected features' rows of H

    def start(self, alpha: float) -> None:
        """Select nothing, and bring the candidates back to their beginning."""
        super().start(alpha)
        self._candidates.start(*self._moments)
        self._training.start(alpha)
        self._slots = []

    def errors_with(self, columns: Columns) -> Array:
        """Read off the state."""
        self.bring_up(columns)
        errors: Array = self.selected.error + self._candidates.changes[columns]
        return errors

    def error_bounds(self, columns: Columns) -> Array:
        """Their training errors."""
        bounds: Array = self._training.bounds()[columns]
        return bounds

    def bring_up(self, columns: Columns) -> None:
        """Take the selected features out of these columns."""
        self._candidates.bring_up(columns, self.selected, self._rows(), np.array(self._slots, np.intp))

    def scores_with(self, column: int, weights: Array) -> Array:
        """Held-out scores of every query with one more column added; ``weights`` are those of the selected ones."""
        self.bring_up(np.array([column], np.intp))
        selected, moments = self.selected, self._candidates.moments[column]
        gain = moments[kernels.COVARIANCE] / moments[kernels.PIVOT]
        regression = selected.unturned(self._candidates.history[column, : selected.size, 0].copy())
        changed = np.column_stack([weights - regression * gain[:, None], gain])
        return self.data.scores(np.array([*selected.features, column], np.intp), changed[:-1])

    def add(self, feature: int) -> None:
        """Select a feature, and have its row of H ready for all others."""
        self.bring_up(np.array([feature], np.intp))
        selected = self.selected
        selected.add(feature, feature, self._candidates.moments[feature])
        if selected.size == self.capacity and not selected.can_drop:  # nothing more will be asked of the others
            return
        slot = self._slot_of(feature)
        row = self._rows()[slot]
        self._slots.append(slot)
        self._training.take_out(feature, row.sum(axis=0))
        if selected.can_drop:
            selected.note_products(row[:, selected.features], self._moments.products[:, feature])

    @abstractmethod
    def _rows(self) -> Array:
        """Rows of H of every query: slot × query × feature."""

    @abstractmethod
    def _slot_of(self, feature: int) -> int:
        """Where row b of H is; it stays there while b is selected."""


class StreamSelector(KeepingSelector):
    """Reads X once to start with, and again whenever a feature is selected whose row of H is not at hand.

    Such a pass takes little longer for several rows than for one. So it also computes those of the features that now
    lessen the error most: some of them will be selected next. These rows are kept for at least two passes.
    """

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, data.query_moments(), can_drop=can_drop)
        self._per_pass = max(1, min(data.products_per_pass, capacity - 1))
        n_slots = capacity + 2 * self._per_pass
        self._kept = np.empty((n_slots, data.n_queries, data.n_features))
        self._features = np.full(n_slots, -1)  # whose rows they are
        self._read_in = np.zeros(n_slots, np.intp)  # in which pass

    def _rows(self) -> Array:
        return self._kept

    def _slot_of(self, feature: int) -> int:
        if feature not in self._features:
            self._read_rows(feature)
        return int(np.argmax(self._features == feature))

    def _read_rows(self, feature: int) -> None:
        """Compute the row of a feature and of those likely to follow, in place of the oldest that are not needed."""
        contenders = self._candidates.best_first(self.selected.size - 1)
        likely = dict.fromkeys([feature, *self._coming, *contenders, *self._training.best_first()])
        at_hand = set(self._features.tolist())
        columns = np.array([column for column in likely if column not in at_hand][: self._per_pass], np.intp)
        oldest_first = np.argsort(self._read_in, kind="stable")
        slots = np.setdiff1d(oldest_first, self._slots, assume_unique=True)[: len(columns)]
        self.data.column_products(columns, slots, self._kept)
        self._features[slots], self._read_in[slots] = columns, self.data.passes


class GramSelector(KeepingSelector):
    """Reads X once for the Gram matrices of all queries, and then never again, whatever λ and k are tried."""

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False) -> None:
        n = data.n_features
        grams = np.empty((data.n_queries, n, n))
        products = data.query_grams(grams)
        squares = np.diagonal(grams, axis1=1, axis2=2).copy()
        super().__init__(data, capacity, QueryMoments(squares, products), can_drop=can_drop)
        self._grams = grams.transpose(1, 0, 2)

    def _rows(self) -> Array:
        return self._grams

    def _slot_of(self, feature: int) -> int:
        return feature


class DirectSelector(OrthogonalSelector):
    """Keeps nothing of candidates that are not selected: each is worked through from the start, a block at a time.

    A step costs O(m·k) for each candidate asked for (paper G, section 5), so it suits random subsets of candidates
    and data so wide that 2·N·n·k numbers are too many.
    """

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self.selected.histories = np.empty((capacity, capacity, 2, data.n_queries + 1))

    def errors_with(self, columns: Columns) -> Array:
        """Work through the columns, a block at a time, each block in one pass over X."""
        per_column = 8 * (self.data.n_queries + 1) * (3 * self.selected.size + 8)
        width = max(1, max(_BLOCK_BYTES, (self.data.engine.memory or 0) // 4) // per_column)
        blocks = [columns[start : start + width] for start in range(0, len(columns), width)]
        changes = [self._worked_through(block)[0].changes for block in blocks]
        return self.selected.error + np.concatenate(changes)

    def add(self, feature: int) -> None:
        """Select a feature: work through it once more, and keep what it has to do with those selected."""
        size = self.selected.size
        candidate, products, moments = self._worked_through(np.array([feature], np.intp))
        self.selected.histories[size, :size] = candidate.history[0, :size]
        self.selected.add(feature, size, candidate.moments[0])
        if self.selected.can_drop:
            inner = np.column_stack([products[:, :, 0], moments.squares[:, 0]])
            self.selected.note_products(inner, moments.products[:, 0])

    def _worked_through(self, columns: Columns) -> tuple[Candidates, Array, QueryMoments]:
        """The columns after all selected features were taken out of them, and their rows of H."""
        selected, problems = self.selected, self.data.n_queries + 1
        products = np.empty((self.data.n_queries, selected.size, len(columns)))
        moments = self.data.block_products(np.array(selected.features, np.intp), columns, products)
        candidates = Candidates(problems, len(columns), selected.size)
        candidates.start(*moments)
        candidates.bring_up(np.arange(len(columns)), selected, products.transpose(1, 0, 2), np.arange(selected.size))
        return candidates, products, moments


class BackFittingSelector(DirectSelector):
    """Rates a candidate by the weight it would get if those of the selected features stayed as they are.

    Only then are all weights fitted again ("back-fitting", paper G, section 5, after Vincent & Bengio 2002). A feature
    that no document of a query has changes nothing there, so a step costs O(k) per stored entry of X. The rating is
    an approximation; the errors of what was selected are exact.
    """

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False) -> None:
        super().__init__(data, capacity, can_drop=can_drop)
        self._totals = data.total_squares(), data.target_products()
        self._total_rows = np.zeros((capacity, data.n_features))

    def add(self, feature: int) -> None:
        """Select a feature, and note its row of X̂ᵀX̂."""
        super().add(feature)
        self._total_rows[self.selected.size - 1] = self.data.total_column_products(feature)

    def errors_with(self, columns: Columns) -> Array:
        """An approximation: with the weights of the selected features as they are."""
        selected = self.selected
        weights = selected.weights()
        changes = self.data.back_fitting_errors(
            np.array(selected.features, np.intp),
            weights[:-1],
            self._total_rows[: selected.size],
            self._totals,
            selected.alpha,
        )
        return selected.error + changes[columns]
