"""scikit-learn pipelines as one model: scalers and imputers in front of a linear ranker, folded into its weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler
from rankwright.errors import ParameterError
from rankwright.preparation.affine import Affine, behind
from rankwright.preparation.formula import Formula
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.learned import checked_weights
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
    steps = [step for _, step in model.steps[:-1] if step is not None and step != "passthrough"]
    ranker = model.steps[-1][1]
    if not steps:
        return ranker, None
    if not isinstance(ranker, LinearRanker):
        raise ParameterError(
            f"pipeline: it ends in {type(ranker).__name__}, but only a linear ranker can take in the steps before it"
        )
    for step in (*steps, ranker):
        check_is_fitted(step)
    return _folded(steps, ranker), None


def _folded(steps: list[Any], ranker: LinearRanker) -> LinearModel:
    names = getattr(steps[0], "feature_names_in_", None)
    affine = Affine.identity(int(steps[0].n_features_in_))
    n_features = len(affine.sources)
    for step in steps:
        affine = _after(affine, step)
    one_to_one = np.array_equal(affine.sources, np.arange(n_features)) and bool((affine.factors > 0).all())
    about: dict[str, Any] = {
        "feature_names": None if names is None else list(map(str, names)),
        "ranker": ranker.ranker_ if isinstance(ranker, LinearModel) else type(ranker).__name__,
        "parameters": _parameters(ranker),
        "training": {},
    }
    if one_to_one and np.isnan(affine.fills).all() and ranker.formula().is_plain:
        # Engines that have scalers of their own are given it as one.
        by = Standardisation(-affine.offsets / affine.factors, 1 / affine.factors)
        return LinearModel.of(Formula(*checked_weights(ranker)), standardisation=by, **about)
    return LinearModel.of(behind(affine, ranker.formula(), n_features), **about)


def _parameters(ranker: LinearRanker) -> dict[str, Any]:
    return ranker.parameters_ if isinstance(ranker, LinearModel) else plain_parameters(ranker)


def _after(affine: Affine, step: Any) -> Affine:
    """The columns behind one more step."""
    if isinstance(step, GlobalStandardScaler | StandardScaler):
        scale = np.ones(len(affine.sources)) if step.scale_ is None else step.scale_
        mean = step.mean_ if step.with_mean else np.zeros_like(scale)
        return affine.scaled(1 / scale, -mean / scale)
    if isinstance(step, MinMaxScaler):
        if step.clip:
            raise ParameterError("pipeline: MinMaxScaler(clip=True) is no linear function, so it cannot be folded in")
        return affine.scaled(step.scale_, step.min_)
    if isinstance(step, MaxAbsScaler):
        return affine.scaled(1 / step.scale_, np.zeros_like(step.scale_))
    if isinstance(step, RobustScaler):
        scale = np.ones(len(affine.sources)) if step.scale_ is None else step.scale_
        center = np.zeros_like(scale) if step.center_ is None else step.center_
        return affine.scaled(1 / scale, -center / scale)
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
