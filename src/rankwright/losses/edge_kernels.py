"""Compiled sums over the edges of preference graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.losses.logistic_kernels import CURVATURE, SLOPE, VALUE, logistic
from rankwright.machine.compile import kernel


@kernel
def evaluate(first: int, last: int, scores: Any, edges: Any, weights: Any, phi: Any, point: Any, bends: Any) -> None:
    """Value, gradient and diagonal of the Hessian of queries first … last − 1, and φ'' of each edge.

    ``edges`` are their better and worse documents, where documents of queries begin, and where their edges do.
    """
    better, worse, offsets, first_edge = edges
    values, pulls, gradient, diagonal = point
    top, width, curvature, slope, offset = phi
    for q in range(first, last):
        values[q] = pulls[q] = 0
        gradient[offsets[q] : offsets[q + 1]] = 0
        diagonal[offsets[q] : offsets[q + 1]] = 0
        for e in range(first_edge[q], first_edge[q + 1]):
            i, j, weight = better[e], worse[e], weights[e]
            margin = scores[i] - scores[j]
            u = top - margin
            if np.isnan(curvature):
                value, pull, bend = logistic(-margin, VALUE), logistic(-margin, SLOPE), logistic(-margin, CURVATURE)
            elif u <= 0:
                value = pull = bend = 0.0
            elif u <= width:
                value, pull, bend = curvature * u * u, 2 * curvature * u, 2 * curvature
            else:
                value, pull, bend = slope * u + offset, slope, 0.0
            values[q] += weight * value
            pulls[q] += weight * pull
            gradient[i] -= weight * pull
            gradient[j] += weight * pull
            diagonal[i] += weight * bend
            diagonal[j] += weight * bend
            bends[e] = weight * bend


@kernel
def curve(first: int, last: int, direction: Any, edges: Any, bends: Any, out: Any) -> None:
    """The Hessian of queries first … last − 1 times ``direction``."""
    better, worse, offsets, first_edge = edges
    for q in range(first, last):
        out[offsets[q] : offsets[q + 1]] = 0
        for e in range(first_edge[q], first_edge[q + 1]):
            i, j = better[e], worse[e]
            term = bends[e] * (direction[i] - direction[j])
            out[i] += term
            out[j] -= term
