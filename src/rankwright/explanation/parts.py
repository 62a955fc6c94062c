"""`Parts`: what each feature adds to scores, and what would change them.

Here are scores that are sums over features, Σ_j g_j(x_j): g_j is a weight times the feature or its transform, or a sum
of stumps. All kinds answer the same questions about documents, given as rows of the features that the model uses.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rankwright.explanation.crossings import cheapest_crossings
from rankwright.explanation.moves import Moves, Places
from rankwright.models.stump_model import stump_scores
from rankwright.preparation.formula import Formula
from rankwright.preparation.transforms import Quantile, Transform
from rankwright.types import Array

Mask = npt.NDArray[np.bool_]

# Gains that exceed what is needed by less than this part of all weights are no more than rounding; heights of
# quantiles likewise.
_ROUNDING = 1e-9


class Parts(ABC):
    """What each feature adds to the scores of documents, given as rows of the features used, ``columns``."""

    columns: Places

    @property
    @abstractmethod
    def takes_missing(self) -> bool:
        """Whether a missing value has a score."""

    @property
    def note(self) -> str:
        """How contributions were found, if they are more than differences of sums."""
        return ""

    @property
    def why_no_joint(self) -> str:
        """Why changes of several features together are not looked for, if they are not."""
        return ""

    @abstractmethod
    def from_mean(self, values: Array) -> Array:
        """What each feature adds to the score of each document of the query, beyond the mean."""

    @abstractmethod
    def between(self, values: Array, others: Array) -> Array:
        """What each feature adds to the difference of the scores of two documents."""

    @abstractmethod
    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """Changes of one feature each that close the gap to another document alone."""

    @abstractmethod
    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """The least changes that close it together."""

    def shifts(self, values: Array, moves: Moves) -> Array | float:
        """What moves of one document do to the scores of others."""
        return 0.0

    @abstractmethod
    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when features have just gone far enough to pass another document."""


class LinearParts(Parts):
    """g_j(x) = w_j T_j(x), and w_j · fill_j + v_j where x is missing; T_j(x) is x itself for most features.

    ``fill`` is what stands for missing values of the features used, in the query that is explained; None if the model
    knows of none. If it is the mean of the query, ``lacking`` tells which documents lack which features: what changes
    one document then moves the mean, and with it those that lack the feature.
    """

    def __init__(self, formula: Formula, fill: Array | None = None, lacking: Mask | None = None) -> None:
        self.columns: Places = formula.used
        self._weights = formula.weights[self.columns]
        used = enumerate(self.columns.tolist())
        self._transforms = {place: formula.transforms[column] for place, column in used if column in formula.transforms}
        self._fill, self._added, self._lacking = fill, formula.extra[self.columns], lacking

    @property
    def takes_missing(self) -> bool:
        """Whether a missing value has a score."""
        return self._fill is not None

    def from_mean(self, values: Array) -> Array:
        """g_j(x_ij) minus its mean over the rows: w_j (x_ij − x̄_j) where nothing is missing or transformed."""
        if self._is_linear(values):
            return self.between(values, values.mean(axis=0))
        return centred(self._heights(values))

    def between(self, values: Array, others: Array) -> Array:
        """g_j(x_j) − g_j(x'_j): what each feature adds to the difference of two scores."""
        if self._is_linear(values) and self._is_linear(others):
            return self._weights * (values - others)
        return self._heights(values) - self._heights(others)

    def _is_linear(self, values: Array) -> bool:
        return not self._transforms and not np.isnan(values).any()

    def _heights(self, values: Array) -> Array:
        heights: Array = self._weights * self._filled(values)
        return heights if self._fill is None else heights + np.where(np.isnan(values), self._added, 0.0)

    def _filled(self, values: Array) -> Array:
        """T_j, and what stands for it where x is missing."""
        curved = values.copy()
        for place, transform in self._transforms.items():
            curved[..., place] = transform(curved[..., place])
        return curved if self._fill is None else np.where(np.isnan(values), self._fill, curved)

    # Changes of one document that is to pass another

    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """T_j⁻¹(T_j(x_j) + gap / w_j): the value of each feature that closes the gap alone, if there is one."""
        weights = self._relative_weights(values, passed)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            moves = self._moves(values, weights, gap / weights, np.full(len(values), gap))
        return moves.take(np.isfinite(moves.bounds))

    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """Δ_j = gap · w_j σ_j² / Σ_k w_k² σ_k²: of changes that close the gap, that with the least Σ (Δ_j / σ_j)².

        Of a transformed feature, Δ and σ are those of T_j; one that cannot go so far stays as it is.
        """
        weights = self._relative_weights(values, passed)
        spreads = self._curved_spreads(values, weights, spreads)
        while True:
            steepness = weights * spreads
            movable = np.flatnonzero(steepness)
            largest = np.abs(steepness).max(initial=0.0)
            share = steepness / (largest or 1.0)
            change = gap / (largest or 1.0) / max(1.0, float(share @ share)) * share * spreads
            moves = self._moves(values, weights, change, weights * change)
            too_far = ~np.isfinite(moves.bounds) & (spreads != 0)
            if not too_far.any():
                return moves.take(movable)
            spreads = np.where(too_far, 0.0, spreads)

    def shifts(self, values: Array, moves: Moves) -> Array | float:
        """What moves of one document do to the scores of those that lack the features, by the mean of the query."""
        if self._lacking is None:
            return 0.0
        moved = values.copy()
        moved[moves.places] = moves.bounds
        shift = self._weights * (self._filled(moved) - self._filled(values)) / self._n_known(values)
        shifts: Array = self._lacking[:, moves.places] @ shift[moves.places]
        return shifts

    def _n_known(self, values: Array) -> Array:
        """How many documents of the query have each feature once this one has it."""
        lacking = np.zeros((1, len(values)), bool) if self._lacking is None else self._lacking
        return np.asarray((~lacking).sum(axis=0) + np.isnan(values), np.float64)

    def _relative_weights(self, values: Array, passed: Array) -> Array:
        """What T_j adds to the score beyond what it adds to that of the other document, if that goes by the mean."""
        if self._lacking is None:
            return self._weights
        return self._weights * (1 - np.isnan(passed) / self._n_known(values))

    def _levels(self, values: Array, weights: Array) -> Array:
        """T_j, and of a missing feature the T_j that would score the same; NaN if there is none."""
        if self._fill is None or not np.isnan(values).any():
            return self._filled(values)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.where(np.isnan(values), self._fill + self._added / weights, self._filled(values))

    def _stand_ins(self, values: Array, weights: Array) -> Array:
        """The values, and for those that are missing the value that would score the same; NaN if there is none."""
        same = self._levels(values, weights)
        for place, transform in self._transforms.items():
            same[place] = transform.inverse(same[place])
        return np.where(np.isnan(values), same, values)

    def _curved_spreads(self, values: Array, weights: Array, spreads: Array) -> Array:
        """σ of each feature, and of a transformed one how far T goes within σ of the value; 0 if it cannot be moved."""
        here, curved = self._stand_ins(values, weights), spreads.copy()
        for place, transform in self._transforms.items():
            low, high = transform(here[place] + np.array([-spreads[place], spreads[place]]))
            curved[place] = (high - low) / 2
        return np.where(np.isfinite(here) & np.isfinite(curved), curved, 0.0)

    def _moves(self, values: Array, weights: Array, changes: Array, gains: Array) -> Moves:
        """Moves by changes of T_j."""
        directions = np.sign(self._weights)
        inclusive = np.zeros(len(values), bool)
        targets = self._levels(values, weights) + changes
        bounds = targets.copy()
        for place, transform in self._transforms.items():
            bounds[place], inclusive[place] = _value_beyond(transform, float(targets[place]), float(directions[place]))
            if inclusive[place]:
                targets[place] = transform(bounds[place])
        exact = inclusive | (weights != self._weights)
        with np.errstate(invalid="ignore"):  # targets without end, which are left out
            gains = np.where(exact, self._weights * targets - self._heights(values), gains)
        return Moves(
            np.arange(len(values)),
            self._stand_ins(values, weights),
            bounds,
            directions,
            inclusive,
            np.copysign(np.inf, directions),
            gains,
        )

    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when features have just gone far enough to pass another: no more than that if they can stop."""
        just_above = float(np.nextafter(scores[passed], np.inf))
        if not moves.inclusive.any():
            return just_above
        after = score + float(moves.gains.sum())
        nearest = float(scores[np.argmin(np.abs(scores - after))])
        is_tied = abs(nearest - after) <= _ROUNDING * float(np.ptp(scores))
        return max(just_above, nearest if is_tied else after)


def centred(heights: Array) -> Array:
    """Each column without its mean."""
    differences: Array = heights - heights.mean(axis=0)
    return differences


def _value_beyond(transform: Transform, target: float, direction: float) -> tuple[float, bool]:
    """Where T is as high as its target, to be passed; or an end of it that is far enough, and True; NaN if none is."""
    if isinstance(transform, Quantile):
        ends = (transform.heights[0], transform.heights[-1])
        far, near = ends[::-1] if direction > 0 else ends
        rounding = _ROUNDING * (ends[1] - ends[0])
        if not (far - target) * direction > rounding:
            return float("nan"), False
        if (near - target) * direction > rounding:  # as only a missing value has it: any value will do
            return transform.knots[0 if direction > 0 else -1], True
        target = float(np.clip(target, *ends))
    with np.errstate(over="ignore"):
        return float(transform.inverse(target)), False


class StumpParts(Parts):
    """g_j(x) = Σ over the stumps t of feature j of weight_t [x > threshold_t]."""

    takes_missing = False

    def __init__(self, features: Places, thresholds: Array, weights: Array, n_columns: int) -> None:
        here = features < n_columns  # other features are 0 in all documents
        self.columns: Places = np.unique(features[here])
        self._stumps = (np.searchsorted(self.columns, features) + len(self.columns) * ~here, thresholds, weights)
        self._steps = [Steps(thresholds[features == j], weights[features == j]) for j in self.columns]
        self._rounding = _ROUNDING * float(np.abs(weights).sum())

    def from_mean(self, values: Array) -> Array:
        """g_j(x_ij) minus its mean over the rows."""
        return centred(self._heights(values))

    def between(self, values: Array, others: Array) -> Array:
        """g_j(x_j) − g_j(x'_j): what each feature adds to the difference of two scores."""
        difference: Array = (self._heights(values[None]) - self._heights(others[None]))[0]
        return difference

    def _heights(self, values: Array) -> Array:
        columns = [steps.heights[steps.place(column)] for steps, column in zip(self._steps, values.T, strict=True)]
        return np.array(columns).reshape(len(columns), len(values)).T

    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """Of each feature, the nearest values whose stumps close the gap alone, for those that have such values."""
        needed = gap + self._rounding
        return joined([nearest(options, options.gains > needed) for options in self._options(values)])

    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """The values whose stumps close the gap together, with the least Σ (Δ_j / σ_j)² there is; none if none do."""
        return cheapest_crossings(joined(self._options(values)), gap + self._rounding, spreads)

    def _options(self, values: Array) -> list[Moves]:
        return [steps.options(k, value) for k, (steps, value) in enumerate(zip(self._steps, values, strict=True))]

    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when features have just gone far enough to pass another, which may be much more."""
        moved = values.copy()
        moved[moves.places] = moves.landing()
        return float(stump_scores(moved[None], *self._stumps)[0])


class Steps:
    """What one feature adds to a score: a function with a step at each threshold."""

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


def nearest(options: Moves, enough: npt.NDArray[np.bool_]) -> Moves:
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


def joined(moves: list[Moves]) -> Moves:
    """All of them."""
    if not moves:
        none = np.zeros(0)
        return Moves(np.zeros(0, np.intp), none, none, none, np.zeros(0, bool), none, none)
    return Moves(*(np.concatenate([getattr(each, name) for each in moves]) for name in Moves.__dataclass_fields__))
