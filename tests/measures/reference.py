"""Measures written out plainly, for lists of grades in ranked order: what the kernels are held against."""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

Grades = Sequence[float]


def exponential(grade: float) -> float:
    return 2.0**grade - 1


def linear(grade: float) -> float:
    return grade


def log2_discount(place: int) -> float:
    return 1 / math.log2(place + 1)


def letor_discount(place: int) -> float:
    return 1.0 if place <= 2 else 1 / math.log2(place)


def dcg(grades: Grades, k: int | None = None, gain=exponential, discount=log2_discount) -> float:
    return sum(gain(y) * discount(p) for p, y in enumerate(grades[:k], 1))


def ndcg(grades: Grades, k: int | None = None, gain=exponential, discount=log2_discount, empty: float = 0.0) -> float:
    best = dcg(sorted(grades, reverse=True), k, gain, discount)
    return dcg(grades, k, gain, discount) / best if best > 0 else empty


def mean_ndcg(grades: Grades, gain=exponential, discount=log2_discount) -> float:
    return sum(ndcg(grades, k, gain, discount) for k in range(1, len(grades) + 1)) / len(grades)


def precision(grades: Grades, k: int, level: float = 1, pad: bool = False) -> float:
    return sum(y >= level for y in grades[:k]) / (k if pad else min(k, len(grades)))


def recall(grades: Grades, k: int, level: float = 1) -> float:
    relevant = sum(y >= level for y in grades)
    return sum(y >= level for y in grades[:k]) / relevant if relevant else 0.0


def average_precision(grades: Grades, k: int | None = None, level: float = 1, reachable: bool = False) -> float:
    relevant = [y >= level for y in grades]
    if not any(relevant):
        return 0.0
    k = len(grades) if k is None else k
    total = sum(sum(relevant[:p]) / p for p in range(1, min(k, len(grades)) + 1) if relevant[p - 1])
    return total / (min(sum(relevant), k) if reachable else sum(relevant))


def reciprocal_rank(grades: Grades, k: int | None = None, level: float = 1) -> float:
    return next((1 / p for p, y in enumerate(grades[:k], 1) if y >= level), 0.0)


def err(grades: Grades, k: int | None = None, max_grade: float = 4) -> float:
    stop = [(2.0**y - 1) / 2.0**max_grade for y in grades]
    return sum(stop[p - 1] / p * math.prod(1 - r for r in stop[: p - 1]) for p in range(1, len(grades[:k]) + 1))


def _pairs(grades: Grades) -> Iterator[tuple[float, float]]:
    """Pairs (upper, lower) with different grades."""
    return ((a, b) for a, b in itertools.combinations(grades, 2) if a != b)


def pairwise_error(grades: Grades) -> float:
    pairs = list(_pairs(grades))
    return sum(a < b for a, b in pairs) / len(pairs) if pairs else math.nan


def disagreement(grades: Grades) -> float:
    return sum(b - a for a, b in _pairs(grades) if a < b)


def zero_one(grades: Grades) -> float:
    return float(any(a < b for a, b in itertools.combinations(grades, 2)))


def kendall(grades: Grades) -> float:
    pairs = list(_pairs(grades))
    everything = len(grades) * (len(grades) - 1) / 2
    return sum(1 if a > b else -1 for a, b in pairs) / math.sqrt(everything * len(pairs)) if pairs else math.nan


def orders(scores: Sequence[float], grades: Grades) -> list[list[float]]:
    """The grades along every order of the documents in which no score is below a smaller one."""
    return [
        [grades[i] for i in order]
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]


def over_orders(combine: Callable[[list[float]], float], measure, scores, grades) -> float:
    return combine([measure(order) for order in orders(scores, grades)])
