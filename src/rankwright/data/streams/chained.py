"""Queries behind other queries, in memory or not, as training needs them in the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.streams.sizes import bytes_of
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries


@overload
def chained(first: Queries, second: Queries) -> Queries: ...
@overload
def chained(first: AnyQueries, second: AnyQueries) -> AnyQueries: ...
def chained(first: AnyQueries, second: AnyQueries) -> AnyQueries:
    """The queries of both, with numbers as ids: those of the same id stay apart."""
    if isinstance(first, Queries) and isinstance(second, Queries):
        return _joined(first, second)
    streamed = [queries for queries in (first, second) if isinstance(queries, StreamedQueries)]
    elsewhere = max(streamed, key=lambda queries: queries._kind is not StreamedQueries)  # a cluster takes others in
    return elsewhere.chained(first, second)


class Chain:
    """A `Source` of the queries of both."""

    def __init__(self, first: AnyQueries, second: AnyQueries) -> None:
        self._both = (first, second)
        self.sizes: npt.NDArray[np.int64] = np.concatenate([queries.sizes for queries in self._both])
        self.query_ids: npt.NDArray[Any] = np.arange(len(self.sizes))
        self.n_features = first.n_features
        self.given_names: Sequence[str] | None = first.feature_names if first.has_feature_names else None

    def row_bytes(self) -> float:
        """The larger of both."""
        return max(
            bytes_of(queries) / max(1, queries.n_documents) if isinstance(queries, Queries) else queries.row_bytes
            for queries in self._both
        )

    def told(self) -> str:
        """Both."""
        return "training and validation data"

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """A run, which may go from one to the other: an empty run of either still tells the type of features.

        Features are always read, as they may have been made by functions of the queries.
        """
        border = self._both[0].n_queries
        runs = ((min(first, border), min(last, border)), (max(first, border) - border, max(last, border) - border))
        begin, end = (_run(queries, *run) for queries, run in zip(self._both, runs, strict=True))
        return _joined(begin, end, first)


def _run(queries: AnyQueries, first: int, last: int) -> Queries:
    return queries[first:last] if isinstance(queries, Queries) else queries.run(first, last)


def _joined(first: Queries, second: Queries, number: int = 0) -> Queries:
    """The queries of both, numbered from there on."""
    stack = sp.vstack if sp.issparse(first.X) or sp.issparse(second.X) else np.vstack
    x = stack([first.X, second.X])
    codes = number + np.concatenate([first.grouping.codes, first.n_queries + second.grouping.codes])
    names = first.feature_names if first.has_feature_names else None
    return Queries(
        sp.csr_array(x) if sp.issparse(x) else x, np.concatenate([first.y, second.y]), codes, feature_names=names
    )
