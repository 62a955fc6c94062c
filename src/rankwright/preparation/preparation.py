"""`Preparation`: how features become the columns that a linear ranker is trained on, and how its weights come back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.doubled_sums import DoubledSums
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.engines import engine_of
from rankwright.preparation.formula import Formula, prepared_columns
from rankwright.preparation.heavy_tails import heavy_tailed, transforms_of
from rankwright.preparation.missing import Filling, MissingName, has_missing, missing_within_queries
from rankwright.preparation.spread import within_query_spread
from rankwright.preparation.transforms import TransformName, Transforms
from rankwright.preparation.values import dense_blocks, sparse_entries
from rankwright.types import Array, Columns


@dataclass(frozen=True, eq=False)
class Preparation:
    """A column for each feature, transformed, filled in and scaled; then one for each feature whose absence may count.

    Attributes
    ----------
    n_features : how many features there are
    transforms : of some features, by column
    filling : what stands for missing values; None if there were none, and then they are refused later too
    indicated : the features with a column that tells whether they are missing
    scale : what each column is divided by, or None
    varies : whether each column differs between documents of a query, or None if that is not known
    """

    n_features: int
    transforms: Transforms
    filling: Filling | None
    indicated: Columns
    scale: Array | None
    varies: npt.NDArray[np.bool_] | None = None

    @property
    def changes_nothing(self) -> bool:
        """Whether columns are the features as they are."""
        return not self.transforms and self.filling is None and self.scale is None

    @property
    def sources(self) -> Columns:
        """The feature that each column is made of."""
        return np.concatenate([np.arange(self.n_features), self.indicated])

    def of_columns(self, per_feature: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Numbers of features as numbers of columns: a column has that of its feature."""
        return per_feature[self.sources]

    def used_features(self, weights: Array) -> npt.NDArray[np.bool_]:
        """Which features weights of columns (… × columns) make use of (… × features)."""
        counts = weights != 0
        used: npt.NDArray[np.bool_] = counts[..., : self.n_features].copy()
        used[..., self.indicated] |= counts[..., self.n_features :]
        return used

    def of_ranking(self, weights: Array) -> Array:
        """Weights (… × columns) that pairs of documents gave, 0 for columns that are the same in every pair.

        Of these, solvers know no more than rounding.
        """
        return weights if self.varies is None else np.where(self.varies, weights, 0.0)

    def of_features(self, per_column: Array) -> Array:
        """Numbers of columns (… × columns) added up to numbers of their features (… × features)."""
        totals = per_column[..., : self.n_features].copy()
        totals[..., self.indicated] += per_column[..., self.n_features :]
        return totals

    @overload
    def prepared(self, queries: Queries) -> Queries: ...
    @overload
    def prepared(self, queries: StreamedQueries) -> StreamedQueries: ...
    def prepared(self, queries: AnyQueries) -> AnyQueries:
        """The same queries with the columns in place of the features."""
        if self.changes_nothing:
            return queries
        if isinstance(queries, StreamedQueries):
            return queries.mapped(self.prepared, same_judgments=True)
        return self.with_columns(queries, self.columns(queries))

    def columns(self, queries: Queries) -> Any:
        """The columns of these queries, as an array or CSR of their own."""
        if not self.transforms and self.filling is None and self.scale is not None and not sp.issparse(queries.X):
            return queries.X / self.scale.astype(queries.X.dtype)  # at one go, in the type of X
        return prepared_columns(queries.X, queries.grouping, self.transforms, self.filling, self.indicated, self.scale)

    def with_columns(self, queries: Queries, x: Any) -> Queries:
        """The same queries with columns that were made of their features."""
        names = self._column_names(queries)
        return Queries(x, queries.supervision, queries.qid, feature_names=names, doc_ids=queries.doc_ids)

    def _column_names(self, queries: Queries) -> tuple[str, ...] | None:
        """Names of the columns; None if the features have none and there is a column for each of them alone."""
        if not len(self.indicated):
            return queries.feature_names if queries.has_feature_names else None
        names = list(queries.feature_names)
        known = set(names)
        for feature in self.indicated.tolist():
            name = f"{queries.feature_name(feature)} is missing"
            while name in known:  # a feature may have that name
                name += "'"
            known.add(name)
            names.append(name)
        return tuple(names)

    def fold(self, weights: Array, intercept: float = 0.0) -> Formula:
        """What the features as they are must be multiplied by for the scores that weights of columns give."""
        n = self.n_features
        with np.errstate(over="ignore"):  # checked below
            raw = weights if self.scale is None else weights / self.scale
        where_missing = None
        if self.filling is not None:
            where_missing = np.zeros(n)
            where_missing[self.indicated] = raw[n:]
        return Formula(raw[:n], intercept, self.transforms, self.filling, where_missing).checked(weights[:n])


def prepare(
    queries: AnyQueries,
    *,
    missing: MissingName = "mean",
    transform: TransformName = "none",
    scale: bool = True,
    others_miss: bool = False,
) -> tuple[Preparation, AnyQueries]:
    """How to prepare the features of these queries, and the queries prepared.

    Parameters
    ----------
    queries : the training queries
    missing : "mean" puts the mean over all documents in place of a missing value, "query-mean" that of its query
    transform : "log" or "quantile" of features with heavy tails
    scale : divide by the spread within queries, so that λ means the same for all columns
    others_miss : whether values are missing in other queries, so that these must tell what stands for them
    """
    unscaled = unscaled_preparation(queries, missing=missing, transform=transform, others_miss=others_miss)
    if not scale:
        return unscaled, unscaled.prepared(queries)
    scale_of_columns, varies = within_query_spread(unscaled.prepared(queries))
    scaled = replace(unscaled, scale=scale_of_columns, varies=varies)
    return scaled, scaled.prepared(queries)


def unscaled_preparation(
    queries: AnyQueries, *, missing: MissingName = "mean", transform: TransformName = "none", others_miss: bool = False
) -> Preparation:
    """How to prepare the features of these queries without scaling them, as `prepare` does."""
    transforms = transforms_of(queries, heavy_tailed(queries), transform) if transform != "none" else {}
    return filled_preparation(queries, transforms, missing=missing, others_miss=others_miss)


def filled_preparation(
    queries: AnyQueries, transforms: Transforms, *, missing: MissingName = "mean", others_miss: bool = False
) -> Preparation:
    """How to fill in missing values of transformed features of these queries, without scaling them."""
    filling, indicated = None, np.zeros(0, np.intp)
    if others_miss or some_missing(queries):
        counts, sums, within = engine_of(queries).sum(_known, transforms, queries.n_documents)
        means = sums.values * np.divide(queries.n_documents, counts, out=np.zeros(len(counts)), where=counts > 0)
        filling = Filling(means, missing == "query-mean")
        indicated = np.flatnonzero(within)
    return Preparation(queries.n_features, transforms, filling, indicated, None)


def some_missing(queries: AnyQueries) -> bool:
    """Whether any value is missing."""
    if queries.n_documents == 0 or queries.n_features == 0:
        return False
    return any(engine_of(queries).each(_misses))


def _misses(part: Part) -> bool:
    return has_missing(part.queries.X)


def _known(part: Part, transforms: Transforms, n_documents: int) -> tuple[npt.NDArray[np.int64], DoubledSums, Array]:
    """Of each transformed feature, how many documents have it, and Σ of their values over ``n_documents``.

    So the sum overflows no earlier than the mean does. The third number is above 0 if some query has documents with
    the feature and without it.
    """
    queries, n = part.queries, part.n_features
    counts, sums = np.full(n, queries.n_documents), DoubledSums(n)
    if sp.issparse(queries.X):
        entries, missing = sparse_entries(queries.X, queries.grouping, transforms, None)
        columns = queries.X.indices
        counts -= np.bincount(columns[missing], minlength=n)
        sums.add_entries(columns[~missing], entries[~missing] / n_documents)
    else:
        for _, values, _ in dense_blocks(queries.X, queries.grouping, np.arange(n), transforms, None):
            missing = np.isnan(values)
            counts -= missing.sum(axis=0)
            sums.add_rows(np.where(missing, 0.0, values / n_documents))
    within = missing_within_queries(queries.X, queries.grouping)
    return counts, sums, within.astype(np.float64)
