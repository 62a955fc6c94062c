"""Whether queries say anything about the order of their documents, which is all that a ranker can learn."""

from __future__ import annotations

import numpy as np

from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.judgments.supervision import Grades, PreferenceGraph


def nothing_to_learn(queries: Queries) -> str | None:
    """Why no order can be learned from these queries, with the likely cause; None if one can."""
    if queries.n_documents == 0:
        return None
    if queries.n_queries > 1 and queries.n_queries == queries.n_documents:
        return "every row is its own query, so there are no documents to put in order: is qid the right column?"
    supervision = queries.supervision
    if isinstance(supervision, PreferenceGraph):
        return None if (supervision.weights > 0).any() else "no document is preferred to another"
    if isinstance(supervision, Grades):
        grades, firsts = queries.grouping.gather(queries.y), queries.grouping.offsets[:-1]
        if (np.maximum.reduceat(grades, firsts) == np.minimum.reduceat(grades, firsts)).all():
            which = "all documents have" if queries.n_queries == 1 else "in every query all documents have"
            return f"{which} the same grade, so no order is better than another: are the grades the right column?"
    return None


def check_learnable(name: str, queries: Queries) -> None:
    """Refuse queries that no order can be learned from."""
    why = nothing_to_learn(queries)
    if why is not None:
        raise DataError(f"{name}: there is nothing to learn: {why}")
