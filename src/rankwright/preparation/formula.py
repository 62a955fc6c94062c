"""`Formula`: what a linear model computes from features as they are given, whatever was done to them in training."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.preparation.missing import ROWS_PER_BLOCK, Filling, missing_within_queries
from rankwright.preparation.transforms import Transforms
from rankwright.preparation.values import dense_blocks, sparse_entries
from rankwright.types import Array, Columns


@dataclass(frozen=True, eq=False)
class Formula:
    """The score of a document: c + Σ_j w_j T_j(x_j), where w_j · fill_j + v_j is the term of a feature that is missing.

    Attributes
    ----------
    weights, intercept : w and c
    transforms : T_j by column; the feature itself where there is none
    filling : fill_j, or the mean of the query; None if the model knows nothing of missing values and refuses them
    where_missing : v_j, what being missing adds
    """

    weights: Array
    intercept: float = 0.0
    transforms: Transforms = field(default_factory=dict)
    filling: Filling | None = None
    where_missing: Array | None = None

    @property
    def is_plain(self) -> bool:
        """Whether it is x · w + c and no more."""
        return not self.transforms and self.filling is None

    @property
    def extra(self) -> Array:
        """v_j, which is 0 where being missing adds nothing."""
        return np.zeros_like(self.weights) if self.where_missing is None else self.where_missing

    @property
    def used(self) -> Columns:
        """The features that count: by their value, or by being missing."""
        return np.flatnonzero((self.weights != 0) | (self.extra != 0))

    def checked(self, of: Array) -> Formula:
        """Itself, if weights that it was made of by division and multiplication are still there, and all finite."""
        numbers: list[Any] = [
            self.weights,
            self.intercept,
            self.extra,
            *([] if self.filling is None else [self.filling.values]),
        ]
        if not all(np.isfinite(number).all() for number in numbers) or ((self.weights == 0) & (of != 0)).any():
            raise ParameterError("a weight over the scale of its feature is too large or too small for float64")
        return self

    def cut_to(self, n_features: int) -> Formula:
        """The formula for data whose features after the first n are all 0, and not there."""
        return replace(
            self,
            weights=self.weights[:n_features],
            transforms={column: one for column, one in self.transforms.items() if column < n_features},
            filling=None if self.filling is None else self.filling._replace(values=self.filling.values[:n_features]),
            where_missing=None if self.where_missing is None else self.where_missing[:n_features],
        )

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """The scores of rows; NaN where a value is missing that the model cannot do without."""
        if self.is_plain:
            return linear_scores(x, self.weights) + self.intercept
        if sp.issparse(x):
            return self._sparse_scores(x, grouping)
        used = self.used
        weights, extra = self.weights[used], self.extra[used]
        scores = np.empty(len(x))
        for rows, values, missing in dense_blocks(x, grouping, used, self.transforms, self.filling):
            scores[rows] = values @ weights + self.intercept
            if missing is not None:
                scores[rows] += missing @ extra
        return scores

    def _sparse_scores(self, x: Any, grouping: Grouping | None) -> Array:
        values, missing = sparse_entries(x, grouping, self.transforms, self.filling)
        terms = np.where(self.weights[x.indices] == 0, 0.0, values * self.weights[x.indices])
        if self.filling is not None:
            terms += missing * self.extra[x.indices]
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        sums: Array = np.bincount(rows, terms, minlength=x.shape[0]).astype(np.float64, copy=False)
        return sums + self.intercept

    def as_linear(self, x: Any, grouping: Grouping, lacking: npt.NDArray[np.bool_] | None = None) -> tuple[Any, Array]:
        """φ(x) and its weights: features transformed and filled in, and columns of ones and zeros for missing ones.

        Scores are φ(x) · weights + c, so that what is known of linear functions holds for φ(x). There is a column for
        each feature that some query has and has not, as training had one, whatever its weight: ``lacking`` tells which,
        if these are some of the queries only.
        """
        if self.is_plain:
            return x, self.weights
        indicated = np.flatnonzero(self.extra)
        if self.filling is not None:
            lacking = missing_within_queries(x, grouping) if lacking is None else lacking
            indicated = np.flatnonzero(lacking | (self.extra != 0))
        return (
            prepared_columns(x, grouping, self.transforms, self.filling, indicated, None),
            np.concatenate([self.weights, self.extra[indicated]]),
        )


def linear_scores(x: Any, weights: Array) -> Array:
    """XW in float64 for one or more columns of weights. A column without a weight is not looked at."""
    used = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=1))
    if sp.issparse(x):
        product: Array = x @ weights
        return product if np.isfinite(product).all() else _of_used_columns(x, used) @ weights
    columns: Any = slice(None) if len(used) == x.shape[1] else used
    scores = np.empty((len(x), *weights.shape[1:]))
    for start in range(0, len(x), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        scores[rows] = x[rows, columns].astype(np.float64, copy=False) @ weights[columns]
    return scores


def _of_used_columns(x: Any, used: Columns) -> Any:
    """A CSR X in which features without a weight are 0: 0 · NaN would be NaN."""
    is_used = np.zeros(x.shape[1], bool)
    is_used[used] = True
    return sp.csr_array((np.where(is_used[x.indices], x.data, 0), x.indices, x.indptr), shape=x.shape)


def prepared_columns(
    x: Any,
    grouping: Grouping | None,
    transforms: Transforms,
    filling: Filling | None,
    indicated: Columns,
    scale: Array | None,
) -> Any:
    """X with transforms and missing values filled in, then a column that is 1 where each of ``indicated`` is missing.

    All columns are divided by ``scale``, if it is given. The type of the numbers stays, and CSR stays CSR.
    """
    n = x.shape[1]
    if sp.issparse(x):
        return _sparse_columns(x, grouping, transforms, filling, indicated, scale)
    prepared = np.empty((len(x), n + len(indicated)), x.dtype)
    for rows, values, missing in dense_blocks(x, grouping, np.arange(n), transforms, filling):
        prepared[rows, :n] = values if scale is None else values / scale[:n]
        lacking = np.zeros((len(values), len(indicated))) if missing is None else missing[:, indicated]
        prepared[rows, n:] = lacking if scale is None else lacking / scale[n:]
    return prepared


def _sparse_columns(
    x: Any,
    grouping: Grouping | None,
    transforms: Transforms,
    filling: Filling | None,
    indicated: Columns,
    scale: Array | None,
) -> Any:
    n, m = x.shape[1], x.shape[0]
    values, missing = sparse_entries(x, grouping, transforms, filling)
    if scale is not None:
        values = values / scale[x.indices]
    kept = sp.csr_array((values.astype(x.dtype), x.indices, x.indptr), shape=x.shape)
    if len(indicated) == 0:
        return kept
    place = np.full(n, -1)
    place[indicated] = np.arange(len(indicated))
    rows = np.repeat(np.arange(m), np.diff(x.indptr))
    lacking = missing & (place[x.indices] >= 0)
    columns = place[x.indices[lacking]]
    ones = np.ones(len(columns)) if scale is None else 1 / scale[n + columns]
    indicators = sp.csr_array((ones.astype(x.dtype), (rows[lacking], columns)), shape=(m, len(indicated)))
    return sp.csr_array(sp.hstack([kept, indicators]))
