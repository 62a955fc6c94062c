"""Losses and measures of Rankwright in LightGBM: its own interface, and that of scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from rankwright.boosting.callables import Evaluation, Given, Objective
from rankwright.boosting.derivatives import Numbers32
from rankwright.losses.loss import Loss
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure

__all__ = ["evaluation", "objective"]


def objective(loss: str | Loss = "preorder", *, group: npt.ArrayLike | None = None) -> LightGBMObjective:
    """A loss as an objective of LightGBM: ``lgb.train({"objective": objective(…)}, …)``, ``LGBMRanker(objective=…)``.

    ``loss`` is a loss of `rankwright.losses`, or the name of one, as `BoostedRanker` has them. Groups and weights are
    those of the data set; the rows of a query must have one weight. ``group`` is for `LGBMRegressor`, which has none.
    """
    return LightGBMObjective(loss, group)


def evaluation(
    measure: str | Measure = "ndcg@10",
    *,
    convention: str | Convention = "default",
    group: npt.ArrayLike | None = None,
) -> LightGBMEvaluation:
    """A measure as LightGBM asks for it: ``lgb.train(…, feval=evaluation("map"))``, ``fit(…, eval_metric=…)``.

    Its name in LightGBM's log is that of the measure, such as "nDCG @ 10". Queries that weigh more count for more.
    ``group`` is for `LGBMRegressor`, which has none.
    """
    return LightGBMEvaluation(measure, convention, group)


class LightGBMObjective(Objective):
    """Called with (scores, data set), or by scikit-learn's interface with (grades, scores, weight, group)."""

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[Numbers32, Numbers32]:
        """Gradient and curvature of each row. LightGBM counts the parameters, and so gives all four."""
        return self.derivatives(*_scores_and_data(first, second, weight, group))


class LightGBMEvaluation(Evaluation):
    """Called with (scores, data set), or by scikit-learn's interface with (grades, scores, weight, group)."""

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> tuple[str, float, bool]:
        """Name, mean, and whether higher is better."""
        mean = self.mean(*_scores_and_data(first, second, weight, group))
        # LightGBM has metrics such as "ndcg@5" of its own, and takes those of one name for one.
        return str(self.measure), mean, not self.measure.lower_is_better


def _scores_and_data(first: Any, second: Any, weight: Any, group: Any) -> tuple[Any, Given]:
    if hasattr(second, "get_label"):
        return first, Given(second.get_label(), second.get_group(), second.get_weight())
    return second, Given(first, group, weight)
