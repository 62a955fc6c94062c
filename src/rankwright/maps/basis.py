"""`Basis`: the columns that can be made of features: values, hinges, logarithms, and products of two features.

With z = (x − c) / s of a filled-in feature x, c near its mean and s near its spread, the columns are z, max(0, ±(z − t)),
sign(x) · log(1 + |x| / u), 1 where x was missing, and z·z' of two features, each divided by its spread within queries.
They are described by a few numbers each and made when they are asked for; tens of thousands of them cost nothing until
then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.errors import ParameterError
from rankwright.judgments.grouping import Grouping
from rankwright.maps.terms import FACTORS, Factor, Term, Terms, dense_columns, product_text
from rankwright.preparation.missing import ROWS_PER_BLOCK
from rankwright.preparation.transforms import Log
from rankwright.types import Array, Columns

VALUE, ABOVE, BELOW, LOG, MISSING = range(len(FACTORS))  # as the names in FACTORS


@dataclass(frozen=True, eq=False)
class Units:
    """z = (x − centre) / size of each feature, where ``fill`` stands for missing values, if that is known.

    Centres have few digits, and sizes are powers of two: both only keep numbers near 1 and formulas short.
    """

    fill: Array | None
    centre: Array
    size: Array

    def of(self, x: Any, columns: Columns | None = None) -> tuple[Array, npt.NDArray[np.bool_]]:
        """z of all features of some rows, or of some features, and which of them were missing."""
        which: Any = slice(None) if columns is None else columns
        values = dense_columns(x, columns)
        missing = np.isnan(values)
        if self.fill is not None and missing.any():
            values = np.where(missing, self.fill[which], values)
        values -= self.centre[which]
        values /= self.size[which]
        return values, missing


@dataclass(frozen=True, eq=False)
class Basis:
    """Columns made of features, a few numbers for each.

    Attributes
    ----------
    by : how features are filled in and standardised first
    first, second : the features of each column; ``second`` is −1 unless it is a product
    kinds : which function of ``first`` it is, by its place in ``FACTORS``; products are of values
    numbers : t of hinges, in units of the feature itself, and u of logarithms
    scale : what it is divided by, after z took the place of x
    """

    by: Units
    first: Columns
    second: Columns
    kinds: npt.NDArray[np.int8]
    numbers: Array
    scale: Array

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self.by.centre)

    @property
    def n_columns(self) -> int:
        """How many columns are made of them."""
        return len(self.first)

    @property
    def is_product(self) -> npt.NDArray[np.bool_]:
        """Which columns are products."""
        products: npt.NDArray[np.bool_] = self.second >= 0
        return products

    def take(self, which: npt.ArrayLike) -> Basis:
        """Some of the columns."""
        chosen = np.asarray(which)
        told = {name: getattr(self, name)[chosen] for name in ("first", "second", "kinds", "numbers", "scale")}
        return replace(self, **told)

    def columns(self, x: Any, grouping: Grouping | None = None) -> Array:
        """The columns of some rows, dense or CSR; NaN where a value is missing and nothing stands for it."""
        made = np.empty((x.shape[0], self.n_columns))
        needed = np.unique(np.concatenate([self.first, self.second[self.is_product]]))
        place = np.zeros(self.n_features, np.intp)
        place[needed] = np.arange(len(needed))
        for begin in range(0, x.shape[0], ROWS_PER_BLOCK):
            rows = slice(begin, begin + ROWS_PER_BLOCK)
            self._make(*self.by.of(x[rows], needed), place, made[rows])
        return made

    def _make(self, z: Array, missing: npt.NDArray[np.bool_], place: Columns, out: Array) -> None:
        products = self.is_product
        out[:, products] = z[:, place[self.first[products]]] * z[:, place[self.second[products]]]
        for column in np.flatnonzero(~products).tolist():
            at = place[self.first[column]]
            out[:, column] = self._single(column, z[:, at], missing[:, at])
        out /= self.scale

    def _single(self, column: int, z: Array, missing: npt.NDArray[np.bool_]) -> Array:
        """A function of one feature."""
        kind, feature, number = self.kinds[column], self.first[column], float(self.numbers[column])
        if kind == VALUE:
            return z
        if kind == MISSING:
            return missing.astype(np.float64)
        if kind == LOG:
            return Log(number)(z * self.by.size[feature] + self.by.centre[feature])
        knot = self.knot(column)
        hinge: Array = np.maximum(z - knot if kind == ABOVE else knot - z, 0.0)
        return hinge

    def knot(self, column: int) -> float:
        """t of a hinge in units of z."""
        feature = self.first[column]
        return float((self.numbers[column] - self.by.centre[feature]) / self.by.size[feature])

    # As formulas

    def factors(self, column: int) -> tuple[Factor, ...]:
        """What a column is the product of, but for a number."""
        i, j = int(self.first[column]), int(self.second[column])
        if j >= 0:
            return tuple(Factor(feature, "value", float(self.by.centre[feature])) for feature in (i, j))
        return (Factor(i, FACTORS[self.kinds[column]], float(self.numbers[column])),)

    def _factor_scale(self) -> Array:
        """What products of factors are divided by to be the columns."""
        size = np.where(np.isin(self.kinds, (LOG, MISSING)), 1.0, self.by.size[self.first])
        size = np.where(self.is_product, size * self.by.size[self.second], size)
        return self.scale * size

    def terms(self, weights: Array, intercept: float = 0.0) -> Terms:
        """The formula of features for weights of the columns; columns without a weight are left out."""
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            raw = weights / self._factor_scale()
        if not np.isfinite(raw).all() or ((raw == 0) & (weights != 0)).any():
            raise ParameterError("a weight over the scale of its feature is too large or too small for float64")
        counted = np.flatnonzero(weights)
        made = [Term(float(raw[column]), self.factors(int(column))) for column in counted]
        offset = sum(float(weights[c] * self._offset(int(c))) for c in counted)
        terms = Terms(tuple(made), intercept - offset)
        fill = self.by.fill
        return terms if fill is None else replace(terms, fill={c: float(fill[c]) for c in terms.used.tolist()})

    def _offset(self, column: int) -> float:
        """What the factor of a value has beyond its column, which is centred."""
        if self.kinds[column] != VALUE or self.second[column] >= 0:
            return 0.0
        feature = self.first[column]
        return float(self.by.centre[feature] / self.by.size[feature] / self.scale[column])

    def names(self, feature_names: Sequence[str] | Callable[[int], str]) -> tuple[str, ...]:
        """The columns as people write them."""
        name_of = feature_names if callable(feature_names) else feature_names.__getitem__
        return tuple(product_text(self.factors(column), name_of) for column in range(self.n_columns))
