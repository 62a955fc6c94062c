"""Distributions of which more is true: low noise (Duchi et al. 2010), order-preserving spaces (paper O, def. 5)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from math import prod
from typing import Any

import numpy as np

from rankwright.errors import ParameterError
from rankwright.judgments.supervision import FullRanking, PreferenceGraph
from rankwright.theory.consistency.laboratory import Laboratory
from rankwright.theory.consistency.orders import Order, all_orders, as_fraction, check_items


def expected_preferences(laboratory: Laboratory) -> list[list[Fraction]]:
    """x_ij = E[a_ij − a_ji] of preference graphs: by how much i is preferred to j."""
    n = laboratory.n_items
    x = [[Fraction(0)] * n for _ in range(n)]
    for share, graph in zip(laboratory.probabilities, laboratory.supervisions.members, strict=True):
        if not isinstance(graph, PreferenceGraph):
            raise ParameterError(f"low noise is a property of preference graphs, not of a {graph.kind}")
        for i, j, weight in zip(graph.preferred.tolist(), graph.other.tolist(), graph.weights.tolist(), strict=True):
            x[i][j] += share * as_fraction(weight)
            x[j][i] -= share * as_fraction(weight)
    return x


def is_low_noise(laboratory: Laboratory) -> bool:
    """x_ij ≥ x_ik + x_kj wherever x_ik > 0 and x_kj > 0 (Duchi et al. 2010, definition 8).

    Paper O prints the inequality for all i, j, k. As x_ij = −x_ji, that would say x_ij = x_ik + x_kj.
    """
    x = expected_preferences(laboratory)
    return all(
        x[i][j] >= x[i][k] + x[k][j]
        for i, j, k in permutations(range(laboratory.n_items), 3)
        if x[i][k] > 0 and x[k][j] > 0
    )


def ranking_probabilities(laboratory: Laboratory) -> dict[Order, Fraction]:
    """The probability of each order (items, best first) that full rankings have."""
    chances: dict[Order, Fraction] = {}
    for share, ranking in zip(laboratory.probabilities, laboratory.supervisions.members, strict=True):
        if not isinstance(ranking, FullRanking):
            raise ParameterError(f"a permutation probability space is made of full rankings, not of a {ranking.kind}")
        order = tuple(np.argsort(ranking.ranks).tolist())
        chances[order] = chances.get(order, Fraction(0)) + share
    return chances


def is_order_preserving(laboratory: Laboratory, i: int, j: int) -> bool:
    """Whether any order with i above j is likelier than with i and j exchanged, or both never happen (definition 5)."""
    chances = ranking_probabilities(laboratory)
    exchange = {i: j, j: i}
    for order in map(tuple, all_orders(laboratory.n_items).tolist()):
        if order.index(i) < order.index(j):
            chance, exchanged = (
                chances.get(other, Fraction(0)) for other in (order, tuple(exchange.get(item, item) for item in order))
            )
            if not (chance > exchanged or chance == exchanged == 0):
                return False
    return True


def order_preserving_chain(laboratory: Laboratory) -> Order | None:
    """An order (j₁, …, jₙ) such that the space is order-preserving with respect to (j₁, j₂), (j₂, j₃), …; or None."""
    n = laboratory.n_items
    holds = {(i, j) for i, j in permutations(range(n), 2) if is_order_preserving(laboratory, i, j)}
    orders = map(tuple, all_orders(n).tolist())
    return next((order for order in orders if all(pair in holds for pair in pairwise(order))), None)


def plackett_luce(weights: Sequence[Any]) -> Laboratory:
    """Full rankings drawn item by item, each in proportion to its weight among those that are left."""
    worth = [as_fraction(weight) for weight in weights]
    if min(worth, default=Fraction(0)) <= 0:
        raise ParameterError("weights must be above 0, one for each item")
    orders = _orders(len(worth))
    chances = [prod(worth[i] / sum(worth[j] for j in order[k:]) for k, i in enumerate(order)) for order in orders]
    return _rankings(orders, [Fraction(chance) for chance in chances])


def mallows(n_items: int, dispersion: Any) -> Laboratory:
    """Full rankings with probability ∝ dispersion^d, d = pairs that are not as in 1 ≻ 2 ≻ … ≻ n; 0 < dispersion < 1."""
    base = as_fraction(dispersion)
    if not 0 < base < 1:
        raise ParameterError(f"dispersion must be between 0 and 1, not {dispersion!r}")
    orders = _orders(n_items)
    worth = [base ** sum(upper > lower for upper, lower in combinations(order, 2)) for order in orders]
    total = sum(worth, Fraction(0))
    return _rankings(orders, [one / total for one in worth])


def _orders(n: int) -> list[Order]:
    return [tuple(order) for order in all_orders(check_items(n)).tolist()]


def _rankings(orders: list[Order], chances: list[Fraction]) -> Laboratory:
    return Laboratory([FullRanking(np.argsort(order) + 1) for order in orders], chances)
