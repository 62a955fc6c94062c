"""`model_of`: the model of whatever people hand over: a ranker, a model, or a scikit-learn pipeline.

Scalers and imputers in front of a linear ranker are folded into its weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler
from rankwright.errors import ParameterError
from rankwright.models.learned import Unfitted
from rankwright.models.linear_model import LinearModel
from rankwright.models.model import Model, NoModel
from rankwright.models.scorer import Scorer
from rankwright.models.standardisation import Standardisation, standardisation_by
from rankwright.preparation.affine import Affine, behind
from rankwright.preparation.formula import Formula

_FOLDABLE = "StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, GlobalStandardScaler and SimpleImputer"


def model_of(ranker: Any, scaler: Any, wanted: str) -> Model:
    """What a fitted ranker has learned, behind a scaler or the steps of a pipeline if there are any.

    ``wanted`` begins the message to those whose ranker has no model, such as "ranker must be a linear one".
    """
    steps: list[Any] = []
    if isinstance(ranker, Pipeline):
        if scaler is not None:
            raise ParameterError("scaler: a pipeline has its scalers already, so leave it out")
        *steps, ranker = _steps(ranker) or [ranker]
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


def _behind_scaler(scaler: Any, model: Model, name: str) -> Model:
    formula = model.formula()
    if formula is None:
        scaled = model.scaled_by(standardisation_by(scaler, model))
        if scaled is None:
            raise ParameterError(f"scaler is for linear rankers: {name} {model.why_no_scaler}")
        return scaled
    if model.behind_scaler() is not None:
        raise ParameterError("scaler: this model has a scaler of its own, so leave it out")
    by = standardisation_by(scaler, model)
    if formula.is_plain:
        return LinearModel.of(formula, standardisation=by, **model.about()).with_memory_of(model)
    return LinearModel.of(by.folded_into(formula), **model.about())


def _behind_steps(steps: list[Any], ranker: Any) -> Model:
    name = type(ranker).__name__
    refusal = ParameterError(f"pipeline: it ends in {name}, but only a linear ranker can take in the steps before it")
    for step in steps:
        _check_fitted(step)
    try:
        model = _own_model(ranker)
    except NoModel:
        raise refusal from None
    except Unfitted:
        raise ParameterError(f"pipeline: its {name} is not fitted yet: call fit first") from None
    formula, affine = model.formula(), _affine_of(steps)
    if formula is not None:
        return _folded(steps, affine, model, formula)
    scaled = model.scaled_by(_standardisation_of(steps, affine)) if _is_standardisation(affine) else None
    if scaled is None:
        raise refusal
    names = getattr(steps[0], "feature_names_in_", None)
    if names is not None:
        scaled.feature_names_in_ = np.array(list(map(str, names)), dtype=object)
    if _as_it_divides(steps) is None:  # features that are scaled by other numbers are not known again
        scaled.__dict__.pop("_seen_queries", None)
    return scaled


def _steps(pipeline: Pipeline) -> list[Any]:
    """The steps that do something, those of pipelines within it included."""
    steps: list[Any] = []
    for _, step in pipeline.steps:
        if isinstance(step, Pipeline):
            steps += _steps(step)
        elif step is not None and step != "passthrough":
            steps.append(step)
    return steps


def _check_fitted(step: Any) -> None:
    try:
        check_is_fitted(step)
    except NotFittedError:
        raise ParameterError(f"pipeline: its {type(step).__name__} is not fitted yet: call fit first") from None


def _affine_of(steps: list[Any]) -> Affine:
    """What all steps do to the features."""
    affine = Affine.identity(int(steps[0].n_features_in_))
    for step in steps:
        affine = _after(affine, step)
    return affine


def _folded(steps: list[Any], affine: Affine, model: Model, formula: Formula) -> LinearModel:
    """The linear model of features as they come to the first step, for a model of what the last one gives."""
    names = getattr(steps[0], "feature_names_in_", None)
    about = {**model.about(), "feature_names": None if names is None else list(map(str, names))}
    if not (formula.is_plain and _is_standardisation(affine)):
        return LinearModel.of(behind(affine, formula, int(steps[0].n_features_in_)), **about)
    # Engines that have scalers of their own are given it as one.
    scaled = LinearModel.of(formula, standardisation=_standardisation_of(steps, affine), **about)
    # It knows queries by their scaled features, which only the same numbers give again.
    return scaled if _as_it_divides(steps) is None else scaled.with_memory_of(model)


def _standardisation_of(steps: list[Any], affine: Affine) -> Standardisation:
    by = _as_it_divides(steps)
    return Standardisation(-affine.offsets / affine.factors, 1 / affine.factors) if by is None else by


def _is_standardisation(affine: Affine) -> bool:
    """Whether there is a column (x − mean) / scale for each feature, in their order, and nothing is filled in."""
    one_to_one = np.array_equal(affine.sources, np.arange(len(affine.sources)))
    return bool(one_to_one and (affine.factors > 0).all() and np.isnan(affine.fills).all())


def _as_it_divides(steps: list[Any]) -> Standardisation | None:
    """Mean and scale, bit for bit, of a single scaler that subtracts and divides."""
    if len(steps) > 1 or not isinstance(steps[0], GlobalStandardScaler | StandardScaler | RobustScaler | MaxAbsScaler):
        return None
    return _mean_and_scale(steps[0])


def _mean_and_scale(scaler: Any) -> Standardisation:
    ones = np.ones(scaler.n_features_in_)
    scale = ones if scaler.scale_ is None else np.asarray(scaler.scale_, np.float64)
    mean = None
    if isinstance(scaler, RobustScaler):
        mean = scaler.center_
    elif not isinstance(scaler, MaxAbsScaler) and scaler.with_mean:
        mean = scaler.mean_
    return Standardisation(0 * ones if mean is None else np.asarray(mean, np.float64), scale)


def _after(affine: Affine, step: Any) -> Affine:
    """The columns behind one more step."""
    if isinstance(step, GlobalStandardScaler | StandardScaler | RobustScaler | MaxAbsScaler):
        return affine.divided(*_mean_and_scale(step))
    if isinstance(step, MinMaxScaler):
        if step.clip:
            raise ParameterError(
                "pipeline: MinMaxScaler(clip=True) is not linear, so it cannot be folded into the model"
            )
        return affine.scaled(step.scale_, step.min_)
    if isinstance(step, SimpleImputer):
        return _imputed(affine, step)
    why = ""
    if isinstance(step, QueryMinMaxScaler):
        why = " (it scales each query by all of its documents, which a model that scores one document does not see)"
    raise ParameterError(
        f"pipeline: {type(step).__name__} cannot be folded into the weights{why}: only {_FOLDABLE} can"
    )


def _imputed(affine: Affine, imputer: SimpleImputer) -> Affine:
    if not (isinstance(imputer.missing_values, float) and np.isnan(imputer.missing_values)):
        raise ParameterError("pipeline: SimpleImputer can be folded in only if missing_values is NaN")
    values = np.asarray(imputer.statistics_, dtype=np.float64)
    is_kept = ~np.isnan(values)  # columns without any value are dropped, or filled by 0
    if imputer.keep_empty_features:
        values, is_kept = np.nan_to_num(values), np.ones(len(values), bool)
    filled = affine.filled(values).take(is_kept)
    if not imputer.add_indicator:
        return filled
    return filled.with_indicators(np.asarray(imputer.indicator_.features_, np.intp), affine)
