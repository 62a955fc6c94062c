"""Which features have heavy tails, as counts, times and sizes do, and the transform that tames each of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.preparation.transforms import Log, Quantile, Transform, TransformName
from rankwright.types import Array

# A feature has a heavy tail if this part of its documents holds this share of its squared deviations within queries.
# It is 0.08 of a normal distribution, 0.22 of an exponential one, and half of a log-normal one with σ = 1.
_TAIL, _SHARE = 0.01, 1 / 3
_LEAST_VALUES = 8  # different ones: a feature that takes few values has steps, not a tail
_MOST_DOCUMENTS, _MOST_CELLS = 20_000, 10_000_000  # that are looked at
_LEAST_DOCUMENTS = 100  # below this there is no telling
_KNOTS = 33
_SMALL = 0.1  # of the values that are not 0, this quantile is the unit of the logarithm if it is below 1


def heavy_tailed(queries: AnyQueries) -> npt.NDArray[np.intp]:
    """The columns whose squared deviations within queries come mostly from a few documents.

    A linear ranker follows such documents and hardly sees the differences between all others. Documents whose value is
    0 are left out: most features of sparse data are 0 nearly everywhere, which is no tail.
    """
    sample = sampled(queries)
    if sample.n_documents < _LEAST_DOCUMENTS:
        return np.zeros(0, np.intp)
    x, codes = _by_column(sample.X), sample.grouping.codes
    columns = range(sample.n_features)
    return np.array([j for j in columns if _is_heavy(*_present(x, j, codes), sample.n_queries)], np.intp)


def sampled(queries: AnyQueries) -> Queries:
    """Whole queries, evenly spaced, with about as many documents as are looked at: the fewer, the more features."""
    most = min(_MOST_DOCUMENTS, max(_LEAST_DOCUMENTS, _MOST_CELLS // max(1, queries.n_features)))
    step = -(-queries.n_documents // most)
    sample = queries[::step] if step > 1 else queries
    return sample if isinstance(sample, Queries) else sample.in_memory()


def _present(x: Any, column: int, codes: npt.NDArray[np.intp]) -> tuple[Array, npt.NDArray[np.intp]]:
    """The values of a column that are finite and not 0, and their queries."""
    if sp.issparse(x):
        stored = slice(x.indptr[column], x.indptr[column + 1])
        values, codes = x.data[stored].astype(np.float64), codes[x.indices[stored]]
    else:
        values = x[:, column].astype(np.float64)
    counts = np.isfinite(values) & (values != 0)
    return values[counts], codes[counts]


def _is_heavy(values: Array, codes: npt.NDArray[np.intp], n_queries: int) -> bool:
    if len(values) < _LEAST_DOCUMENTS or len(np.unique(values)) < _LEAST_VALUES:
        return False
    with np.errstate(over="ignore"):
        means = np.bincount(codes, values, n_queries) / np.maximum(np.bincount(codes, minlength=n_queries), 1)
        squares = (values - means[codes]) ** 2
        total = squares.sum()
    if not 0 < total < np.inf:
        return bool(total == np.inf)
    in_tail = max(1, int(_TAIL * len(squares)))
    return bool(np.partition(squares, -in_tail)[-in_tail:].sum() > _SHARE * total)


def _by_column(x: Any) -> Any:
    """X such that its columns are at hand."""
    return x.tocsc() if sp.issparse(x) else x


def _column(x: Any, column: int) -> Array:
    values = x[:, [column]].toarray().ravel() if sp.issparse(x) else x[:, column]
    return np.asarray(values, dtype=np.float64)


def transforms_of(queries: AnyQueries, columns: npt.NDArray[np.intp], name: TransformName) -> dict[int, Transform]:
    """The transform of this kind for each of the columns, by the values that they have in these queries."""
    if name == "none":
        return {}
    make = _log if name == "log" else _quantile
    x = _by_column(sampled(queries).X)
    found = {int(column): make(_column(x, int(column))) for column in columns}
    return {column: transform for column, transform in found.items() if transform is not None}


def _log(values: Array) -> Log | None:
    """In units of 1, or of what is small among the values if they are below 1."""
    sizes = np.abs(values[np.isfinite(values) & (values != 0)])
    return Log(min(1.0, float(np.quantile(sizes, _SMALL)))) if len(sizes) else None


def _quantile(values: Array) -> Quantile | None:
    """Knots at quantiles; a value that many documents have is one knot, at the middle of its share."""
    known = np.sort(values[np.isfinite(values)])
    if len(known) == 0:
        return None
    knots = np.unique(np.quantile(known, np.linspace(0, 1, _KNOTS), method="nearest"))
    if len(knots) < 2:
        return None
    below, up_to = np.searchsorted(known, knots, side="left"), np.searchsorted(known, knots, side="right")
    heights = (below + up_to) / (2 * len(known))
    heights = heights - np.interp(0.0, knots, heights)
    with np.errstate(over="ignore", invalid="ignore"):
        widths = np.diff(knots)
        if not np.isfinite([widths, np.diff(heights) / widths]).all():  # so far apart, or so near, that no line is left
            return None
    return Quantile(tuple(knots.tolist()), tuple(heights.tolist()))
