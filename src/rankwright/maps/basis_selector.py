"""Greedy RankRLS among the columns of a basis, none of which is stored.

A step takes the products of the column that was selected with all others, which is a weighted Gram matrix, and so the
training error of every candidate. These are bounds: the few candidates below the best held-out error are made, and
their held-out errors are computed query by query. The answer is that of looking at all candidates.
"""

from __future__ import annotations

import numpy as np

from rankwright.data.centred import QueryMoments
from rankwright.data.part import Part
from rankwright.engines.centred_sums import CentredSums
from rankwright.engines.engine import Engine
from rankwright.judgments.judgments import Judgments
from rankwright.maps.basis import Basis
from rankwright.maps.basis_sums import made_of, products_with
from rankwright.preparation.formula import linear_scores
from rankwright.selection.recorder import ColumnScores
from rankwright.selection.selectors import DirectSelector, WeightsByPart
from rankwright.selection.training_error import TrainingErrors
from rankwright.types import Array, Columns


class BasisSums(CentredSums):
    """Products of columns that are made of the features of some queries, as greedy selection asks for them."""

    def __init__(self, engine: Engine, basis: Basis) -> None:
        super().__init__(engine)
        self.basis, self.n_features = basis, basis.n_columns
        self._rows: dict[int, Array] = {}

    def block_products(self, selected: Columns, columns: Columns, out: Array) -> QueryMoments:
        """H^q between selected columns and others, into out[q], and the moments of the others."""
        made = self.basis.take(np.concatenate([selected, columns]))
        parts = self.engine.fill(_block_products, out, made, len(selected))
        return QueryMoments(*(np.concatenate(numbers) for numbers in zip(*parts, strict=True)))

    def target_products(self) -> Array:
        """The products of all columns with the grades."""
        return products_with(self.engine, self.basis)

    def total_column_products(self, column: int) -> Array:
        """The products of all columns with one of them; they are kept, as other λ ask for them again."""
        if column not in self._rows:
            self._rows[column] = products_with(self.engine, self.basis, column)
        return self._rows[column]


def _block_products(part: Part, room: Array, made: Basis, n_selected: int) -> QueryMoments:
    places = np.arange(made.n_columns)
    centred = part.with_columns(made_of(part, made)).centred
    return centred.block_products(places[:n_selected], places[n_selected:], room)


class BasisSelector(DirectSelector):
    """Selects columns of a basis that was fitted on the same queries: so each has the squares Σ x̂² = m."""

    data: BasisSums

    def __init__(self, data: BasisSums, capacity: int) -> None:
        super().__init__(data, capacity)
        squares = np.full(data.n_features, float(data.n_documents))
        self._training = TrainingErrors(squares, data.target_products(), self.selected.error, capacity)

    def start(self, alpha: float) -> None:
        """Select nothing."""
        super().start(alpha)
        self._training.start(alpha)

    def error_bounds(self, columns: Columns) -> Array:
        """Their training errors."""
        bounds: Array = self._training.bounds()[columns]
        return bounds

    def add(self, feature: int) -> None:
        """Select a column, and take it out of all others."""
        super().add(feature)
        if self.selected.size < self.capacity:  # else nothing more will be asked of the others
            self._training.take_out(feature, self.data.total_column_products(feature))


# What measures are computed of: scores by columns that are made for it


class BasisScores(ColumnScores):
    """Scores of a part's documents by columns of a basis, for `Recorder`."""

    def __init__(self, basis: Basis) -> None:
        self._basis = basis

    def held_out(self, part: Part, columns: Columns, weights: WeightsByPart) -> tuple[Array, Judgments]:
        """With the weights that each query has without it."""
        made = part.with_columns(made_of(part, self._basis.take(columns)))
        return made.centred.scores(np.arange(len(columns)), weights.of(part)), part.judgments

    def scored(self, part: Part, columns: Columns, weights: Array) -> tuple[Array, Judgments]:
        """With the same weights for all."""
        return linear_scores(made_of(part, self._basis.take(columns)), weights), part.judgments
