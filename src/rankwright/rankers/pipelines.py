"""scikit-learn pipelines as one model: scalers and imputers in front of a linear ranker, folded into its weights."""

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
from rankwright.preparation.affine import Affine, behind
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.linear_model import LinearModel
from rankwright.rankers.saved_model import plain_parameters
from rankwright.rankers.standardisation import Standardisation

_FOLDABLE = "StandardScaler, MinMaxScaler, RobustScaler, MaxAbsScaler, GlobalStandardScaler and SimpleImputer"


def without_pipeline(model: Any, scaler: Any) -> tuple[Any, Any]:
    """The model and the scaler as they are, or in place of a pipeline the model that computes the same."""
    if not isinstance(model, Pipeline):
        return model, scaler
    if scaler is not None:
        raise ParameterError("scaler: a pipeline has its scalers already, so leave it out")
    *steps, ranker = _steps(model) or [model]
    if not steps:
        return ranker, None
    if not isinstance(ranker, LinearRanker):
        raise ParameterError(
            f"pipeline: it ends in {type(ranker).__name__}, but only a linear ranker can take in the steps before it"
        )
    for step in (*steps, ranker):
        _check_fitted(step)
    return _folded(steps, ranker), None


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


def _folded(steps: list[Any], ranker: LinearRanker) -> LinearModel:
    affine = Affine.identity(int(steps[0].n_features_in_))
    n_features = len(affine.sources)
    for step in steps:
        affine = _after(affine, step)
    formula, names = ranker.formula(), getattr(steps[0], "feature_names_in_", None)
    is_model = isinstance(ranker, LinearModel)
    about: dict[str, Any] = {
        "feature_names": None if names is None else list(map(str, names)),
        "ranker": ranker.ranker_ if is_model else type(ranker).__name__,
        "parameters": ranker.parameters_ if is_model else plain_parameters(ranker),
        "training": ranker.training_ if is_model else {},
    }
    if not (formula.is_plain and _is_standardisation(affine)):
        return LinearModel.of(behind(affine, formula, n_features), **about)
    # Engines that have scalers of their own are given it as one.
    by = _as_it_divides(steps) or Standardisation(-affine.offsets / affine.factors, 1 / affine.factors)
    model = LinearModel.of(formula, standardisation=by, **about)
    if _as_it_divides(steps) is not None and hasattr(ranker, "_seen_queries"):
        model._seen_queries = ranker._seen_queries  # by their scaled features, which only the same numbers give again
    return model


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
