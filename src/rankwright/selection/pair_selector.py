"""The selector for queries larger than memory: it reads X for the products of few pairs of features."""

from __future__ import annotations

import numpy as np

from rankwright.engines.centred_sums import CentredSums
from rankwright.selection.pair_sums import PairSums, PairWeights
from rankwright.selection.selectors import Selector
from rankwright.selection.training_error import TrainingErrors
from rankwright.selection.worth import worth
from rankwright.types import Array, Columns

# What is read ahead without having been asked for may take this share of the limit of memory.
_AHEAD_SHARE = 4
# Held-out errors are expected to be above training errors by no more than so many times what k features of noise do.
_NOISE = 4.0


class PairSelection:
    """The features selected so far, and what their pairs tell."""

    def __init__(self, pairs: PairSums) -> None:
        self._pairs = pairs
        self.start(1.0)

    def start(self, alpha: float) -> None:
        """Nothing is selected."""
        self.alpha = alpha
        self.features: list[int] = []
        self.query_errors = self._pairs.norms

    @property
    def size(self) -> int:
        """|S|."""
        return len(self.features)

    @property
    def error(self) -> float:
        """The squared leave-query-out error of the whole (paper G, eq. 7)."""
        return float(self.query_errors.sum())

    def change(self, features: list[int]) -> None:
        """Select these features, whose pairs are at hand."""
        self.features = features
        self.query_errors = self._pairs.query_errors(features, self.alpha)

    def errors_without_each(self) -> Array:
        """The squared leave-query-out error of S without its first, second, … feature."""
        without = [self.features[:j] + self.features[j + 1 :] for j in range(self.size)]
        return np.array([self._pairs.query_errors(features, self.alpha).sum() for features in without])

    def held_out_weights_by_part(self) -> PairWeights:
        """The weights of the selected features without each query."""
        return self._pairs.held_out_weights(self.features, self.alpha)

    def final_weights(self) -> Array:
        """The weights of the model trained on all queries."""
        return self._pairs.final_weights(self.features, self.alpha)


class PairSelector(Selector):
    """Reads X once for X̂ᵀX̂, which bounds the errors of all candidates, and again for pairs that are not at hand.

    With X̂ᵀX̂ one can select by training error without reading: on large data this comes to nearly the same
    features. So a pass brings, with the pairs that it is made for, those of the features that would be selected next
    by training error, and of those that come close: the next steps then take no pass. Only time depends on the guess.
    ``costs`` are what the search divides gains by; they make the guess better.
    """

    selected: PairSelection

    def __init__(self, data: CentredSums, capacity: int, *, can_drop: bool = False, costs: Array | None = None) -> None:
        super().__init__(data, capacity)
        self._pairs = PairSums(data)
        self.selected = PairSelection(self._pairs)
        self._gains_per_cost = np.ones(data.n_features) if costs is None else costs.min() / costs
        self._training = self._training_errors()

    def start(self, alpha: float) -> None:
        """Select nothing. What was read stays."""
        self.selected.start(alpha)
        self._training.start(alpha)

    def errors_with(self, columns: Columns) -> Array:
        """From pairs, which are read if need be."""
        self._have_pairs_of(columns.tolist())
        return self._pairs.errors_with(self.selected.features, columns, self.selected.alpha)

    def error_bounds(self, columns: Columns) -> Array:
        """Their training errors."""
        bounds: Array = self._training.bounds()[columns]
        return bounds

    def add(self, feature: int) -> None:
        """Select a feature."""
        self._have_pairs_of([feature])
        self.selected.change([*self.selected.features, feature])
        self._training.take_out(feature, self._pairs.moments.gram[feature])

    def drop(self, position: int) -> None:
        """Take the feature at a position of the selection back out."""
        features = self.selected.features
        self.selected.change(features[:position] + features[position + 1 :])
        self._training = self._training_errors()

    def _have_pairs_of(self, columns: list[int]) -> None:
        selected = self.selected.features
        if any(self._pairs.lacks(selected, column) for column in columns):
            coming, close = self._expected(selected, columns)
            rows = [*selected, *coming]
            self._pairs.read(rows, list(dict.fromkeys([*rows, *columns, *close])))

    def _expected(self, selected: list[int], asked: list[int]) -> tuple[list[int], list[int]]:
        """The features that come next by training error, and those that come close, as far as there is room.

        Those of this step are sure to be asked for, and so are their pairs with the one that comes next.
        """
        training, before = self._training_errors(), self.selected.error
        noise = _NOISE / max(1, self.data.n_documents - self.data.n_queries)
        room = (self.data.engine.memory or np.inf) / _AHEAD_SHARE / (8 * self.data.n_queries)
        coming: list[int] = []
        columns = dict.fromkeys([*selected, *asked])
        while len(selected) + len(coming) < self.capacity:
            bounds, size = training.bounds(), len(selected) + len(coming)
            bounds[[*selected, *coming]] = np.inf
            worths = worth(before - bounds, self._gains_per_cost)
            best = int(np.argmax(worths))
            expected = np.where(np.arange(len(bounds)) == best, bounds * (1 + noise * (size + 1)), bounds)
            least = worth(before - expected, self._gains_per_cost)[best]
            best_first = np.argsort(-worths, kind="stable")
            wider = columns | dict.fromkeys([best, *best_first[worths[best_first] >= least].tolist()])
            if coming and (size + 1) * len(wider) > room:
                break
            coming, columns, before = [*coming, best], wider, float(bounds[best])
            training.take_out(best, self._pairs.moments.gram[best])
        return coming, list(columns)

    def _training_errors(self) -> TrainingErrors:
        """Those with the selected features."""
        gram, products = self._pairs.moments
        total = float(self._pairs.norms.sum())
        training = TrainingErrors(np.diagonal(gram).copy(), products, total, self.capacity + 1)
        training.start(self.selected.alpha)
        for feature in self.selected.features:
            training.take_out(feature, gram[feature])
        return training
