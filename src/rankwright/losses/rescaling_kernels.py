"""The search for max_y Δ(y) H(y) among the rankings that maximise H + μΔ for some μ ≥ 0 (paper L, section 6).

Exactly, this is a quadratic assignment. But the best product on the convex hull of all points (Δ(y), H(y)) is found by
a few arg-maxes of H + μΔ: Δ grows and H falls with μ, and the hull's best point lies to the right of the one found if
H > μΔ there, else to the left. Where the search ends, at a point or at an edge of the hull, the hull's best product is
known. It is at least that of every ranking: so the best ranking found comes with a bound of what others may have.
Rankings within the hull are never an arg-max; exchanges of two documents, while they help, reach some of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

# What a search knows: the points to the left and right of the hull's best one, what no product exceeds, the best
# product found, the multiplier μ that is asked next, how many answers there were, and what the next answer is for.
LEFT_LOSS, LEFT_HEIGHT, RIGHT_LOSS, RIGHT_HEIGHT, BOUND, BEST, MULTIPLIER, ANSWERS, PHASE = range(9)
N_KNOWN = 9

_START, _LEAVE_ZERO, _FIND_RIGHT, _CUT_EDGE = range(4)
_GROWTH = 16.0
_MOST_ANSWERS = 64
ROUNDING = 1e-13
_NEGLIGIBLE = 1e-9
MOST_EXCHANGES = 100


@kernel
def begin(known: Any) -> None:
    """Nothing is known; μ = 0 is asked first, which the ranking by scores answers."""
    for i in range(N_KNOWN):
        known[i] = 0.0
    known[RIGHT_LOSS] = 1.0
    known[BOUND] = np.inf
    known[PHASE] = _START


@kernel
def tell(known: Any, loss: float, height: float) -> bool:
    """The arg-max of H + μΔ is a ranking with this Δ and H. Returns whether another μ is to be asked."""
    known[BEST] = max(known[BEST], loss * height)
    known[ANSWERS] += 1
    multiplier = known[MULTIPLIER]
    reached = height + multiplier * loss
    _lower_bound(known, multiplier, reached)
    line = (known[LEFT_HEIGHT] + multiplier * known[LEFT_LOSS]) * (1 + ROUNDING)
    if known[PHASE] == _START:
        known[LEFT_LOSS], known[LEFT_HEIGHT] = loss, height
    elif reached <= line or loss <= known[LEFT_LOSS] or (known[PHASE] == _CUT_EDGE and loss >= known[RIGHT_LOSS]):
        # Nothing is above the line: the search is over, unless it could not leave Δ = 0 yet.
        if known[PHASE] != _LEAVE_ZERO or known[BOUND] <= _NEGLIGIBLE * known[LEFT_HEIGHT]:
            known[BOUND] = max(known[BOUND], known[BEST])
            return False
    elif height > multiplier * loss:
        known[LEFT_LOSS], known[LEFT_HEIGHT] = loss, height
    else:
        known[RIGHT_LOSS], known[RIGHT_HEIGHT], known[PHASE] = loss, height, _CUT_EDGE
    known[MULTIPLIER] = _next_multiplier(known)
    known[BOUND] = max(known[BOUND], known[BEST])
    return known[ANSWERS] < _MOST_ANSWERS and known[BOUND] > known[BEST] * (1 + ROUNDING)


@kernel
def _lower_bound(known: Any, multiplier: float, reached: float) -> None:
    """Every ranking has H ≤ reached − μΔ, and the hull's best point has its Δ between left and right."""
    loss = known[RIGHT_LOSS]
    if multiplier > 0.0:
        loss = min(max(reached / (2 * multiplier), known[LEFT_LOSS]), loss)
    known[BOUND] = min(known[BOUND], loss * (reached - multiplier * loss))


@kernel
def _next_multiplier(known: Any) -> float:
    """The slope of the edge between left and right, once there is a right point.

    Before, H/Δ of the left point: as H/Δ falls with μ, what answers it is no longer to the left. Where Δ = 0, μ grows.
    """
    if known[PHASE] == _CUT_EDGE:
        return (known[LEFT_HEIGHT] - known[RIGHT_HEIGHT]) / (known[RIGHT_LOSS] - known[LEFT_LOSS])
    if known[LEFT_LOSS] > 0.0:
        known[PHASE] = _FIND_RIGHT
        return known[LEFT_HEIGHT] / known[LEFT_LOSS]
    known[PHASE] = _LEAVE_ZERO
    return _GROWTH * known[MULTIPLIER] if known[MULTIPLIER] > 0.0 else known[LEFT_HEIGHT]
