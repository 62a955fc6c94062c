"""LightGBM's and XGBoost's own rankers, called as their users call them: no code of ours is between."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import rankwright as rw
from rankwright.machine.threads import thread_count
from rankwright.types import Array

Scores = Callable[[rw.Queries], Array]

# What settings are drawn from, for the trees of both libraries and for ours alike.
TREE_SPACE: Mapping[str, tuple[Any, ...]] = {
    "leaves": (15, 31, 7, 4),
    "learning_rate": (0.1, 0.05),
    "min_documents": (50, 20, 200),
    "query_share": (1.0, 0.7, 0.5),
    "feature_share": (1.0, 0.5, 0.3),
}
MOST_TREES, PATIENCE = 500, 50


def lightgbm_scores(
    objective: str, train: rw.Queries, valid: rw.Queries | None, n_trees: int, drawn: Mapping[str, Any]
) -> Scores:
    """LightGBM's trees; with validation queries, as many as have the best NDCG@10 on these."""
    import lightgbm

    parameters: dict[str, Any] = {
        "objective": objective,
        "metric": "ndcg",
        "eval_at": [10],
        "num_leaves": drawn["leaves"],
        "learning_rate": drawn["learning_rate"],
        "min_data_in_leaf": drawn["min_documents"],
        "feature_fraction": drawn["feature_share"],
        "num_threads": thread_count(),
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
        "seed": 0,
    }
    if drawn["query_share"] < 1:
        parameters |= {"bagging_by_query": True, "bagging_fraction": drawn["query_share"], "bagging_freq": 1}
    data = lightgbm.Dataset(train.X, train.y, group=train.sizes)
    watched: dict[str, Any] = {}
    if valid is not None:
        watched["valid_sets"] = [lightgbm.Dataset(valid.X, valid.y, group=valid.sizes, reference=data)]
        watched["callbacks"] = [lightgbm.early_stopping(PATIENCE, verbose=False)]
    booster = lightgbm.train(parameters, data, num_boost_round=n_trees, **watched)
    return partial(_lightgbm_predicted, booster)


def _lightgbm_predicted(booster: Any, queries: rw.Queries) -> Array:
    scores: Array = booster.predict(queries.X)
    return scores


def xgboost_scores(
    objective: str, train: rw.Queries, valid: rw.Queries | None, n_trees: int, drawn: Mapping[str, Any]
) -> Scores:
    """The same with XGBoost."""
    import xgboost

    parameters = {
        "objective": objective,
        "eval_metric": "ndcg@10",
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_leaves": drawn["leaves"],
        "max_depth": 0,
        "learning_rate": drawn["learning_rate"],
        # Documents of rank:ndcg have a curvature far below 1, which this would count.
        "min_child_weight": drawn["min_documents"] / 1000,
        "subsample": drawn["query_share"],
        "colsample_bytree": drawn["feature_share"],
        "nthread": thread_count(),
        "verbosity": 0,
        "seed": 0,
    }
    data = xgboost.QuantileDMatrix(train.X, train.y, group=train.sizes)
    watched: dict[str, Any] = {}
    if valid is not None:
        of_valid = xgboost.QuantileDMatrix(valid.X, valid.y, group=valid.sizes, ref=data)
        watched = {"evals": [(of_valid, "valid")], "early_stopping_rounds": PATIENCE, "verbose_eval": False}
    booster = xgboost.train(parameters, data, n_trees, **watched)
    best = getattr(booster, "best_iteration", None) if valid is not None else None
    return partial(_xgboost_predicted, booster, None if best is None else (0, best + 1))


def _xgboost_predicted(booster: Any, trees: tuple[int, int] | None, queries: rw.Queries) -> Array:
    options = {} if trees is None else {"iteration_range": trees}
    scores: Array = booster.inplace_predict(queries.X, predict_type="margin", **options).astype(np.float64)
    return scores
