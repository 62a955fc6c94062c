"""Compiled loops that score documents by sums of stumps."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel


@kernel
def _add_stumps(row: Any, columns: Any, thresholds: Any, weights: Any) -> float:
    """Σ_t weight_t [x > threshold_t], in the order of the rounds; NaN if a feature is not finite."""
    for value in row:
        if not np.isfinite(value):
            return np.nan
    score = 0.0
    for t in range(len(columns)):
        score += weights[t] if row[columns[t]] > thresholds[t] else 0.0
    return score


@kernel
def dense_stump_scores(
    x: Any, used: Any, columns: Any, thresholds: Any, weights: Any, first: int, last: int, out: Any
) -> None:
    """Scores of rows first … last − 1. ``columns`` count among the ``used`` features; those that X lacks are 0."""
    row = np.zeros(len(used))
    for i in range(first, last):
        for k in range(len(used)):
            if used[k] < x.shape[1]:
                row[k] = x[i, used[k]]
        out[i] = _add_stumps(row, columns, thresholds, weights)


@kernel
def sparse_stump_scores(
    csr: Any, place: Any, n_used: int, columns: Any, thresholds: Any, weights: Any, first: int, last: int, out: Any
) -> None:
    """The same for CSR: data, indices and indptr; ``place`` of a feature among those used, −1 for others."""
    data, indices, indptr = csr
    row = np.zeros(n_used)
    for i in range(first, last):
        for k in range(indptr[i], indptr[i + 1]):
            if place[indices[k]] >= 0:
                row[place[indices[k]]] = data[k]
        out[i] = _add_stumps(row, columns, thresholds, weights)
        for k in range(indptr[i], indptr[i + 1]):
            if place[indices[k]] >= 0:
                row[place[indices[k]]] = 0
