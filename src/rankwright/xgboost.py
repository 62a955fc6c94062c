"""Losses and measures of Rankwright in XGBoost: its own interface, and what that of scikit-learn takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.boosting.callables import Evaluation, Given, Objective
from rankwright.boosting.derivatives import Numbers32
from rankwright.data.queries import Queries
from rankwright.losses.loss import Loss
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure

__all__ = ["evaluation", "objective"]


def objective(loss: str | Loss = "preorder", *, group: npt.ArrayLike | None = None) -> XGBoostObjective:
    """A loss as an objective of XGBoost: ``xgb.train(…, obj=objective("preorder"))``.

    ``loss`` is a loss of `rankwright.losses`, or the name of one, as `BoostedRanker` has them. Groups and weights of
    queries are those of the data set. XGBoost's `XGBRanker` takes no objectives but its own: take `BoostedRanker`, or
    `XGBRegressor`, which knows no groups, with ``group``: how many rows each query has, one after the other.
    """
    return XGBoostObjective(loss, group)


def evaluation(
    measure: str | Measure = "ndcg@10",
    *,
    convention: str | Convention = "default",
    group: npt.ArrayLike | None = None,
) -> XGBoostEvaluation:
    """A measure as XGBoost asks for it: ``xgb.train(…, custom_metric=…)``, ``XGBRanker(eval_metric=…)``.

    `XGBRanker` calls it query by query, counts 1 for a query with one document, and as of version 3.2 weighs queries by
    their documents. ``group`` is for `XGBRegressor`, which knows no groups: without it, all rows count as one query.
    Early stopping takes names that begin with "ndcg", "map" or "pre" for the better the higher; for other measures tell
    it by ``xgb.callback.EarlyStopping(…, maximize=True)``.
    """
    return XGBoostEvaluation(measure, convention, group)


class XGBoostObjective(Objective):
    """Called with (scores, data set), or by scikit-learn's interface with (grades, scores, sample_weight)."""

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Numbers32, Numbers32]:
        """Gradient and curvature of each row."""
        if hasattr(second, "get_label"):
            return self.derivatives(first, _data_of(second))
        return self.derivatives(second, Given(np.asarray(first), None, sample_weight))


class XGBoostEvaluation(Evaluation):
    """Called with (scores, data set), or by scikit-learn's interface with (grades, scores, sample_weight)."""

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> Any:
        """Name and mean, or for scikit-learn's interface the mean alone: without groups, that of one query."""
        if hasattr(second, "get_label"):
            return self.__name__, self.mean(first, _data_of(second))
        if self.group is not None:
            return self.mean(second, Given(np.asarray(first), None, sample_weight))
        # XGBRanker asks for one query after the other, on many threads: none of them comes again
        return self.mean_on(Queries(None, first, group=[len(first)]).judgments, second, None)


def _data_of(matrix: Any) -> Given:
    group, weight = np.diff(matrix.get_uint_info("group_ptr")), matrix.get_weight()
    return Given(matrix.get_label(), group if len(group) else None, weight if len(weight) else None)
