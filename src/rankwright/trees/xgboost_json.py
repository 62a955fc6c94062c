"""XGBoost's JSON of a model, as ``Booster.save_model("model.json")`` writes it, read field by field."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.trees.building import RawTree, trees_of, wrong
from rankwright.trees.parsed import ParsedTrees, whole
from rankwright.trees.trees import NAN_LEFT, NAN_RIGHT
from rankwright.types import Array

_NOT_XGBOOST = "this is no JSON of an XGBoost model, as Booster.save_model('model.json') writes it"


def _log(value: np.float32) -> np.float32:
    return np.float32(np.log(value))


def _logit(value: np.float32) -> np.float32:
    return -_log(np.float32(1) / value - np.float32(1))


def _as_it_is(value: np.float32) -> np.float32:
    return value


# How objectives turn base_score, which is on the scale of their predictions, into what scores begin with, in float32.
_LINKS: dict[str, Callable[[np.float32], np.float32]] = {
    **dict.fromkeys(("rank:ndcg", "rank:map", "rank:pairwise"), _as_it_is),
    **dict.fromkeys(("reg:squarederror", "reg:squaredlogerror", "reg:pseudohubererror", "binary:hinge"), _as_it_is),
    **dict.fromkeys(("reg:absoluteerror", "reg:quantileerror", "reg:expectileerror"), _as_it_is),
    **dict.fromkeys(("binary:logistic", "binary:logitraw", "reg:logistic"), _logit),
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), _log),
}


def parsed_xgboost(text: str) -> ParsedTrees:
    """The trees of XGBoost's JSON; a :class:`ParameterError` tells what is wrong with it or cannot be computed."""
    learner = _part(_parsed(text), "learner")
    booster, about = _part(learner, "gradient_booster"), _part(learner, "learner_model_param")
    if booster.get("name") != "gbtree":
        wrong(f"the booster is {booster.get('name')!r}, but only sums of trees can be read: train with 'gbtree'")
    n_features = whole(about.get("num_feature"), "num_feature")
    if whole(about.get("num_class", "0"), "num_class") > 1 or whole(about.get("num_target", "1"), "num_target") > 1:
        wrong("the model has several scores for each document, but a ranker has one")
    raw = _part(booster, "model").get("trees")
    if not isinstance(raw, list) or not all(isinstance(tree, dict) for tree in raw):
        wrong(_NOT_XGBOOST)
    trees = trees_of([_tree(tree) for tree in raw], n_features, base=_base(learner, about), single=True)
    return ParsedTrees(trees, n_features, _names(learner, n_features))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        wrong(_NOT_XGBOOST)


def _part(whole_of: Any, name: str) -> dict[str, Any]:
    part = whole_of.get(name) if isinstance(whole_of, dict) else None
    if not isinstance(part, dict):
        wrong(f"{_NOT_XGBOOST}: there is no {name!r} in it")
    return part


def _names(learner: dict[str, Any], n_features: int) -> list[str] | None:
    names = learner.get("feature_names") or None
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names) or len(names) != n_features:
        wrong(f"feature_names must be a list of {n_features:,} texts")
    return names


def _base(learner: dict[str, Any], about: dict[str, Any]) -> float:
    """What scores begin with, in float32; later versions have it as a list."""
    objective = _part(learner, "objective").get("name")
    told = about.get("base_score")
    try:
        value = float(str(told).removeprefix("[").removesuffix("]"))
    except ValueError:
        wrong(f"base_score must be a number, not {str(told)[:40]!r}")
    if not isinstance(objective, str) or objective not in _LINKS:
        wrong(f"the objective {str(objective)[:40]!r} is not known")
    with np.errstate(all="ignore"):
        begins = _LINKS[objective](np.float32(value))
    if not np.isfinite(begins):
        wrong(f"base_score is {value:g}, which {objective} cannot begin with")
    return float(begins)


def _tree(tree: dict[str, Any]) -> RawTree:
    about = _part(tree, "tree_param")
    if whole(about.get("size_leaf_vector", "1"), "size_leaf_vector") > 1:
        wrong("a tree has several numbers in each leaf, but a ranker has one score for each document")
    n = whole(about.get("num_nodes"), "num_nodes")
    conditions = _numbers(tree, "split_conditions", n, np.float64)  # of which there are as many as nodes
    if _numbers(tree, "split_type", n, np.int64, lack=0).any():
        wrong("a tree compares categories, which cannot be read: encode columns of text as numbers (one-hot) instead")
    left = _numbers(tree, "left_children", n, np.int64)
    is_leaf = left < 0
    with np.errstate(over="ignore"):
        values = conditions.astype(np.float32)
    return RawTree(
        features=_numbers(tree, "split_indices", n, np.int64),
        thresholds=np.where(is_leaf, 0.0, _greatest_below(values)),
        rules=np.where(_numbers(tree, "default_left", n, np.int64) != 0, NAN_LEFT, NAN_RIGHT),
        left=left,
        right=_numbers(tree, "right_children", n, np.int64),
        values=np.where(is_leaf, values, 0.0).astype(np.float64),
        covers=_numbers(tree, "sum_hessian", n, np.float64),
        dropped=whole(about.get("num_deleted", "0"), "num_deleted"),
    )


def _greatest_below(conditions: npt.NDArray[np.float32]) -> Array:
    """The greatest float64 that is less than the condition once it is rounded to float32, as XGBoost compares it."""
    infinity = np.float32(np.inf)
    below = np.nextafter(conditions, -infinity)
    middle: Array = (below.astype(np.float64) + conditions.astype(np.float64)) / 2
    # A number in the middle is rounded to the one of the two whose last bit is 0.
    is_even = (below.view(np.uint32) & 1) == 0
    return np.where(is_even, middle, np.nextafter(middle, -np.inf))


def _numbers(tree: dict[str, Any], name: str, count: int, kind: type, lack: int | None = None) -> Any:
    values = tree.get(name)
    if values is None and lack is not None:
        return np.full(count, lack, kind)
    if not isinstance(values, list) or len(values) != count:
        wrong(f"{name} must be a list of {count:,} numbers, one for each node")
    if not all(isinstance(value, int | float) for value in values):
        wrong(f"{name} must be a list of numbers")
    if kind is np.int64 and not all(isinstance(value, int) or value.is_integer() for value in values):
        wrong(f"{name} must be a list of whole numbers")
    try:
        return np.array(values).astype(kind) if kind is np.float64 else np.array(values, dtype=kind)
    except (OverflowError, ValueError, TypeError):
        wrong(f"{name} has a number that is out of range")
