"""Algorithm 1 of paper G in NumPy: greedy RankRLS with the caches C = GX̂ᵀ and U = QGX̂ᵀ, two m × n matrices.

Twice: `as_printed` has the lines of the paper with their loops over candidates and queries; `greedy_rankrls` is tuned
as far as NumPy goes. There the caches are kept with one contiguous row per feature, and candidates are tried one after
another: on whole matrices the same lines take three to six times as long, as every temporary array then falls out of
the processor's cache. Over documents and queries there is no loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Selection:
    """The features in order of selection, the criterion after each, and the weights of all of them at the end."""

    features: list[int]
    criteria: list[float]
    weights: Floats


def centred(values: npt.NDArray[np.floating], offsets: npt.NDArray[np.int64]) -> Floats:
    """L · values: every query's rows minus their mean, in float64 (paper G, above eq. 4)."""
    exact = np.asarray(values, dtype=np.float64)
    sizes = np.diff(offsets)
    means = (np.add.reduceat(exact, offsets[:-1], axis=0).T / sizes).T
    return exact - np.repeat(means, sizes, axis=0)


def as_printed(
    x: npt.NDArray[np.floating],
    y: npt.NDArray[np.floating],
    offsets: npt.NDArray[np.int64],
    alpha: float,
    n_features: int,
) -> Selection:
    """Paper G, algorithm 1, line by line: ``foreach`` candidate and ``foreach`` query are Python loops."""
    x_hat, y_hat = np.ascontiguousarray(centred(x, offsets).T), centred(y, offsets)
    queries = [slice(*bounds) for bounds in pairwise(offsets.tolist())]
    a, p = y_hat / alpha, y_hat.copy()  # lines 1 and 4
    c_, u_ = x_hat.T / alpha, x_hat.T.copy()  # lines 2 and 3
    features: list[int] = []
    criteria: list[float] = []
    while len(features) < n_features:  # line 6
        errors = np.full(len(x_hat), np.inf)
        for i in range(len(x_hat)):  # line 9
            if i not in features:
                errors[i] = sum(e @ e for _, e in _printed_errors(x_hat, y_hat, queries, a, p, c_, u_, i))
        b = int(np.argmin(errors))
        inverse_c = 1 + x_hat[b] @ c_[:, b]  # line 20
        d = (c_[:, b] @ y_hat) / inverse_c  # line 21
        t = (x_hat[b] @ c_) / inverse_c  # line 22
        new_p = np.empty_like(p)
        for q, error in _printed_errors(x_hat, y_hat, queries, a, p, c_, u_, b):  # lines 23–26
            new_p[q] = error
            u_b, c_b = u_[q, b].copy(), c_[q, b]
            gamma = 1 / (c_b @ u_b - inverse_c)
            u_[q] -= np.outer(u_b, t + gamma * (u_b @ (c_[q] - np.outer(c_b, t))))
        p, a = new_p, a - d * c_[:, b]  # line 27
        c_ -= np.outer(c_[:, b], t)  # line 28
        features.append(b)
        criteria.append(float(errors[b]))
    return Selection(features, criteria, x_hat[features] @ a)  # line 30


def _printed_errors(
    x_hat: Floats,
    y_hat: Floats,
    queries: list[slice],
    a: Floats,
    p: Floats,
    c_: Floats,
    u_: Floats,
    i: int,
) -> Iterator[tuple[slice, Floats]]:
    """Lines 10–15: p̃_Q with the feature i added, query by query."""
    inverse_c = 1 + x_hat[i] @ c_[:, i]
    d = (c_[:, i] @ y_hat) / inverse_c
    for q in queries:  # line 13
        u, c = u_[q, i], c_[q, i]
        gamma = 1 / (c @ u - inverse_c)
        yield q, p[q] - d * u - gamma * u * (u @ (a[q] - d * c))


def greedy_rankrls(
    x: npt.NDArray[np.floating],
    y: npt.NDArray[np.floating],
    offsets: npt.NDArray[np.int64],
    alpha: float,
    n_features: int,
) -> Selection:
    """Paper G, algorithm 1, where λ is ``alpha``, k is ``n_features`` and query q has the rows offsets[q : q + 2].

    The line numbers are the paper's; line 26, lost in print, is
    U_Q ← U_Q − U_{Q,b} t − γ U_{Q,b} (U_{Q,b}ᵀ (C_Q − C_{Q,b} t)).
    """
    x_hat = np.ascontiguousarray(centred(x, offsets).T)
    state = _State(x_hat, centred(y, offsets), offsets, alpha)
    features: list[int] = []
    criteria: list[float] = []
    while len(features) < n_features:  # line 6
        errors = np.full(len(x_hat), np.inf)
        for i in range(len(x_hat)):  # line 9
            if i not in features:
                errors[i] = state.error_with(i)
        best = int(np.argmin(errors))  # lines 17–19
        state.select(best)
        features.append(best)
        criteria.append(float(errors[best]))
    return Selection(features, criteria, x_hat[features] @ state.a)  # line 30


class _State:
    """a, C, U and p of algorithm 1, for the features selected so far."""

    def __init__(self, x_hat: Floats, y_hat: Floats, offsets: npt.NDArray[np.int64], alpha: float) -> None:
        self.x_hat, self.y_hat = x_hat, y_hat
        self.starts, self.sizes = offsets[:-1], np.diff(offsets)
        self.a = y_hat / alpha  # line 1
        self.C = x_hat / alpha  # line 2, transposed
        self.U = x_hat.copy()  # line 3, transposed
        self.p = y_hat.copy()  # line 4
        self.product = np.empty_like(y_hat)

    def error_with(self, i: int) -> float:
        """Lines 10–16: eᵢ, the sum of the squared leave-query-out errors with the feature i added."""
        p = self._p_with(i)
        return float(p @ p)

    def select(self, b: int) -> None:
        """Lines 20–28: add the feature b."""
        inverse_c = 1 + self.x_hat[b] @ self.C[b]
        d = (self.C[b] @ self.y_hat) / inverse_c
        t = (self.C @ self.x_hat[b]) / inverse_c
        u, c = self.U[b].copy(), self.C[b].copy()
        u_c = self._query_sums(u, c)
        gamma = 1 / (u_c - inverse_c)
        self.p = self._p_with(b)
        for j in range(len(self.C)):
            inner = self._query_sums(u, self.C[j]) - u_c * t[j]
            self.U[j] -= np.multiply(u, np.repeat(t[j] + gamma * inner, self.sizes), out=self.product)
            self.C[j] -= np.multiply(c, t[j], out=self.product)
        self.a = self.a - d * c

    def _p_with(self, i: int) -> Floats:
        """Lines 14 and 15 for all queries: p̃_Q = p_Q − U_{Q,i} (d + γ (U_{Q,i}ᵀ (a_Q − d C_{Q,i})))."""
        inverse_c = 1 + self.x_hat[i] @ self.C[i]
        d = (self.C[i] @ self.y_hat) / inverse_c
        u = self.U[i]
        u_c = self._query_sums(u, self.C[i])
        gamma = 1 / (u_c - inverse_c)
        along_u: Floats = np.repeat(d + gamma * (self._query_sums(u, self.a) - d * u_c), self.sizes)
        along_u *= u
        return np.subtract(self.p, along_u, out=along_u)

    def _query_sums(self, left: Floats, right: Floats) -> Floats:
        """left_Qᵀ right_Q of each query."""
        sums: Floats = np.add.reduceat(np.multiply(left, right, out=self.product), self.starts)
        return sums
