"""Compiled loops over trees: nodes put in order, columns made of features, and leaves added up."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel

_ZERO = float(np.float32(1e-35))
# As in trees.py, of which compiled loops cannot import names that are computed.
_NAN_IS_ZERO, _ZERO_LEFT, _ZERO_RIGHT, _NAN_LEFT = 0, 1, 2, 3

_SIDE_BY_SIDE = 8

# What `in_preorder` says of nodes that are no tree.
OUT_OF_RANGE, REACHED_TWICE = -1, -2


@kernel
def in_preorder(left: Any, right: Any, order: Any) -> int:
    """Put the nodes of a tree in order, each before its children and the left ones first; how many node 0 leads to.

    Leaves have children below 0. If the nodes are no tree, OUT_OF_RANGE or REACHED_TWICE.
    """
    n = len(left)
    is_reached = np.zeros(n, np.bool_)
    waiting = np.empty(n + 1, np.int64)
    waiting[0], n_waiting, n_reached = 0, 1, 0
    while n_waiting:
        n_waiting -= 1
        node = waiting[n_waiting]
        if is_reached[node]:
            return REACHED_TWICE
        is_reached[node] = True
        order[n_reached] = node
        n_reached += 1
        if left[node] < 0:
            continue
        if left[node] >= n or right[node] >= n or right[node] < 0:
            return OUT_OF_RANGE
        if n_waiting + 2 > n + 1:
            return REACHED_TWICE
        waiting[n_waiting] = right[node]
        waiting[n_waiting + 1] = left[node]
        n_waiting += 2
    return n_reached


@kernel
def depths(starts: Any, columns: Any, rights: Any) -> Any:
    """The most splits on the way to a leaf, of each tree."""
    deepest = np.zeros(len(starts) - 1, np.int64)
    depth = np.zeros(len(columns), np.int64)
    for tree in range(len(starts) - 1):
        for node in range(starts[tree], starts[tree + 1]):
            deepest[tree] = max(deepest[tree], depth[node])
            if columns[node] >= 0:
                depth[node + 1] = depth[rights[node]] = depth[node] + 1
    return deepest


@inlined_kernel
def _as_column(value: float, rule: int) -> float:
    """What nodes compare with their thresholds, for a value of a feature."""
    if rule == _NAN_IS_ZERO:
        return 0.0 if np.isnan(value) else value
    if rule <= _ZERO_RIGHT and np.abs(value) <= _ZERO:
        value = np.nan
    if np.isnan(value):
        return -np.inf if rule == _ZERO_LEFT or rule == _NAN_LEFT else np.inf
    return value


@kernel
def dense_columns(x: Any, first: int, last: int, features: Any, rules: Any) -> Any:
    """The columns of rows first … last − 1; all of a row are NaN if a feature is infinite. What X lacks is 0."""
    made = np.empty((last - first, len(features)))
    for i in range(last - first):
        is_finite = True
        for c in range(len(features)):
            value = float(x[first + i, features[c]]) if features[c] < x.shape[1] else 0.0
            is_finite &= not np.isinf(value)
            made[i, c] = _as_column(value, rules[c])
        if not is_finite:
            made[i] = np.nan
    return made


@kernel
def sparse_columns(csr: Any, first: int, last: int, features: Any, rules: Any, by_feature: Any, begins: Any) -> Any:
    """The same for CSR: data, indices and indptr; ``begins`` tells which columns ``by_feature`` are of a feature."""
    data, indices, indptr = csr
    of_zero = np.empty(len(features))
    for c in range(len(features)):
        of_zero[c] = _as_column(0.0, rules[c])
    made = np.empty((last - first, len(features)))
    for i in range(last - first):
        made[i] = of_zero
        is_finite = True
        for k in range(indptr[first + i], indptr[first + i + 1]):
            for place in range(begins[indices[k]], begins[indices[k] + 1]):
                c = by_feature[place]
                value = float(data[k])
                is_finite &= not np.isinf(value)
                made[i, c] = _as_column(value, rules[c])
        if not is_finite:
            made[i] = np.nan
    return made


@kernel
def add_leaves(rows: Any, starts: Any, walk: Any, values: Any, base: float, single: bool, out: Any) -> None:
    """Scores of some rows, tree by tree, so that a tree stays in the cache; NaN where columns are.

    ``walk`` has a column, a threshold and two children of every node; leaves are their own children. A few rows go down
    a tree side by side: while one of them waits for memory, the others go on.
    """
    columns, thresholds, children = walk
    nodes = np.empty(_SIDE_BY_SIDE, np.int64)
    out[:] = base
    for tree in range(len(starts) - 1):
        for first in range(0, len(rows), _SIDE_BY_SIDE):
            begin = min(first, max(len(rows) - _SIDE_BY_SIDE, 0))  # some rows of the last few go down twice
            nodes[:] = starts[tree]
            has_moved = 1
            while has_moved:
                has_moved = 0
                for k in range(_SIDE_BY_SIDE):
                    node, i = nodes[k], min(begin + k, len(rows) - 1)
                    following = children[2 * node + (rows[i, columns[node]] > thresholds[node])]
                    has_moved |= following ^ node
                    nodes[k] = following
            for i in range(first, min(first + _SIDE_BY_SIDE, len(rows))):
                out[i] += values[nodes[i - begin]]
                if single:
                    out[i] = np.float32(out[i])
    for i in range(len(rows)):
        if np.isnan(rows[i, 0]):
            out[i] = np.nan
