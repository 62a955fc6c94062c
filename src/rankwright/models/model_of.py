"""`model_of`: the model of whatever people hand over, a fitted ranker, a model, or a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from rankwright.errors import ParameterError
from rankwright.models.learned import Unfitted
from rankwright.models.linear_model import LinearModel
from rankwright.models.model import Model, NoModel
from rankwright.models.pipelines import check_fitted, folded, steps_of, unfitted_step
from rankwright.models.scorer import Scorer
from rankwright.models.standardisation import standardisation_by


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
    return model if scaler is None else _behind_scaler(scaler, model, type(ranker).__name__)


def not_wanted(wanted: str, ranker: Any, why: str = "") -> ParameterError:
    """What to say of a ranker that is not of the kind that is wanted."""
    return ParameterError(f"{wanted}, not {type(ranker).__name__}{why and ': '}{why}")


def _own_model(ranker: Any) -> Model:
    if not isinstance(ranker, Scorer):
        raise NoModel
    return ranker.model()


def _behind_scaler(scaler: Any, model: Model, name: str) -> LinearModel:
    formula = model.formula()
    if formula is None:
        raise ParameterError(f"scaler is for linear rankers: {name} {model.why_no_scaler}")
    if model.behind_scaler() is not None:
        raise ParameterError("scaler: this model has a scaler of its own, so leave it out")
    by = standardisation_by(scaler, model)
    if formula.is_plain:
        return LinearModel.of(formula, standardisation=by, **model.about()).with_memory_of(model)
    return LinearModel.of(by.folded_into(formula), **model.about())


def _behind_steps(steps: list[Any], ranker: Any) -> LinearModel:
    name = type(ranker).__name__
    refusal = ParameterError(f"pipeline: it ends in {name}, but only a linear ranker can take in the steps before it")
    for step in steps:
        check_fitted(step)
    try:
        model = _own_model(ranker)
    except NoModel:
        raise refusal from None
    except Unfitted:
        raise unfitted_step(ranker) from None
    formula = model.formula()
    if formula is None:
        raise refusal
    return folded(steps, model, formula)
