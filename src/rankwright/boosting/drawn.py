"""Some of the queries for each tree, drawn anew: the same for both libraries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.boosting.derivatives import Derivatives, Numbers32


class DrawnDerivatives:
    """Derivatives of which only those of some queries count for a tree: the others have no gradient and no curvature.

    LightGBM can draw queries itself (``bagging_by_query``), but as of version 4.7 it then loses count of the scores of
    training rows; XGBoost draws rows only.
    """

    def __init__(self, derivatives: Derivatives, sizes: npt.NDArray[np.int64], share: float, seed: int) -> None:
        self._derivatives, self._sizes = derivatives, sizes
        self._n_drawn = max(round(share * len(sizes)), 1)
        self._rng = np.random.default_rng(seed)

    def at(self, scores: npt.NDArray[Any]) -> tuple[Numbers32, Numbers32]:
        """Gradient and curvature at these scores, for one more tree."""
        gradient, curvature = self._derivatives.at(scores)
        is_drawn = np.zeros(len(self._sizes), np.float32)
        is_drawn[self._rng.permutation(len(self._sizes))[: self._n_drawn]] = 1
        of_row = np.repeat(is_drawn, self._sizes)
        return gradient * of_row, curvature * of_row
