"""Compiled loops of `rankwright.selection.pair_sums`: a small system of equations for each query.

Products of columns lie packed, the lower triangle of the selected ones row by row (s(s + 1)/2 numbers), and behind
them for each candidate a row more: its products with the selected ones, and with itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel

Floats = npt.NDArray[Any]


@kernel
def solve(
    held: Floats,
    held_target: Floats,
    rest: Floats,
    rest_target: Floats,
    norms: Floats,
    alpha: float,
    n_selected: int,
    first: int,
    last: int,
    errors: Floats,
    weights: Floats,
) -> None:
    """For queries first … last − 1: ridge regression on the rest, and its squared error on the query held out.

    Products of columns with each other and with the target are given of the query (``held``) and the others
    (``rest``). If there are candidates, errors[q, c] is that with candidate c added to the selected columns. If there
    are none, errors[q, 0] is that of the selected ones, and weights[q] are their weights.
    """
    n_candidates = held_target.shape[1] - n_selected
    lower = np.empty((n_selected + 1, n_selected + 1))
    pivots, turned, w = np.empty(n_selected + 1), np.empty(n_selected + 1), np.empty(n_selected + 1)
    for q in range(first, last):
        for i in range(n_selected):
            _add_row(rest[q], i * (i + 1) // 2, rest_target[q, i], alpha, i, lower, pivots, turned)
        if n_candidates == 0:
            _back_substitute(lower, pivots, turned, n_selected, w)
            errors[q, 0] = norms[q] + _change(held[q], 0, held_target[q], 0, n_selected, 0, w)
            weights[q] = w[:n_selected]
        for c in range(n_candidates):
            begin = n_selected * (n_selected + 1) // 2 + c * (n_selected + 1)
            _add_row(rest[q], begin, rest_target[q, n_selected + c], alpha, n_selected, lower, pivots, turned)
            _back_substitute(lower, pivots, turned, n_selected + 1, w)
            errors[q, c] = norms[q] + _change(held[q], begin, held_target[q], n_selected + c, n_selected, 1, w)


@kernel
def _add_row(
    products: Floats, begin: int, target: float, alpha: float, i: int, lower: Floats, pivots: Floats, turned: Floats
) -> None:
    """Row i of L in A = L D Lᵀ, and of L⁻¹r. No pivot is below λ but by rounding."""
    pivot, value = products[begin + i] + alpha, target
    for j in range(i):
        inner = products[begin + j]
        for l in range(j):
            inner -= lower[i, l] * pivots[l] * lower[j, l]
        lower[i, j] = inner / pivots[j]
        pivot -= lower[i, j] * inner
        value -= lower[i, j] * turned[j]
    pivots[i] = max(pivot, alpha)
    turned[i] = value


@kernel
def _back_substitute(lower: Floats, pivots: Floats, turned: Floats, size: int, w: Floats) -> None:
    """Solve L D Lᵀ w = r for w, given L⁻¹r."""
    for i in range(size - 1, -1, -1):
        w[i] = turned[i] / pivots[i]
        for l in range(i + 1, size):
            w[i] -= lower[l, i] * w[l]


@kernel
def _change(
    products: Floats, begin: int, target: Floats, place: int, n_selected: int, n_added: int, w: Floats
) -> float:
    """wᵀHw − 2hᵀw on the query held out, for the selected columns and perhaps one more behind them."""
    change = 0.0
    for i in range(n_selected + n_added):
        row = i * (i + 1) // 2 if i < n_selected else begin
        inner = products[row + i] * w[i] - 2 * target[i if i < n_selected else place]
        for j in range(i):
            inner += 2 * products[row + j] * w[j]
        change += w[i] * inner
    return change
