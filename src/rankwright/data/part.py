"""`Part`: some whole queries in memory, and all that a step of a learner may ask of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, MutableMapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Features, Queries
from rankwright.judgments.judgments import Judgments
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import for_query_ranges, map_in_order, sum_over_query_ranges
from rankwright.types import Array, Columns

if TYPE_CHECKING:
    from rankwright.data.centred import CentredQueries
    from rankwright.data.products import FeatureProducts

T = TypeVar("T")
R = TypeVar("R")


class Part:
    """Some whole queries in memory. Its documents stand query by query.

    Attributes
    ----------
    offsets : where the documents of each of its queries begin and end, from 0 on
    rows : which row of ``x``, the features (dense in C order, or CSR), each document has
    first_query, first_document : how many come before it in the whole data
    state : what belongs to these queries and cannot be computed again; it is there whenever the part is
    """

    def __init__(
        self, queries: Queries, *, before: tuple[int, int] = (0, 0), state: MutableMapping[Hashable, Any] | None = None
    ) -> None:
        order = queries.grouping.order
        self.queries, self.offsets = queries, queries.grouping.offsets
        self.n_queries, self.n_documents, self.n_features = queries.n_queries, queries.n_documents, queries.n_features
        self.first_query, self.first_document = before
        self.rows: Columns = np.arange(self.n_documents) if order is None else order
        self.state: MutableMapping[Hashable, Any] = {} if state is None else state
        self._kept: dict[Hashable, Any] = {}

    @cached_property
    def x(self) -> Features:
        """The features."""
        return _in_c_order(self.queries.X)

    def kept(self, key: Hashable, compute: Callable[[], T]) -> T:
        """What was computed under this key. An engine may forget it: then it is computed again."""
        if key not in self._kept:
            self._kept[key] = compute()
        value: T = self._kept[key]
        return value

    def forget(self, key: Hashable) -> None:
        """Make room: nobody asks for this again."""
        self._kept.pop(key, None)

    def over_runs(self, work: Callable[[int, int], None]) -> None:
        """Call ``work(first, last)`` on runs of its queries, side by side on the threads of this machine."""
        for_query_ranges(work, self.offsets)

    def sum_over_runs(self, add: Callable[[int, int, Array], None], shape: tuple[int, ...]) -> Array:
        """Σ over runs of its queries of what ``add(first, last, out)`` adds to zeros, always in the same order."""
        return sum_over_query_ranges(add, self.offsets, shape)

    def in_order(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """``work(item)`` of each item, in order, on the threads of this machine."""
        with one_thread_per_call():
            yield from map_in_order(work, items)

    @property
    def is_in_order(self) -> bool:
        """Whether the documents stand in X as they do here, and no others besides."""
        return self.queries.grouping.order is None

    @property
    def is_sparse(self) -> bool:
        """Whether X is CSR."""
        return bool(sp.issparse(self.x))

    @cached_property
    def judgments(self) -> Judgments:
        """Supervision, grouping and ids of its documents."""
        return self.queries.judgments.run(0, self.n_queries)

    @cached_property
    def products(self) -> FeatureProducts:
        """Xw and Xᵀv."""
        from rankwright.data.products import FeatureProducts

        return FeatureProducts(self)

    @cached_property
    def centred(self) -> CentredQueries:
        """Products of features and grades that are centred query by query."""
        from rankwright.data.centred import centred

        return centred(self)

    def check_features(self) -> None:
        """Raise a `DataError` with the place of the first feature that is not finite, or too large, if there is one."""
        from rankwright.data.finite import check_features, check_magnitude

        check_features(self.queries)
        check_magnitude(self.queries)

    def run_of(self, first: int, last: int) -> tuple[int, int]:
        """Which of its own queries are among queries first … last − 1 of the whole data."""
        begin = min(max(first - self.first_query, 0), self.n_queries)
        return begin, max(min(last - self.first_query, self.n_queries), begin)


def _in_c_order(x: Features) -> Features:
    """CSR, or a dense array whose rows lie one behind the other: kernels are compiled for these."""
    if sp.issparse(x) or x.flags.c_contiguous:
        return x
    ordered = np.ascontiguousarray(x)
    ordered.setflags(write=False)
    return ordered
