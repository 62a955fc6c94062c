"""`FeatureMap` and `ColumnMap`: how features become the columns that a linear ranker is trained on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwright.arrays import validated_features
from rankwright.data.noted_features import check_comes_alone, check_noted_features, note_features
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.types import Array, Columns


class ColumnMap(ABC):
    """A map that has been fitted: arrays and numbers alone, so that it can be sent to wherever documents are."""

    n_features: int

    @property
    @abstractmethod
    def n_columns(self) -> int:
        """How many columns it makes."""

    @abstractmethod
    def columns(self, x: Any, grouping: Grouping | None, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """The columns of some rows, dense; x is dense or CSR, NaN where a value is missing.

        Training takes float32, which is exact enough for sums over many documents, and predictions float64.
        """

    @abstractmethod
    def names(self, feature_names: Sequence[str]) -> tuple[str, ...]:
        """A name for each column."""

    @abstractmethod
    def used_features(self, weights: Array) -> Columns:
        """The features, counted from 0, that a weighted sum of the columns depends on."""

    def mapped(self, queries: Queries) -> Queries:
        """The same queries with the columns in place of the features, in float32."""
        return Queries(self.columns(queries.X, queries.grouping), queries.supervision, queries.qid)


class FeatureMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A scikit-learn transformer that makes columns of features; ``qid`` names the query of each row.

    Attributes
    ----------
    map_ : the `ColumnMap` that it has become
    n_features_in_, feature_names_in_
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn wants plain class attributes
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    map_: ColumnMap
    n_features_in_: int

    @abstractmethod
    def settings(self, queries: AnyQueries) -> list[Self]:
        """The maps to choose from on these training queries, none of which has anything left to be chosen."""

    @abstractmethod
    def column_map(self, queries: AnyQueries) -> ColumnMap:
        """The map that it becomes on these queries."""

    def told(self) -> dict[str, Any]:
        """What was chosen among `settings`, for people: names and values."""
        return {}

    def fit(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> Self:
        """Learn from the features alone. X may be queries, in memory or read from files, which bring qid with them."""
        queries: AnyQueries
        if isinstance(X, Queries | StreamedQueries):
            check_comes_alone(y, qid)
            note_features(self, X)
            queries = X
        else:
            x = validated_features(self, X, reset=True)
            queries = Queries(x, np.zeros(x.shape[0]), qid)
        if queries.n_documents == 0:
            raise DataError("there are no documents to fit a map to")
        self.map_ = self.column_map(queries)
        return self

    def fit_transform(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> Any:
        """Fit to X, and make its columns."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def transform(self, X: Any, qid: npt.ArrayLike | None = None) -> Any:
        """The columns of X, in its type, float32 or float64; `Queries` come back as Queries."""
        check_is_fitted(self, "map_")
        if isinstance(X, Queries):
            check_comes_alone(None, qid)
            check_noted_features(self, X, "X", "the data that the map was fitted on")
            x, grouping, names = X.X, X.grouping, self.map_.names(X.feature_names)
            columns = self.map_.columns(x, grouping, x.dtype)
            return Queries(columns, X.supervision, X.qid, feature_names=names, doc_ids=X.doc_ids)
        x = validated_features(self, X, reset=False)
        columns = self.map_.columns(x, None if qid is None else Grouping(qid, x.shape[0]), x.dtype)
        bad = ~np.isfinite(columns).all(axis=1)
        if bad.any():
            raise DataError(self._why_not_finite(x, int(np.argmax(bad))))
        return columns

    def _why_not_finite(self, x: Any, row: int) -> str:
        values = x[[row]].toarray()[0] if sp.issparse(x) else x[row]
        place = int(np.argmin(np.isfinite(values)))
        names = getattr(self, "feature_names_in_", None)
        name = f"feature {place + 1}" if names is None else f"feature {str(names[place])!r}"
        if np.isnan(values[place]):
            return (
                f"row {row}: {name} is missing (NaN), but the data that the map was fitted on had none missing, so "
                "nothing is known to put in its place: fill it in first"
            )
        return f"row {row}: {name} is {values[place]:g}, but a map needs finite numbers"

    def get_feature_names_out(self, input_features: Sequence[str] | None = None) -> npt.NDArray[Any]:
        """Names of the columns, from those of the features."""
        from sklearn.utils.validation import _check_feature_names_in

        check_is_fitted(self, "map_")
        names = _check_feature_names_in(self, input_features)
        return np.array(self.map_.names(list(map(str, names))), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
