"""What scores are held against: Queries as they are, or grades with the query of each row."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.supervision import FullRanking, Supervision
from rankwright.errors import DataError, ParameterError


def judged_queries(
    systems: Iterable[Any],
    queries_or_y: Queries | Supervision | npt.ArrayLike,
    qid: npt.ArrayLike | None,
    group: npt.ArrayLike | None,
) -> Queries:
    """Queries as given, or without features, of supervision and the query of each row or the sizes of queries.

    Refuses rankers among the systems where there are no features. Warns, in the name of whoever called the caller, if
    nothing divides the rows into queries.
    """
    if isinstance(queries_or_y, Queries):
        if qid is not None or group is not None:
            raise ParameterError("qid and group go with grades: Queries know the query of each row, so leave them out")
        return queries_or_y
    if any(hasattr(system, "predict") for system in systems):
        raise ParameterError("a ranker needs features to score: give Queries(X, y, qid), not grades alone")
    if qid is not None and group is not None:
        raise ParameterError("give qid (the query of each row) or group (how many rows each query has), not both")
    queries = Queries(None, queries_or_y, qid)
    if group is not None:
        return Queries(None, queries.supervision, _query_of_each_row(group, queries.n_documents))
    if qid is None and queries.n_documents > 1 and not isinstance(queries.supervision, FullRanking):
        warnings.warn(
            f"No qid was given, so all {queries.n_documents:,} rows are taken as one query. Name the query of each row "
            "with qid=, or say how many rows each query has with group=.",
            stacklevel=3,
        )
    return queries


def _query_of_each_row(group: npt.ArrayLike, n_rows: int) -> npt.NDArray[np.int64]:
    """Queries 1, 2, … of these sizes, one after the other."""
    sizes: npt.NDArray[Any] = np.asarray(group)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or (len(sizes) and sizes.min() < 1):
        raise DataError("group must be whole numbers above 0: how many rows each query has, one after the other")
    total = int(sizes.sum())
    if total != n_rows:
        raise DataError(
            f"group: the sizes of {len(sizes):,} queries add up to {total:,} rows, but there are {n_rows:,}"
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)
