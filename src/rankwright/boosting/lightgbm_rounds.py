"""Trees of LightGBM, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.boosting.growing import Growth, OwnObjective, Rounds, grades_of, imported, rows_of
from rankwright.data.queries import Queries
from rankwright.types import Array

# Of a leaf. Documents are counted instead, but LightGBM counts them by their share of the curvature: where there is
# none but rounding, it would make leaves without documents, and fail.
_LEAST_CURVATURE = 1e-6


class LightGBMRounds(Rounds):
    """By LightGBM's own booster; features are put into bins once."""

    def __init__(
        self,
        queries: Queries,
        objective: OwnObjective | str,
        weights: Array | None,
        growth: Growth,
        watched: Queries | None,
    ) -> None:
        lightgbm = imported("lightgbm")
        self._grows_at_random = growth.query_share < 1 or growth.feature_share < 1
        self._objective, parameters = objective, _parameters(objective, growth)
        weight = None if weights is None else np.repeat(weights, queries.sizes)
        options: dict[str, Any] = {"group": queries.sizes, "weight": weight, "params": parameters}
        data = lightgbm.Dataset(rows_of(queries), grades_of(queries, objective), **options)
        if not _can_be_split(data, queries.n_features):
            # A single leaf for all: LightGBM grows it by an objective of its own, but by no other.
            self._objective = parameters["objective"] = "lambdarank"
        self._booster = lightgbm.Booster(parameters, data)
        self._watched_scores = np.zeros(0)
        self._trees_after: list[int] = []
        if watched is not None:
            rows, grades = rows_of(watched), np.zeros(watched.n_documents)
            self._booster.add_valid(data.create_valid(rows, grades, group=watched.sizes), "watched")

    def add(self) -> bool:
        """One more tree; LightGBM tells if no leaf could be parted."""
        own = None if isinstance(self._objective, str) else self._objective
        is_bare = self._booster.update(fobj=None if own is None else lambda scores, _: own.at(scores))
        self._trees_after.append(self._booster.num_trees())  # one that is bare is dropped, if it is not the first
        return not is_bare or self._grows_at_random

    def watched_scores(self) -> Array:
        """LightGBM adds each tree to them as it is grown."""
        self._booster.eval_valid(self._take)
        return self._watched_scores

    def _take(self, scores: Array, _: Any) -> tuple[str, float, bool]:
        self._watched_scores = scores
        return "scores", 0.0, True

    def text(self, n_rounds: int) -> str:
        """LightGBM's model file."""
        text: str = self._booster.model_to_string(num_iteration=self._trees_after[n_rounds - 1])
        return text


def _can_be_split(data: Any, n_features: int) -> bool:
    """Whether some feature has two values that enough documents have."""
    data.construct()
    return any(data.feature_num_bin(feature) > 1 for feature in range(n_features))


def _parameters(objective: OwnObjective | str, growth: Growth) -> dict[str, Any]:
    """The same numbers give the same trees, also with other numbers of threads."""
    own = not isinstance(objective, str)
    parameters = {
        "objective": "none" if own else objective,
        "metric": "none",
        "learning_rate": growth.learning_rate,
        "num_leaves": growth.leaves,
        "max_depth": -1 if growth.depth is None else growth.depth,
        "min_data_in_leaf": growth.min_documents,
        "feature_fraction": growth.feature_share,
        "lambda_l2": growth.l2,
        "seed": growth.seed,
        "num_threads": growth.threads,
        "deterministic": True,
        "force_col_wise": True,
        "verbosity": -1,
    }
    if own:
        parameters["min_sum_hessian_in_leaf"] = _LEAST_CURVATURE
    return parameters
