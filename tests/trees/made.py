"""Trees made at random, as LightGBM's text and XGBoost's JSON would have them, and their scores computed plainly."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np

import rankwright as rw

ZERO = float(np.float32(1e-35))
F = np.float32


@dataclass
class Node:
    """A split, or a leaf if there is no left child."""

    feature: int = 0
    threshold: float = 0.0
    missing_type: str = "none"  # or "zero" or "nan"
    default_left: bool = False
    left: Node | None = None
    right: Node | None = None
    value: float = 0.0
    cover: int = 0


def grown(rng, n_leaves, n_features, thresholds, types=("none", "zero", "nan"), cover=1000):
    """A tree of so many leaves, whose thresholds are drawn from some."""
    leaf = Node(value=float(F(rng.normal())), cover=cover)
    root, leaves = leaf, [leaf]
    while len(leaves) < n_leaves:
        node = leaves.pop(int(rng.integers(len(leaves))))
        node.feature, node.threshold = int(rng.integers(n_features)), float(rng.choice(thresholds))
        node.missing_type, node.default_left = str(rng.choice(types)), bool(rng.integers(2))
        share = max(1, int(node.cover * rng.uniform(0.1, 0.9)))
        node.left = Node(value=float(F(rng.normal())), cover=share)
        node.right = Node(value=float(F(rng.normal())), cover=max(1, node.cover - share))
        leaves += [node.left, node.right]
    return root


def trees(seed=0, n_trees=5, n_leaves=8, n_features=4, thresholds=(-1.5, -0.5, 0.0, 0.25, 1.0), **options):
    rng = np.random.default_rng(seed)
    return [grown(rng, n_leaves, n_features, thresholds, **options) for _ in range(n_trees)]


# What each library does, from its own rules


def goes_left_in_lightgbm(node, value):
    if abs(value) <= ZERO:  # NaN is not
        value = 0.0
    if math.isnan(value) and node.missing_type != "nan":
        value = 0.0
    is_missing = math.isnan(value) if node.missing_type == "nan" else node.missing_type == "zero" and value == 0
    return node.default_left if is_missing else value <= node.threshold


def goes_left_in_xgboost(node, value):
    return node.default_left if math.isnan(value) else F(value) < F(node.threshold)


def leaf_of(node, row, goes_left):
    while node.left is not None:
        node = node.left if goes_left(node, float(row[node.feature])) else node.right
    return node.value


def plain_scores(made, x, goes_left=goes_left_in_lightgbm, base=0.0):
    if goes_left is goes_left_in_lightgbm:
        return np.array([sum(leaf_of(tree, row, goes_left) for tree in made) for row in x])
    scores = []
    for row in x:
        score = F(base)
        for tree in made:
            score = F(score + F(leaf_of(tree, row, goes_left)))
        scores.append(float(score))
    return np.array(scores)


# What each library writes

_TYPES = {"none": 0, "zero": 4, "nan": 8}


def lightgbm_text(made, n_features, names=None):
    lines = ["tree", "version=v4", "num_class=1", "num_tree_per_iteration=1", "label_index=0"]
    names = names or [f"Column_{column}" for column in range(n_features)]
    lines += [f"max_feature_idx={n_features - 1}", "objective=lambdarank", f"feature_names={' '.join(names)}", ""]
    for number, tree in enumerate(made):
        lines += [f"Tree={number}", *_lightgbm_tree(tree), "", ""]
    return "\n".join([*lines, "end of trees", "", "parameters:", "[boosting: gbdt]", "end of parameters", ""])


def _lightgbm_tree(root):
    splits, leaves = [], []

    def number(node):
        if node.left is None:
            leaves.append(node)
            return -len(leaves)
        place = len(splits)
        splits.append([node, None, None])
        splits[place][1:] = number(node.left), number(node.right)
        return place

    number(root)
    if not splits:
        return ["num_leaves=1", "num_cat=0", f"leaf_value={root.value!r}", "is_linear=0", "shrinkage=1"]
    rows = {
        "split_feature": [node.feature for node, _, _ in splits],
        "threshold": [repr(node.threshold) for node, _, _ in splits],
        "decision_type": [_TYPES[node.missing_type] + 2 * node.default_left for node, _, _ in splits],
        "left_child": [left for _, left, _ in splits],
        "right_child": [right for _, _, right in splits],
        "leaf_value": [repr(leaf.value) for leaf in leaves],
        "leaf_count": [leaf.cover for leaf in leaves],
        "internal_count": [node.cover for node, _, _ in splits],
    }
    told = [f"{name}={' '.join(map(str, values))}" for name, values in rows.items()]
    return [f"num_leaves={len(leaves)}", "num_cat=0", *told, "is_linear=0", "shrinkage=1"]


def xgboost_json(made, n_features, base="[5E-1]", objective="rank:ndcg", names=()):
    model = {
        "gbtree_model_param": {"num_trees": str(len(made)), "num_parallel_tree": "1"},
        "trees": [_xgboost_tree(tree, n_features) for tree in made],
    }
    learner = {
        "attributes": {},
        "feature_names": list(names),
        "gradient_booster": {"name": "gbtree", "model": model},
        "learner_model_param": {
            "base_score": base,
            "num_class": "0",
            "num_feature": str(n_features),
            "num_target": "1",
        },
        "objective": {"name": objective},
    }
    return json.dumps({"learner": learner, "version": [3, 2, 0]})


def _xgboost_tree(root, n_features):
    nodes, children = [root], []
    for node in nodes:  # level by level
        if node.left is None:
            children.append((-1, -1))
        else:
            children.append((len(nodes), len(nodes) + 1))
            nodes += [node.left, node.right]
    return {
        "split_conditions": [float(F(node.value if node.left is None else node.threshold)) for node in nodes],
        "split_indices": [node.feature for node in nodes],
        "left_children": [left for left, _ in children],
        "right_children": [right for _, right in children],
        "default_left": [int(node.default_left) for node in nodes],
        "sum_hessian": [float(node.cover) for node in nodes],
        "split_type": [0] * len(nodes),
        "tree_param": {"num_deleted": "0", "num_nodes": str(len(nodes)), "size_leaf_vector": "1"},
    }


def lightgbm_model(made, n_features=4, **told):
    return rw.TreeModel.of_lightgbm(lightgbm_text(made, n_features), **told)


def xgboost_model(made, n_features=4, **told):
    return rw.TreeModel.of_xgboost(xgboost_json(made, n_features), **told)


def documents(seed, n_rows=60, n_features=4, thresholds=(-1.5, -0.5, 0.0, 0.25, 1.0), missing=0.15):
    """Rows with missing values, zeros, thresholds and their neighbours in float32 and float64."""
    rng = np.random.default_rng(seed)
    edges = np.array(thresholds, dtype=float)
    singles = edges.astype(F)
    middles = (singles.astype(float) + np.nextafter(singles, -F(np.inf))) / 2
    near = [edges, np.nextafter(edges, 9), np.nextafter(edges, -9), middles, np.nextafter(middles, 9)]
    near += [np.nextafter(singles, sign * F(9)).astype(float) for sign in (1, -1)]
    near += [np.nextafter(middles, -9), np.array([0.0, 1e-36, -1e-36, ZERO, 1e-30, -1e-30])]
    x = np.where(
        rng.random((n_rows, n_features)) < 0.6,
        rng.choice(np.concatenate(near), (n_rows, n_features)),
        rng.normal(size=(n_rows, n_features)),
    )
    x[rng.random(x.shape) < missing] = np.nan
    return x
