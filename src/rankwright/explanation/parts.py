"""Scores as sums over features, Σ_j g_j(x_j): g_j is a weight times the feature or its transform, or a sum of stumps.

Both kinds answer the same questions about documents, given as rows of the features that the model uses.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankwright.explanation.crossings import cheapest_crossings
from rankwright.explanation.moves import Array, Moves, Places
from rankwright.preparation.formula import Formula
from rankwright.rankers.stump_model import stump_scores

# Gains that exceed what is needed by less than this part of all weights are no more than rounding.
_ROUNDING = 1e-9


class LinearParts:
    """g_j(x) = w_j T_j(x), and w_j · fill_j + v_j where x is missing; T_j(x) is x itself for most features.

    ``fill`` is what stands for missing values of the features used, in the query that is explained; None if the model
    knows of none.
    """

    def __init__(self, formula: Formula, fill: Array | None = None) -> None:
        self.columns: Places = formula.used
        self._weights = formula.weights[self.columns]
        used = enumerate(self.columns.tolist())
        self._transforms = {place: formula.transforms[column] for place, column in used if column in formula.transforms}
        self._missing = None if fill is None else self._weights * fill + formula.extra[self.columns]

    @property
    def takes_missing(self) -> bool:
        """Whether a missing value has a score."""
        return self._missing is not None

    def from_mean(self, values: Array) -> Array:
        """g_j(x_ij) minus its mean over the rows: w_j (x_ij − x̄_j) where nothing is missing or transformed."""
        if self._is_linear(values):
            return self.between(values, values.mean(axis=0))
        heights = self._heights(values)
        centred: Array = heights - heights.mean(axis=0)
        return centred

    def between(self, values: Array, others: Array) -> Array:
        """g_j(x_j) − g_j(x'_j): what each feature adds to the difference of two scores."""
        if self._is_linear(values) and self._is_linear(others):
            return self._weights * (values - others)
        return self._heights(values) - self._heights(others)

    def _is_linear(self, values: Array) -> bool:
        return not self._transforms and not np.isnan(values).any()

    def _heights(self, values: Array) -> Array:
        heights: Array = self._weights * self._transformed(values)
        return heights if self._missing is None else np.where(np.isnan(values), self._missing, heights)

    def _transformed(self, values: Array) -> Array:
        curved = values.copy()
        for place, transform in self._transforms.items():
            curved[..., place] = transform(curved[..., place])
        return curved

    def _values_at(self, heights: Array) -> Array:
        """The values of the features at which T_j is so high; NaN where it never is."""
        values = heights.copy()
        for place, transform in self._transforms.items():
            values[place] = transform.inverse(heights[place])
        return values

    def single_moves(self, values: Array, gap: float) -> Moves:
        """T_j⁻¹(T_j(x_j) + gap / w_j): the value of each feature that closes the gap alone, if there is one."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            moves = self._moves(values, gap / self._weights, np.full(len(values), gap))
        return moves.take(np.isfinite(moves.bounds))

    def joint_moves(self, values: Array, gap: float, spreads: Array) -> Moves:
        """Δ_j = gap · w_j σ_j² / Σ_k w_k² σ_k²: of changes that close the gap, that with the least Σ (Δ_j / σ_j)².

        Of a transformed feature, Δ and σ are those of T_j; one that cannot go so far stays as it is.
        """
        spreads = self._curved_spreads(values, spreads)
        while True:
            steepness = self._weights * spreads
            movable = np.flatnonzero(steepness)
            largest = np.abs(steepness).max(initial=0.0)
            if largest == 0:
                return self._moves(values, np.zeros(len(values)), np.zeros(len(values))).take(movable)
            share = steepness / largest
            change = gap / largest / (share @ share) * share * spreads
            moves = self._moves(values, change, self._weights * change)
            too_far = ~np.isfinite(moves.bounds) & (spreads != 0)
            if not too_far.any():
                return moves.take(movable)
            spreads = np.where(too_far, 0.0, spreads)

    def _curved_spreads(self, values: Array, spreads: Array) -> Array:
        """σ of each feature, and of a transformed one how far T goes within σ of the value; 0 if it cannot be moved."""
        here, curved = self._stand_ins(values), spreads.copy()
        for place, transform in self._transforms.items():
            low, high = transform(here[place] + np.array([-spreads[place], spreads[place]]))
            curved[place] = (high - low) / 2
        return np.where(np.isfinite(here) & np.isfinite(curved), curved, 0.0)

    def _stand_ins(self, values: Array) -> Array:
        """The values, and for those that are missing the value that would score the same; NaN if there is none."""
        if self._missing is None or not np.isnan(values).any():
            return values
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            same = self._values_at(self._missing / self._weights)
        return np.where(np.isnan(values), same, values)

    def _moves(self, values: Array, changes: Array, gains: Array) -> Moves:
        """Moves by changes of T_j."""
        directions, here = np.sign(self._weights), self._stand_ins(values)
        bounds = here + changes
        if self._transforms:
            curved = self._values_at(self._transformed(here) + changes)
            bounds[list(self._transforms)] = curved[list(self._transforms)]
        return Moves(
            np.arange(len(values)),
            here,
            bounds,
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

    takes_missing = False

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
