"""Which values are missing, where, and whether that says something about the grade."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.judgments.supervision import Grades

# That a value is missing is linked to the grade if the mean difference is so many standard errors from 0 over queries …
_STANDARD_ERRORS = 4.0
# … in at least so many queries that have documents with the value and without it.
_ENOUGH_QUERIES = 10


@dataclass(frozen=True)
class MissingValues:
    """A feature with missing values: how many documents lack it, and in how many queries.

    ``whole_queries`` counts the queries in which no document has a value. The mean grades of documents without and
    with a value are over the queries that have both, so that easy and hard queries do not mix, each query counting
    once; None if there is no such query, or there are no grades. ``linked_to_grade`` says that their difference is
    more than chance: then it helps a ranker to know that the value is missing.
    """

    feature: str
    documents: int
    share: float
    queries: int
    whole_queries: int
    grade_if_missing: float | None
    grade_if_given: float | None
    linked_to_grade: bool


@dataclass(frozen=True, eq=False)
class JudgedGroups:
    """The query of each position, with query rows together, and the grades there, if there are any."""

    query: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    grades: npt.NDArray[np.float64] | None
    grade_sums: npt.NDArray[np.float64] | None

    @classmethod
    def of(cls, queries: Queries) -> JudgedGroups:
        """Those of some queries."""
        query = np.repeat(np.arange(queries.n_queries), queries.sizes)
        grades = queries.grouping.gather(queries.y) if isinstance(queries.supervision, Grades) else None
        sums = None if grades is None else np.bincount(query, grades, queries.n_queries).astype(np.float64, copy=False)
        return cls(query, queries.sizes, grades, sums)

    def missing_values(self, feature: str, positions: npt.NDArray[np.int64]) -> MissingValues:
        """What there is to tell of a feature that is missing at these positions."""
        missing = np.bincount(self.query[positions], minlength=len(self.sizes))
        if_missing, if_given = self._mean_grades(positions, missing)
        return MissingValues(
            feature,
            documents=len(positions),
            share=len(positions) / len(self.query),
            queries=int(np.count_nonzero(missing)),
            whole_queries=int(np.count_nonzero(missing == self.sizes)),
            grade_if_missing=float(if_missing.mean()) if len(if_missing) else None,
            grade_if_given=float(if_given.mean()) if len(if_given) else None,
            linked_to_grade=_is_more_than_chance(if_missing - if_given),
        )

    def _mean_grades(
        self, positions: npt.NDArray[np.int64], missing: npt.NDArray[np.intp]
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """The mean grades of documents without and with a value, for each query that has both."""
        if self.grades is None or self.grade_sums is None:
            return np.zeros(0), np.zeros(0)
        both = (missing > 0) & (missing < self.sizes)
        sums = np.bincount(self.query[positions], self.grades[positions], len(self.sizes))
        return sums[both] / missing[both], (self.grade_sums - sums)[both] / (self.sizes - missing)[both]


def _is_more_than_chance(differences: npt.NDArray[np.float64]) -> bool:
    if len(differences) < _ENOUGH_QUERIES:
        return False
    standard_error = differences.std(ddof=1) / np.sqrt(len(differences))
    return bool(abs(differences.mean()) > _STANDARD_ERRORS * standard_error)
