"""`Terms`: a short formula, c + Σ weight · factor (· factor), of features as they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.preparation.missing import ROWS_PER_BLOCK
from rankwright.preparation.transforms import Log
from rankwright.types import Array, Columns

FactorName: TypeAlias = Literal["value", "above", "below", "log", "missing"]
FACTORS: tuple[FactorName, ...] = get_args(FactorName)

_LEAST_ROWS, _CELLS_PER_BLOCK = 256, 1 << 22  # whose terms are computed at a time

_SLOG = "slog("

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Factor:
    """A function of one feature x, with a number t.

    ``"value"`` is x − t, ``"above"`` max(0, x − t), ``"below"`` max(0, t − x), ``"log"`` sign(x) · log(1 + |x| / t),
    and ``"missing"`` 1 where x is missing, else 0, whatever t. The feature is a column, counted from 0.
    """

    column: int
    kind: FactorName
    number: float = 0.0

    def __call__(self, values: Array, missing: Mask) -> Array:
        """Of filled-in values of the feature, and of where they were missing."""
        if self.kind == "missing":
            return missing.astype(np.float64)
        if self.kind == "log":
            return Log(self.number)(values)
        if self.kind == "value":
            return values - self.number if self.number else values
        above: Array = np.maximum(values - self.number if self.kind == "above" else self.number - values, 0.0)
        return above

    def text(self, name: str) -> str:
        """As people write it; `where_slog` tells what stands for a logarithm."""
        if self.kind == "missing":
            return f"missing({name})"
        if self.kind == "log":
            return f"{_SLOG}{name})" if self.number == 1 else f"{_SLOG}{name} / {_written(self.number)})"
        if self.kind == "below":
            return f"max(0, {_written(self.number)} − {name})"
        inner = name if not self.number else f"{name} {'−' if self.number > 0 else '+'} {_written(abs(self.number))}"
        if self.kind == "above":
            return f"max(0, {inner})"
        return f"({inner})" if self.number else name


@dataclass(frozen=True)
class Term:
    """weight · the product of its factors, which are one or two."""

    weight: float
    factors: tuple[Factor, ...]

    def text(self, name_of: Callable[[int], str]) -> str:
        """Its factors, without the weight."""
        return product_text(self.factors, name_of)


def product_text(factors: Sequence[Factor], name_of: Callable[[int], str]) -> str:
    """Factors as people write their product."""
    texts = [factor.text(name_of(factor.column)) for factor in factors]
    return f"{texts[0]}²" if len(texts) == 2 and texts[0] == texts[1] else "·".join(texts)


@dataclass(frozen=True)
class Terms:
    """The score of a document: c + Σ_t weight_t · Π of the factors of t.

    ``fill`` is what stands for missing values, by column, of all features that are used; None if nothing is known of
    missing values: then a document that lacks a used feature has no score.
    """

    terms: tuple[Term, ...]
    intercept: float = 0.0
    fill: Mapping[int, float] | None = None

    @property
    def used(self) -> Columns:
        """The features that terms are made of."""
        return np.unique([factor.column for term in self.terms for factor in term.factors]).astype(np.intp)

    @property
    def weights(self) -> Array:
        """Of the terms."""
        return np.array([term.weight for term in self.terms], np.float64)

    def scores(self, x: Any) -> Array:
        """The scores of rows; NaN where a value is missing that the formula cannot do without."""
        used, weights = self.used, self.weights
        step = max(_LEAST_ROWS, min(ROWS_PER_BLOCK, _CELLS_PER_BLOCK // max(1, len(weights))))
        scores = np.full(x.shape[0], self.intercept)
        for first in range(0, x.shape[0], step):
            rows = slice(first, first + step)
            scores[rows] += self.values(dense_columns(x[rows], used)) @ weights
        return scores

    def values(self, used_values: Array) -> Array:
        """Each term without its weight (rows × terms), given the used features as they are (rows × ``used``)."""
        missing = np.isnan(used_values)
        places = {column: place for place, column in enumerate(self.used.tolist())}
        filled = used_values
        if self.fill is not None and missing.any():
            filled = np.where(missing, [self.fill[column] for column in places], used_values)
        different = {factor: place for place, factor in enumerate(self._factors())}
        factors = np.ones((len(used_values), len(different) + 1))  # the last one stands where a term has no second
        with np.errstate(over="ignore", invalid="ignore"):  # scores that overflow are told with their document
            for factor, at in different.items():
                place = places[factor.column]
                factors[:, at] = factor(filled[:, place], missing[:, place])
            first = [different[term.factors[0]] for term in self.terms]
            second = [different[term.factors[1]] if len(term.factors) > 1 else -1 for term in self.terms]
            return factors[:, first] * factors[:, second]

    def _factors(self) -> list[Factor]:
        return list(dict.fromkeys(factor for term in self.terms for factor in term.factors))

    def text(self, name_of: Callable[[int], str]) -> str:
        """The formula as people write it, such as ``0.7·bm25 + 0.2·max(0, ctr − 0.1)``."""
        told = [(term.weight, f"{_written(abs(term.weight), 4)}·{term.text(name_of)}") for term in self.terms]
        if self.intercept or not told:
            told.append((self.intercept, _written(abs(self.intercept), 4)))
        first, *others = told
        start = f"−{first[1]}" if first[0] < 0 else first[1]
        return start + "".join(f" {'−' if weight < 0 else '+'} {text}" for weight, text in others)

    def cut_to(self, n_features: int) -> Terms:
        """The formula for data whose features after the first n are all 0, and not there."""
        zero, present = np.zeros(1), np.zeros(1, bool)
        kept, intercept = [], self.intercept
        for term in self.terms:
            weight = term.weight
            for factor in term.factors:
                if factor.column >= n_features:
                    weight *= float(factor(zero, present)[0])
            own = tuple(factor for factor in term.factors if factor.column < n_features)
            if own and weight:
                kept.append(Term(weight, own))
            elif not own:
                intercept += weight
        return replace(self, terms=tuple(kept), intercept=intercept)


def where_slog(formula: str) -> str:
    """What to write behind a formula so that its logarithms, which take negative values too, are understood."""
    return f", where {_SLOG}x) = sign(x)·log(1 + |x|)" if _SLOG in formula else ""


def _written(number: float, digits: int = 12) -> str:
    """A number with the minus sign that stands between terms."""
    return f"{number:.{digits}g}".replace("-", "−")


def dense_columns(x: Any, columns: Columns | None = None) -> Array:
    """All columns of some rows, or some of them, as a dense array of their own in float64."""
    taken = x if columns is None else x[:, columns]
    values: Array = (taken.toarray() if sp.issparse(taken) else taken).astype(np.float64)
    return values
