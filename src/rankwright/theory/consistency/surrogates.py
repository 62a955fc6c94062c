"""min_s E Ψ(s, Y), over all scores or over those that follow an order, with a lower bound that proves it.

A convex function is nowhere below a plane that touches it. So the least value of that plane within reach is a lower
bound for the least expected loss; at the minimiser of a smooth loss the two agree. Losses with corners take more planes
at once: their least common value is a linear programme.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog, minimize

from rankwright.errors import ParameterError, RankwrightError
from rankwright.losses.loss import Loss
from rankwright.theory.consistency.orders import Distribution, SupervisionSet
from rankwright.types import Array

# How far least value and lower bound may be apart, relative to the loss (absolutely below 1).
ACCURACY = 1e-8
# Scores are looked for within this distance of each other first, and within larger ones if that is not enough.
_REACHES = tuple(8.0**power for power in range(1, 13))
_MOST_PLANES = 500
# Scores that are nearer to each other than this are made equal, if that costs nothing.
_TIE = 1e-5


@dataclass(frozen=True, eq=False)
class Minimum:
    """Scores with the least expected loss, and a lower bound for all scores between −``reach`` and ``reach``."""

    scores: Array
    value: float
    lower: float
    reach: float


class ExpectedLoss:
    """E Ψ(s, Y) as a function of the scores s of n items."""

    def __init__(self, loss: Loss, supervisions: SupervisionSet, probabilities: Distribution) -> None:
        if not (loss.is_convex and loss.is_exact):
            raise ParameterError("loss must be convex and found exactly: bound='convex' and rescale='margin'")
        self.n_items, self._copies = supervisions.n_items, len(supervisions)
        self._losses = loss.on(supervisions.queries(1), np.array(probabilities, dtype=np.float64))
        self._point = self._losses.point()
        self._planes: list[tuple[Array, float]] = []  # (slope, height at 0), below the loss everywhere

    def __call__(self, scores: Array) -> tuple[float, Array]:
        """Value and (sub)gradient."""
        self._losses.evaluate(0, self._copies, np.tile(scores, self._copies), self._point)
        return float(self._point.values.sum()), self._point.gradient.reshape(self._copies, -1).sum(axis=0)

    def minimum(self, order: Sequence[int] | None = None, *, unless_above: float = np.inf) -> Minimum:
        """The least value over all scores, or over those that follow an order, ties included.

        If it cannot be below ``unless_above``, the search may end with that.
        """
        found = None
        for reach in _REACHES:
            box = _Box(self.n_items, order, reach)
            wider = self._within(box, unless_above)
            if found is not None and found.value - wider.value <= _slack(found.value):
                break
            found = wider
            if not box.is_at_the_end(found.scores):
                break
        else:
            raise RankwrightError(f"the least expected loss is not within scores of ±{_REACHES[-1]:g}")
        return self._from_zero(self._with_ties(found))

    def _within(self, box: _Box, unless_above: float) -> Minimum:
        def at(x: Array) -> tuple[float, Array]:
            value, gradient = self(box.basis @ x)
            return value, box.basis.T @ gradient

        bounds = list(zip(box.low, box.high, strict=True))
        accuracy = 0.1 * ACCURACY / (self.n_items * box.reach)
        options = {"ftol": 0.0, "gtol": accuracy, "maxiter": 1000}
        x = minimize(at, box.start(), jac=True, method="L-BFGS-B", bounds=bounds, options=options).x
        value, slope = at(x)
        lower = value + float(np.minimum(slope * (box.low - x), slope * (box.high - x)).sum())
        found = Minimum(box.basis @ x, value, lower, box.reach)
        if value - lower <= _slack(value) or lower >= unless_above:
            return found
        return self._by_planes(box, found, unless_above)

    def _by_planes(self, box: _Box, found: Minimum, unless_above: float) -> Minimum:
        """Kelley's method: where the planes are least, the loss is evaluated, and gives one more plane."""
        self._touch(found.scores)
        for _ in range(_MOST_PLANES):
            x, lower = self._lowest(box)
            scores = box.basis @ x
            value = self._touch(scores)
            better = value < found.value
            best = scores if better else found.scores
            found = Minimum(best, min(value, found.value), max(lower, found.lower), box.reach)
            if found.value - found.lower <= _slack(found.value) or found.lower >= unless_above:
                return found
        raise RankwrightError(f"the minimum of the expected loss is only known between {found.lower} and {found.value}")

    def _touch(self, scores: Array) -> float:
        value, gradient = self(scores)
        self._planes.append((gradient.copy(), value - float(gradient @ scores)))
        return value

    def _lowest(self, box: _Box) -> tuple[Array, float]:
        slopes, heights = (np.array(part) for part in zip(*self._planes, strict=True))
        n = self.n_items
        solved = linprog(
            np.append(np.zeros(n), 1.0),
            A_ub=np.column_stack([slopes @ box.basis, -np.ones(len(heights))]),
            b_ub=-heights,
            bounds=[*zip(box.low, box.high, strict=True), (None, None)],
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        return np.clip(solved.x[:n], box.low, box.high), float(solved.fun)

    def _with_ties(self, found: Minimum) -> Minimum:
        """Scores that differ by rounding alone become equal."""
        by_score = np.argsort(found.scores)
        tie = np.concatenate([[0], np.cumsum(np.diff(found.scores[by_score]) > _TIE)])
        means = np.bincount(tie, found.scores[by_score]) / np.bincount(tie)
        scores = np.empty_like(found.scores)
        scores[by_score] = means[tie]
        value = self(scores)[0]
        return replace(found, scores=scores, value=value) if value <= found.value + _slack(found.value) else found

    def _from_zero(self, found: Minimum) -> Minimum:
        """Where differences of scores alone count, the least score is 0."""
        scores = found.scores - found.scores.min()
        value = self(scores)[0]
        return replace(found, scores=scores, value=value) if abs(value - found.value) <= 1e-5 * _slack(value) else found


class _Box:
    """s = basis · x with low ≤ x ≤ high: all scores, or those along an order as an offset and steps ≥ 0."""

    def __init__(self, n: int, order: Sequence[int] | None, reach: float) -> None:
        self.reach, self.low, self.high = reach, np.full(n, -reach), np.full(n, reach)
        self.basis = np.eye(n)
        if order is not None:
            self.low[1:] = 0.0
            self.basis = np.zeros((n, n))
            self.basis[:, 0] = 1.0
            for step in range(1, n):
                self.basis[list(order[:step]), step] = 1.0
        self._inverse = np.linalg.inv(self.basis)

    def start(self) -> Array:
        """Steps that are neither zero nor large; all scores 0, if there is no order."""
        return np.where(self.low < 0, 0.0, 0.25)

    def is_at_the_end(self, scores: Array) -> bool:
        """Whether some coordinate is as large as it may be, so that more might be better."""
        x = self._inverse @ scores
        free = self.low < 0
        return bool((x >= self.high * 0.999).any() or (x[free] <= self.low[free] * 0.999).any())


def _slack(value: float) -> float:
    return ACCURACY * max(1.0, abs(value))
