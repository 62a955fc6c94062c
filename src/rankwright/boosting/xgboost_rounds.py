"""Trees of XGBoost, one after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.boosting.growing import Growth, OwnObjective, Rounds, grades_of, imported, rows_of
from rankwright.data.queries import Queries
from rankwright.types import Array

# Values of CSR that are made dense at a time.
_VALUES_PER_BLOCK = 1 << 24
_MOST_BINS = 256


class XGBoostRounds(Rounds):
    """By XGBoost's own booster; features are put into bins once, and trees grow leaf by leaf as LightGBM's do."""

    def __init__(
        self,
        queries: Queries,
        objective: OwnObjective | str,
        weights: Array | None,
        growth: Growth,
        watched: Queries | None,
    ) -> None:
        xgboost = imported("xgboost")
        self._objective, self._n_added = objective, 0
        self._data = _matrix(xgboost, queries, grades_of(queries, objective), growth.threads)
        if weights is not None and isinstance(objective, str):
            self._data.set_info(weight=weights)
        self._watched = None
        if watched is not None:
            self._watched = _matrix(xgboost, watched, np.zeros(watched.n_documents), growth.threads, ref=self._data)
        cache = [data for data in (self._data, self._watched) if data is not None]
        self._booster = xgboost.Booster(_parameters(objective, growth), cache)

    def add(self) -> bool:
        """One more tree; one that is a single leaf may be followed by others, so there always is one."""
        own = None if isinstance(self._objective, str) else self._objective
        self._booster.update(self._data, self._n_added, fobj=None if own is None else lambda scores, _: own.at(scores))
        self._n_added += 1
        return True

    def watched_scores(self) -> Array:
        """XGBoost keeps them, and adds what is new."""
        scores: Array = self._booster.predict(self._watched, output_margin=True).astype(np.float64)
        return scores

    def text(self, n_rounds: int) -> str:
        """XGBoost's model file in JSON."""
        raw: bytes = self._booster[:n_rounds].save_raw("json")
        return bytes(raw).decode()


def _parameters(objective: OwnObjective | str, growth: Growth) -> dict[str, Any]:
    own = not isinstance(objective, str)
    parameters = {
        "base_score": 0.0,
        "tree_method": "hist",
        "grow_policy": "lossguide",
        "max_bin": _MOST_BINS,
        "learning_rate": growth.learning_rate,
        "max_leaves": growth.leaves,
        "max_depth": 0 if growth.depth is None else growth.depth,
        "colsample_bytree": growth.feature_share,
        "lambda": growth.l2,
        "seed": growth.seed,
        "nthread": growth.threads,
        "verbosity": 0,
    }
    if own:  # a document has the curvature 1 to begin with
        parameters |= {"objective": "reg:squarederror", "min_child_weight": growth.min_documents}
    else:
        parameters["objective"] = objective
    return parameters


def _matrix(xgboost: Any, queries: Queries, grades: Array, threads: int, ref: Any = None) -> Any:
    """Features in bins. What CSR leaves out is 0 here, but missing to XGBoost: so it is made dense, block by block."""
    rows = rows_of(queries)
    options: dict[str, Any] = {"ref": ref, "max_bin": _MOST_BINS, "nthread": threads}
    if not sp.issparse(rows):
        return xgboost.QuantileDMatrix(rows, grades, group=queries.sizes, **options)
    matrix = xgboost.QuantileDMatrix(_dense_blocks(xgboost, rows, grades), **options)
    matrix.set_info(group=queries.sizes)
    return matrix


def _dense_blocks(xgboost: Any, rows: Any, grades: Array) -> Any:
    """An iterator as XGBoost wants it: called for one block after the other, and from the beginning again."""
    step = max(_VALUES_PER_BLOCK // max(rows.shape[1], 1), 1)

    class Blocks(xgboost.DataIter):  # type: ignore[misc]
        def __init__(self) -> None:
            self._at = 0
            super().__init__()

        def next(self, input_data: Any) -> bool:
            if self._at >= rows.shape[0]:
                return False
            block = slice(self._at, self._at + step)
            input_data(data=rows[block].toarray(), label=grades[block])
            self._at += step
            return True

        def reset(self) -> None:
            self._at = 0

    return Blocks()
