"""Whether queries say anything about the order of their documents, which is all that a ranker can learn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankwright.data.parts import parts_of
from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.judgments.supervision import Grades, PreferenceGraph

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries


def nothing_to_learn(queries: Queries | StreamedQueries) -> str | None:
    """Why no order can be learned from these queries, with the likely cause; None if one can."""
    if queries.n_documents == 0:
        return None
    if queries.n_queries > 1 and queries.n_queries == queries.n_documents:
        return "every row is its own query, so there are no documents to put in order: is qid the right column?"
    is_graded = True
    for part in parts_of(queries):
        if _has_an_order(part):
            return None
        is_graded = isinstance(part.supervision, Grades)
    if not is_graded:
        return "no document is preferred to another"
    which = "all documents have" if queries.n_queries == 1 else "in every query all documents have"
    return f"{which} the same grade, so no order is better than another: are the grades the right column?"


def _has_an_order(part: Queries) -> bool:
    supervision = part.supervision
    if isinstance(supervision, PreferenceGraph):
        return bool((supervision.weights > 0).any())
    if isinstance(supervision, Grades):
        grades, firsts = part.grouping.gather(part.y), part.grouping.offsets[:-1]
        return bool((np.maximum.reduceat(grades, firsts) != np.minimum.reduceat(grades, firsts)).any())
    return True


def check_learnable(name: str, queries: Queries | StreamedQueries) -> None:
    """Refuse queries that no order can be learned from."""
    why = nothing_to_learn(queries)
    if why is not None:
        raise DataError(f"{name}: there is nothing to learn: {why}")
