"""What has to be known of all queries where a measure or a loss is computed on some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import Grades, PreferenceGraph, Supervision


@dataclass(frozen=True)
class Whole:
    """Extremes over all queries: with them, results do not depend on how the queries are cut into parts.

    Attributes
    ----------
    longest_query : how many documents it has
    greatest_grade : 0 where there are no grades
    greatest_in : the id of the first query with a document of that grade
    greatest_preference : the largest sum of weights of edges from one document to another; 0 without a preference graph
    """

    longest_query: int = 0
    greatest_grade: float = 0.0
    greatest_in: Any = None
    greatest_preference: float = 0.0

    @classmethod
    def of(cls, supervision: Supervision, grouping: Grouping) -> Whole:
        """The extremes of queries that are in memory."""
        longest = int(np.diff(grouping.offsets).max(initial=0))
        if isinstance(supervision, Grades) and len(supervision):
            grades = grouping.gather(supervision.values)
            place = int(np.argmax(grades))
            query = int(np.searchsorted(grouping.offsets, place, side="right")) - 1
            return cls(longest, float(grades[place]), grouping.query_id(query))
        if isinstance(supervision, PreferenceGraph):
            return cls(longest, greatest_preference=_greatest_preference(supervision))
        return cls(longest)

    @classmethod
    def of_parts(cls, parts: Iterable[Whole]) -> Whole:
        """The extremes of all queries, from those of parts that follow one another."""
        whole = cls()
        for part in parts:
            greater = part if whole.greatest_in is None or part.greatest_grade > whole.greatest_grade else whole
            whole = cls(
                max(whole.longest_query, part.longest_query),
                greater.greatest_grade,
                greater.greatest_in,
                max(whole.greatest_preference, part.greatest_preference),
            )
        return whole


def _greatest_preference(graph: PreferenceGraph) -> float:
    ends = graph.preferred.astype(np.int64) * graph.n_documents + graph.other
    between = np.bincount(np.unique(ends, return_inverse=True)[1], graph.weights)
    return float(between.max(initial=0.0))
