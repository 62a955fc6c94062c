"""Scores of trees, explained by Shapley values; what would change them is found by the thresholds of one feature."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from rankwright.explanation.moves import Moves, Places
from rankwright.explanation.parts import Mask, Parts, Steps, centred, joined, nearest
from rankwright.trees.shapley import TreeShapley
from rankwright.trees.trees import ZERO, ZERO_LEFT, ZERO_RIGHT, Trees
from rankwright.types import Array

# Gains that exceed what is needed by less than this part of all leaves are no more than rounding, where the library
# adds up in float64 or float32.
_ROUNDING, _SINGLE_ROUNDING = 1e-9, 1e-6


class TreeParts(Parts):
    """What each feature adds to a score in the mean over all orders in which features become known.

    A feature that is not known yet is what the training data had, split by split (path-dependent Shapley values, as
    LightGBM's ``pred_contrib`` and XGBoost's ``pred_contribs``).
    """

    takes_missing = True
    note = (
        "Contributions are Shapley values of the trees: what a feature adds in the mean over all orders in which the "
        "features become known."
    )
    why_no_joint = "Changes of several features together are not looked for in trees"

    def __init__(self, trees: Trees, n_columns: int) -> None:
        used = trees.used_features()
        self.columns: Places = used[used < n_columns]  # other features are 0 in all documents
        self._trees, self._shapley = trees, TreeShapley(trees, self.columns)
        greatest = [np.abs(trees.values[first:last]).max() for first, last in pairwise(trees.starts.tolist())]
        self._rounding = (_SINGLE_ROUNDING if trees.single else _ROUNDING) * float(np.sum(greatest))
        takes_zero = np.isin(trees.rules, (ZERO_LEFT, ZERO_RIGHT))
        self._zero_is_missing = np.isin(self.columns, trees.features[takes_zero])

    def from_mean(self, values: Array) -> Array:
        """The Shapley values of each row minus their means over the rows."""
        return centred(self._shapley.values(values))

    def between(self, values: Array, others: Array) -> Array:
        """What each feature adds to the difference of two scores."""
        one, other = self._shapley.values(np.stack([values, others]))
        difference: Array = one - other
        return difference

    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """Of each feature, the nearest values that close the gap alone; one that the document lacks is not moved."""
        row, needed = self._shapley.rows(values[None])[0], gap + self._rounding
        found = []
        for place in np.flatnonzero(~self._is_missing(values)).tolist():
            options = self._options(row, place, float(values[place]))
            found.append(nearest(options, options.gains > needed))
        return joined(found)

    def _is_missing(self, values: Array) -> Mask:
        is_missing: Mask = np.isnan(values) | (self._zero_is_missing & (np.abs(values) <= ZERO))
        return is_missing

    def _options(self, row: Array, place: int, value: float) -> Moves:
        """A move of one feature to each other step of the score; not to a 0 that would be as good as missing."""
        edges, jumps = self._shapley.steps(row, place)
        if not self._zero_is_missing[place]:
            return Steps(edges, jumps).options(place, value)
        below = np.nextafter(-ZERO, -np.inf)
        options = Steps(np.append(edges, [below, ZERO]), np.append(jumps, [0.0, 0.0])).options(place, value)
        landing = options.landing()
        return options.take((landing < -ZERO) | (landing > ZERO))

    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """None are looked for."""
        return joined([])

    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when features have just gone far enough to pass another, which may be much more."""
        moved = values.copy()
        moved[moves.places] = moves.landing()
        return float(self._trees.scores(self._shapley.wide(moved[None]))[0])
