"""Sums over documents for all columns of a basis at once, without making the columns of products.

With v of each document, Σ v·z_i·z_j over all pairs of features is Zᵀ diag(v) Z: a weighted Gram matrix, whatever the
number of pairs. The squares of all products, centred query by query, are two more such matrices,
(Z∘Z)ᵀ(Z∘Z) − Σ_q (Z_qᵀZ_q)∘² / m_q. Hinges and logarithms are made a block of rows at a time, all features together.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.centred import centred_by_query
from rankwright.data.part import Part
from rankwright.engines.engine import Engine
from rankwright.machine.runs import runs_of_queries
from rankwright.maps.basis import ABOVE, BELOW, LOG, MISSING, VALUE, Basis, Standardised
from rankwright.preparation.transforms import Log
from rankwright.types import Array, Columns

_ROWS_PER_BLOCK = 1024  # so that a block stays in a core's cache
# Squares of products that are differences of numbers so much larger are summed up anew, without differences.
_DELICATE = 1e-5
_AT_ONCE = 64  # columns made for that
_ROUNDING = 1e-12  # of the size of a column


class _Layout(NamedTuple):
    """Where the sums of each column of a basis are among the sums of all features."""

    knots: Array  # t of hinges, in units of z: place × feature, +∞ where a feature has fewer
    logged: Columns  # the features with logarithms
    units: Array
    place: Columns  # of each column
    n_features: int

    @property
    def length(self) -> int:
        """How many sums there are."""
        n = self.n_features
        return 2 * n + len(self.logged) + self.knots.size + n * n


def _layout(basis: Basis) -> _Layout:
    n, kinds, products = basis.n_features, basis.kinds, basis.is_product
    knots = [np.zeros(0)] * n
    hinges = np.flatnonzero(((kinds == ABOVE) | (kinds == BELOW)) & ~products)
    of_hinge = np.array([basis.knot(int(column)) for column in hinges])
    for feature in np.unique(basis.first[hinges]).tolist():
        knots[feature] = np.unique(of_hinge[basis.first[hinges] == feature])
    table = np.full((max((len(own) for own in knots), default=0), n), np.inf)
    for feature, own in enumerate(knots):
        table[: len(own), feature] = own
    logs = np.flatnonzero((kinds == LOG) & ~products)
    place = np.where(products, 2 * n + len(logs) + table.size + basis.first * n + basis.second, basis.first)
    place[kinds == MISSING] += n
    place[logs] = 2 * n + np.arange(len(logs))
    ranks = [int(np.searchsorted(knots[f], t)) for f, t in zip(basis.first[hinges].tolist(), of_hinge, strict=True)]
    place[hinges] = 2 * n + len(logs) + np.array(ranks, np.intp) * n + basis.first[hinges]
    return _Layout(table, basis.first[logs], basis.numbers[logs], place, n)


# Products with values of documents


def products_with(engine: Engine, basis: Basis, column: int | None = None) -> Array:
    """Σ over documents of each column times one of them, or times the grades, both centred query by query."""
    layout = _layout(basis)
    of_column = None if column is None else basis.take([column])
    sums: Array = engine.sum(_products, basis.by, layout, of_column)
    products = sums[layout.place]
    below = (basis.kinds == BELOW) & ~basis.is_product
    products[below] -= sums[basis.first[below]]  # max(0, t − z) = max(0, z − t) − (z − t), and v is centred
    return products / basis.scale


def _products(part: Part, by: Standardised, layout: _Layout, of_column: Basis | None) -> Array:
    values = _target(part) if of_column is None else _centred_column(part, of_column)

    def add(first: int, last: int, out: Array) -> None:
        for begin, z, missing in _blocks(part, by, first, last):
            _add_block(z, missing, by, layout, values[begin : begin + len(z)], out)

    return part.sum_over_runs(add, (layout.length,))


def _add_block(
    z: Array, missing: npt.NDArray[np.bool_], by: Standardised, layout: _Layout, values: Array, out: Array
) -> None:
    n, logged = layout.n_features, layout.logged
    out[:n] += values @ z
    if missing.any():
        out[n : 2 * n] += values @ missing
    end = 2 * n + len(logged)
    if len(logged):
        out[2 * n : end] += values @ _logarithms(z, by, layout)
    hinges = out[end : end + layout.knots.size].reshape(layout.knots.shape)
    for place, knots in enumerate(layout.knots):
        hinges[place] += values @ np.maximum(z - knots, 0.0)
    out[end + layout.knots.size :] += (z.T @ (z * values[:, None])).ravel()


def _logarithms(z: Array, by: Standardised, layout: _Layout) -> Array:
    x = z[:, layout.logged] * by.size[layout.logged] + by.centre[layout.logged]
    return np.copysign(np.log1p(np.abs(x) / layout.units), x)


# Spreads within queries


def spreads(engine: Engine, basis: Basis) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The standard deviation within queries of each column, before its own scale; and whether there is one."""
    layout = _layout(basis)
    below = (basis.kinds == BELOW) & ~basis.is_product
    above, hinges_below, sizes = engine.sum(_squares, basis.by, layout)
    squares, size = above[layout.place], sizes[layout.place]
    start = 2 * layout.n_features + len(layout.logged)
    squares[below] = hinges_below[layout.place[below] - start]
    delicate = np.flatnonzero(basis.is_product & (squares < _DELICATE * size))
    for begin in range(0, len(delicate), _AT_ONCE):
        some = delicate[begin : begin + _AT_ONCE]
        squares[some] = engine.sum(_direct_squares, basis.take(some)) * basis.scale[some] ** 2
    varies = np.sqrt(squares) > _ROUNDING * np.sqrt(size)
    return np.where(varies, np.sqrt(np.maximum(squares, 0.0) / engine.n_documents), 1.0), varies


def _squares(part: Part, by: Standardised, layout: _Layout) -> tuple[Array, Array, Array]:
    """Σ of centred squares of all columns, of hinges below their knots, and Σ of squares as they are."""
    length, n_hinges = layout.length, layout.knots.size

    def add(first: int, last: int, out: Array) -> None:
        for begin, z, missing in _blocks(part, by, first, last, whole=True):
            q = int(np.searchsorted(part.offsets, begin))
            offsets = part.offsets[q : np.searchsorted(part.offsets, begin + len(z)) + 1] - begin
            _add_squares(z, missing, by, layout, offsets, (out[:length], out[length:-length], out[-length:]))

    sums = part.sum_over_runs(add, (2 * length + n_hinges,))
    return sums[:length], sums[length:-length], sums[-length:]


def _add_squares(
    z: Array,
    missing: npt.NDArray[np.bool_],
    by: Standardised,
    layout: _Layout,
    offsets: npt.NDArray[np.int64],
    out: tuple[Array, Array, Array],
) -> None:
    centred, below, sizes = out
    n, logged = layout.n_features, layout.logged
    singles = [(0, z), (n, missing.astype(np.float64)), (2 * n, _logarithms(z, by, layout))]
    end = 2 * n + len(logged)
    for place, knots in enumerate(layout.knots):
        singles.append((end + place * n, np.maximum(z - knots, 0.0)))
        own = np.where(np.isinf(knots), 0.0, np.maximum(knots - z, 0.0))
        below[place * n : (place + 1) * n] += _sums_of_squares(centred_by_query(own, offsets))
        sizes[end + place * n : end + (place + 1) * n] += _sums_of_squares(own)
    for start, values in singles:
        centred[start : start + values.shape[1]] += _sums_of_squares(centred_by_query(values, offsets))
        sizes[start : start + values.shape[1]] += _sums_of_squares(values)
    start = end + layout.knots.size
    squared = z * z
    raw = (squared.T @ squared).ravel()
    sizes[start:] += raw
    centred[start:] += raw
    for begin, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        gram = z[begin:stop].T @ z[begin:stop]
        centred[start:] -= (gram * gram / (stop - begin)).ravel()


def _sums_of_squares(values: Array) -> Array:
    sums: Array = np.einsum("ij,ij->j", values, values)
    return sums


def _direct_squares(part: Part, basis: Basis) -> Array:
    return _sums_of_squares(_centred(part, basis))


# Documents of a part


def _blocks(
    part: Part, by: Standardised, first: int, last: int, *, whole: bool = False
) -> Iterator[tuple[int, Array, npt.NDArray[np.bool_]]]:
    """z of the documents of queries first … last − 1, a block at a time, and where values were missing.

    Blocks are of ``whole`` queries, or cut anywhere.
    """
    every = np.arange(part.n_features)
    for start, stop in runs_of_queries(part.offsets, _ROWS_PER_BLOCK, first, last):
        begin, end = int(part.offsets[start]), int(part.offsets[stop])
        step = max(1, end - begin) if whole else _ROWS_PER_BLOCK
        for at in range(begin, end, step):
            until = min(at + step, end)
            yield at, *by.of(rows_of(part, at, until), every)


def rows_of(part: Part, begin: int, end: int) -> Array:
    """The features of documents begin … end − 1, which stand query by query."""
    rows: Array = part.x[slice(begin, end) if part.is_in_order else part.rows[begin:end]]
    return rows


def made_of(part: Part, basis: Basis) -> Array:
    """The columns of a part's documents, which stand query by query."""
    return basis.columns(rows_of(part, 0, part.n_documents))


def _centred(part: Part, basis: Basis) -> Array:
    return centred_by_query(made_of(part, basis), part.offsets)


def _centred_column(part: Part, basis: Basis) -> Array:
    column: Array = _centred(part, basis)[:, 0]
    return column


def _target(part: Part) -> Array:
    return part.centred.target
