"""The algorithms of RLScore 0.8.1, whose releases do not build on Python 3.11, in NumPy.

The steps are RLScore's, the code is not. RankRLS and leave-query-out leave out what makes RLScore's own code slower:
loops over documents in Python and explicit inverses. Greedy least squares is here twice: `greedy_rls_plain` has its
lines as they were published, on arrays that lie as RLScore's do; `greedy_rls` is tuned as far as NumPy goes.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from benchmarks.algorithm1 import Floats, Selection

NAME = "RLScore's algorithm in NumPy"


@dataclass(frozen=True, eq=False)
class QueryRankRLS:
    """RankRLS decomposed once for all λ: X = USVᵀ, and (US)ᵀL(US) = EΛEᵀ with the per-query centring matrix L."""

    x: Floats
    y: Floats
    offsets: npt.NDArray[np.int64]
    left: Floats  # U
    singular: Floats  # S
    inner: Floats  # E
    eigenvalues: Floats  # Λ
    rows: Floats  # USE: the documents in the coordinates of Λ
    target: Floats  # (USE)ᵀLy


def decompose(x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], offsets: npt.NDArray[np.int64]) -> QueryRankRLS:
    """The thin SVD of X, the singular vectors centred by L = I − PPᵀ with a sparse P, and an eigendecomposition."""
    exact = np.asarray(x, dtype=np.float64)
    grades = np.asarray(y, dtype=np.float64)
    left, singular, _ = scipy.linalg.svd(exact, full_matrices=False, check_finite=False)
    scaled = left * singular
    sizes = np.diff(offsets)
    query_of_row = np.repeat(np.arange(len(sizes)), sizes)
    p = sp.csr_array((1 / np.sqrt(sizes[query_of_row]), query_of_row, np.arange(len(grades) + 1)))
    centred = scaled - p @ (p.T @ scaled)
    eigenvalues, inner = np.linalg.eigh(centred.T @ scaled)
    rows = scaled @ inner
    target = rows.T @ (grades - p @ (p.T @ grades))
    return QueryRankRLS(exact, grades, offsets, left, singular, inner, eigenvalues, rows, target)


def rankrls_weights(model: QueryRankRLS, alpha: float) -> Floats:
    """The weights w = Xᵀa by way of the dual variables a = US⁻¹E(Λ + λI)⁻¹(USE)ᵀLy."""
    dual = model.left @ ((model.inner @ (model.target / (model.eigenvalues + alpha))) / model.singular)
    weights: Floats = model.x.T @ dual
    return weights


def leave_query_out(model: QueryRankRLS, alpha: float) -> Floats:
    """The scores of each query by the ranker trained without it, by one hold-out solve for each query."""
    damped = model.eigenvalues + alpha
    scores = np.empty(len(model.y))
    for start, stop in pairwise(model.offsets.tolist()):
        rows, y = model.rows[start:stop], model.y[start:stop]
        centred = rows - rows.mean(axis=0)
        others = model.target - centred.T @ y
        if len(rows) <= len(damped):
            # Z (D − ẐᵀZ)⁻¹ = (I − Z D⁻¹ Ẑᵀ)⁻¹ Z D⁻¹
            held_out = np.linalg.solve(np.eye(len(rows)) - (rows / damped) @ centred.T, rows @ (others / damped))
        else:
            held_out = rows @ np.linalg.solve(np.diag(damped) - centred.T @ rows, others)
        scores[start:stop] = held_out
    return scores


def greedy_rls_plain(
    x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], alpha: float, n_features: int
) -> Selection:
    """Greedy regularised least squares by leave-one-out on documents (Pahikkala, Airola and Salakoski, 2010).

    With G = (X_SX_Sᵀ + λI)⁻¹ it keeps a = Gy, d = diag(G) and the cache matrix C = GX. Adding feature i makes
    a − u(xᵢᵀa) and d − u∘cᵢ of a and d, where u = cᵢ / (1 + xᵢᵀcᵢ), and the leave-one-out errors are a / d. There is
    no constant feature. C has a row per document, as in RLScore, so each candidate is read against the grain.
    """
    exact, grades = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    a, d, cache = grades / alpha, np.full(len(grades), 1 / alpha), exact / alpha
    features: list[int] = []
    criteria: list[float] = []

    def added(i: int) -> tuple[Floats, Floats, Floats]:
        """u, and a and d with the feature i added."""
        u = cache[:, i] / (1 + exact[:, i] @ cache[:, i])
        return u, a - u * (exact[:, i] @ a), d - u * cache[:, i]

    while len(features) < n_features:
        errors = np.full(exact.shape[1], np.inf)
        for i in range(exact.shape[1]):
            if i not in features:
                _, duals, diagonal = added(i)
                errors[i] = np.sum((duals / diagonal) ** 2)
        best = int(np.argmin(errors))
        u, a, d = added(best)
        cache = cache - np.outer(u, exact[:, best] @ cache)
        features.append(best)
        criteria.append(float(errors[best]))
    return Selection(features, criteria, exact[:, features].T @ a)


def greedy_rls(x: npt.NDArray[np.floating], y: npt.NDArray[np.floating], alpha: float, n_features: int) -> Selection:
    """What `greedy_rls_plain` does, with one contiguous row of X and C per feature, and without temporary arrays."""
    columns = np.ascontiguousarray(np.asarray(x, dtype=np.float64).T)
    return _greedy_rls(columns, np.asarray(y, dtype=np.float64), alpha, n_features)


def _greedy_rls(columns: Floats, y: Floats, alpha: float, n_features: int) -> Selection:
    a = y / alpha
    d = np.full_like(a, 1 / alpha)
    cache = columns / alpha
    duals, diagonal = np.empty_like(a), np.empty_like(a)
    features: list[int] = []
    criteria: list[float] = []

    def add(i: int) -> None:
        """Write a and d with the feature i added into ``duals`` and ``diagonal``."""
        shrink = 1 / (1 + columns[i] @ cache[i])
        np.subtract(a, np.multiply(cache[i], shrink * (columns[i] @ a), out=duals), out=duals)
        np.multiply(np.multiply(cache[i], cache[i], out=diagonal), shrink, out=diagonal)
        np.subtract(d, diagonal, out=diagonal)

    while len(features) < n_features:
        errors = np.full(len(columns), np.inf)
        for i in range(len(columns)):
            if i not in features:
                add(i)
                np.divide(duals, diagonal, out=duals)
                errors[i] = duals @ duals
        best = int(np.argmin(errors))
        add(best)
        a[:], d[:] = duals, diagonal
        u = cache[best] / (1 + columns[best] @ cache[best])
        for row, along in zip(cache, cache @ columns[best], strict=True):
            row -= np.multiply(u, along, out=duals)
        features.append(best)
        criteria.append(float(errors[best]))
    return Selection(features, criteria, columns[features] @ a)
