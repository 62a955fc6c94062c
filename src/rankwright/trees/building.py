"""Nodes as a library writes them, checked, and put in order as `Trees`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.trees import kernels
from rankwright.trees.trees import Trees
from rankwright.types import Array

# What no library makes, and what those who write trees as nested expressions could not nest.
DEEPEST = 250
_MOST_NODES = 2**27

Integers = npt.NDArray[np.int64]


class RawTree(NamedTuple):
    """The nodes of one tree in any order; the first is its root, and leaves have left children below 0.

    ``dropped`` nodes are in the list, but not in the tree.
    """

    features: Integers
    thresholds: Array
    rules: Integers
    left: Integers
    right: Integers
    values: Array
    covers: Array
    dropped: int = 0


def wrong(problem: str) -> NoReturn:
    """Refuse trees."""
    raise ParameterError(f"trees: {problem}")


def trees_of(raw: Sequence[RawTree], n_features: int, *, base: float, single: bool) -> Trees:
    """The trees with these nodes; a :class:`ParameterError` names the tree that is wrong, counted from 1."""
    if sum(len(tree.left) for tree in raw) > _MOST_NODES:
        wrong(f"there are more than {_MOST_NODES:,} nodes")
    ordered = [_ordered(tree, n_features, f"tree {number}") for number, tree in enumerate(raw, start=1)]
    sizes = [len(tree.left) for tree in ordered]
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
    features, thresholds, rules, _, right, values, covers = (
        np.concatenate([np.zeros(0), *(tree[field] for tree in ordered)]) for field in range(7)
    )
    splits = right >= 0
    pairs, of_node = np.unique(np.stack([features[splits], rules[splits]]), axis=1, return_inverse=True)
    columns = np.full(len(splits), -1, np.int32)
    columns[splits] = of_node
    trees = Trees(
        starts=starts,
        columns=columns,
        thresholds=thresholds,
        rights=np.where(splits, right + np.repeat(starts[:-1], sizes), 0).astype(np.int32),
        values=values,
        covers=covers,
        features=pairs[0].astype(np.intp),
        rules=pairs[1].astype(np.int8),
        base=base,
        single=single,
    )
    if trees.depth > DEEPEST:
        wrong(f"a tree is {trees.depth:,} splits deep, but at most {DEEPEST} are allowed: train with a limit of depth")
    return trees


def _ordered(tree: RawTree, n_features: int, what: str) -> RawTree:
    """The nodes in preorder, right children numbered anew."""
    _check_sizes(tree, what)
    order = np.empty(len(tree.left), np.int64)
    reached = int(kernels.in_preorder(tree.left, tree.right, order))
    if reached == kernels.OUT_OF_RANGE:
        wrong(f"{what}: a child of a node is not among its {len(tree.left):,} nodes")
    if reached == kernels.REACHED_TWICE:
        wrong(f"{what}: a node is the child of two nodes, or of itself")
    if reached + tree.dropped != len(tree.left):
        wrong(f"{what}: {len(tree.left) - reached - tree.dropped:,} nodes are not reached from the root")
    order = order[:reached]
    place = np.full(len(tree.left), -1, np.int64)
    place[order] = np.arange(reached)
    features, rules, left, right = (column[order] for column in (tree.features, tree.rules, tree.left, tree.right))
    splits = left >= 0
    thresholds, values, covers = (column[order] for column in (tree.thresholds, tree.values, tree.covers))
    if not np.isfinite(thresholds[splits]).all() or not np.isfinite(values[~splits]).all():
        wrong(f"{what}: a threshold or a leaf is not a finite number")
    if ((features < 0) | (features >= n_features))[splits].any():
        wrong(f"{what}: a node compares a feature that is not among the {n_features:,} features")
    if not (np.isfinite(covers) & (covers >= 0)).all():
        wrong(f"{what}: the cover of a node is not a number of at least 0")
    return RawTree(
        np.where(splits, features, 0),
        np.where(splits, thresholds, 0.0),
        np.where(splits, rules, 0),
        left,
        np.where(splits, place[np.where(splits, right, 0)], -1),
        np.where(splits, 0.0, values),
        covers,
    )


def _check_sizes(tree: RawTree, what: str) -> None:
    sizes = {len(column) for column in tree[:7]}
    if len(sizes) > 1 or 0 in sizes:
        wrong(f"{what}: its lists must be equally long, and have a node at least")
