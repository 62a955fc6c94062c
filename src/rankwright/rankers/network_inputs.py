"""What a network is trained on: prepared columns about 0 and of spread 1, in float32, and the way back to features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.normalise import GlobalStandardScaler
from rankwright.data.queries import Queries
from rankwright.models.network import Layer, Network
from rankwright.preparation.missing import ROWS_PER_BLOCK
from rankwright.preparation.preparation import Preparation
from rankwright.preparation.spread import within_query_spread
from rankwright.preparation.values import query_means
from rankwright.types import Array, Columns


@dataclass(frozen=True, eq=False)
class Scaling:
    """(x − mean) / scale of each column; with ``within_query``, the mean is that of the query.

    ``varies`` tells which columns differ between documents at all: of the others, nothing is learned.
    """

    mean: Array
    scale: Array
    varies: npt.NDArray[np.bool_]
    within_query: bool

    @classmethod
    def of(cls, prepared: Queries, *, within_query: bool) -> Scaling:
        """The scaling that makes columns of these queries about 0 and of spread 1."""
        if within_query:
            spread, varies = within_query_spread(prepared)
            return cls(np.zeros(len(spread)), spread, varies, True)
        x = prepared.X
        by = GlobalStandardScaler(with_mean=not sp.issparse(x)).fit(x)
        low, high = ((extreme.toarray() if sp.issparse(x) else extreme) for extreme in (x.min(axis=0), x.max(axis=0)))
        return cls(by.mean_, by.scale_, np.ravel(high > low), False)

    def folded(self, layers: Sequence[Layer], by: Preparation, activation: str) -> Network:
        """The network of features as they are, for layers that were trained on scaled columns."""
        (weights, biases), *others = layers
        first = np.where(self.varies[:, None], weights / self.scale[:, None], 0.0)
        if not self.within_query:
            biases = biases - self.mean @ first
        folded = (Layer(first, biases), *others)
        return Network(by.transforms, by.filling, by.indicated, folded, activation, self.within_query)


class NetworkInputs:
    """The scaled columns of some queries, a row for each document: of dense data an array, of CSR made when asked."""

    def __init__(self, prepared: Queries, scaling: Scaling) -> None:
        self.shape: tuple[int, int] = prepared.X.shape
        x, self._scaling, self._codes = prepared.X, scaling, prepared.grouping.codes
        self._means = _means_of_queries(prepared) if scaling.within_query else None
        self._sparse = x if sp.issparse(x) else None
        if self._sparse is None:
            self._dense = np.empty(self.shape, np.float32)
            for start in range(0, len(x), ROWS_PER_BLOCK):
                rows = slice(start, start + ROWS_PER_BLOCK)
                self._dense[rows] = self._scaled(x[rows].astype(np.float64), rows)

    def rows(self, which: Columns | slice) -> npt.NDArray[np.float32]:
        """Some of the rows."""
        if self._sparse is None:
            return self._dense[which]
        return self._scaled(self._sparse[which].toarray().astype(np.float64), which).astype(np.float32)

    def _scaled(self, columns: Array, which: Any) -> Array:
        means = self._scaling.mean if self._means is None else self._means[self._codes[which]]
        scaled: Array = (columns - means) / self._scaling.scale
        return scaled


def _means_of_queries(prepared: Queries) -> Array:
    """The mean of each column over the documents of each query, queries × columns."""
    x, sizes = prepared.X, prepared.judgments.sizes
    if not sp.issparse(x):
        return query_means(x.astype(np.float64), prepared.grouping)
    codes = prepared.grouping.codes
    members = sp.csr_array((1 / sizes[codes], (codes, np.arange(len(codes)))), shape=(len(sizes), len(codes)))
    means: Array = (members @ x).toarray()
    return means
