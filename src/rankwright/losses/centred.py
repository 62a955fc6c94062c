"""The loss of RankRLS: squared differences of pairs, which is a squared loss of centred scores (paper G, eq. 4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.judgments.judgments import Judged, Judgments, judgments_of
from rankwright.losses.loss import Loss, Point, QueryLosses, query_weights
from rankwright.types import Array


class CentredSquares(QueryLosses):
    """c_q (s − y)ᵀ L (s − y) with L = I − 11ᵀ/m_q."""

    def __init__(self, judgments: Judgments, target: Array, weights: Array) -> None:
        super().__init__(judgments)
        self._target, self._weights = target, weights

    def evaluate(self, first: int, last: int, scores: Array, point: Point) -> None:
        """Query by query, in one go."""
        run, sizes = self._run(first, last)
        residual = self._centred(scores[run] - self._target[run], first, last)
        twice = 2 * np.repeat(self._weights[first:last], sizes)
        point.gradient[run] = twice * residual
        point.diagonal[run] = twice * (1 - np.repeat(1 / sizes, sizes))
        starts = self.offsets[first:last] - self.offsets[first]
        point.values[first:last] = self._weights[first:last] * np.add.reduceat(residual**2, starts)

    def curve(self, first: int, last: int, point: Point, direction: Array, out: Array) -> None:
        """The Hessian is 2 c_q L."""
        run, sizes = self._run(first, last)
        out[run] = 2 * np.repeat(self._weights[first:last], sizes) * self._centred(direction[run], first, last)

    def _run(self, first: int, last: int) -> tuple[slice, npt.NDArray[np.int64]]:
        return slice(int(self.offsets[first]), int(self.offsets[last])), np.diff(self.offsets[first : last + 1])

    def _centred(self, values: Array, first: int, last: int) -> Array:
        sizes = np.diff(self.offsets[first : last + 1])
        sums = np.add.reduceat(values, self.offsets[first:last] - self.offsets[first])
        centred: Array = values - np.repeat(sums / sizes, sizes)
        return centred


@dataclass(frozen=True)
class RankRLSLoss(Loss):
    r"""(1/2m_q) Σ_ij (y_i − y_j − s_i + s_j)², over all pairs of documents of a query (paper G, eq. 3 and 4).

    It is the loss that `RankRLS` minimises, here for models whose scores are no weighted sums of features.

    >>> import rankwright as rw
    >>> rw.losses.RankRLSLoss().on(rw.Queries(None, [2, 0])).at([1.0, 0.0]).value
    0.5
    """

    def on(self, queries: Judgments | Judged, sample_weight: npt.ArrayLike | None = None) -> CentredSquares:
        """The loss on queries with grades."""
        judgments = judgments_of(queries)
        target = np.ascontiguousarray(judgments.grouping.gather(judgments.y))
        return CentredSquares(judgments, target, query_weights(judgments, sample_weight))
