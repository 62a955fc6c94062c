"""`Trees`: sums of trees in one form, whichever library has made them, and the scores of documents by them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.engines.driver import share_by_size
from rankwright.trees import kernels
from rankwright.types import Array, Columns

# How a column makes a number of a feature that may be missing: as 0; or as less or more than any threshold, so that it
# goes left or right, where 0 counts as missing, too, or does not.
NAN_IS_ZERO, ZERO_LEFT, ZERO_RIGHT, NAN_LEFT, NAN_RIGHT = range(5)

# LightGBM's zero: numbers no farther from 0 are missing where 0 is.
ZERO = float(np.float32(1e-35))

# Rows that a thread scores at least.
_ROWS_PER_BLOCK = 256

Integers = npt.NDArray[np.int32]


class Node(NamedTuple):
    """A split of one tree: documents whose feature is at most the threshold go left.

    ``missing_left`` tells where those go that lack it, and ``zero_is_missing`` whether 0 is as good as lacking.
    """

    feature: int
    threshold: float
    missing_left: bool
    zero_is_missing: bool


@dataclass(frozen=True, eq=False)
class Trees:
    """A score is base + Σ over trees of the leaf that a document comes to: left where its column is ≤ the threshold.

    The nodes of all trees stand one behind another, and those of each tree so that the left child of node i is i + 1.

    Attributes
    ----------
    starts : where each tree begins, and where the last ends
    columns : which column each node compares; −1 for leaves
    thresholds, rights : of nodes that compare; rights are numbers of nodes
    values : what leaves add
    covers : how much training data came to each node, as the library has counted or weighed it
    features, rules : of each column, the feature that it is made of and how: NAN_IS_ZERO, ZERO_LEFT …
    base : what all scores begin with
    single : whether the library adds up in float32
    """

    starts: npt.NDArray[np.int64]
    columns: Integers
    thresholds: Array
    rights: Integers
    values: Array
    covers: Array
    features: Columns
    rules: npt.NDArray[np.int8]
    base: float
    single: bool

    def __len__(self) -> int:
        return len(self.starts) - 1

    def used_features(self) -> Columns:
        """The features that nodes compare."""
        return np.unique(self.features)

    def node(self, place: int) -> Node | None:
        """A node as it compares; None for a leaf."""
        column = int(self.columns[place])
        if column < 0:
            return None
        rule, threshold = int(self.rules[column]), float(self.thresholds[place])
        missing_left = threshold >= 0 if rule == NAN_IS_ZERO else rule in (ZERO_LEFT, NAN_LEFT)
        return Node(int(self.features[column]), threshold, missing_left, rule in (ZERO_LEFT, ZERO_RIGHT))

    def scores(self, x: Any) -> Array:
        """Scores of rows, dense or CSR, where what is not stored is 0; NaN if a feature that is used is infinite.

        Features that X lacks are 0.
        """
        n_rows = x.shape[0]
        scores, blocks = np.empty(n_rows), np.append(np.arange(0, n_rows, _ROWS_PER_BLOCK), n_rows)
        walked = (self.starts, self._walk, self.values, self.base, self.single)
        rows_of = self._rows_of(x)

        def work(first: int, last: int) -> None:
            for begin, end in zip(blocks[first:last].tolist(), blocks[first + 1 : last + 1].tolist(), strict=True):
                kernels.add_leaves(rows_of(begin, end), *walked, scores[begin:end])

        share_by_size(work, blocks)
        return scores

    def rows(self, x: Any) -> Array:
        """The columns of all rows of X."""
        return np.asarray(self._rows_of(x)(0, x.shape[0]))

    def _rows_of(self, x: Any) -> Any:
        """A function that makes the columns of some rows of X."""
        n_columns = x.shape[1]
        made = (self.features, self.rules)
        if not len(self.features):  # every tree is a leaf
            return lambda first, last: np.zeros((last - first, 1))
        if not sp.issparse(x):
            return lambda first, last: kernels.dense_columns(x, first, last, *made)
        by_feature = np.argsort(self.features, kind="stable")
        begins = np.searchsorted(self.features[by_feature], np.arange(n_columns + 1))
        csr = (x.data, x.indices, x.indptr)
        return lambda first, last: kernels.sparse_columns(csr, first, last, *made, by_feature, begins)

    @cached_property
    def _walk(self) -> tuple[Integers, Array, Integers]:
        """Column, threshold and children of every node; a leaf is its own child."""
        nodes, is_leaf = np.arange(len(self.columns)), self.columns < 0
        children = np.where(is_leaf, nodes, np.stack([nodes + 1, self.rights])).T.astype(np.int32)
        thresholds = np.where(is_leaf, np.inf, self.thresholds)
        return np.where(is_leaf, 0, self.columns).astype(np.int32), thresholds, np.ascontiguousarray(children).ravel()

    @cached_property
    def depth(self) -> int:
        """The most splits that a document passes in one tree."""
        return int(kernels.depths(self.starts, self.columns, self.rights).max(initial=0))
