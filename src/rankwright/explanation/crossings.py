"""Which thresholds to cross, so that stumps gain enough at the least cost: a knapsack, solved exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from rankwright.explanation.moves import Moves, Places
from rankwright.types import Array


class _Options(NamedTuple):
    """The moves of one feature that gain something, as numbers among all moves."""

    moves: Places
    gains: Array
    costs: Array


@dataclass(frozen=True, eq=False)
class _Layer:
    """What can be had from the features so far: of each state, the one it came from, and the move taken, or −1."""

    parents: Places
    moves: Places


def cheapest_crossings(moves: Moves, needed: float, spreads: Array) -> Moves:
    """min Σ (Δ_j / σ_j)² subject to Σ gains > needed, with at most one move of each feature; no moves if there is none.

    Feature by feature, of all sums of gains and costs only those are kept that no other beats in both, nor can
    exceed the best whole choice known. Features that gain most for their cost come first, so that few are kept.
    """
    features = _features(moves, moves.in_spreads(spreads) ** 2)
    rates = [float(_rates(options).max()) for options in features]
    rest = [max(rates[layer + 1 :], default=0.0) for layer in range(len(features))]
    least = _greedy_cost(features, needed)
    gains, costs = np.zeros(1), np.zeros(1)
    layers: list[_Layer] = []
    chosen: list[int] = []
    for options, rate in zip(features, rest, strict=True):
        more_gains = np.append(gains, gains[:, None] + options.gains)
        more_costs = np.append(costs, costs[:, None] + options.costs)
        parents = np.append(np.arange(len(gains)), np.repeat(np.arange(len(gains)), len(options.moves)))
        taken = np.append(np.full(len(gains), -1), np.tile(options.moves, len(gains)))
        enough = np.flatnonzero(more_gains > needed)
        if len(enough):
            best = enough[np.argmin(more_costs[enough])]
            if more_costs[best] <= least:
                least = float(more_costs[best])
                chosen = [int(taken[best]), *_history(layers, int(parents[best]))]
        kept = _worth_keeping(more_gains, more_costs, needed, rate, least)
        gains, costs = more_gains[kept], more_costs[kept]
        layers.append(_Layer(parents[kept], taken[kept]))
    return moves.take(np.array(sorted(chosen), np.intp))


def _features(moves: Moves, costs: Array) -> list[_Options]:
    """The moves of each feature; features that gain most for their cost come first."""
    useful = (moves.gains > 0) & np.isfinite(costs)
    features = []
    for place in np.unique(moves.places[useful]):
        own = np.flatnonzero(useful & (moves.places == place))
        features.append(_Options(own, moves.gains[own], costs[own]))
    return sorted(features, key=lambda options: -float(_rates(options).max()))


def _rates(options: _Options) -> Array:
    """Gain for cost; crossing a threshold that the feature stands on costs nothing."""
    with np.errstate(divide="ignore"):
        rates: Array = options.gains / options.costs
    return rates


def _greedy_cost(features: list[_Options], needed: float) -> float:
    """What it costs at most: the move of each feature that gains most for its cost, until that is enough."""
    gain = cost = 0.0
    for options in features:
        best = int(np.argmax(_rates(options)))
        gain, cost = gain + float(options.gains[best]), cost + float(options.costs[best])
        if gain > needed:
            return cost * (1 + 1e-12)
    return np.inf


def _worth_keeping(gains: Array, costs: Array, needed: float, rate: float, least: float) -> Places:
    """States from which a cheaper whole choice can be reached, and that no other state beats in gain and cost."""
    short = gains <= needed
    with np.errstate(divide="ignore", invalid="ignore"):
        to_come = np.where(needed - gains > 0, (needed - gains) / rate, 0.0)
    alive = np.flatnonzero(short & (costs + to_come <= least))
    by_cost = alive[np.lexsort((-gains[alive], costs[alive]))]
    record = np.maximum.accumulate(gains[by_cost])
    kept: Places = by_cost[np.append(True, record[1:] > record[:-1])[: len(by_cost)]]
    return kept


def _history(layers: list[_Layer], state: int) -> list[int]:
    """The moves that led to a state of the last layer."""
    moves = []
    for layer in reversed(layers):
        if layer.moves[state] >= 0:
            moves.append(int(layer.moves[state]))
        state = int(layer.parents[state])
    return moves
