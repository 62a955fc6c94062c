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
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.runs import runs_of_queries
from rankwright.maps.basis import ABOVE, BELOW, LOG, MISSING, Basis, Units
from rankwright.maps.basis_kernels import add_hinge_moments, add_hinge_products
from rankwright.types import Array, Columns

_ROWS_PER_BLOCK = 1024  # so that a block stays in a core's cache
# Squares that are differences of numbers so much larger are summed up anew, without differences.
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


def _products(part: Part, by: Units, layout: _Layout, of_column: Basis | None) -> Array:
    values = _target(part) if of_column is None else _centred_column(part, of_column)

    def add(first: int, last: int, out: Array) -> None:
        for begin, z, missing in _blocks(part, by, first, last):
            _add_block(z, missing, by, layout, values[begin : begin + len(z)], out)

    with one_thread_per_call():
        return part.sum_over_runs(add, (layout.length,))


def _add_block(z: Array, missing: npt.NDArray[np.bool_], by: Units, layout: _Layout, values: Array, out: Array) -> None:
    n, logged = layout.n_features, layout.logged
    out[:n] += values @ z
    if missing.any():
        out[n : 2 * n] += values @ missing
    end = 2 * n + len(logged)
    if len(logged):
        out[2 * n : end] += values @ _logarithms(z, by, layout)
    hinges = out[end : end + layout.knots.size].reshape(layout.knots.shape)
    add_hinge_products(z, layout.knots, values, hinges)
    out[end + layout.knots.size :] += (z.T @ (z * values[:, None])).ravel()


def _logarithms(z: Array, by: Units, layout: _Layout) -> Array:
    x = z[:, layout.logged] * by.size[layout.logged] + by.centre[layout.logged]
    return np.copysign(np.log1p(np.abs(x) / layout.units), x)


# Spreads within queries


def spreads(engine: Engine, basis: Basis) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The standard deviation within queries of each column, before its own scale; and whether there is one."""
    layout = _layout(basis)
    below = (basis.kinds == BELOW) & ~basis.is_product
    above, sizes_above, hinges_below, sizes_below = engine.sum(_squares, basis.by, layout)
    squares, size = above[layout.place], sizes_above[layout.place]
    start = 2 * layout.n_features + len(layout.logged)
    squares[below] = hinges_below[layout.place[below] - start]
    size[below] = sizes_below[layout.place[below] - start]
    delicate = np.flatnonzero(squares < _DELICATE * size)
    for begin in range(0, len(delicate), _AT_ONCE):
        some = delicate[begin : begin + _AT_ONCE]
        squares[some], size[some] = engine.sum(_direct_squares, basis.take(some))
    varies = np.sqrt(np.maximum(squares, 0.0)) > _ROUNDING * np.sqrt(size)
    return np.where(varies, np.sqrt(np.maximum(squares, 0.0) / engine.n_documents), 1.0), varies


class _Sums(NamedTuple):
    """Σ of squares centred query by query, and as they are; of all columns, and of hinges below their knots."""

    centred: Array
    sizes: Array
    below: Array
    sizes_below: Array


def _squares(part: Part, by: Units, layout: _Layout) -> _Sums:
    length, n_hinges = layout.length, layout.knots.size
    cuts = np.cumsum([length, length, n_hinges])

    def add(first: int, last: int, out: Array) -> None:
        sums = _Sums(*np.split(out, cuts))
        for begin, z, missing in _blocks(part, by, first, last, whole=True):
            q, stop = np.searchsorted(part.offsets, [begin, begin + len(z)])
            _add_squares(z, missing, by, layout, part.offsets[q : stop + 1] - begin, sums)

    with one_thread_per_call():
        return _Sums(*np.split(part.sum_over_runs(add, (2 * length + 2 * n_hinges,)), cuts))


def _add_squares(
    z: Array,
    missing: npt.NDArray[np.bool_],
    by: Units,
    layout: _Layout,
    offsets: npt.NDArray[np.int64],
    out: _Sums,
) -> None:
    n, logged = layout.n_features, layout.logged
    singles = [(0, z), (2 * n, _logarithms(z, by, layout))]
    if missing.any():
        singles.append((n, missing.astype(np.float64)))
    for start, values in singles:
        out.centred[start : start + values.shape[1]] += _sums_of_squares(centred_by_query(values, offsets))
        out.sizes[start : start + values.shape[1]] += _sums_of_squares(values)
    hinges = slice(2 * n + len(logged), 2 * n + len(logged) + layout.knots.size)
    products = slice(hinges.stop, None)
    squared = z * z
    raw = (squared.T @ squared).ravel()
    out.sizes[products] += raw
    out.centred[products] += raw
    for begin, stop in zip(offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        of_query = z[begin:stop]
        gram = of_query.T @ of_query
        out.centred[products] -= (gram * gram / len(of_query)).ravel()
        if layout.knots.size:
            _add_hinges(of_query, gram.diagonal(), layout.knots, hinges, out)


def _add_hinges(z: Array, squares: Array, knots: Array, place: slice, out: _Sums) -> None:
    """Hinges of one query above their knots; those below are what they lack of z − t, where they are 0."""
    above, above_squares = np.zeros((2, *knots.shape))
    add_hinge_moments(z, knots, above, above_squares)
    sums, t = z.sum(axis=0), np.where(np.isinf(knots), 0.0, knots)
    below = above - sums + len(z) * t
    below_squares = squares - 2 * t * sums + len(z) * t * t - above_squares
    out.sizes[place] += above_squares.ravel()
    out.sizes_below[:] += below_squares.ravel()
    out.centred[place] += (above_squares - above * above / len(z)).ravel()
    out.below[:] += (below_squares - below * below / len(z)).ravel()


def _sums_of_squares(values: Array) -> Array:
    sums: Array = np.einsum("ij,ij->j", values, values)
    return sums


def _direct_squares(part: Part, basis: Basis) -> tuple[Array, Array]:
    """Σ of squares of columns that are made for it, centred and as they are."""
    made = made_of(part, basis)
    return _sums_of_squares(centred_by_query(made, part.offsets)), _sums_of_squares(made)


# Documents of a part


def _blocks(
    part: Part, by: Units, first: int, last: int, *, whole: bool = False
) -> Iterator[tuple[int, Array, npt.NDArray[np.bool_]]]:
    """z of the documents of queries first … last − 1, a block at a time, and where values were missing.

    Blocks are of ``whole`` queries, or cut anywhere.
    """
    for start, stop in runs_of_queries(part.offsets, _ROWS_PER_BLOCK, first, last):
        begin, end = int(part.offsets[start]), int(part.offsets[stop])
        step = max(1, end - begin) if whole else _ROWS_PER_BLOCK
        for at in range(begin, end, step):
            until = min(at + step, end)
            yield at, *by.of(rows_of(part, at, until))


def rows_of(part: Part, begin: int, end: int) -> Array:
    """The features of documents begin … end − 1, which stand query by query."""
    rows: Array = part.x[slice(begin, end) if part.is_in_order else part.rows[begin:end]]
    return rows


def made_of(part: Part, basis: Basis) -> Array:
    """The columns of a part's documents, which stand query by query."""
    return basis.columns(rows_of(part, 0, part.n_documents))


def _centred_column(part: Part, basis: Basis) -> Array:
    column: Array = centred_by_query(made_of(part, basis), part.offsets)[:, 0]
    return column


def _target(part: Part) -> Array:
    return part.centred.target
