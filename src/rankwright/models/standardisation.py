"""What a scaler in front of a linear ranker does to its features, so that the two can be kept together."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from rankwright.data.normalise import GlobalStandardScaler, QueryMinMaxScaler
from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.preparation.affine import Affine, behind
from rankwright.preparation.formula import Formula
from rankwright.preparation.preparation import prepare
from rankwright.types import Array


class Standardisation(NamedTuple):
    """(x − mean) / scale, for each feature."""

    mean: Array
    scale: Array

    def of(self, x: Any) -> Any:
        """Features in the type of x, as the scaler gave them to the ranker; CSR has no mean to subtract."""
        if sp.issparse(x):
            scaled = (x.data / self.scale[x.indices]).astype(x.dtype)
            return sp.csr_array((scaled, x.indices, x.indptr), shape=x.shape)
        return ((x - self.mean) / self.scale).astype(x.dtype)

    def folded_into(self, formula: Formula) -> Formula:
        """The formula of features as they are, for a formula of features behind this scaler."""
        columns = np.arange(len(self.mean))
        if formula.is_plain:  # features without a weight may have any scale
            columns = np.flatnonzero(formula.weights)
            formula = Formula(formula.weights[columns], formula.intercept)
        affine = Affine.of_standardisation(self.mean[columns], self.scale[columns])
        return behind(affine._replace(sources=columns), formula, len(self.mean))


def within_query_scale(queries: Queries) -> Standardisation:
    """Each feature divided by its spread within queries; a kernel that compares documents needs no mean."""
    scale = prepare(queries)[0].scale
    assert scale is not None  # features are scaled unless one asks for something else
    return Standardisation(np.zeros(queries.n_features), scale)


def standardised(queries: Queries, by: Standardisation) -> Queries:
    """The same queries with scaled features."""
    names = queries.feature_names if queries.has_feature_names else None
    return Queries.of_parts(by.of(queries.X), queries.supervision, queries.grouping, names, queries.doc_ids)


def standardisation_by(scaler: Any, model: Any) -> Standardisation:
    """What a fitted scaler does to the features of a model."""
    _check_kind(scaler)
    _check_features(model, scaler)
    mean = scaler.mean_ if scaler.with_mean else np.zeros_like(scaler.mean_)
    return checked_standardisation(model, mean, scaler.scale_)


def checked_standardisation(model: Any, mean: Any, scale: Any) -> Standardisation:
    """Numbers that can be computed with, one of each for every feature."""
    by = Standardisation(np.asarray(mean), np.asarray(scale))
    for values in by:
        if values.shape != (model.n_features_in_,) or values.dtype.kind not in "fiu" or not np.isfinite(values).all():
            raise ParameterError(
                f"scaler: mean and scale must be a finite number for each of the {model.n_features_in_} features"
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
