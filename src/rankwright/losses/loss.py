"""What all losses share. A loss is a function of one query's scores and supervision; on data, a sum over queries."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.arrays import real_numbers
from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judged, Judgments
from rankwright.types import Array


@dataclass(eq=False)
class Point:
    """A loss at some scores, each query's documents together.

    Attributes
    ----------
    values : of each query
    gradient : with respect to the score of each document
    diagonal : of the Hessian, for each document
    pulls : Σ −φ' over the pairs of each query, weighted
    kept : what else the loss wants to remember for Hessian-vector products
    """

    values: Array
    gradient: Array
    diagonal: Array
    pulls: Array
    kept: dict[str, npt.NDArray[Any]] = field(default_factory=dict)


class QueryLosses(ABC):
    """A loss on some queries. Those who train work query range by query range, others call it with all scores."""

    def __init__(self, judgments: Judgments) -> None:
        self.grouping = judgments.grouping
        self.offsets = judgments.grouping.offsets
        self.n_queries, self.n_documents = judgments.n_queries, judgments.n_documents
        if self.n_documents >= 2**31:  # positions are kept in 32 bits
            raise DataError(f"{self.n_documents:,} documents are too many to train on at once")

    # For those who train: documents stand query by query

    def point(self) -> Point:
        """Room for the loss at some scores."""
        gradient, diagonal = np.zeros((2, self.n_documents))
        values, pulls = np.zeros((2, self.n_queries))
        return Point(values, gradient, diagonal, pulls)

    @abstractmethod
    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Fill in the point for queries first … last − 1."""

    @abstractmethod
    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """Write the Hessian of queries first … last − 1 at the point, times ``direction``, to ``out``."""

    def curve_columns(self, first: int, last: int, point: Point, columns: Array) -> Array:
        """The Hessian of queries first … last − 1 times each row of ``columns``, a number per document."""
        begin, end = self.offsets[first], self.offsets[last]
        direction, product = np.empty(self.n_documents), np.empty(self.n_documents)
        out = np.empty_like(columns)
        for column, curved in zip(columns, out, strict=True):
            direction[begin:end] = column
            self.curve(first, last, point, direction, product)
            curved[:] = product[begin:end]
        return out

    # For everyone else: documents stand as they were given

    def at(self, scores: npt.ArrayLike) -> LossAtScores:
        """The loss at these scores, one for each row."""
        grouped, point = self.grouped(scores, "score"), self.point()
        self.evaluate(0, self.n_queries, grouped, point)
        return LossAtScores(self, point)

    def grouped(self, values: npt.ArrayLike, name: str) -> Array:
        """A number for each row, checked, with each query's rows together."""
        given = real_numbers(values, f"{name}s")
        if given.shape != (self.n_documents,):
            raise DataError(f"there must be one {name} for each of the {self.n_documents} rows, not {given.shape}")
        if not np.isfinite(given).all():
            raise DataError(f"row {int(np.argmin(np.isfinite(given)))}: the {name} is not a finite number")
        return np.ascontiguousarray(self.grouping.gather(given))


class LossAtScores:
    """Value, gradient and curvature of a loss at some scores, in the order of the caller's rows."""

    def __init__(self, losses: QueryLosses, point: Point) -> None:
        self._losses, self._point = losses, point

    @property
    def values(self) -> Array:
        """The loss of each query, in the order of first appearance."""
        return self._point.values

    @property
    def value(self) -> float:
        """The sum over queries."""
        return float(self._point.values.sum())

    @property
    def gradient(self) -> Array:
        """The derivative with respect to the score of each row."""
        return self._losses.grouping.scatter(self._point.gradient)

    def hessian_product(self, direction: npt.ArrayLike) -> Array:
        """The Hessian with respect to the scores, times a vector with a number for each row."""
        losses = self._losses
        grouped = losses.grouped(direction, "number")
        out = np.empty_like(grouped)
        losses.curve(0, losses.n_queries, self._point, grouped, out)
        return losses.grouping.scatter(out)


class Loss(ABC):
    """A loss before it meets data. What it can do decides which solvers take it."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    @property
    def is_smooth(self) -> bool:
        """Whether it has a gradient everywhere, and a curvature almost everywhere: Newton's method asks for both."""
        return True

    @property
    def can_be_smoothed(self) -> bool:
        """Whether its φ of pairs can be replaced by a smooth one nearby: so a hinge with a corner is minimised."""
        return False

    @property
    def is_convex(self) -> bool:
        """Whether a least value that was found is the least there is."""
        return True

    @property
    def is_exact(self) -> bool:
        """Whether its values are the loss itself, and not what a search that need not find the greatest has found."""
        return True

    @abstractmethod
    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> QueryLosses:
        """The loss on Queries or judgments; ``sample_weight`` has a number ≥ 0 for each query, or for each row."""


def query_weights(judgments: Judgments, sample_weight: npt.ArrayLike | None) -> Array:
    """A weight for each query, given so or as one for each row that is the same throughout a query; 1 by default."""
    if sample_weight is None:
        return np.ones(judgments.n_queries)
    weights = real_numbers(sample_weight, "sample weights")
    if weights.ndim != 1 or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ParameterError("sample_weight must be finite numbers of at least 0")
    if len(weights) == judgments.n_queries:
        return weights
    if len(weights) != judgments.n_documents:
        raise ParameterError(
            f"sample_weight has {len(weights)} numbers: there are {judgments.n_queries} queries, "
            f"{judgments.n_documents} rows"
        )
    grouped = judgments.grouping.gather(weights)
    per_query: Array = grouped[judgments.grouping.offsets[:-1]]
    differs = grouped != np.repeat(per_query, judgments.sizes)
    if differs.any():
        q = int(np.searchsorted(judgments.grouping.offsets, np.argmax(differs), side="right")) - 1
        raise ParameterError(
            f"sample_weight differs within query {judgments.grouping.query_id(q)!r}: weigh whole queries"
        )
    return per_query


def counting_weights(judgments: Judgments, sample_weight: npt.ArrayLike | None) -> Array:
    """`query_weights` where some query must count."""
    weights = query_weights(judgments, sample_weight)
    if len(weights) and not weights.any():
        raise ParameterError("sample_weight is zero for every query: some must count")
    return weights
