"""Losses written out plainly, pair by pair in a double loop: what the kernels are held against.

A loss is a list of pairs (i, j, weight, margin), one for every term weight · φ(s_i − s_j), where φ asks for the margin.
Where φ has a corner its derivative may be anything between the two sides; so may its second derivative where the first
has a corner. The derivatives here are therefore intervals, which are points away from corners.
"""

import math
from typing import NamedTuple

import numpy as np

EPSILON = np.finfo(np.float64).eps
H = 0.5  # half the width of the rounded corner of the Huber hinge


class Pair(NamedTuple):
    i: int
    j: int
    weight: float
    margin: float | None  # None: 1, as every hinge asks for; the logistic function log(1 + e^−t) asks for none
    size: float  # of the numbers whose difference the weight may be


def asked(margin, phi):
    return margin if margin is not None else (0.0 if phi == "logistic" else 1.0)


def rows_by_query(qid):
    """Rows of each query, queries in the order of first appearance."""
    rows = {}
    for row, query in enumerate(qid):
        rows.setdefault(query, []).append(row)
    return list(rows.values())


# Pairs, from the papers' formulas


def preorder_pairs(worth, qid, weights="unit", margin="unit", sample_weight=None):
    """Every i that is worth more than j. Paper O, eq. 5 and 14; margins c/ρ_i − c/ρ_j from paper P, definition 1."""
    pairs = []
    for q, rows in enumerate(rows_by_query(qid)):
        better = [(i, j) for i in rows for j in rows if worth[i] > worth[j]]
        levels = sorted({worth[i] for i in rows}, reverse=True)
        rho, c = {level: place for place, level in enumerate(levels, 1)}, len(levels)
        of_query = 1.0 if sample_weight is None else float(sample_weight[q])
        for i, j in better:
            weight = size = 1.0
            if weights == "per-query":
                weight = size = 1 / len(better)
            elif weights == "gain-per-query":
                weight = (2.0 ** worth[i] - 2.0 ** worth[j]) / len(better)
                size = 2.0 ** worth[i] / len(better)
            wanted = None if margin == "unit" else c / rho[worth[i]] - c / rho[worth[j]]
            pairs.append(Pair(i, j, weight * of_query, wanted, size * of_query))
    return pairs


def edge_pairs(edges, qid, weights="unit", sample_weight=None):
    """a_ij φ(s_i − s_j) for every edge (i, j, a_ij)."""
    pairs = []
    for q, rows in enumerate(rows_by_query(qid)):
        own = [edge for edge in edges if edge[0] in rows]
        factor = (1 / len(own) if weights == "per-query" and own else 1.0) * (
            1.0 if sample_weight is None else float(sample_weight[q])
        )
        pairs += [Pair(i, j, a * factor, None, a * factor) for i, j, a in own]
    return pairs


def order_preserving_pairs(r, qid, normalize=False, sample_weight=None):
    """Σ_i r_i Σ_j φ(s_i − s_j), j = i included; with ``normalize`` over m(m − 1). Paper O, eq. 6."""
    pairs = []
    for q, rows in enumerate(rows_by_query(qid)):
        m = len(rows)
        factor = 1 / (m * (m - 1)) if normalize and m > 1 else 1.0
        factor *= 1.0 if sample_weight is None else float(sample_weight[q])
        pairs += [Pair(i, j, r[i] * factor, None, r[i] * factor) for i in rows for j in rows]
    return pairs


# Standardised supervision, paper O, section 5


def dcg_r(grades, qid):
    return [2.0**y - 1 for y in grades]


def ndcg_r(grades, qid, cutoff=None):
    r = [0.0] * len(grades)
    for rows in rows_by_query(qid):
        best = sorted((grades[i] for i in rows), reverse=True)[:cutoff]
        ideal = math.fsum((2.0**y - 1) / math.log2(place + 1) for place, y in enumerate(best, 1))
        for i in rows:
            r[i] = (2.0 ** grades[i] - 1) / ideal if ideal > 0 else 0.0
    return r


def zero_one_r(ranks, qid):
    r = [0.0] * len(ranks)
    for rows in rows_by_query(qid):
        for i in rows:
            r[i] = float(sum(ranks[i] <= k for k in range(1, len(rows) + 1)))
    return r


def wpd_r(edges, qid):
    largest = max((a for _, _, a in edges), default=0.0)
    r = [0.0] * len(qid)
    for rows in rows_by_query(qid):
        for i in rows:
            won = math.fsum(a for winner, _, a in edges if winner == i)
            lost = math.fsum(a for _, loser, a in edges if loser == i)
            r[i] = len(rows) * largest + won - lost
    return r


# φ


def phi_value(phi, t, margin):
    if phi == "squared-hinge":
        return max(0.0, margin - t) ** 2
    if phi == "hinge":
        return max(0.0, margin - t)
    if phi == "huber-hinge":
        if t >= margin + H:
            return 0.0
        return margin - t if t <= margin - H else (margin + H - t) ** 2 / (4 * H)
    x = margin - t
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def phi_slope(phi, t, margin, blur):
    """φ', as an interval, where t may be off by ``blur``."""
    u = margin - t
    if phi == "squared-hinge":
        slope = -2 * max(0.0, u)
    elif phi == "hinge":
        if abs(u) <= blur:
            return -1.0, 0.0
        slope = -1.0 if u > 0 else 0.0
    elif phi == "huber-hinge":
        slope = 0.0 if u <= -H else (-1.0 if u >= H else -(u + H) / (2 * H))
    else:
        slope = -1 / (1 + math.exp(-u)) if u > -700 else 0.0
    return slope, slope


def phi_bend(phi, t, margin, blur):
    """φ'', as an interval."""
    u = margin - t
    if phi == "squared-hinge":
        corners, inside, bend = (0.0,), u > 0, 2.0
    elif phi == "huber-hinge":
        corners, inside, bend = (-H, H), -H < u < H, 1 / (2 * H)
    elif phi == "hinge":
        return 0.0, 0.0
    else:
        bend = math.exp(-abs(u)) / (1 + math.exp(-abs(u))) ** 2
        return bend, bend
    if any(abs(u - corner) <= blur for corner in corners):
        return 0.0, bend
    return (bend, bend) if inside else (0.0, 0.0)


class Reference(NamedTuple):
    """Values of queries; intervals of gradient and Hessian (rows × rows); and how large the summed terms are."""

    values: np.ndarray
    gradient: tuple[np.ndarray, np.ndarray]
    hessian: tuple[np.ndarray, np.ndarray]
    value_error: np.ndarray
    gradient_error: float
    hessian_error: float


def evaluate(pairs, phi, scores, qid):
    """The loss with its derivatives, and what rounding may do to them.

    Scores are only known to ``blur`` = 16 roundings of the largest score or margin: a common offset of 10⁶ hides
    the last six digits of every margin. So what is allowed is 10⁻¹³ of the largest pair term times the number of
    terms, plus ``blur`` times the next derivative. The logistic function is taken as 0 or as a straight line where
    |t| > 40: that is e⁻⁴⁰ at most.
    """
    queries = rows_by_query(qid)
    of_row = {row: q for q, rows in enumerate(queries) for row in rows}
    n = len(scores)
    largest = max([abs(float(s)) for s in scores] + [abs(asked(pair.margin, phi)) for pair in pairs] + [n])
    blur = 16 * EPSILON * largest
    values = [[] for _ in queries]
    value_error, slopes, bends, thirds, tails = [0.0] * len(queries), 0.0, 0.0, 0.0, 0.0
    largest_term = [0.0] * len(queries)
    tail = math.exp(-40) if phi == "logistic" else 0.0
    gradient, hessian = (np.zeros(n), np.zeros(n)), (np.zeros((n, n)), np.zeros((n, n)))
    for i, j, weight, margin, size in pairs:
        q, margin = of_row[i], asked(margin, phi)
        t = float(scores[i]) - float(scores[j])
        value, slope, bend = phi_value(phi, t, margin), phi_slope(phi, t, margin, blur), phi_bend(phi, t, margin, blur)
        values[q].append(weight * value)
        largest_term[q] = max(largest_term[q], size * value)
        value_error[q] += size * (blur * -slope[0] + tail)
        slopes, bends = max(slopes, size * -slope[0]), max(bends, size * bend[1])
        tails = max(tails, size * tail)
        thirds = max(
            thirds, size * (0.1 if phi == "logistic" else 0.0)
        )  # |φ'''| ≤ 1/6√3; others are quadratic in pieces
        if i == j:  # a constant
            continue
        for low in (0, 1):
            gradient[low][i] += weight * slope[low]
            gradient[low][j] -= weight * slope[1 - low]
            hessian[low][i, i] += weight * bend[low]
            hessian[low][j, j] += weight * bend[low]
            hessian[low][i, j] -= weight * bend[1 - low]
            hessian[low][j, i] -= weight * bend[1 - low]
    sizes = [len(terms) for terms in values]
    most = max([len(rows) for rows in queries])
    return Reference(
        np.array([math.fsum(terms) for terms in values]),
        gradient,
        hessian,
        np.array([e + 1e-13 * n * t for e, n, t in zip(value_error, sizes, largest_term, strict=True)]),
        most * (1e-13 * slopes + blur * bends + tails),
        most * (1e-13 * bends + blur * thirds + tails),
    )


def squared(r, qid, scores, normalize=False, sample_weight=None):
    """Σ_i (s_i − r_i)², over m with ``normalize``: values of queries, gradient, diagonal of the Hessian."""
    values, gradient, diagonal = [], np.zeros(len(scores)), np.zeros(len(scores))
    for q, rows in enumerate(rows_by_query(qid)):
        factor = (1 / len(rows) if normalize else 1.0) * (1.0 if sample_weight is None else float(sample_weight[q]))
        values.append(math.fsum(factor * (scores[i] - r[i]) ** 2 for i in rows))
        for i in rows:
            gradient[i], diagonal[i] = 2 * factor * (scores[i] - r[i]), 2 * factor
    return np.array(values), gradient, diagonal


# What linear rankers minimise, over explicit pairs: for solvers of others


class PairObjective:
    """½ λ‖w − w₀‖² + Σ weight · φ(wᵀ(x_i − x_j)), from a matrix with a row for each pair."""

    def __init__(self, X, pairs, phi, alpha, center=None):
        X = np.asarray(X, dtype=np.float64)
        self.D = np.array([X[pair.i] - X[pair.j] for pair in pairs]).reshape(len(pairs), X.shape[1])
        self.c = np.array([pair.weight for pair in pairs])
        self.m = np.array([asked(pair.margin, phi) for pair in pairs])
        self.phi, self.alpha = phi, alpha
        self.center = np.zeros(X.shape[1]) if center is None else np.asarray(center)

    def value(self, w):
        u = self.m - self.D @ w
        if self.phi == "squared-hinge":
            terms = np.maximum(u, 0) ** 2
        elif self.phi == "hinge":
            terms = np.maximum(u, 0)
        elif self.phi == "huber-hinge":
            terms = np.where(u <= -H, 0, np.where(u >= H, u, (u + H) ** 2 / (4 * H)))
        else:
            terms = np.logaddexp(0, u)
        return 0.5 * self.alpha * float((w - self.center) @ (w - self.center)) + float(self.c @ terms)

    def gradient(self, w):
        u = self.m - self.D @ w
        if self.phi == "squared-hinge":
            slopes = -2 * np.maximum(u, 0)
        elif self.phi == "huber-hinge":
            slopes = -np.clip((u + H) / (2 * H), 0, 1)
        elif self.phi == "hinge":
            slopes = -(u > 0).astype(float)
        else:
            slopes = -np.exp(-np.logaddexp(0, -u))
        return self.alpha * (w - self.center) + self.D.T @ (self.c * slopes)

    def hessian(self, w):
        u = self.m - self.D @ w
        if self.phi == "squared-hinge":
            bends = 2.0 * (u > 0)
        elif self.phi == "huber-hinge":
            bends = (np.abs(u) < H) / (2 * H)
        else:
            bends = np.exp(-np.abs(u)) / (1 + np.exp(-np.abs(u))) ** 2
        return self.alpha * np.eye(self.D.shape[1]) + self.D.T @ ((self.c * bends)[:, None] * self.D)

    def minimum(self, start=None):
        """The least value that SciPy finds, first by L-BFGS, then by its trust-region Newton."""
        from scipy.optimize import minimize

        w = np.array(self.center if start is None else start, dtype=float)
        options = {"maxiter": 5000, "maxfun": 50000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
        w = minimize(self.value, w, jac=self.gradient, method="L-BFGS-B", options=options).x
        polished = minimize(
            self.value, w, jac=self.gradient, hess=self.hessian, method="trust-exact", options={"gtol": 1e-9}
        ).x
        return min((w, polished), key=self.value)
