"""The position weights A that make a structured hinge of NDCG least, for given scores (paper L, section 6)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.losses.structured import NDCGLosses
from rankwright.types import Array

_GAP = 1e-4
_MOST_PLANES = 500
_MOST_RANKS = 50  # of more, hundreds of linear programmes take minutes


def learned_position_weights(losses: NDCGLosses, scores: npt.ArrayLike) -> Array:
    """The A that makes the sum of `losses` least for these scores, one for each row; see `lowest_position_weights`."""
    planes = PositionPlanes(losses, losses.grouped(scores, "score"))
    return lowest_position_weights(planes.at, losses.position_weights)


class PositionPlanes:
    """Σ_q ξ_q as a function of A, for given scores: planes that touch it from below. Those of several parts add up.

    ``scores`` stand query by query, as those who train have them.
    """

    def __init__(self, losses: NDCGLosses, scores: Array) -> None:
        if losses.rescale != "margin":
            raise ParameterError("position_weights='learned' works only with rescale='margin': change one of them")
        self._losses, self._scores = losses, scores
        self._targets = losses.target_scores(scores)

    def at(self, position_weights: Array) -> Array:
        """Slopes, then the offset: the value at A is slopesᵀA + offset."""
        return self._losses.with_position_weights(position_weights).plane(self._scores, self._targets)


def lowest_position_weights(plane_at: Callable[[Array], Array], start: Array) -> Array:
    """min Σ_q ξ_q(A) over all A that do not rise, are not negative, and keep A(1).

    For given scores ξ_q is a maximum of functions linear in A, so convex. (With targets by scores, too: then what is
    subtracted is linear where A does not rise.) A = Σ_j a_j [r ≤ j] with a ≥ 0 and Σ a_j = A(1), a simplex. The least
    value of the planes found so far, a linear programme, is a lower bound; the next plane is taken half-way between
    where they have it and the best A so far. It ends when the best is within 0.01 % of the bound, and is never worse
    than ``start``. A(1) is kept because scores twice as large with half of A give the same loss.

    ``plane_at`` gives what `PositionPlanes.at` does, added up over all queries.
    """
    if len(start) > _MOST_RANKS:
        raise ParameterError(f"position weights can be learned for at most {_MOST_RANKS} ranks: lower the cutoff")
    best, planes = start, [plane_at(start)]
    least = _value(planes[0], best)
    for _ in range(_MOST_PLANES):
        lowest, bound = _lowest(np.array(planes), best[0])
        if least - bound <= _GAP * least:
            break
        tried = (best + lowest) / 2
        planes.append(plane_at(tried))
        value = _value(planes[-1], tried)
        if value < least:
            best, least = tried, value
    return best


def _value(plane: Array, position_weights: Array) -> float:
    return float(plane[:-1] @ position_weights + plane[-1])


def _lowest(planes: Array, top: float) -> tuple[Array, float]:
    """Where the highest of the planes is lowest, and how low it is: a linear programme in a_1, …, a_n and its value."""
    from scipy.optimize import linprog  # takes long to load, and few need it

    slopes, offsets = planes[:, :-1], planes[:, -1]
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
