"""`Affine`: what scalers and imputers in front of a linear ranker make of features, to be folded into its weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import Filling
from rankwright.types import Array, Columns


class Affine(NamedTuple):
    """Columns a · x + b of features x, each of one feature; ``fills`` is what a column is where its feature is missing.

    A fill of NaN means that what is missing stays missing. An offset of NaN means that the column is missing whatever x
    is: it comes from a scaler that was fitted without any value of the feature.
    """

    sources: Columns
    factors: Array
    offsets: Array
    fills: Array

    @classmethod
    def identity(cls, n_features: int) -> Affine:
        """The features as they are."""
        return cls(np.arange(n_features), np.ones(n_features), np.zeros(n_features), np.full(n_features, np.nan))

    @classmethod
    def of_standardisation(cls, mean: Array, scale: Array) -> Affine:
        """(x − mean) / scale."""
        return cls.identity(len(mean)).divided(mean, scale)

    def divided(self, mean: Array, scale: Array) -> Affine:
        """Every column z as (z − mean) / scale."""
        with np.errstate(over="ignore"):
            return self.scaled(1 / scale, -mean / scale)

    def scaled(self, factors: Array, offsets: Array) -> Affine:
        """Every column z as factor · z + offset."""
        if np.isinf(factors).any() or np.isinf(offsets).any():
            raise ParameterError("a feature has a scale that is too large or too small for float64")
        a, b = factors * self.factors, factors * self.offsets + offsets
        return Affine(self.sources, np.where(np.isnan(b), 0.0, a), b, factors * self.fills + offsets)

    def take(self, columns: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Affine:
        """Some of the columns."""
        return Affine(self.sources[columns], self.factors[columns], self.offsets[columns], self.fills[columns])

    def filled(self, values: Array) -> Affine:
        """Columns whose missing values are filled in."""
        offsets, fills = (np.where(np.isnan(own), values, own) for own in (self.offsets, self.fills))
        return self._replace(offsets=offsets, fills=fills)

    def with_indicators(self, columns: Columns, of: Affine) -> Affine:
        """And a column for each of some columns of another that is 1 where that is missing, else 0."""
        if not np.isnan(of.fills[columns]).all():
            raise ParameterError("pipeline: an imputer behind another one never sees a missing value")
        always = np.isnan(of.offsets[columns]).astype(np.float64)
        return Affine(
            np.concatenate([self.sources, of.sources[columns]]),
            np.concatenate([self.factors, np.zeros(len(columns))]),
            np.concatenate([self.offsets, always]),
            np.concatenate([self.fills, np.ones(len(columns))]),
        )


def behind(affine: Affine, formula: Formula, n_features: int) -> Formula:
    """The formula of features, for a formula of the columns that are made of them.

    Of columns w (a x + b), w a is the weight of the feature and w b goes into the intercept. Where the feature is
    missing, its columns add w m, or if they stay missing what the formula has for that; one of them tells what value
    stands in for the feature, and the rest of it is what being missing adds.
    """
    if formula.transforms:
        raise ParameterError(
            "a model with logarithms or quantiles takes features as they are: it cannot be put behind a scaler"
        )
    affine, formula = _without_lost_columns(affine, formula)
    sources, a, b, fills = affine
    w = formula.weights
    with np.errstate(over="ignore", invalid="ignore"):  # checked below
        weights = _sums(sources, w * a, n_features)
        intercept = float(formula.intercept + w @ b)
    kept = _sums(sources, np.where(a != 0, np.abs(w), 0.0), n_features)
    stays = np.isnan(fills)
    if formula.filling is None and stays.any():
        return Formula(weights, intercept).checked(kept)
    by_query = formula.filling is not None and formula.filling.by_query and bool(stays.any())
    if by_query and not (stays.all() and len(np.unique(sources)) == len(sources)):
        raise ParameterError("pipeline: missing='query-mean' behind an imputer cannot be folded into one formula")
    known = np.where(stays, np.nan if formula.filling is None else formula.filling.values, fills)
    is_value = a != 0
    with np.errstate(over="ignore", invalid="ignore"):
        stands_in = (known - b) / np.where(is_value, a, 1.0)
        values = np.zeros(n_features)
        values[sources[is_value][::-1]] = stands_in[is_value][::-1]  # of several columns the first
        beside = np.where(is_value, w * a * (stands_in - values[sources]), w * (known - b))
    extra = _sums(sources, np.where(stays, formula.extra, 0.0) + beside, n_features)
    return Formula(weights, intercept, {}, Filling(values, by_query), extra).checked(kept)


def _without_lost_columns(affine: Affine, formula: Formula) -> tuple[Affine, Formula]:
    """Both without columns that are missing whatever the features are, which a ranker can have learned nothing from."""
    lost = np.isnan(affine.offsets)
    if not lost.any():
        return affine, formula
    if formula.weights[lost].any() or formula.extra[lost].any():
        feature = int(affine.sources[lost][0]) + 1
        raise ParameterError(f"pipeline: a scaler has seen no value of feature {feature}, but the ranker uses it")
    filling = formula.filling
    return affine.take(~lost), Formula(
        formula.weights[~lost],
        formula.intercept,
        {},
        None if filling is None else filling._replace(values=filling.values[~lost]),
        formula.extra[~lost],
    )


def _sums(sources: Columns, values: Array, n_features: int) -> Array:
    """Of each feature the sum over its columns."""
    return np.bincount(sources, values, minlength=n_features).astype(np.float64, copy=False)
