"""`Part`: some whole queries in memory, and all that a step of a learner may ask of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import scipy.sparse as sp

from rankwright.data.queries import Features, Queries
from rankwright.data.state import QueryRun, State
from rankwright.judgments.judgments import Judgments
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import map_in_order
from rankwright.types import Columns

if TYPE_CHECKING:
    from rankwright.data.centred import CentredQueries
    from rankwright.data.products import FeatureProducts

T = TypeVar("T")
R = TypeVar("R")


class Part(QueryRun):
    """Some whole queries in memory. Its documents stand query by query.

    Attributes
    ----------
    offsets : where the documents of each of its queries begin and end, from 0 on
    rows : which row of ``x``, the features (dense in C order, or CSR), each document has
    first_query, first_document : how many come before it in the whole data
    state : what belongs to these queries and cannot be computed again; it is there whenever the part is
    """

    def __init__(
        self,
        queries: Queries,
        *,
        before: tuple[int, int] = (0, 0),
        state: State | None = None,
    ) -> None:
        order = queries.grouping.order
        self.queries, self.offsets = queries, queries.grouping.offsets
        self.n_documents, self.n_features = queries.n_documents, queries.n_features
        self.first_query, self.first_document = before
        self.rows: Columns = np.arange(self.n_documents) if order is None else order
        self.is_in_order = order is None
        """Whether the documents stand in X as they do here, and no others besides."""
        self.state = State(self.offsets, self.first_query) if state is None else state
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

    def release(self) -> None:
        """Give up all that was computed, as nobody asks this part again.

        Products know their part and the part its products: without this, its memory would be free much later.
        """
        for kept in self._kept.values():
            if isinstance(kept, Part):
                kept.release()
        self._kept.clear()
        for name in ("x", "judgments", "products", "centred"):
            self.__dict__.pop(name, None)

    def with_columns(self, x: Features) -> Part:
        """The same queries with other features, made of theirs for one step; rows of x stand query by query."""
        made = copy(self)
        made._kept, made.n_features = {}, x.shape[1]
        made.rows, made.is_in_order = np.arange(self.n_documents), True
        for name in ("products", "centred"):
            made.__dict__.pop(name, None)
        made.__dict__["x"] = x
        return made

    def in_order(self, work: Callable[[T], R], items: Iterable[T]) -> Iterator[R]:
        """``work(item)`` of each item, in order, on the threads of this machine."""
        with one_thread_per_call():
            yield from map_in_order(work, items)

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

    def places_of(self, queries: Iterable[int]) -> dict[int, int]:
        """Which of some queries of the whole data are its own, and their places here."""
        places = {q: q - self.first_query for q in queries}
        return {q: place for q, place in places.items() if 0 <= place < self.n_queries}


def _in_c_order(x: Features) -> Features:
    """CSR, or a dense array whose rows lie one behind the other: kernels are compiled for these."""
    if sp.issparse(x) or x.flags.c_contiguous:
        return x
    ordered = np.ascontiguousarray(x)
    ordered.setflags(write=False)
    return ordered
