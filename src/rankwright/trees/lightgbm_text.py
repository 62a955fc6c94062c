"""LightGBM's text of a model, as ``Booster.model_to_string()`` gives it, read field by field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.trees.building import RawTree, trees_of, wrong
from rankwright.trees.parsed import ParsedTrees, whole
from rankwright.trees.trees import NAN_IS_ZERO, NAN_LEFT, NAN_RIGHT, ZERO, ZERO_LEFT, ZERO_RIGHT
from rankwright.types import Array

_NOT_LIGHTGBM = "this is no text of a LightGBM model, as Booster.model_to_string() gives it"
_VERSIONS = ("v3", "v4")

# Bits of a decision type.
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_TYPE = 1, 2, 12
_RULES = {
    (0, False): NAN_IS_ZERO,
    (0, True): NAN_IS_ZERO,
    (4, False): ZERO_RIGHT,
    (4, True): ZERO_LEFT,
    (8, False): NAN_RIGHT,
    (8, True): NAN_LEFT,
}

Fields = Mapping[str, str]


def parsed_lightgbm(text: str) -> ParsedTrees:
    """The trees of LightGBM's text; a :class:`ParameterError` tells what is wrong with it or cannot be computed."""
    blocks = _blocks(text)
    head = next(blocks, {})
    n_features = _checked_head(head)
    trees = trees_of([_tree(fields) for fields in blocks], n_features, base=0.0, single=False)
    names = head.get("feature_names", "").split(" ")
    if len(names) != n_features:
        wrong(f"there are {len(names):,} names of features for {n_features:,} features")
    are_own = names != [f"Column_{column}" for column in range(n_features)]
    return ParsedTrees(trees, n_features, names if are_own else None)


def _blocks(text: str) -> Iterator[dict[str, str]]:
    """The fields of the head, and of each tree."""
    head, end, _ = text.partition("\nend of trees")
    lines = head.split("\n")
    if not end or lines[0].strip() != "tree":
        wrong(_NOT_LIGHTGBM)
    block: dict[str, str] = {}
    n_trees = 0
    for line in lines[1:]:
        name, _, value = line.strip().partition("=")
        if name == "Tree":
            if value != str(n_trees):
                wrong(f"tree {n_trees + 1} of LightGBM's text is numbered {value[:20]!r}, but must be {n_trees}")
            yield block
            block, n_trees = {}, n_trees + 1
        elif name in block:
            wrong(f"the field {name!r} of LightGBM's text is given twice")
        elif name:
            block[name] = value
    yield block


def _checked_head(head: Fields) -> int:
    """The number of features of a model whose trees can be added up."""
    if head.get("version") not in _VERSIONS:
        wrong(f"LightGBM's text has version {head.get('version')!r}, but only {' and '.join(_VERSIONS)} are known")
    for name in ("num_class", "num_tree_per_iteration"):
        if head.get(name) != "1":
            wrong(f"{name} is {head.get(name)!r}, but a ranker has one score for each document, and so 1")
    if "average_output" in head:
        wrong("the model averages its trees (boosting 'rf'), but only sums of trees can be read: train with 'gbdt'")
    return whole(head.get("max_feature_idx"), "max_feature_idx") + 1


def _tree(fields: Fields) -> RawTree:
    """Splits come first, and then leaves; children below 0 are leaves, counted from −1 down."""
    n_leaves = whole(fields.get("num_leaves"), "num_leaves")
    if n_leaves < 1:
        wrong("a tree has no leaf")
    if fields.get("num_cat") != "0":
        wrong("a tree compares categories, which cannot be read: encode columns of text as numbers (one-hot) instead")
    if fields.get("is_linear", "0") != "0":
        wrong("a tree has linear models in its leaves (linear_tree), which cannot be read: train without them")
    n_splits = n_leaves - 1
    values = _numbers(fields, "leaf_value", n_leaves, np.float64)
    # A tree of one leaf has no other fields, and was not counted.
    counts = _numbers(fields, "leaf_count", n_leaves, np.float64) if n_splits else np.ones(1)
    none = np.zeros(n_leaves)
    left, right = (_children(fields, name, n_splits) for name in ("left_child", "right_child"))
    return RawTree(
        features=np.append(_numbers(fields, "split_feature", n_splits, np.int64), none.astype(np.int64)),
        thresholds=np.append(_thresholds(_numbers(fields, "threshold", n_splits, np.float64)), none),
        rules=np.append(_rules(_numbers(fields, "decision_type", n_splits, np.int64)), none.astype(np.int64)),
        left=np.append(left, np.full(n_leaves, -1)),
        right=np.append(right, np.full(n_leaves, -1)),
        values=np.append(np.zeros(n_splits), values),
        covers=np.append(_numbers(fields, "internal_count", n_splits, np.float64), counts),
    )


def _children(fields: Fields, name: str, n_splits: int) -> npt.NDArray[np.int64]:
    """Numbers of nodes, leaves after splits; those out of range stay so."""
    children: npt.NDArray[np.int64] = _numbers(fields, name, n_splits, np.int64)
    if (children >= n_splits).any() or (~children > n_splits).any():
        wrong(f"{name} has a number that is that of no node")
    return np.where(children < 0, n_splits + ~children, children)


def _thresholds(thresholds: Array) -> Array:
    """Thresholds that part numbers as LightGBM does, which takes those next to 0 for 0 before it compares.

    An infinite one parts what is known from what is missing, and so does the greatest number there is.
    """
    thresholds = np.where(np.isposinf(thresholds), np.finfo(np.float64).max, thresholds)
    thresholds = np.where((thresholds >= 0) & (thresholds < ZERO), ZERO, thresholds)
    return np.where((thresholds < 0) & (thresholds >= -ZERO), np.nextafter(-ZERO, -np.inf), thresholds)


def _rules(decisions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if (decisions & _CATEGORICAL).any():
        wrong("a tree compares categories, which cannot be read: encode columns of text as numbers (one-hot) instead")
    rules = []
    for decision in decisions.tolist():
        rule = _RULES.get((decision & _MISSING_TYPE, bool(decision & _DEFAULT_LEFT)))
        if rule is None or not 0 <= decision < 16:
            wrong(f"decision_type has {decision}, which is not known")
        rules.append(rule)
    return np.array(rules, np.int64)


def _numbers(fields: Fields, name: str, count: int, kind: type) -> Any:
    if name not in fields and count:
        wrong(f"a tree has no field {name!r}")
    words = fields.get(name, "").split()
    if len(words) != count:
        wrong(f"{name} has {len(words):,} numbers, but there must be {count:,}")
    try:
        return np.array(words, dtype=kind)
    except (ValueError, OverflowError):
        wrong(f"{name} must be a list of numbers")
