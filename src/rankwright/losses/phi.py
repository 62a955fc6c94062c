"""The functions φ of a margin t = s_i − s_j that pairwise losses are made of."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_positive
from rankwright.errors import ParameterError

# Where the smooth part of the Huber hinge begins and ends: 1 ± this (Chapelle 2007 suggests 0.01 to 0.5).
HUBER_WIDTH = 0.5


@dataclass(frozen=True)
class Phi:
    """A convex, non-increasing function of t, in terms of u = margin + beyond − t.

    It is 0 for u ≤ 0, ``curvature``·u² up to u = ``width``, and a straight line of slope ``slope`` from there on.
    The logistic function is none of these: it has ``curvature`` NaN, and no margin.
    """

    name: str
    beyond: float
    width: float
    curvature: float
    slope: float

    @property
    def is_smooth(self) -> bool:
        """Whether the derivative has no jumps."""
        return self.width > 0

    @property
    def is_logistic(self) -> bool:
        """Whether it is log(1 + e^−t)."""
        return bool(np.isnan(self.curvature))

    @property
    def outside_theorem_1(self) -> str:
        """Which condition of paper O's theorem 1 it fails, if any."""
        if self.is_logistic:
            return "its derivative is 0 nowhere, so scores would have to be infinite"
        return "" if self.is_smooth else "it is not differentiable at t = 1"

    def margin_top(self, margin: float) -> float:
        """The t below which it is above 0, where the margin is ``margin``."""
        return margin + self.beyond

    def parameters(self, margin: float) -> npt.NDArray[np.float64]:
        """What kernels want to know: top, width, curvature, slope, and the line's offset."""
        offset = self.curvature * self.width**2 - self.slope * self.width if self.width < inf else 0.0
        return np.array([self.margin_top(margin), self.width, self.curvature, self.slope, offset])


def huber_hinge(half_width: float) -> Phi:
    """The hinge with its corner rounded between 1 − h and 1 + h (Chapelle 2007): (1 + h − t)²/4h there."""
    check_positive("half_width", half_width)
    return Phi("huber-hinge", half_width, 2 * half_width, 1 / (4 * half_width), 1.0)


PHIS = {
    phi.name: phi
    for phi in (
        Phi("squared-hinge", 0.0, inf, 1.0, 0.0),
        Phi("hinge", 0.0, 0.0, 0.0, 1.0),
        huber_hinge(HUBER_WIDTH),
        Phi("logistic", 0.0, inf, np.nan, np.nan),
    )
}


def phi_of(name: object) -> Phi:
    """The φ of this name."""
    if isinstance(name, Phi):
        return name
    check_choice("loss", name, PHIS)
    return PHIS[str(name)]


def check_order_preserving(phi: Phi) -> None:
    """Refuse a φ with which the order-preserving loss would not preserve the order (paper O, theorem 1)."""
    if phi.outside_theorem_1:
        fine = ", ".join(repr(other.name) for other in PHIS.values() if not other.outside_theorem_1)
        raise ParameterError(
            f"loss: {phi.name!r} does not make an order-preserving loss: theorem 1 of Buffoni et al. (2011) wants φ "
            "convex, non-increasing and differentiable, φ(t) < φ(−t) for t > 0, φ'(0) < 0, and φ'(t₀) = 0 for some "
            f"t₀ > 0, but {phi.outside_theorem_1}. Use {fine}; or RankSVM, which takes any of them"
        )
