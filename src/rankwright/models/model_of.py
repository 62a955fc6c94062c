"""`model_of`: the model of whatever people hand over, a fitted ranker, a model, or a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from rankwright.errors import ParameterError
from rankwright.models.model import Model, NoModel
from rankwright.models.pipelines import check_fitted, folded, steps_of
from rankwright.models.scorer import Scorer


def model_of(ranker: Any, scaler: Any, wanted: str) -> Model:
    """What a fitted ranker has learned, behind a scaler or the steps of a pipeline if there are any.

    ``wanted`` begins the message to those whose ranker has no model, such as "ranker must be a linear one".
    """
    steps: list[Any] = []
    if isinstance(ranker, Pipeline):
        if scaler is not None:
            raise ParameterError("scaler: a pipeline has its scalers already, so leave it out")
        *steps, ranker = steps_of(ranker) or [ranker]
    try:
        if steps:
            return _behind_steps(steps, ranker)
        model = _own_model(ranker)
    except NoModel as error:
        raise not_wanted(wanted, ranker, str(error)) from None
    return model if scaler is None else model.behind(scaler)


def not_wanted(wanted: str, ranker: Any, why: str = "") -> ParameterError:
    """What to say of a ranker that is not of the kind that is wanted."""
    return ParameterError(f"{wanted}, not {type(ranker).__name__}{why and ': '}{why}")


def _own_model(ranker: Any) -> Model:
    if not isinstance(ranker, Scorer):
        raise NoModel
    return ranker.model()


def _behind_steps(steps: list[Any], ranker: Any) -> Model:
    for step in (*steps, ranker):
        check_fitted(step)
    model = _own_model(ranker)
    formula = model.formula()
    if formula is None:
        raise ParameterError(
            f"pipeline: it ends in {type(ranker).__name__}, but only a linear ranker can take in the steps before it"
        )
    return folded(steps, model, formula)
