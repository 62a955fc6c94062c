"""What a ranker has learned, checked before anything is computed from it: its attributes are open to anyone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError

from rankwright.errors import ParameterError
from rankwright.types import Array, Columns


class Unfitted(ParameterError, NotFittedError):  # type: ignore[misc]
    """A ranker has learned nothing yet; scikit-learn's tools know it as their own error."""


class LinearWeights(NamedTuple):
    """Scores are x · weights + intercept."""

    weights: Array
    intercept: float


class Stumps(NamedTuple):
    """Scores are Σ_t weight_t [x_{feature_t} > threshold_t]; features are columns, counted from 0."""

    features: Columns
    thresholds: Array
    weights: Array


def checked_weights(ranker: Any) -> LinearWeights:
    """``coef_`` and ``intercept_``, which is 0 where there is none, as float64."""
    _check_fitted(ranker, "coef_")
    preparation = getattr(ranker, "preparation_", None)
    n_columns = _n_features(ranker) if preparation is None else len(preparation.sources)
    weights = _numbers(ranker, "coef_")
    if weights.shape != (n_columns,):
        what = "feature" if preparation is None else "column"
        raise _wrong(ranker, "coef_", f"has shape {weights.shape}, but must have {_each(n_columns, what)}")
    intercept = _real(ranker, "intercept_", getattr(ranker, "intercept_", 0.0))
    if intercept.shape != ():
        raise _wrong(ranker, "intercept_", f"has shape {intercept.shape}, but must be one number")
    _check_finite(ranker, intercept_=intercept)
    return LinearWeights(weights, float(intercept))


def checked_stumps(ranker: Any, n_features: int | None = None) -> Stumps:
    """``stump_features_``, ``stump_thresholds_`` and ``stump_weights_``, of so many features or as many as it takes."""
    _check_fitted(ranker, "stump_weights_")
    n_features = _n_features(ranker) if n_features is None else n_features
    weights = _numbers(ranker, "stump_weights_")
    if weights.ndim != 1:
        raise _wrong(ranker, "stump_weights_", f"has shape {weights.shape}, but must have one number for each stump")
    thresholds, features = _numbers(ranker, "stump_thresholds_"), np.asarray(ranker.stump_features_)
    for name, values in (("stump_thresholds_", thresholds), ("stump_features_", features)):
        if values.shape != weights.shape:
            raise _wrong(ranker, name, f"has shape {values.shape}, but must have {_each(len(weights), 'stump')}")
    if len(features) and features.dtype.kind not in "iu":
        raise _wrong(ranker, "stump_features_", f"must hold whole numbers, not {features.dtype}")
    outside = np.flatnonzero((features < 0) | (features >= n_features))
    if len(outside):
        place = int(outside[0])
        raise _wrong(
            ranker,
            "stump_features_",
            f"has {features[place]} at place {place}, but its {n_features} features are columns from 0 on",
        )
    return Stumps(features.astype(np.intp, copy=False), thresholds, weights)


def checked_dual(ranker: Any) -> Array:
    """``dual_coef_``, a weight for each of the documents in ``X_fit_``."""
    _check_fitted(ranker, "dual_coef_")
    weights, n_documents = _numbers(ranker, "dual_coef_"), ranker.X_fit_.shape[0]
    if weights.shape != (n_documents,):
        raise _wrong(ranker, "dual_coef_", f"has shape {weights.shape}, but must have {_each(n_documents, 'document')}")
    return weights


def _check_fitted(ranker: Any, learned: str) -> None:
    if not hasattr(ranker, learned):
        raise Unfitted(f"ranker: this {type(ranker).__name__} is not fitted yet: call fit first")


def _n_features(ranker: Any) -> int:
    number = getattr(ranker, "n_features_in_", None)
    if number is None:
        raise _wrong(ranker, "n_features_in_", "is missing: fit sets it to the number of features")
    return int(number)


def _numbers(ranker: Any, name: str) -> Array:
    """An attribute as a float64 array, all of it finite."""
    values = _real(ranker, name, getattr(ranker, name, None))
    _check_finite(ranker, **{name: values})
    return values


def _real(ranker: Any, name: str, value: Any) -> Array:
    try:
        values = np.asarray(value)
    except ValueError:  # lists of different lengths
        raise _wrong(ranker, name, "must be an array of real numbers") from None
    if values.dtype.kind not in "fiu":
        raise _wrong(ranker, name, f"must be an array of real numbers, not of {values.dtype}")
    return np.ascontiguousarray(values, dtype=np.float64) if values.ndim else values.astype(np.float64)


def _check_finite(ranker: Any, **named: Array) -> None:
    for name, values in named.items():
        if not np.isfinite(values).all():
            raise _wrong(ranker, name, "is not all finite, so it cannot rank")


def _each(number: int, what: str) -> str:
    return f"one number for each of its {number} {what}s"


def _wrong(ranker: Any, attribute: str, problem: str) -> ParameterError:
    return ParameterError(f"ranker: {attribute} of this {type(ranker).__name__} {problem}")
