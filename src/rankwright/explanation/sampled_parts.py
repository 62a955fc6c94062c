"""Scores of any model, explained by Shapley values: of all orders of the features, or of some that are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import combinations, islice
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.explanation.moves import Moves, Places
from rankwright.explanation.parts import Parts, centred, joined
from rankwright.explanation.ranges import Ranges
from rankwright.judgments.grouping import Grouping
from rankwright.models.model import Model
from rankwright.types import Array

# So many features that differ within the query are taken in all orders, by all of their sets.
_MOST_ENUMERATED = 10
# With more, as many orders are drawn as so many scores allow, in pairs; each order takes a score of every document for
# every feature.
_MOST_SCORES, _FEWEST_PAIRS, _MOST_PAIRS = 400_000, 4, 100
# Rows that are scored together.
_ROWS_PER_BLOCK = 8192
# Values of a feature that are tried, from the least to the greatest in the data, and how often the way to the first
# one that is far enough is halved.
_TRIED, _HALVINGS = 33, 40
# Scores of a document alone and within its query that differ by less than this part are the same.
_ROUNDING = 1e-9


class _Estimate(NamedTuple):
    """Shapley values of each document and feature, relative to their means, and the largest standard error."""

    values: Array
    n_orders: int | None  # None if all have been taken
    error: float


class SampledParts(Parts):
    """What each feature adds to a score in the mean over orders in which the features become known.

    A feature that is not known yet is the mean of the query, for all of its documents. So a feature that is the same
    for all documents of the query adds nothing, and what the others add sums up to the score minus the mean score.
    """

    takes_missing = True
    why_no_joint = "Changes of several features together are looked for only where scores are sums over features"

    def __init__(self, model: Model, x: Any, ranges: Ranges) -> None:
        self.columns: Places = np.asarray(model.used_features(), np.intp)
        self.columns = self.columns[self.columns < x.shape[1]]
        self._model, self._ranges = model, ranges
        self._x: Array = np.asarray(x.toarray() if sp.issparse(x) else x, np.float64)
        self._means = _means_of_known(self._x)

    # Contributions

    @cached_property
    def _estimate(self) -> _Estimate:
        own = self._x[:, self.columns]
        differs = ~((own == own[:1]) | (np.isnan(own) & np.isnan(own[:1]))).all(axis=0)
        players = self.columns[differs]
        found = self._of_all_orders(players) if len(players) <= _MOST_ENUMERATED else self._of_some_orders(players)
        values = np.zeros(own.shape)
        values[:, differs] = found.values
        return found._replace(values=values)

    @property
    def note(self) -> str:
        """What contributions are, and how exact."""
        _, n_orders, error = self._estimate
        orders = "all orders" if n_orders is None else f"{n_orders:,} random orders"
        told = (
            f"Contributions are Shapley values: what a feature adds in the mean over {orders} in which the features "
            "become known; until then they are the mean of the query."
        )
        return told if n_orders is None else f"{told} Their standard errors are at most {error:.2g}."

    def from_mean(self, values: Array) -> Array:
        """The Shapley values of the documents of the query, minus their means."""
        return self._estimate.values

    def between(self, values: Array, others: Array) -> Array:
        """What each feature adds to the difference of the scores of two documents of the query."""
        difference: Array = self._estimate.values[self._row_of(values)] - self._estimate.values[self._row_of(others)]
        return difference

    def _row_of(self, values: Array) -> int:
        """A document of the query with these values; all that have them have the same contributions."""
        own = self._x[:, self.columns]
        return int(np.flatnonzero(((own == values) | (np.isnan(own) & np.isnan(values))).all(axis=1))[0])

    def _of_all_orders(self, players: Places) -> _Estimate:
        """Σ over sets S without j of |S|! (n − |S| − 1)! / n! · (v(S ∪ j) − v(S))."""
        n = len(players)
        sets = [frozenset(chosen) for size in range(n + 1) for chosen in combinations(range(n), size)]
        scores = dict(zip(sets, self._scores_of(players, iter(sets)), strict=True))
        values = np.zeros((len(self._x), n))
        for known in sets:
            weight = 1.0 / (n * comb(n - 1, len(known))) if len(known) < n else 0.0
            for j in set(range(n)) - known:
                values[:, j] += weight * (scores[known | {j}] - scores[known])
        return _Estimate(centred(values), None, 0.0)

    def _of_some_orders(self, players: Places) -> _Estimate:
        """The mean over orders that are drawn, each with its reverse, which evens out what the first of it adds."""
        rng, n = np.random.default_rng(0), len(players)
        n_pairs = int(np.clip(_MOST_SCORES // (2 * (n + 1) * len(self._x)), _FEWEST_PAIRS, _MOST_PAIRS))
        sums, squares = np.zeros((2, len(self._x), n))
        for _ in range(n_pairs):
            order = rng.permutation(n).tolist()
            pair = (self._along(players, order) + self._along(players, order[::-1])) / 2
            sums += pair
            squares += pair**2
        means: Array = sums / n_pairs
        variances = np.maximum(squares / n_pairs - means**2, 0.0) / (n_pairs - 1)
        return _Estimate(means, 2 * n_pairs, float(np.sqrt(variances.max(initial=0.0))))

    def _along(self, players: Places, order: list[int]) -> Array:
        """What each feature adds when they become known in this order, relative to the mean."""
        sets = (frozenset(order[:size]) for size in range(len(order) + 1))
        scores = np.array(list(self._scores_of(players, sets)))
        values = np.empty((len(self._x), len(order)))
        values[:, order] = np.diff(scores, axis=0).T
        return centred(values)

    def _scores_of(self, players: Places, sets: Iterator[frozenset[int]]) -> Iterator[Array]:
        """The scores of all documents while the features of a set are known, for each of some sets."""
        m = len(self._x)
        at_once = max(1, _ROWS_PER_BLOCK // m)
        while some := list(islice(sets, at_once)):
            x = np.tile(self._x, (len(some), 1))
            for number, known in enumerate(some):
                unknown = players[[j for j in range(len(players)) if j not in known]]
                x[number * m : (number + 1) * m, unknown] = self._means[unknown]
            yield from self._scored(x, m).reshape(len(some), m)

    def _scored(self, x: Array, documents: int) -> Array:
        """The scores of rows, of which each so many are a query."""
        return self._model.scores(x, Grouping(np.repeat(np.arange(len(x) // documents), documents), len(x)))

    # Changes of one document that is to pass another

    @cached_property
    def _stands_alone(self) -> bool:
        """Whether the score of a document does not depend on the others of its query."""
        alone, together = self._scored(self._x, 1), self._scored(self._x, len(self._x))
        scale = float(np.abs(together).max(initial=0.0))
        return bool(np.allclose(alone, together, rtol=0, atol=_ROUNDING * max(scale, 1e-300)))

    def single_moves(self, values: Array, passed: Array, gap: float) -> Moves:
        """Of each feature, the nearest values that close the gap alone, by a search from the least to the greatest.

        None if the scores of other documents would change as well.
        """
        low, high = self._ranges.low, self._ranges.high
        places = np.flatnonzero(np.isfinite(values) & np.isfinite(low) & (low < high))
        if not self._stands_alone or not len(places):
            return joined([])
        start = self._x[self._row_of(values)]
        needed = float(self._scored(start[None], 1)[0]) + gap
        tried = np.linspace(low[places], high[places], _TRIED, axis=1)
        scores = self._with(start, np.repeat(places, _TRIED), tried.ravel()).reshape(tried.shape)
        found = [
            self._nearest(start, int(place), float(values[place]), tried[k], scores[k] > needed, needed)
            for k, place in enumerate(places)
        ]
        return joined([move for move in found if move is not None])

    def _with(self, start: Array, places: Places, values: npt.ArrayLike) -> Array:
        """The scores of a document with one feature changed, for each of some features and values."""
        x = np.repeat(start[None], len(places), axis=0)
        x[np.arange(len(places)), self.columns[places]] = values
        return self._scored(x, 1)

    def _nearest(
        self, start: Array, place: int, value: float, tried: Array, enough: npt.NDArray[np.bool_], needed: float
    ) -> Moves | None:
        """The shortest move of one feature to where the score is high enough, by halving the way there."""
        if not enough.any():
            return None
        best = int(np.argmin(np.where(enough, np.abs(tried - value), np.inf)))
        direction = 1.0 if tried[best] > value else -1.0
        short, far = value, float(tried[best])
        for _ in range(_HALVINGS):
            middle = (short + far) / 2
            if self._with(start, np.array([place]), [middle])[0] > needed:
                far = middle
            else:
                short = middle
        further = tried[(tried - far) * direction > 0]
        fails = further[~enough[(tried - far) * direction > 0]]
        until = np.inf * direction if not len(fails) else float(fails[np.argmin(np.abs(fails - far))])
        gain = float(self._with(start, np.array([place]), [far])[0]) - float(self._scored(start[None], 1)[0])
        places, directions, gains = np.array([place]), np.array([direction]), np.array([gain])
        return Moves(places, np.array([value]), np.array([far]), directions, np.array([True]), np.array([until]), gains)

    def joint_moves(self, values: Array, passed: Array, gap: float, spreads: Array) -> Moves:
        """None are looked for."""
        return joined([])

    def score_after(self, values: Array, moves: Moves, score: float, scores: Array, passed: int) -> float:
        """The score when features have just gone far enough to pass another."""
        moved = self._x[self._row_of(values)].copy()
        moved[self.columns[moves.places]] = moves.landing()
        return float(self._scored(moved[None], 1)[0])


def _means_of_known(x: Array) -> Array:
    known = ~np.isnan(x)
    means: Array = x.sum(axis=0, where=known) / np.maximum(known.sum(axis=0), 1)
    return np.where(known.any(axis=0), means, np.nan)
