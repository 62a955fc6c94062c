"""Compiled loops over hinges: each document, each knot, all features, in the order of memory."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from rankwright.machine.compile import summing_kernel

Floats = npt.NDArray[Any]


@summing_kernel
def add_hinge_products(z: Floats, knots: Floats, values: Floats, out: Floats) -> None:
    """out[k, j] += Σ_i values_i · max(0, z_ij − knots[k, j])."""
    for i in range(z.shape[0]):
        value = values[i]
        for k in range(knots.shape[0]):
            for j in range(z.shape[1]):
                out[k, j] += value * max(z[i, j] - knots[k, j], 0.0)


@summing_kernel
def add_hinge_moments(z: Floats, knots: Floats, sums: Floats, squares: Floats) -> None:
    """sums[k, j] += Σ_i h_ij and squares[k, j] += Σ_i h_ij² with the hinge h_ij = max(0, z_ij − knots[k, j])."""
    for i in range(z.shape[0]):
        for k in range(knots.shape[0]):
            for j in range(z.shape[1]):
                sums[k, j] += max(z[i, j] - knots[k, j], 0.0)
            for j in range(z.shape[1]):
                squares[k, j] += max(z[i, j] - knots[k, j], 0.0) ** 2
