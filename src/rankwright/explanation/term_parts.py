"""Scores as sums of terms of a short formula: each term is a part of its own, also if two features meet in it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from rankwright.explanation.moves import Moves, Places
from rankwright.explanation.parts import Parts, joined
from rankwright.maps.terms import Terms
from rankwright.types import Array

_STEPS = 64  # between two knots, at which a score is looked at
_FARTHEST = 1e3  # as many times the largest number in sight, beyond the knots
_HALVINGS = 60


class TermParts(Parts):
    """Terms of documents, which are given as rows of the features that the formula uses."""

    why_no_joint = "Changes of several features together are not looked for, as features meet in terms of the formula"

    def __init__(self, terms: Terms) -> None:
        self.columns: Places = terms.used
        self._terms, self._weights = terms, terms.weights

    @property
    def takes_missing(self) -> bool:
        """Whether a missing value has a score."""
        return self._terms.fill is not None

    def names(self, name_of: Callable[[int], str]) -> list[str]:
        """The terms as people write them."""
        return [term.text(name_of) for term in self._terms.terms]

    def shown(self, values: Array) -> Array:
        """What the terms are, without their weights."""
        return self._terms.values(values)

    def from_mean(self, values: Array) -> Array:
        """Each term times its weight, less its mean over the rows."""
        heights = self._terms.values(values) * self._weights
        centred: Array = heights - heights.mean(axis=0)
        return centred

    def between(self, values: Array, others: Array) -> Array:
        """What each term adds to the difference of two scores."""
        both = self._terms.values(np.stack([values, others]))
        difference: Array = (both[0] - both[1]) * self._weights
        return difference

    # Changes of one document that is to pass another

    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """Of each feature, the nearest value with which the document passes, all others staying as they are.

        The score is looked at in steps from knot to knot, and the first step that passes is halved to the last digit.
        """
        found = [move for place in range(len(values)) for move in self._move(values, place, gap)]
        columns = [np.array(column, np.float64) for column in zip(*found, strict=True)] or [np.zeros(0)] * 6
        places, here, bounds, directions, untils, gains = columns
        return Moves(places.astype(np.intp), here, bounds, directions, np.zeros(len(found), bool), untils, gains)

    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """None are looked for."""
        return joined([])

    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when a feature has just gone far enough to pass another."""
        return float(np.nextafter(scores[passed], np.inf))

    def _move(self, values: Array, place: int, gap: float) -> list[tuple[float, ...]]:
        """The shorter of the moves up and down, if there is any."""
        here = self._known(values, place)
        options: list[tuple[float, ...]] = []
        for direction in (1.0, -1.0):
            path = self._path(here, place, direction)
            enough = self._gains(values, place, path) > gap
            if enough.any():
                first = int(np.argmax(enough))
                start = path[first - 1] if first else here
                bound = self._crossing(values, place, gap, float(start), float(path[first]))
                lost = np.flatnonzero(~enough[first:])
                until = direction * np.inf
                if len(lost):
                    end = first + int(lost[0])
                    until = self._crossing(values, place, gap, float(path[end]), float(path[end - 1]))
                options.append((float(place), here, bound, direction, until, gap))
        return sorted(options, key=lambda move: abs(move[2] - here))[:1]

    def _known(self, values: Array, place: int) -> float:
        """A value, or what stands for it where it is missing."""
        fill = self._terms.fill
        return float(values[place]) if not np.isnan(values[place]) or fill is None else fill[int(self.columns[place])]

    def _path(self, here: float, place: int, direction: float) -> Array:
        """Values to look at, the nearest first: between knots, and beyond them farther and farther."""
        column = int(self.columns[place])
        factors = [factor for term in self._terms.terms for factor in term.factors if factor.column == column]
        knots = sorted({0.0, *(factor.number for factor in factors if factor.kind in ("above", "below", "value"))})
        ahead = [knot for knot in knots if (knot - here) * direction > 0]
        ends = [here, *(ahead if direction > 0 else ahead[::-1])]
        size = max(abs(here), *(abs(knot) for knot in knots)) or 1.0
        inner = [np.linspace(low, high, _STEPS + 1)[1:] for low, high in pairwise(ends)]
        beyond = ends[-1] + direction * size * np.geomspace(1e-4, _FARTHEST, 4 * _STEPS)
        return np.concatenate([*inner, beyond])

    def _gains(self, values: Array, place: int, path: Array) -> Array:
        """What the score gains with each of some values of one feature."""
        moved = np.tile(values, (len(path) + 1, 1))
        moved[1:, place] = path
        scores = self._terms.values(moved) @ self._weights
        gains: Array = scores[1:] - scores[0]
        return gains

    def _crossing(self, values: Array, place: int, gap: float, short: float, far: float) -> float:
        """Where gains reach the gap between a value that is not enough and one that is."""
        for _ in range(_HALVINGS):
            middle = (short + far) / 2
            if self._gains(values, place, np.array([middle]))[0] > gap:
                far = middle
            else:
                short = middle
        return short
