"""Which columns there are for some training queries: knots at quantiles, units of logarithms, spreads."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.doubled_sums import DoubledSums
from rankwright.data.finite import check_features
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.errors import DataError, ParameterError
from rankwright.maps.basis import ABOVE, BELOW, LOG, MISSING, VALUE, Basis, Units
from rankwright.maps.basis_sums import spreads
from rankwright.maps.terms import dense_columns
from rankwright.preparation.heavy_tails import sampled, transforms_of
from rankwright.preparation.missing import ROWS_PER_BLOCK, Filling
from rankwright.preparation.preparation import unscaled_preparation
from rankwright.preparation.transforms import Log
from rankwright.types import Array, Columns

MOST_COLUMNS = 1 << 22  # whose numbers and sums take some hundred megabytes
_ROUNDING = 1e-12  # of the size of a feature
_LEAST_VALUES = 3  # different ones: of fewer, hinges and logarithms are the feature itself


def fitted_basis(queries: AnyQueries, *, hinges: int, products: bool, logarithms: bool) -> Basis:
    """All columns that differ between documents of some query, with their spreads within these queries.

    ``hinges`` is the number of knots of each feature, at quantiles of its values; each is the end of two hinges.
    """
    _check_number(queries.n_features, hinges, products=products, logarithms=logarithms)
    preparation = unscaled_preparation(queries)
    by, differs = _units(queries, preparation.filling)
    sample = sampled(queries)
    varying = np.flatnonzero(differs)
    described = [*_singles(sample, varying, preparation.indicated, hinges, logarithms=logarithms)]
    if products:
        described += [_products(varying)]
    first, second, kinds, numbers = (np.concatenate(parts) for parts in zip(*described, strict=True))
    basis = Basis(by, first, second, kinds.astype(np.int8), numbers, np.ones(len(first)))
    scale, varies = spreads(engine_of(queries), basis)
    return replace(basis, scale=scale).take(np.flatnonzero(varies))


def _check_number(n: int, hinges: int, *, products: bool, logarithms: bool) -> None:
    number = n * (1 + 2 * hinges + logarithms) + (n * (n + 1) // 2 if products else 0)
    if number > MOST_COLUMNS:
        instead = "products=False" if products else "fewer hinges"
        raise ParameterError(
            f"{n:,} features make {number:,} columns, more than {MOST_COLUMNS:,}: use {instead}, or fewer features"
        )


# Means and spreads


def _units(queries: AnyQueries, filling: Filling | None) -> tuple[Units, npt.NDArray[np.bool_]]:
    """Centre and size of each feature, and whether it differs between any documents."""
    n, fill = queries.n_features, None if filling is None else filling.values
    engine = engine_of(queries)
    plain = Units(fill, np.zeros(n), np.ones(n))
    mean: Array = engine.sum(_sums, plain, 1, queries.n_documents).values
    variance: Array = engine.sum(_sums, replace(plain, centre=mean), 2, queries.n_documents).values
    differs = np.sqrt(variance) > _ROUNDING * np.abs(mean)
    size = np.exp2(np.round(np.log2(np.sqrt(variance), out=np.zeros(n), where=differs)))
    digits = [1 - math.floor(math.log10(own)) for own in size.tolist()]
    centre = np.array([_rounded(*pair) for pair in zip(mean.tolist(), digits, strict=True)])
    return Units(fill, centre, size), differs


def _rounded(value: float, digits: int) -> float:
    """A number with so many digits behind the point, and none of −0.0."""
    return round(value, digits) + 0.0


def _sums(part: Part, by: Units, power: int, n_documents: int) -> DoubledSums:
    """Σ (x − centre)^power / n_documents, the same for every cut of the data."""
    sums = DoubledSums(part.n_features)
    for begin in range(0, part.n_documents, ROWS_PER_BLOCK):
        values, _ = by.of(part.queries.X[begin : begin + ROWS_PER_BLOCK])
        if not np.isfinite(values).all():
            check_known(part.queries)
            raise DataError("the features are so large that their squares overflow: rescale them")
        sums.add_rows(values**power / n_documents)
    return sums


def check_known(queries: Queries, what: str = "") -> None:
    """Raise a `DataError` that tells the place of the first feature that is infinite; missing values may be there."""
    x = queries.X.copy()
    values = x.data if sp.issparse(x) else x
    values[np.isnan(values)] = 0.0
    check_features(Queries(x, queries.supervision, queries.qid, feature_names=queries.feature_names), what)


# Which columns


def _singles(
    sample: Queries, varying: Columns, indicated: Columns, hinges: int, *, logarithms: bool
) -> Iterator[tuple[Columns, Columns, Columns, Array]]:
    yield _described(varying, VALUE, np.zeros(len(varying)))
    yield _described(indicated, MISSING, np.zeros(len(indicated)))
    curved = np.array([one for one in varying if len(_known(sample.X, int(one))) >= _LEAST_VALUES], np.intp)
    if logarithms:
        logs = transforms_of(sample, curved, "log")
        units = [_short(one.unit) for one in logs.values() if isinstance(one, Log)]
        yield _described(np.fromiter(logs, np.intp, len(logs)), LOG, np.array(units))
    knots = [(int(column), knot) for column in curved for knot in _knots(sample.X, int(column), hinges)]
    features, numbers = np.array([one for one, _ in knots], np.intp), np.array([knot for _, knot in knots])
    for kind in (ABOVE, BELOW):
        yield _described(features, kind, numbers)


def _described(features: Columns, kind: int, numbers: Array) -> tuple[Columns, Columns, Columns, Array]:
    return features, np.full(len(features), -1), np.full(len(features), kind), np.asarray(numbers, np.float64)


def _products(features: Columns) -> tuple[Columns, Columns, Columns, Array]:
    """All pairs of these features, squares included."""
    first, second = np.triu_indices(len(features))
    return features[first], features[second], np.full(len(first), VALUE), np.zeros(len(first))


def _known(x: Any, column: int) -> Array:
    """The different values of a feature, ascending."""
    values = dense_columns(x, np.array([column]))[:, 0]
    return np.unique(values[~np.isnan(values)])


def _knots(x: Any, column: int, number: int) -> list[float]:
    """Quantiles of the values above the least one, which many documents may have, in few digits."""
    values = dense_columns(x, np.array([column]))[:, 0]
    known = values[~np.isnan(values)]
    low, high = known.min(), known.max()
    found = np.quantile(known[known > low], np.arange(1, number + 1) / (number + 1), method="nearest")
    knots = np.unique(found[(found > low) & (found < high)])
    gap = float(np.diff(knots, prepend=low, append=high).min())
    digits = 1 - math.floor(math.log10(gap))
    short = {_rounded(knot, digits) for knot in knots.tolist()}
    return sorted(knot for knot in short if low < knot < high)


def _short(value: float) -> float:
    """With two digits."""
    return float(f"{value:.2g}")
