"""Scores as sums over features, Σ_j g_j(x_j): g_j is a weight times the feature, or a sum of stumps.

Both kinds answer the same questions about documents, given as rows of the features that the model uses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankwright.explanation.crossings import cheapest_crossings
from rankwright.explanation.moves import Array, Moves, Places
from rankwright.rankers.stump_model import stump_scores

# Gains that exceed what is needed by less than this part of all weights are no more than rounding.
_ROUNDING = 1e-9


class LinearParts:
    """g_j(x) = w_j x."""

    def __init__(self, weights: Array) -> None:
        self.columns: Places = np.flatnonzero(weights)
        self._weights = weights[self.columns]

    def from_mean(self, values: Array) -> Array:
        """w_j (x_ij − x̄_j), with the mean x̄ of the rows."""
        return self.between(values, values.mean(axis=0))

    def between(self, values: Array, others: Array) -> Array:
        """w_j (x_j − x'_j): what each feature adds to the difference of two scores."""
        return self._weights * (values - others)

    def single_moves(self, values: Array, gap: float) -> Moves:
        """Δ_j = gap / w_j: the change of each feature that closes the gap alone."""
        with np.errstate(over="ignore"):
            moves = self._moves(values, gap / self._weights, np.full(len(values), gap))
        return moves.take(np.isfinite(moves.bounds))

    def joint_moves(self, values: Array, gap: float, spreads: Array) -> Moves:
        """Δ_j = gap · w_j σ_j² / Σ_k w_k² σ_k²: of changes that close the gap, that with the least Σ (Δ_j / σ_j)²."""
        steepness = self._weights * spreads
        movable = np.flatnonzero(steepness)
        largest = np.abs(steepness).max(initial=0.0)
        if largest == 0:
            return self._moves(values, np.zeros(len(values)), np.zeros(len(values))).take(movable)
        share = steepness / largest
        change = gap / largest / (share @ share) * share * spreads
        return self._moves(values, change, self._weights * change).take(movable)

    def _moves(self, values: Array, changes: Array, gains: Array) -> Moves:
        directions = np.sign(self._weights)
        return Moves(
            np.arange(len(values)),
            values,
            values + changes,
            directions,
            np.zeros(len(values), bool),
            np.inf * directions,
            gains,
        )

    def score_after(self, values: Array, moves: Moves, to_pass: float) -> float:
        """The score when features have just gone far enough to pass another: no more than that."""
        return float(np.nextafter(to_pass, np.inf))


class StumpParts:
    """g_j(x) = Σ over the stumps t of feature j of weight_t [x > threshold_t]."""

    def __init__(self, features: Places, thresholds: Array, weights: Array, n_columns: int) -> None:
        here = features < n_columns  # other features are 0 in all documents
        self.columns: Places = np.unique(features[here])
        self._stumps = (np.searchsorted(self.columns, features) + len(self.columns) * ~here, thresholds, weights)
        self._steps = [_Steps(thresholds[features == j], weights[features == j]) for j in self.columns]
        self._rounding = _ROUNDING * float(np.abs(weights).sum())

    def from_mean(self, values: Array) -> Array:
        """g_j(x_ij) minus its mean over the rows."""
        heights = self._heights(values)
        centred: Array = heights - heights.mean(axis=0)
        return centred

    def between(self, values: Array, others: Array) -> Array:
        """g_j(x_j) − g_j(x'_j): what each feature adds to the difference of two scores."""
        difference: Array = (self._heights(values[None]) - self._heights(others[None]))[0]
        return difference

    def _heights(self, values: Array) -> Array:
        columns = [steps.heights[steps.place(column)] for steps, column in zip(self._steps, values.T, strict=True)]
        return np.array(columns).reshape(len(columns), len(values)).T

    def single_moves(self, values: Array, gap: float) -> Moves:
        """Of each feature, the nearest values whose stumps close the gap alone, for those that have such values."""
        needed = gap + self._rounding
        return _joined([_nearest(options, options.gains > needed) for options in self._options(values)])

    def joint_moves(self, values: Array, gap: float, spreads: Array) -> Moves:
        """The values whose stumps close the gap together, with the least Σ (Δ_j / σ_j)² there is; none if none do."""
        return cheapest_crossings(_joined(self._options(values)), gap + self._rounding, spreads)

    def _options(self, values: Array) -> list[Moves]:
        return [steps.options(k, value) for k, (steps, value) in enumerate(zip(self._steps, values, strict=True))]

    def score_after(self, values: Array, moves: Moves, to_pass: float) -> float:
        """The score when features have just gone far enough to pass another, which may be much more."""
        moved = values.copy()
        moved[moves.places] = moves.landing()
        return float(stump_scores(moved[None], *self._stumps)[0])


class _Steps:
    """The stumps of one feature: a function with a step at each threshold."""

    def __init__(self, thresholds: Array, weights: Array) -> None:
        self.edges, which = np.unique(thresholds, return_inverse=True)
        self.heights: Array = np.append(0.0, np.cumsum(np.bincount(which, weights)))

    def place(self, values: npt.ArrayLike) -> Places:
        """Between which edges: the number of thresholds below the values."""
        return np.asarray(np.searchsorted(self.edges, values))

    def options(self, k: int, value: float) -> Moves:
        """A move of feature k to each other step: down to an edge, or up past one."""
        here, n = int(self.place(value)), len(self.edges)
        goes_up = np.arange(n) >= here
        steps = np.arange(n) + goes_up  # below edge i is step i, above it is step i + 1
        ends = np.concatenate([[-np.inf], self.edges, [np.inf]])
        return Moves(
            np.full(n, k),
            np.full(n, value),
            self.edges,
            np.where(goes_up, 1.0, -1.0),
            ~goes_up,
            np.where(goes_up, ends[steps + 1], ends[steps]),
            self.heights[steps] - self.heights[here],
        )


def _nearest(options: Moves, enough: npt.NDArray[np.bool_]) -> Moves:
    """Of the moves of one feature that gain enough, the shortest; it may go on until it would gain too little again."""
    if not enough.any():
        return options.take(enough)
    distances = np.where(enough, np.abs(options.bounds - options.values), np.inf)
    best = int(np.argmin(distances))
    direction = options.directions[best]
    further = (options.directions == direction) & (options.bounds * direction > options.bounds[best] * direction)
    ends = options.bounds[further & ~enough] * direction
    until = direction * ends.min(initial=np.inf)
    return replace(options.take(np.array([best])), untils=np.array([until]))


def _joined(moves: list[Moves]) -> Moves:
    """All of them."""
    if not moves:
        none = np.zeros(0)
        return Moves(np.zeros(0, np.intp), none, none, none, np.zeros(0, bool), none, none)
    return Moves(*(np.concatenate([getattr(each, name) for each in moves]) for name in Moves.__dataclass_fields__))
