"""Shapley values of trees: what each feature adds to a score, as LightGBM and XGBoost compute it too."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from rankwright.engines.driver import share
from rankwright.errors import ParameterError
from rankwright.trees import shapley_kernels as kernels
from rankwright.trees.trees import Trees
from rankwright.types import Array, Columns

# What a document is worth, in those that other work is shared out by.
_SIZE = 1000


class TreeShapley:
    """What each feature of a document adds to its score, in the mean over all orders of features.

    What is not known yet is what the training data had, split by split (path-dependent Shapley values). ``columns`` are
    the features that values are given for, counted from 0.
    """

    def __init__(self, trees: Trees, columns: Columns) -> None:
        self._trees, self._columns = trees, columns
        # Features that the data lack come behind the others, and are the same for all documents.
        self._places = np.searchsorted(columns, trees.features)
        is_lacking = np.isin(trees.features, columns, invert=True)
        self._places[is_lacking] = len(columns)
        self._walked = (trees.starts, trees.columns, trees.thresholds, trees.rights, trees.values)

    @cached_property
    def _edges(self) -> tuple[Array, Array, Array]:
        trees = self._trees
        if (trees.covers <= 0).any():
            raise ParameterError(
                "the model does not tell how much training data came to each node of its trees, so what features add "
                "to scores cannot be computed: train it again, and save it as the library does"
            )
        edges: tuple[Array, Array, Array]
        edges = kernels.edges_of(trees.starts, trees.columns, trees.rights, trees.covers, trees.features)
        return edges

    def rows(self, values: Array) -> Array:
        """What nodes compare, of documents given by the values of ``columns``."""
        return self._trees.rows(self.wide(values))

    def wide(self, values: Array) -> Array:
        """Rows of all features as trees take them; those that are not among ``columns`` are 0."""
        n_features = 1 + max(int(self._trees.features.max(initial=-1)), int(self._columns.max(initial=-1)))
        x = np.zeros((len(values), n_features))
        x[:, self._columns] = values
        return x

    def values(self, values: Array) -> Array:
        """What each of the columns adds to the score of each row, beyond the mean of the training data."""
        trees, edges = self._trees, self._edges
        rows = self.rows(values)
        added = np.zeros((len(rows), len(self._columns) + 1))
        degree = min(trees.depth, len(np.unique(trees.features)))
        points, weights = np.polynomial.legendre.leggauss(max(1, (degree + 1) // 2))
        most = int(np.diff(trees.starts).max(initial=1))

        def work(first: int, last: int) -> None:
            kept = np.empty(most), np.empty((most, len(points)))
            for i in range(first, last):
                kernels.add_shapley_values(
                    rows[i], self._walked, edges, self._places, (points + 1) / 2, weights / 2, kept, added[i]
                )

        share(work, len(rows), _SIZE)
        return added[:, :-1]

    def steps(self, row: Array, place: int) -> tuple[Array, Array]:
        """Where the score changes, and by how much, while the feature at a place goes up and all others stay."""
        trees = self._trees
        is_own = self._places == place
        nodes = np.flatnonzero((trees.columns >= 0) & is_own[trees.columns])
        which = np.unique(np.searchsorted(trees.starts, nodes, side="right") - 1)
        most = 2 * int(np.diff(trees.starts)[which].sum())
        edges, jumps = np.empty(most), np.empty(most)
        n = kernels.steps_of_feature(row, self._walked, is_own, which, edges, jumps)
        return edges[:n], jumps[:n]
