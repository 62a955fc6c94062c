"""LightGBM's LambdaMART, tuned on validation queries: leaves, and which part of queries and features each tree sees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

import rankwright as rw
from rankwright.data.streams.chained import chained
from rankwright.datasets import LetorFold

_RATE = 0.05
_MOST_TREES = 1500
_PATIENCE = 100  # trees without a gain
_MANY_DOCUMENTS = 20_000
# The parts of the queries and of the features that each tree sees.
_SAMPLES = ((1.0, 1.0), (0.7, 0.7), (0.5, 0.3))
_LAST_SEEDS = 3


class _Grid(NamedTuple):
    """What is tried, with each of ``_SAMPLES`` beside it, and with how many seeds each configuration is."""

    leaves: tuple[int, ...]
    least_documents: tuple[int, ...]
    seeds: int


# Few documents to validate on make a choice that depends on chance: several seeds are cheap there, too.
_GRID = _Grid(leaves=(4, 8, 31), least_documents=(20, 100), seeds=3)
_GRID_FOR_MANY = _Grid(leaves=(4, 15, 31), least_documents=(100, 500), seeds=1)


class Tuned(NamedTuple):
    """What was chosen, boosters trained on the training part, and one for each seed trained on all judged queries."""

    parameters: dict[str, Any]
    on_training_part: Sequence[Any]
    on_all: Sequence[Any]


def tuned(parts: LetorFold) -> Tuned:
    """The configuration whose mean over seeds validates best, with as many trees as it has on average then."""
    grid = grid_for(parts.train.n_documents)
    tried = [(one, [_stopped(parts, one, seed) for seed in range(grid.seeds)]) for one in configurations(grid)]
    parameters, boosters = max(tried, key=lambda one: np.mean([_validated(booster) for booster in one[1]]))
    parameters["num_iterations"] = round(np.mean([booster.best_iteration for booster in boosters]))
    return Tuned(parameters, boosters, [_trained(parts, parameters, seed) for seed in range(_LAST_SEEDS)])


def grid_for(n_documents: int) -> _Grid:
    """Many documents get larger leaves."""
    return _GRID if n_documents < _MANY_DOCUMENTS else _GRID_FOR_MANY


def configurations(grid: _Grid) -> Iterator[dict[str, Any]]:
    """LightGBM's parameters for every point of the grid; with one thread and one way of counting trees are the same."""
    for leaves, least, (queries, features) in product(grid.leaves, grid.least_documents, _SAMPLES):
        yield {
            "objective": "lambdarank",
            "metric": "ndcg",
            "eval_at": [10],
            "num_leaves": leaves,
            "learning_rate": _RATE,
            "min_data_in_leaf": least,
            "bagging_by_query": True,
            "bagging_fraction": queries,
            "bagging_freq": 1,
            "feature_fraction": features,
            "num_iterations": _MOST_TREES,
            "num_threads": 1,
            "deterministic": True,
            "force_col_wise": True,
            "verbosity": -1,
        }


def _stopped(parts: LetorFold, parameters: dict[str, Any], seed: int) -> Any:
    """Trained until the validation queries gain no more."""
    import lightgbm

    train = _dataset(parts.train)
    valid = _dataset(parts.vali, reference=train)
    stop = lightgbm.early_stopping(_PATIENCE, verbose=False)
    return lightgbm.train({**parameters, "seed": seed}, train, valid_sets=[valid], callbacks=[stop])


def _validated(booster: Any) -> float:
    return float(booster.best_score["valid_0"]["ndcg@10"])


def _trained(parts: LetorFold, parameters: dict[str, Any], seed: int) -> Any:
    import lightgbm

    return lightgbm.train({**parameters, "seed": seed}, _dataset(chained(parts.train, parts.vali)))


def _dataset(queries: rw.Queries, **options: Any) -> Any:
    """The gains of grades are 2^y − 1 unless told otherwise."""
    import lightgbm

    return lightgbm.Dataset(queries.X, queries.y, group=queries.sizes, **options)
