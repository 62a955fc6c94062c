"""`Judgments`: supervision, grouping and document ids, all that losses and measures know of the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rankwright.errors import DataError, ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import Grades, Supervision
from rankwright.judgments.whole import Whole
from rankwright.types import Array


@dataclass(frozen=True, eq=False)
class Judgments:
    """Which documents belong to which query, and in which order they should stand."""

    supervision: Supervision
    grouping: Grouping
    doc_ids: npt.NDArray[Any] | None = None
    whole_of: Callable[[], Whole] | None = None  # of the queries that these are a part of, found out when asked for

    @property
    def n_queries(self) -> int:
        """N."""
        return len(self.grouping.offsets) - 1

    @property
    def n_documents(self) -> int:
        """m."""
        return len(self.supervision)

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The number of documents of each query."""
        return np.diff(self.grouping.offsets)

    @property
    def y(self) -> Array:
        """The grades of the documents, in the order of the rows."""
        if not isinstance(self.supervision, Grades):
            raise DataError(f"these queries have a {self.supervision.kind}, not grades: see .supervision")
        return self.supervision.values

    @cached_property
    def whole(self) -> Whole:
        """Extremes of all queries, also of those that these are a part of."""
        return Whole.of(self.supervision, self.grouping) if self.whole_of is None else self.whole_of()

    def within(self, whole: Whole) -> Judgments:
        """The same as a part of more queries."""
        return replace(self, whole_of=lambda: whole)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_remade, (self.supervision, self.grouping, self.doc_ids, self.whole))

    def run(self, first: int, last: int) -> Judgments:
        """Those of queries first … last − 1, documents query by query, as a part of all."""
        offsets, order = self.grouping.offsets, self.grouping.order
        if order is None and first == 0 and last == self.n_queries:
            return self
        begin, end = int(offsets[first]), int(offsets[last])
        rows: Any = slice(begin, end) if order is None else order[begin:end]
        return Judgments(
            self.supervision.take(rows),
            Grouping.of_sizes(self.grouping.query_ids[first:last], np.diff(offsets[first : last + 1])),
            None if self.doc_ids is None else self.doc_ids[rows],
            lambda: self.whole,
        )


def _remade(supervision: Supervision, grouping: Grouping, doc_ids: Any, whole: Whole) -> Judgments:
    return Judgments(supervision, grouping, doc_ids).within(whole)


class Judged(Protocol):
    """What has judgments, such as Queries."""

    @property
    def judgments(self) -> Judgments:
        """Supervision, grouping and document ids."""


def judgments_of(given: Judgments | Judged) -> Judgments:
    """Judgments as they are, or those of Queries."""
    if isinstance(given, Judgments):
        return given
    if not hasattr(given, "judgments"):
        raise ParameterError(f"give Queries, which know the query of each document, not {type(given).__name__}")
    return given.judgments
