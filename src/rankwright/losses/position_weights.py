"""The position weights A that make a structured hinge of NDCG least, for given scores (paper L, section 6)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.losses.structured import NDCGLosses
from rankwright.machine.threads import sum_over_query_ranges
from rankwright.types import Array

_GAP = 1e-4
_MOST_PLANES = 500
_MOST_RANKS = 50  # of more, hundreds of linear programmes take minutes


def learned_position_weights(losses: NDCGLosses, scores: npt.ArrayLike) -> Array:
    """`lowest_position_weights` for scores in the order of the caller's rows."""
    return lowest_position_weights(losses, losses.grouped(scores, "score"))


def lowest_position_weights(losses: NDCGLosses, scores: Array) -> Array:
    """min Σ_q ξ_q(A) over all A that do not rise, are not negative, and keep A(1).

    For given scores ξ_q is a maximum of functions linear in A, so convex. (With targets by scores, too: then what is
    subtracted is linear where A does not rise.) A = Σ_j a_j [r ≤ j] with a ≥ 0 and Σ a_j = A(1), a simplex. The least
    value of the planes found so far, a linear programme, is a lower bound; the next plane is taken half-way between
    where they have it and the best A so far. It ends when the best is within 0.01 % of the bound, and is never worse
    than the A that `losses` has. A(1) is kept because scores twice as large with half of A give the same loss.

    ``scores`` stand query by query, as those who train have them.
    """
    if losses.rescale != "margin":
        raise ParameterError("position_weights='learned' works only with rescale='margin': change one of them")
    if len(losses.position_weights) > _MOST_RANKS:
        raise ParameterError(f"position weights can be learned for at most {_MOST_RANKS} ranks: lower the cutoff")
    planes = _Planes(losses, scores)
    best = losses.position_weights
    least, slopes, offset = planes.at(best)
    cuts, offsets = [slopes], [offset]
    for _ in range(_MOST_PLANES):
        lowest, bound = _lowest(np.array(cuts), np.array(offsets), best[0])
        if least - bound <= _GAP * least:
            break
        tried = (best + lowest) / 2
        value, slopes, offset = planes.at(tried)
        cuts.append(slopes)
        offsets.append(offset)
        if value < least:
            best, least = tried, value
    return best


class _Planes:
    """Σ_q ξ_q as a function of A: its value, and a plane that touches it from below."""

    def __init__(self, losses: NDCGLosses, scores: Array) -> None:
        self._losses, self._scores = losses, scores
        self._targets = losses.target_scores(scores)

    def at(self, position_weights: Array) -> tuple[float, Array, float]:
        """Value, slopes and offset: value = slopesᵀA + offset."""
        losses = self._losses.with_position_weights(position_weights)

        def add(first: int, last: int, out: Array) -> None:
            losses.add_plane(first, last, self._scores, self._targets, out)

        plane = sum_over_query_ranges(add, losses.offsets, (len(position_weights) + 1,))
        return float(plane[:-1] @ position_weights + plane[-1]), plane[:-1], float(plane[-1])


def _lowest(slopes: Array, offsets: Array, top: float) -> tuple[Array, float]:
    """Where the highest of the planes is lowest, and how low it is: a linear programme in a_1, …, a_n and its value."""
    from scipy.optimize import linprog  # takes long to load, and few need it

    n_planes, n = slopes.shape
    of_steps = np.cumsum(slopes, axis=1)  # A_r is the sum of a_r, a_{r+1}, …
    rows = np.column_stack((of_steps, -np.ones(n_planes)))
    found = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=rows,
        b_ub=-offsets,
        A_eq=np.append(np.ones(n), 0.0)[None],
        b_eq=[top],
        bounds=[*[(0.0, None)] * n, (0.0, None)],
        method="highs",
    )
    if found.x is None:  # numbers that no solver copes with: nothing is known then
        return np.full(n, top), -np.inf
    steps = np.maximum(found.x[:-1], 0.0)
    weights = np.cumsum(steps[::-1])[::-1]
    weights *= top / weights[0]
    weights[0] = top
    return weights, float(found.fun)
