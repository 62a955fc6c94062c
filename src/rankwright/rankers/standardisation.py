"""What a scaler in front of a linear ranker does to its features, so that the two can be kept together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler
from rankwright.errors import ParameterError
from rankwright.preparation.affine import Affine, behind
from rankwright.preparation.formula import Formula
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.learned import LinearWeights, checked_weights
from rankwright.types import Array


class Standardisation(NamedTuple):
    """(x − mean) / scale, for each feature."""

    mean: Array
    scale: Array


class Learned(NamedTuple):
    """What a ranker computes: of features behind a standardisation, or of features as they are if there is none."""

    formula: Formula
    standardisation: Standardisation | None

    def of_raw_features(self) -> Formula:
        """The same scores, of features as they are."""
        if self.standardisation is None:
            return self.formula
        return Formula(*folded(LinearWeights(self.formula.weights, self.formula.intercept), self.standardisation))


def learned_of(ranker: LinearRanker, scaler: Any) -> Learned:
    """What a fitted ranker computes, behind a scaler if one is given or its model file has one."""
    by = standardisation_of(ranker, scaler)
    if by is None:
        return Learned(ranker.formula(), None)
    # A scaler of its own is part of the formula already.
    formula = Formula(*checked_weights(ranker)) if scaler is None else ranker.formula()
    if formula.is_plain:
        return Learned(formula, by)
    return Learned(behind(Affine.of_standardisation(*by), formula, ranker.n_features_in_), None)


def standardisation_of(ranker: Any, scaler: Any) -> Standardisation | None:
    """What was done to the features that a fitted ranker was trained on: by a scaler, or as its model file says."""
    own = getattr(ranker, "standardisation_", None)
    if scaler is None:
        return None if own is None else _checked(ranker, *own)
    if own is not None:
        raise ParameterError("scaler: this model has a scaler of its own, so leave it out")
    _check_kind(scaler)
    if not isinstance(ranker, LinearRanker):
        raise ParameterError(
            f"scaler is for linear rankers: {type(ranker).__name__} compares features with thresholds, whatever their "
            "scale, so train it on the features as they are"
        )
    _check_features(ranker, scaler)
    mean = scaler.mean_ if scaler.with_mean else np.zeros_like(scaler.mean_)
    return _checked(ranker, mean, scaler.scale_)


def _checked(ranker: Any, mean: Any, scale: Any) -> Standardisation:
    """Numbers that can be computed with, one of each for every feature."""
    by = Standardisation(np.asarray(mean), np.asarray(scale))
    for values in by:
        if values.shape != (ranker.n_features_in_,) or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            raise ParameterError(
                f"scaler: mean and scale must be a finite number for each of the {ranker.n_features_in_} features"
            )
    if (by.scale <= 0).any():
        raise ParameterError("scaler: the scale of every feature must be above 0")
    return by


def _check_kind(scaler: Any) -> None:
    if isinstance(scaler, QueryMinMaxScaler):
        raise ParameterError(
            "scaler: QueryMinMaxScaler scales each query by all of its documents, which a model that scores one "
            "document at a time does not see: train on the features as they are, or behind GlobalStandardScaler"
        )
    if not isinstance(scaler, GlobalStandardScaler):
        raise ParameterError(f"scaler must be a GlobalStandardScaler, not {type(scaler).__name__}")
    if not hasattr(scaler, "scale_"):
        raise ParameterError("scaler: this GlobalStandardScaler is not fitted yet: call fit first")


def _check_features(ranker: Any, scaler: GlobalStandardScaler) -> None:
    if ranker.n_features_in_ != len(scaler.scale_):
        raise ParameterError(f"scaler has {len(scaler.scale_)} features, but the ranker has {ranker.n_features_in_}")
    names, scaled = (getattr(one, "feature_names_in_", None) for one in (ranker, scaler))
    if names is not None and scaled is not None and list(names) != list(scaled):
        raise ParameterError("scaler has other features than the ranker, or has them in another order")


def folded(learned: LinearWeights, by: Standardisation | None) -> LinearWeights:
    """w / σ and c − Σ w μ / σ: the same scores from features as they were before the scaler, if there is one."""
    if by is None:
        return learned
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        raw = learned.weights / by.scale
        intercept = float(learned.intercept - raw @ by.mean)
    kept = np.isfinite(raw).all() and np.array_equal(raw != 0, learned.weights != 0)
    if not (kept and np.isfinite(intercept)):
        raise ParameterError("scaler: a weight over a standard deviation is too large or too small for float64")
    return LinearWeights(raw, intercept)
