"""Which values are missing, where, and whether that says something about the grade."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

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

    def missing(self, positions: npt.NDArray[np.int64]) -> MissingSums:
        """What there is to tell of a feature that is missing at these positions."""
        missing = np.bincount(self.query[positions], minlength=len(self.sizes))
        if_missing, if_given = self._mean_grades(positions, missing)
        return MissingSums(
            documents=len(positions),
            queries=int(np.count_nonzero(missing)),
            whole_queries=int(np.count_nonzero(missing == self.sizes)),
            if_missing=Moments.of(if_missing),
            if_given=Moments.of(if_given),
            difference=Moments.of(if_missing - if_given),
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


class Moments(NamedTuple):
    """How many numbers there are, their mean, and the sum of squares of what they are away from it."""

    n: int
    mean: float
    squares: float

    @classmethod
    def of(cls, numbers: npt.NDArray[np.float64]) -> Moments:
        """Those of some numbers."""
        if len(numbers) == 0:
            return cls(0, 0.0, 0.0)
        mean = numbers.mean()
        return cls(len(numbers), float(mean), float(np.square(numbers - mean).sum()))

    def joined(self, other: Moments) -> Moments:
        """Those of both, without the loss of digits that sums of squares would bring."""
        n = self.n + other.n
        if n == 0:
            return self
        away = other.mean - self.mean
        squares = self.squares + other.squares + away**2 * self.n * other.n / n
        return Moments(n, self.mean + away * other.n / n, squares)

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return math.sqrt(self.squares / (self.n - 1) / self.n)


class MissingSums(NamedTuple):
    """What `MissingValues` tells, before it is known how many documents there are in all."""

    documents: int
    queries: int
    whole_queries: int
    if_missing: Moments
    if_given: Moments
    difference: Moments

    def with_later(self, later: MissingSums) -> MissingSums:
        """The same of the queries of both."""
        return MissingSums(
            self.documents + later.documents,
            self.queries + later.queries,
            self.whole_queries + later.whole_queries,
            self.if_missing.joined(later.if_missing),
            self.if_given.joined(later.if_given),
            self.difference.joined(later.difference),
        )

    def told(self, feature: str, n_documents: int) -> MissingValues:
        """The same of a feature, of this many documents."""
        has_both = self.difference.n > 0
        return MissingValues(
            feature,
            documents=self.documents,
            share=self.documents / n_documents,
            queries=self.queries,
            whole_queries=self.whole_queries,
            grade_if_missing=self.if_missing.mean if has_both else None,
            grade_if_given=self.if_given.mean if has_both else None,
            linked_to_grade=_is_more_than_chance(self.difference),
        )


def _is_more_than_chance(difference: Moments) -> bool:
    if difference.n < _ENOUGH_QUERIES:
        return False
    return abs(difference.mean) > _STANDARD_ERRORS * difference.standard_error
