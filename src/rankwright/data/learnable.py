"""Whether queries say anything about the order of their documents, which is all that a ranker can learn."""

from __future__ import annotations

import numpy as np

from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError
from rankwright.judgments.supervision import Grades, PreferenceGraph


def says_an_order(queries: Queries) -> bool:
    """Whether some document of some query is said to be better than another."""
    supervision = queries.supervision
    if queries.n_documents == queries.n_queries:
        return False
    if isinstance(supervision, PreferenceGraph):
        return bool((supervision.weights > 0).any())
    if isinstance(supervision, Grades):
        grades, firsts = queries.grouping.gather(queries.y), queries.grouping.offsets[:-1]
        return bool((np.maximum.reduceat(grades, firsts) != np.minimum.reduceat(grades, firsts)).any())
    return True


def why_nothing_to_learn(queries: AnyQueries) -> str | None:
    """Why no order can be learned from queries that say none, with the likely cause; of no documents there is none."""
    if queries.n_documents == 0:
        return None
    if queries.n_queries > 1 and queries.n_queries == queries.n_documents:
        return "every row is its own query, so there are no documents to put in order: is qid the right column?"
    if isinstance(queries, Queries) and isinstance(queries.supervision, PreferenceGraph):
        return "no document is preferred to another"
    which = "all documents have" if queries.n_queries == 1 else "in every query all documents have"
    return f"{which} the same grade, so no order is better than another: are the grades the right column?"


def check_learnable(name: str, queries: AnyQueries) -> None:
    """Refuse queries that no order can be learned from."""
    why = None if any(each_part(queries, says_an_order)) else why_nothing_to_learn(queries)
    if why is not None:
        raise DataError(f"{name}: there is nothing to learn: {why}")
