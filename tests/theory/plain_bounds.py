"""What risk bounds are made of, written out plainly from their definitions: loops over queries, pairs and rankings."""

import math
from typing import NamedTuple

import numpy as np

import rankwright as rw
from rankwright.preparation.formula import Formula
from tests.losses.rankings import Rankings, ap_rankings, ndcg_rankings, position_weights


def linear_model(weights, intercept=0.0, names=None):
    """A linear ranker with these weights."""
    return rw.LinearModel.of(
        Formula(np.array(weights, float), intercept), feature_names=names, ranker="RankSVM", parameters={}, training={}
    )


class Query(NamedTuple):
    """One query: its rows of X, what its documents are worth, and their scores."""

    X: np.ndarray
    worth: np.ndarray
    scores: np.ndarray


def queries_of(X, worth, qid, weights):
    """In the order of first appearance."""
    rows = {}
    for row, name in enumerate(qid):
        rows.setdefault(name, []).append(row)
    X, worth = np.asarray(X, float), np.asarray(worth, float)
    return [Query(X[own], worth[own], X[own] @ np.asarray(weights, float)) for own in rows.values()]


def length(vector):
    return math.sqrt(math.fsum(float(number) ** 2 for number in vector))


def longest_document(queries):
    return max(length(x) for query in queries for x in query.X)


def n_pairs(query):
    return sum(a > b for a in query.worth for b in query.worth)


def n_levels(query):
    return len(set(query.worth))


def ranks(query):
    """1 = best; documents of equal worth share a rank, and no rank is left out."""
    levels = sorted(set(query.worth), reverse=True)
    return [levels.index(worth) + 1 for worth in query.worth]


def pairwise_hinge(query, scale=1.0):
    """ℓ_P of paper P, definition 1."""
    rank, m, total = ranks(query), n_levels(query), 0.0
    for i in range(len(rank)):
        for j in range(i):
            if rank[i] != rank[j]:
                sign = 1 if rank[i] < rank[j] else -1
                margin = abs(m / rank[i] - m / rank[j])
                total += max(0.0, margin - sign * scale * (query.scores[i] - query.scores[j]))
    return total


def pairs_in_wrong_order(query):
    """ℓ_0-1 of paper P, definition 2; pairs with equal scores count, too."""
    documents = list(zip(query.worth, query.scores, strict=True))
    return sum(better > worse and s <= t for better, s in documents for worse, t in documents)


def rankings_of(query, measure, weights):
    """All rankings of a query, or None if it has nothing to lose: for "map", or for NDCG with a cutoff."""
    if measure == "map":
        relevant = sum(query.worth >= 1)
        return ap_rankings(query.worth) if 0 < relevant < len(query.worth) else None
    k = int(measure.partition("@")[2])
    return ndcg_rankings(query.worth, k, position_weights(weights, k)) if max(query.worth) > 0 else None


class Constants(NamedTuple):
    """By enumeration: Λ, Λ₀, max_y ‖c(y) − c̄‖₁, and t − c̄."""

    farthest: float
    radius: float
    largest_sum: float
    target: np.ndarray


def constants_of(every: Rankings | None, m: int) -> Constants:
    if every is None:
        return Constants(0.0, 0.0, 0.0, np.zeros(m))
    target, centre = every.target(np.zeros(m), "convex"), every.coefficients.mean(axis=0)
    return Constants(
        max(length(c - target) for c in every.coefficients),
        max(length(c - centre) for c in every.coefficients),
        max(float(np.abs(c - centre).sum()) for c in every.coefficients),
        target - centre,
    )


def spread(query):
    """Σ_i ‖x_i − x̄‖²."""
    centre = [math.fsum(column) / len(query.X) for column in query.X.T]
    return math.fsum((x - c) ** 2 for row in query.X for x, c in zip(row, centre, strict=True))


def hinge(query, every, scale=1.0):
    return 0.0 if every is None else every.margin_rescaled(scale * query.scores, "convex")


def sum_of_hinges(query, every, scale=1.0):
    """ℓ_L of paper P, definition 3."""
    if every is None:
        return 0.0
    terms = (every.losses + every.heights(scale * query.scores, "convex"))[~every.is_ideal]
    return math.fsum(max(0.0, float(term)) for term in terms)


def sum_over_classes(query, every, scale=1.0):
    """The same with one hinge, the largest, for all rankings that have relevant documents at the same places."""
    if every is None:
        return 0.0
    best = {}
    terms = every.losses + every.heights(scale * query.scores, "convex")
    for order, term in zip(every.orders[~every.is_ideal], terms[~every.is_ideal], strict=True):
        places = tuple(query.worth[order] >= 1)
        best[places] = max(best.get(places, 0.0), float(term))
    return math.fsum(best.values())


def soft_hinge(query, every, n_ranks, temperature, scale=1.0):
    """T log Σ exp(…/T), one term for all rankings with the same grades at the ranks that count."""
    if every is None:
        return 0.0
    best = {}
    for order, term in zip(every.orders, every.losses + every.heights(scale * query.scores, "convex"), strict=True):
        grades = tuple(query.worth[order][:n_ranks])
        best[grades] = max(best.get(grades, -math.inf), float(term))
    highest = max(best.values())
    return highest + temperature * math.log(math.fsum(math.exp((t - highest) / temperature) for t in best.values()))


def share(k):
    """Of δ, for B = 2^k."""
    return 2 / 3 / ((abs(k) + 1) * (abs(k) + 2))


def least_power(size):
    """The least k with 2^k ≥ size."""
    k = -64
    while 2.0**k < size:
        k += 1
    return k
