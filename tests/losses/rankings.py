"""Every ranking of a short list with its loss Δ and its coefficients c, written out plainly: what structured losses are
maxima and sums over."""

import itertools
from typing import NamedTuple

import numpy as np

from tests.measures import reference as measures


class Rankings(NamedTuple):
    """One row for each order of the documents; ``is_ideal`` where no grade rises along it."""

    orders: np.ndarray
    losses: np.ndarray
    coefficients: np.ndarray
    is_ideal: np.ndarray

    def target(self, scores, bound):
        """c of the ideal rankings, on average, or of the ranking by scores."""
        if bound == "convex":
            return self.coefficients[self.is_ideal].mean(axis=0)
        return self.coefficients[np.argmax(self.coefficients @ scores)]

    def heights(self, scores, bound):
        """c(y)ᵀs − tᵀs of every ranking y."""
        return self.coefficients @ scores - self.target(scores, bound) @ scores

    def margin_rescaled(self, scores, bound):
        return float((self.losses + self.heights(scores, bound)).max())

    def slack_rescaled(self, scores, bound):
        return float((self.losses * (1 + self.heights(scores, bound))).max())

    def losses_by_scores(self, scores):
        """Δ of each order in which the scores do not rise."""
        along = scores[self.orders]
        return self.losses[(np.diff(along, axis=1) <= 0).all(axis=1)]


def position_weights(name, k, discount=measures.log2_discount):
    """A(1), …, A(k) by name, or as given."""
    rules = {"linear": lambda r: k + 1 - r, "inverse-sqrt": lambda r: r**-0.5, "discount": discount}
    return np.array([rules[name](r) for r in range(1, k + 1)] if isinstance(name, str) else name, float)


def ndcg_rankings(grades, k, weights, gain=measures.exponential, discount=measures.log2_discount):
    """Δ = 1 − NDCG@k and c(y)_i = A(y_i)."""
    rows = []
    for order in itertools.permutations(range(len(grades))):
        along = [grades[i] for i in order]
        coefficients = np.zeros(len(grades))
        for weight, document in zip(weights, order, strict=False):
            coefficients[document] = weight
        rows.append((order, 1 - measures.ndcg(along, k, gain, discount, empty=1.0), coefficients, _falls(along)))
    return Rankings(*map(np.array, zip(*rows, strict=True)))


def ap_rankings(grades, level=1):
    """Δ = 1 − AP and c of the pairs of a relevant and another document."""
    relevant = [i for i, grade in enumerate(grades) if grade >= level]
    others = [i for i, grade in enumerate(grades) if grade < level]
    rows = []
    for order in itertools.permutations(range(len(grades))):
        coefficients = np.zeros(len(grades))
        for i, j in itertools.product(relevant, others):
            sign = 1 if order.index(i) < order.index(j) else -1
            coefficients[i] += sign / (len(relevant) * len(others))
            coefficients[j] -= sign / (len(relevant) * len(others))
        along = [grades[i] >= level for i in order]
        loss = 1 - measures.average_precision([grades[i] for i in order], level=level)
        rows.append((order, loss, coefficients, _falls(along)))
    return Rankings(*map(np.array, zip(*rows, strict=True)))


def _falls(along):
    return all(a >= b for a, b in itertools.pairwise(along))


def some_scores(rng, m):
    """Scores of any size, now and then with ties."""
    if rng.random() < 0.35:
        return rng.integers(-2, 3, m) * rng.choice([0.05, 0.5])
    return rng.standard_normal(m) * rng.choice([0.01, 0.1, 0.5, 2.0, 10.0])
