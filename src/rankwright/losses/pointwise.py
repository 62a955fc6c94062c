"""The squared loss (paper O, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.judgments.judgments import Judged, Judgments, judgments_of
from rankwright.losses.loss import Loss, Point, QueryLosses, query_weights
from rankwright.losses.standardise import check_standardisation, standardised
from rankwright.measures.conventions import Convention
from rankwright.types import Array


class SquaredLosses(QueryLosses):
    """Σ c_i (s_i − r_i)²."""

    def __init__(self, judgments: Judgments, target: Array, weights: Array) -> None:
        super().__init__(judgments)
        self._target, self._weights = target, weights

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Document by document."""
        run = slice(int(self.offsets[first]), int(self.offsets[last]))
        difference, weights = scores[run] - self._target[run], self._weights[run]
        point.gradient[run] = 2 * weights * difference
        point.diagonal[run] = 2 * weights
        starts = self.offsets[first:last] - self.offsets[first]
        point.values[first:last] = np.add.reduceat(weights * difference**2, starts)

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """The Hessian is diagonal."""
        run = slice(int(self.offsets[first]), int(self.offsets[last]))
        out[run] = point.diagonal[run] * direction[run]


@dataclass(frozen=True)
class SquaredLoss(Loss):
    r"""Σ_i (s_i − r_i)², r = standardised supervision as for `OrderPreservingLoss`: it preserves the order, too.

    >>> import rankwright as rw
    >>> rw.losses.SquaredLoss(standardize="dcg").on(rw.Queries(None, [2, 0])).at([1.0, 0.0]).value
    4.0
    """

    standardize: str = "ndcg"
    cutoff: int | None = None
    normalize: bool = False
    convention: str | Convention = "default"

    def __post_init__(self) -> None:
        check_standardisation(self.standardize, self.cutoff, self.convention)

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> SquaredLosses:
        """Targets are the standardised supervision; ``normalize`` divides by m_q."""
        judgments = judgments_of(queries)
        of_query = query_weights(judgments, sample_weight)
        if self.normalize:
            of_query = of_query / judgments.sizes
        target = standardised(judgments, self.standardize, self.cutoff, self.convention)
        return SquaredLosses(judgments, target, np.repeat(of_query, judgments.sizes))
