"""Structured learning with every constraint written out: all rankings of short lists, and an interior-point method."""

from typing import NamedTuple

import numpy as np

from tests.losses import rankings

SIZES = (5, 4, 1, 5, 3, 4, 2)
CENTER = np.array([0.5, -1.0, 2.0])

_MOST_STEPS = 200


def collection(seed=0, noise=1.5, sizes=SIZES, n=3):
    """Grades 0 … 3 that depend on two features and noise; rows stand anyhow, one query has one document."""
    rng = np.random.default_rng(seed)
    qid = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.standard_normal((len(qid), n))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + noise * rng.standard_normal(len(qid)) + 1), 0, 3)
    return X, y, qid


def ndcg(k, weights="linear"):
    """Every ranking of a list of grades, with Δ = 1 − NDCG@k; a query without a relevant document has no loss."""

    def every(grades):
        if not np.any(grades > 0):
            return _no_loss(len(grades))
        return rankings.ndcg_rankings(grades, k, rankings.position_weights(weights, k))

    return every


def average_precision(grades):
    """Every ranking with Δ = 1 − AP; a query without documents of both kinds has no loss."""
    return rankings.ap_rankings(grades) if 0 < np.sum(grades >= 1) < len(grades) else _no_loss(len(grades))


def _no_loss(m):
    return rankings.Rankings(np.arange(m)[None], np.zeros(1), np.zeros((1, m)), np.ones(1, bool))


class Optimum(NamedTuple):
    """The least of ½λ‖w − w₀‖² + Σ_q ξ_q, as a value at some weights and a bound that weak duality proves."""

    weights: np.ndarray
    value: float
    bound: float


class Programme:
    """Σ_q ω_q max_y Δ_q(y) + c_q(y)ᵀs − t_qᵀs with a constraint for every ranking y of every query."""

    def __init__(self, X, y, qid, rankings_of, sample_weight=None):
        ids = list(dict.fromkeys(np.asarray(qid).tolist()))
        rows = [np.flatnonzero(np.asarray(qid) == query) for query in ids]
        self._X = [np.asarray(X, float)[at] for at in rows]
        self._rankings = [rankings_of(np.asarray(y)[at]) for at in rows]
        self._weights = np.ones(len(ids)) if sample_weight is None else np.asarray(sample_weight, float)

    def losses(self, weights, bound="convex", rescale="margin"):
        """ξ_q of each query."""
        name = f"{rescale}_rescaled"
        of_query = zip(self._X, self._rankings, strict=True)
        return self._weights * [getattr(every, name)(x @ weights, bound) for x, every in of_query]

    def value(self, weights, alpha, center=None, bound="convex", rescale="margin"):
        """The objective."""
        away = weights if center is None else weights - center
        return 0.5 * alpha * away @ away + self.losses(weights, bound, rescale).sum()

    def convex_value(self, weights, alpha, center, targets_at):
        """The objective with the targets of the ranking by the scores of other weights: nowhere below the tight one."""
        b, v, query = self._planes(targets_at)
        highest = [np.max((b + v @ weights)[query == q]) for q in range(len(self._X))]
        return 0.5 * alpha * (weights - center) @ (weights - center) + sum(highest)

    def optimum(self, alpha, center=None, targets_at=None):
        """With ideal targets, or with those of the ranking by the scores of some weights."""
        b, v, query = self._planes(targets_at)
        center = np.zeros(v.shape[1]) if center is None else np.asarray(center, float)
        found = _interior_points(b + v @ center, v, query, alpha)
        return found._replace(weights=center + found.weights)

    def _planes(self, targets_at):
        """b and v of every ranking, and its query."""
        b, v, query = [], [], []
        for q, (x, every) in enumerate(zip(self._X, self._rankings, strict=True)):
            target = every.target(None, "convex") if targets_at is None else every.target(x @ targets_at, "tight")
            planes = self._weights[q] * np.column_stack((every.losses, (every.coefficients - target) @ x))
            planes = np.unique(planes, axis=0)
            b.append(planes[:, 0])
            v.append(planes[:, 1:])
            query += [q] * len(planes)
        return np.concatenate(b), np.vstack(v), np.array(query)


def _interior_points(b, v, query, alpha):
    """min ½λ‖w‖² + Σξ_q, ξ_q ≥ b_i + v_iᵀw, until the gap between primal and dual is 10⁻¹⁰ of the value."""
    n, n_queries = v.shape[1], int(query.max()) + 1
    member = np.equal.outer(query, np.arange(n_queries)).astype(float)
    G = np.column_stack((-v, member))  # G(w, ξ) ≥ b
    P, c = np.diag(np.repeat([alpha, 0.0], [n, n_queries])), np.repeat([0.0, 1.0], [n, n_queries])
    point, z = np.concatenate((np.zeros(n), np.full(n_queries, b.max() + 1))), 1 / (member @ member.sum(axis=0))
    for _ in range(_MOST_STEPS):
        weights = point[:n]
        highest = [np.max((b + v @ weights)[query == q]) for q in range(n_queries)]
        value = 0.5 * alpha * weights @ weights + sum(highest)
        duals = z / (member @ (member.T @ z))
        bound = duals @ b - np.sum((duals @ v) ** 2) / (2 * alpha)
        if value - bound <= 1e-10 * value + 1e-14:
            return Optimum(weights, value, bound)
        slack = G @ point - b
        wanted = 0.1 * (slack @ z) / len(z) / slack
        step = np.linalg.solve(P + (G.T * (z / slack)) @ G, G.T @ wanted - P @ point - c)
        change = wanted - z - z / slack * (G @ step)
        length = min(_longest(slack, G @ step), _longest(z, change))
        point, z = point + length * step, z + length * change
    raise AssertionError(f"the reference has not converged: {value} and {bound}")


def _longest(numbers, step):
    """The longest step, up to 1, that leaves the numbers above 0."""
    falls = step < 0
    return min(1.0, 0.99 * float(np.min(-numbers[falls] / step[falls], initial=np.inf)))
