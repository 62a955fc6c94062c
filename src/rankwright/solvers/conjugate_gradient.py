"""(M + λ_l I)x_l = b for all λ_l at once, by conjugate gradients that look at M through one product per iteration.

The Krylov spaces of M + λI are the same for every λ, so the smallest λ drives the iteration and the others follow by
scalar recurrences (Frommer & Maaß 1999; Jegerlehner 1996): a whole λ path costs as many passes as its hardest λ.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rankwright.types import Array

_TOLERANCE = 1e-12
_ROUNDS = 8  # restarts from the true residual, which rounding lets the recurrences drift away from


def shifted_conjugate_gradients(
    times: Callable[[Array], Array], right: Array, alphas: Array, *, most_products: int = 5000
) -> tuple[Array, Array]:
    """Solutions (one column per λ) and their relative residual norms, computed afresh at the end.

    ``times`` takes the columns of a matrix all at once.
    """
    solutions, norm = np.zeros((len(right), len(alphas))), float(np.linalg.norm(right))
    if norm == 0:
        return solutions, np.zeros(len(alphas))
    _solve_together(times, right, alphas, solutions, norm, most_products)
    residuals = right[:, None] - times(solutions) - solutions * alphas  # of all λ by one product
    sizes: Array = np.linalg.norm(residuals, axis=0) / norm
    for l in np.flatnonzero(~(sizes <= 10 * _TOLERANCE)):
        start = residuals[:, l], float(sizes[l])
        sizes[l] = _polish(times, right, float(alphas[l]), solutions[:, l], start, norm, most_products)
    return solutions, sizes


def _solve_together(
    times: Callable[[Array], Array], right: Array, alphas: Array, solutions: Array, norm: float, most: int
) -> None:
    """The recurrences of multi-shift conjugate gradients; a λ that has converged is left alone."""
    base = float(alphas.min())
    shifts = alphas - base
    residual, direction = right.copy(), right.copy()
    directions = np.repeat(right[:, None], len(alphas), axis=1)
    ratio, previous_ratio = np.ones(len(alphas)), np.ones(len(alphas))  # ζ_k and ζ_{k−1}: residual_λ = ζ · residual
    step, growth, squared = 1.0, 0.0, float(residual @ residual)
    active = np.ones(len(alphas), bool)
    for _ in range(most):
        active &= np.abs(ratio) * np.sqrt(squared) > _TOLERANCE * norm  # one that has converged never comes back
        if not active.any():
            return
        product = times(direction[:, None])[:, 0] + base * direction
        previous_step, step = step, squared / float(direction @ product)
        denominator = step * growth * (previous_ratio - ratio) + previous_ratio * previous_step * (1 + step * shifts)
        next_ratio = np.where(active, ratio * previous_ratio * previous_step / denominator, ratio)
        solutions[:, active] += directions[:, active] * (step * next_ratio / ratio)[active]
        residual -= step * product
        new_squared = float(residual @ residual)
        growth = new_squared / squared
        factor = growth * (next_ratio / ratio) ** 2
        directions[:, active] = residual[:, None] * next_ratio[active] + directions[:, active] * factor[active]
        direction = residual + growth * direction
        previous_ratio, ratio, squared = np.where(active, ratio, previous_ratio), next_ratio, new_squared


def _polish(
    times: Callable[[Array], Array],
    right: Array,
    alpha: float,
    solution: Array,
    start: tuple[Array, float],
    norm: float,
    most: int,
) -> float:
    """Conjugate gradients on the true residual as long as that makes it smaller; changes ``solution`` in place.

    ``start`` is the residual of the solution as given, and its relative norm.
    """

    def residual_of(x: Array) -> tuple[Array, float]:
        residual = right - times(x[:, None])[:, 0] - alpha * x
        return residual, float(np.linalg.norm(residual)) / norm

    residual, size = start
    for _ in range(_ROUNDS):
        if size <= 10 * _TOLERANCE:
            break
        correction = np.zeros((len(right), 1))
        _solve_together(times, residual, np.array([alpha]), correction, norm, most)
        better, new_size = residual_of(solution + correction[:, 0])
        if not new_size < size / 2:
            break
        solution += correction[:, 0]
        residual, size = better, new_size
    return size
