"""`Standardised`: features filled in and put on one scale, so that distances between documents mean something."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.doubled_sums import DoubledSums
from rankwright.data.part import Part
from rankwright.data.query_blocks import QueryBlocks
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.engines.driver import share_by_size
from rankwright.judgments.grouping import Grouping
from rankwright.maps import wave_kernels as kernels
from rankwright.preparation.formula import prepared_columns
from rankwright.preparation.heavy_tails import transforms_of
from rankwright.preparation.missing import MissingName
from rankwright.preparation.preparation import Preparation, filled_preparation
from rankwright.preparation.spread import within_query_spread
from rankwright.preparation.transforms import Transforms
from rankwright.types import Array, Columns

ScalingName = Literal["standard", "quantile", "within-query-spread"]
SCALINGS: tuple[ScalingName, ...] = get_args(ScalingName)

_ROUNDING = 1e-12  # of the size of a feature
_ROWS_PER_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class Standardised:
    """(T(x) − shift) / scale of the features that vary, and of columns that tell where one is missing.

    Attributes
    ----------
    preparation : how features are transformed and filled in, and which of them have a column for being missing
    kept : which of its columns vary, and so are here
    shift, scale : one number for each of these
    """

    preparation: Preparation
    kept: Columns
    shift: Array
    scale: Array

    @property
    def n_columns(self) -> int:
        """How many columns there are."""
        return len(self.kept)

    @property
    def sources(self) -> Columns:
        """The feature that each column is made of."""
        return self.preparation.sources[self.kept]

    @property
    def needs_queries(self) -> bool:
        """Whether a missing value counts as the mean of its query."""
        filling = self.preparation.filling
        return filling is not None and filling.by_query

    def rows(self, x: Any, grouping: Grouping | None, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        """The columns of some rows, dense; features that x lacks are 0."""
        by = self.preparation
        x = _padded(x, by.n_features)
        known = self.kept, self.shift, self.scale
        out = np.empty((x.shape[0], self.n_columns), dtype)
        if by.transforms or by.filling is not None:
            x = prepared_columns(_double(x), grouping, by.transforms, by.filling, by.indicated, None)
        starts = np.append(np.arange(0, len(out), _ROWS_PER_BLOCK), len(out))

        def work(first: int, last: int) -> None:
            for begin, end in zip(starts[first:last], starts[first + 1 : last + 1], strict=True):
                rows = x[begin:end].toarray() if sp.issparse(x) else x[begin:end]
                kernels.standardised_rows(rows, *known, 0, int(end - begin), out[begin:end])

        share_by_size(work, starts)
        return out


def _padded(x: Any, n_features: int) -> Any:
    """The same rows with zeros for features that they lack."""
    if x.shape[1] == n_features:
        return x
    if sp.issparse(x):
        return sp.csr_array((x.data, x.indices, x.indptr), shape=(x.shape[0], n_features))
    return np.pad(x, ((0, 0), (0, n_features - x.shape[1])))


def _double(x: Any) -> Any:
    """Features in float64, so that filling them in rounds nothing."""
    return x.astype(np.float64, copy=False)


def standardise(queries: AnyQueries, scaling: ScalingName, missing: MissingName) -> Standardised:
    """How the features of these queries are put on one scale.

    Parameters
    ----------
    queries : the training queries
    scaling : "standard" gives each feature the mean 0 and the standard deviation 1 over all documents; "quantile" does
        so after each has become its place among the values of all documents, so that tails are tame;
        "within-query-spread" gives each the mean 0 over all documents too, but divides by the standard deviation within
        queries, as linear rankers do
    missing : what stands for missing values, as in `prepare`
    """
    by = filled_preparation(queries, {}, missing=missing)
    if scaling == "quantile":
        by = _behind_quantiles(queries, missing)
    prepared = by.prepared(queries)
    means, spread, varies = _mean_and_spread(prepared)
    if scaling == "within-query-spread":
        within, varies_within = within_query_spread(prepared)
        spread = np.where(varies_within, within, spread)
    kept = np.flatnonzero(varies)
    return Standardised(by, kept, means[kept], spread[kept])


def _behind_quantiles(queries: AnyQueries, missing: MissingName) -> Preparation:
    transforms: Transforms = transforms_of(queries, np.arange(queries.n_features), "quantile")
    return filled_preparation(queries, transforms, missing=missing)


def _mean_and_spread(queries: AnyQueries) -> tuple[Array, Array, npt.NDArray[np.bool_]]:
    """Mean and standard deviation of each column over all documents, 1 where there is none; and whether there is one.

    They do not depend on how the data are cut into parts.
    """
    engine = engine_of(queries)
    sums: DoubledSums = engine.sum(_sums, queries.n_documents)
    means = sums.values
    squares: DoubledSums = engine.sum(_squared_deviations, means)
    spread = np.sqrt(squares.values / queries.n_documents)
    varies = spread > _ROUNDING * np.abs(means)
    return means, np.where(varies, spread, 1.0), varies


def _sums(part: Part, n_documents: int) -> DoubledSums:
    total = DoubledSums(part.n_features)
    for _, _, rows in QueryBlocks(part.queries.X, part.queries.grouping):
        if sp.issparse(rows):
            total.add_entries(rows.indices, rows.data / n_documents)
        else:
            total.add_rows(rows / n_documents)
    return total


def _squared_deviations(part: Part, means: Array) -> DoubledSums:
    total = DoubledSums(part.n_features)
    for _, _, rows in QueryBlocks(part.queries.X, part.queries.grouping):
        if sp.issparse(rows):
            total.add_entries(rows.indices, (rows.data - means[rows.indices]) ** 2)
            absent = rows.shape[0] - np.bincount(rows.indices, minlength=len(means))
            total.add_rows((absent * means**2)[None])
        else:
            total.add_rows((rows - means) ** 2)
    return total
