"""Compiled loops for Shapley values of trees, and for what one feature alone does to a score."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

_DEEPEST = 250  # as building.py has it


@kernel
def edges_of(starts: Any, columns: Any, rights: Any, covers: Any, features: Any) -> Any:
    """Of every node but roots: its parent, the node above it that was last split off by the same feature, or −1.

    And the share of the training data that goes the way to it at all splits by that feature.
    """
    n = len(columns)
    parents, before, shares = np.full(n, -1), np.full(n, -1), np.ones(n)
    for tree in range(len(starts) - 1):
        for node in range(starts[tree], starts[tree + 1]):
            if columns[node] < 0:
                continue
            feature = features[columns[node]]
            same = node  # the nearest node from here up whose parent compares this feature
            while parents[same] >= 0 and features[columns[parents[same]]] != feature:
                same = parents[same]
            above = same if parents[same] >= 0 else -1
            for child in (node + 1, np.int64(rights[node])):
                parents[child], before[child] = node, above
                share = covers[child] / covers[node] if covers[node] > 0 else 0.5
                shares[child] = share * (shares[above] if above >= 0 else 1.0)
    return parents, before, shares


@kernel
def add_shapley_values(
    row: Any, trees: Any, edges: Any, places: Any, abscissas: Any, quadrature_weights: Any, kept: Any, out: Any
) -> None:
    """Add the Shapley values of one document's features to ``out``, where ``places`` tells the place of each column.

    A leaf counts for a set S of features as Π_{j ∈ S} o_j Π_{j ∉ S} z_j: o_j is whether the document goes its way at
    all splits by feature j, z_j the share of the training data that does. The mean over all orders of features is an
    integral over t, of a polynomial, (o_j − z_j) Π_{i ≠ j} (t o_i + (1 − t) z_i), which Gauss's rule gives exactly by
    as many points as half of the features on the way. So one way down multiplies, and one way up adds what the leaves
    below have, at each of the points.
    """
    starts, columns, thresholds, rights, values = trees
    parents, before, shares = edges
    passes, products = kept
    n_points = len(abscissas)
    for tree in range(len(starts) - 1):
        first, last = starts[tree], starts[tree + 1]
        passes[0] = 1.0
        for q in range(n_points):
            products[0, q] = 1.0
        for node in range(first, last):
            if columns[node] < 0:
                continue
            goes_left = row[columns[node]] <= thresholds[node]
            for child in (node + 1, np.int64(rights[node])):
                here, above = child - first, before[child]
                passes[here] = 1.0 if goes_left == (child == node + 1) else 0.0
                if above >= 0:
                    passes[here] *= passes[above - first]
                for q in range(n_points):
                    t = abscissas[q]
                    factor = t * passes[here] + (1 - t) * shares[child]
                    if above >= 0:
                        factor /= t * passes[above - first] + (1 - t) * shares[above]
                    products[here, q] = products[node - first, q] * factor
        for node in range(first, last):
            if columns[node] < 0:
                for q in range(n_points):
                    products[node - first, q] *= values[node]
            else:
                for q in range(n_points):
                    products[node - first, q] = 0.0
        for node in range(last - 1, first, -1):
            here, above, parent = node - first, before[node], parents[node]
            gain = 0.0
            for q in range(n_points):
                t = abscissas[q]
                slope = (passes[here] - shares[node]) / (t * passes[here] + (1 - t) * shares[node])
                if above >= 0:
                    slope -= (passes[above - first] - shares[above]) / (
                        t * passes[above - first] + (1 - t) * shares[above]
                    )
                gain += quadrature_weights[q] * slope * products[here, q]
                products[parent - first, q] += products[here, q]
            out[places[columns[parent]]] += gain


@kernel
def steps_of_feature(row: Any, trees: Any, is_own: Any, which: Any, edges: Any, jumps: Any) -> int:
    """Where the score changes, and by how much, when one feature goes from −∞ to ∞ and all others stay; how many steps.

    ``is_own`` tells which columns are of that feature, ``which`` trees compare it. A leaf that can be reached is
    reached by values within (low, high]: the score rises by its value at low, and falls by it at high.
    """
    starts, columns, thresholds, rights, values = trees
    waiting = np.empty(_DEEPEST + 1, np.int64)
    lows, highs = np.empty(len(waiting)), np.empty(len(waiting))
    n_steps = 0
    for tree in which:
        waiting[0], lows[0], highs[0], n_waiting = starts[tree], -np.inf, np.inf, 1
        while n_waiting:
            n_waiting -= 1
            node, low, high = waiting[n_waiting], lows[n_waiting], highs[n_waiting]
            while columns[node] >= 0:
                threshold = thresholds[node]
                if not is_own[columns[node]]:
                    node = node + 1 if row[columns[node]] <= threshold else rights[node]
                elif threshold <= low:
                    node = rights[node]
                elif threshold >= high:
                    node = node + 1
                else:
                    waiting[n_waiting], lows[n_waiting], highs[n_waiting] = rights[node], threshold, high
                    n_waiting += 1
                    node, high = node + 1, threshold
            if low > -np.inf:
                edges[n_steps], jumps[n_steps] = low, values[node]
                n_steps += 1
            if high < np.inf:
                edges[n_steps], jumps[n_steps] = high, -values[node]
                n_steps += 1
    return n_steps
