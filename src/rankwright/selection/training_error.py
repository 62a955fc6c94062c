"""Training errors of candidates: bounds that tell which of them need not be looked at query by query.

Without query q the model errs on it by e_q = (I − M_qq)⁻¹r_q, where r are the residuals of the model trained on all,
and M = X̂A⁻¹X̂ᵀ takes ŷ to its predictions (paper G, theorem 3.1). The eigenvalues of M_qq are from 0 to below 1, so
‖e_q‖ ≥ ‖r_q‖: no held-out squared error is below the training error of the same features. A candidate whose training
error is above the held-out error of another one is not the best, and only the others are looked at query by query.
"""

from __future__ import annotations

import numpy as np

from rankwright.types import Array

# Bounds are lowered by so much of ŷᵀŷ, and by so many times their rounding, lest rounding decides.
_SLACK = 1e-9
_ROUNDING = 1e3 * np.finfo(np.float64).eps


class TrainingErrors:
    """The squared error, on all queries, of RankRLS trained on all queries with S and one candidate more.

    It is the problem that leaves out nothing, with d, r and β of all candidates as in `rankwright.selection.greedy`.
    Products are sums of NumPy's own: threads of BLAS would take longer to start.
    """

    def __init__(self, squares: Array, products: Array, target_norm: float, capacity: int) -> None:
        self._squares, self._products, self._target_norm = squares, products, target_norm
        self._factors = np.empty((capacity, len(squares)))  # β of all candidates with each selected feature
        self._regressions = np.empty((capacity, len(squares)))  # of all candidates on the selected features
        self._pivots, self._weights = np.empty(capacity), np.empty(capacity)  # d and w of the selected features
        self.start(1.0)

    def start(self, alpha: float) -> None:
        """Nothing is selected: d = Σ H_ii + λ, r = Σ h_i."""
        self._alpha, self._minimum = alpha, self._target_norm
        self._features: list[int] = []
        self._pivot, self._covariance = self._squares + alpha, self._products.copy()
        self._lost = 1.0  # how far the pivot of a selected feature had shrunk by then, at most

    def take_out(self, b: int, row: Array) -> None:
        """Select b, whose row of X̂ᵀX̂ is given, and take it out of all others."""
        size, pivot, gain = len(self._features), self._pivot[b], self._covariance[b] / self._pivot[b]
        factors, regressions = self._factors[:size], self._regressions[:size]
        joint = row - np.einsum("l,li", factors[:, b] * self._pivots[:size], factors)
        factor = joint / pivot
        regression = regressions[:, b].copy()
        regressions -= np.outer(regression, factor)
        self._factors[size], self._regressions[size] = factor, factor
        self._weights[:size] -= gain * regression
        self._weights[size], self._pivots[size] = gain, pivot
        self._minimum -= gain**2 * pivot
        self._lost = max(self._lost, float((self._squares[b] + self._alpha) / pivot))
        self._covariance = self._covariance - factor * self._covariance[b]
        self._pivot = np.maximum(self._pivot - factor * joint, self._alpha)
        self._features.append(b)

    def bounds(self) -> Array:
        """What no held-out squared error of S with each of the features is below.

        With g = r/d the minimum J of ‖ŷ − X̂w‖² + λ‖w‖² falls by g²d; the error is what J has beyond λ‖w‖².
        """
        size, gain = len(self._features), self._covariance / self._pivot
        lost = np.maximum((self._squares + self._alpha) / self._pivot, self._lost)
        slack = (_SLACK + _ROUNDING * lost) * self._target_norm
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # a tiny λ: nothing is known but that squares are not negative
            weights = self._weights[:size, None] - self._regressions[:size] * gain
            norms = (weights**2).sum(axis=0) + gain**2
            bounds: Array = np.fmax(self._minimum - gain**2 * self._pivot - self._alpha * norms - slack, 0.0)
        return bounds

    def best_first(self) -> list[int]:
        """All features that have not been selected, those that lessen J most first."""
        lessening = self._covariance**2 / self._pivot
        lessening[self._features] = -1
        best_first = np.argsort(-lessening, kind="stable")[: len(lessening) - len(self._features)]
        return list(best_first.tolist())
