"""What scores are held against: Queries as they are, or grades with the query of each row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy.typing as npt

from rankwright.data.one_query import warn_of_one_query
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import ParameterError
from rankwright.judgments.supervision import Supervision


def judged_queries(
    systems: Iterable[Any],
    queries_or_y: AnyQueries | Supervision | npt.ArrayLike,
    qid: npt.ArrayLike | None,
    group: npt.ArrayLike | None,
) -> AnyQueries:
    """Queries as given, or without features, of supervision and the query of each row or the sizes of queries.

    Refuses rankers among the systems where there are no features. Warns if nothing divides the rows into queries.
    """
    if isinstance(queries_or_y, Queries | StreamedQueries):
        if qid is not None or group is not None:
            raise ParameterError("qid and group go with grades: Queries know the query of each row, so leave them out")
        return queries_or_y
    if any(hasattr(system, "predict") for system in systems):
        raise ParameterError("a ranker needs features to score: give Queries(X, y, qid), not grades alone")
    queries = Queries(None, queries_or_y, qid, group=group)
    warn_of_one_query(queries)
    return queries
