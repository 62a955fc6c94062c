"""`Network`: what a network of fully connected layers computes from features as they are, without any library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.linalg import block_diag
from scipy.special import expit

from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.preparation.formula import prepared_columns
from rankwright.preparation.missing import ROWS_PER_BLOCK, Filling
from rankwright.preparation.transforms import Transforms
from rankwright.preparation.values import dense_blocks
from rankwright.types import Array, Columns

ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "relu": lambda x: np.maximum(x, 0.0),
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}


class Layer(NamedTuple):
    """h · weights + biases; ``weights`` is inputs × outputs."""

    weights: Array
    biases: Array


@dataclass(frozen=True, eq=False)
class Network:
    """Layers with an activation between them, the last of which has one output: the score.

    Inputs are the features, transformed and filled in, and then for each of ``indicated`` a 1 where it is missing.
    With ``within_query``, the mean over the documents of the query is subtracted from each of these.

    Attributes
    ----------
    transforms : of some features, by column
    filling : what stands for missing values; None if there were none in training, and then they are refused
    indicated : the features whose absence is an input of its own
    layers : at least one; all numbers are those of features as they are, so no scaling comes before
    activation : "relu", "silu" or "tanh"
    within_query : whether inputs are differences from the mean of their query
    """

    transforms: Transforms
    filling: Filling | None
    indicated: Columns
    layers: tuple[Layer, ...]
    activation: str
    within_query: bool = False

    @property
    def n_features(self) -> int:
        """How many features there are, used or not."""
        return len(self.layers[0].weights) - len(self.indicated)

    @property
    def used(self) -> Columns:
        """The features that count, by their value or by being missing."""
        counts: npt.NDArray[np.bool_] = np.asarray(self.layers[0].weights.any(axis=1))
        used = counts[: self.n_features].copy()
        used[self.indicated] |= counts[self.n_features :]
        return np.flatnonzero(used)

    @property
    def needs_queries(self) -> bool:
        """Whether scores depend on the other documents of the query."""
        return self.within_query or (self.filling is not None and self.filling.by_query)

    def of_features(self, columns: Columns) -> Network:
        """The same network for data that have these features alone, in this order."""
        place = np.full(self.n_features, -1)
        place[columns] = np.arange(len(columns))
        is_kept = place[self.indicated] >= 0
        inputs = np.concatenate([columns, self.n_features + np.flatnonzero(is_kept)])
        first, *others = self.layers
        return replace(
            self,
            transforms={int(place[column]): one for column, one in self.transforms.items() if place[column] >= 0},
            filling=None if self.filling is None else self.filling._replace(values=self.filling.values[columns]),
            indicated=place[self.indicated[is_kept]],
            layers=(first._replace(weights=first.weights[inputs]), *others),
        )

    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """The scores of rows, in float64; NaN where a feature is missing that is not filled in, or not finite."""
        used = self.used
        if len(used) < self.n_features:
            return self.of_features(used).scores(x[:, used], grouping)
        of_query = self._of_query(x, _needed(grouping)) if self.within_query else None
        scores = np.empty(x.shape[0])
        for rows, inputs in self._inputs(x, grouping):
            first = inputs @ self.layers[0].weights + self.layers[0].biases
            if of_query is not None:
                first -= of_query[_needed(grouping).codes[rows]]
            scores[rows] = self._behind_first(first)
        return scores

    def _behind_first(self, h: Array) -> Array:
        """The scores from what the first layer gives."""
        is_finite = np.isfinite(h).all(axis=1)
        activate = ACTIVATIONS[self.activation]
        with np.errstate(invalid="ignore"):  # such rows have no score
            for weights, biases in self.layers[1:]:
                h = activate(h) @ weights + biases
        return np.where(is_finite, h[:, 0], np.nan)

    def _of_query(self, x: Any, grouping: Grouping) -> Array:
        """What the first layer makes of the means of the inputs of each query, queries × outputs."""
        sizes = np.diff(grouping.offsets)
        shares = (1 / sizes[grouping.codes], (grouping.codes, np.arange(x.shape[0])))
        members = sp.csc_array(shares, shape=(len(sizes), x.shape[0]))
        weights = self.layers[0].weights
        made: Array = sum(
            (members[:, rows] @ (inputs @ weights) for rows, inputs in self._inputs(x, grouping)),
            np.zeros((len(sizes), weights.shape[1])),
        )
        return made

    def _inputs(self, x: Any, grouping: Grouping | None) -> Iterator[tuple[slice, Any]]:
        """Inputs in float64, some rows at a time."""
        if sp.issparse(x):
            known = (self.transforms, self.filling, self.indicated)
            columns = prepared_columns(x.astype(np.float64), grouping, *known, None)
            for start in range(0, x.shape[0], ROWS_PER_BLOCK):
                rows = slice(start, start + ROWS_PER_BLOCK)
                yield rows, columns[rows]
            return
        for rows, values, missing in dense_blocks(
            x, grouping, np.arange(self.n_features), self.transforms, self.filling
        ):
            yield rows, np.hstack([values, self._indicators(values, missing)])

    def _indicators(self, values: Array, missing: npt.NDArray[np.bool_] | None) -> Array:
        if missing is None:
            return np.zeros((len(values), len(self.indicated)))
        return missing[:, self.indicated].astype(np.float64)


def mean_of_networks(members: Sequence[Sequence[Layer]]) -> tuple[Layer, ...]:
    """The layers of one network whose scores are the mean of those of several, which have the same widths.

    Their hidden layers stand side by side: weights are blocks on a diagonal, and 0 elsewhere.
    """
    if len(members) == 1:
        return tuple(members[0])
    *hidden, last = zip(*members, strict=True)
    layers = [
        Layer(
            np.hstack([one.weights for one in own]) if depth == 0 else block_diag(*(one.weights for one in own)),
            np.concatenate([one.biases for one in own]),
        )
        for depth, own in enumerate(hidden)
    ]
    weights = [one.weights for one in last]
    outputs = np.vstack(weights) / len(members) if hidden else np.mean(weights, axis=0)
    return (*layers, Layer(outputs, np.mean([one.biases for one in last], axis=0)))


def _needed(grouping: Grouping | None) -> Grouping:
    if grouping is None:
        raise DataError(
            "the model compares documents with the others of their query, so it must know the queries: give Queries, "
            "or rows with qid"
        )
    return grouping
