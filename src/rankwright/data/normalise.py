"""Normalisers of features as scikit-learn transformers that take ``qid``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankwright.arrays import validated_features
from rankwright.data.noted_features import check_comes_alone, check_noted_features, note_features
from rankwright.data.queries import Queries
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping
from rankwright.machine.threads import for_query_ranges

R = TypeVar("R")


class _Scaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """What the scalers share: they ask for ``qid``, and take float32 and float64, dense and CSR, with NaN."""

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn wants plain class attributes
    __metadata_request__transform = {"qid": True}  # noqa: RUF012

    def fit_transform(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> Any:
        """Fit to X and return it scaled; `Queries` come back as Queries."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def transform(self, X: Any, qid: npt.ArrayLike | None = None) -> Any:
        """X scaled, its rows in the order given; `Queries`, which bring qid with them, come back as Queries."""
        scaled = self._scaled(*self._given(X, None, qid, reset=False))
        if not isinstance(X, Queries):
            return scaled
        names = X.feature_names if X.has_feature_names else None
        return Queries(scaled, X.supervision, X.qid, feature_names=names, doc_ids=X.doc_ids)

    @abstractmethod
    def _scaled(self, x: Any, grouping: Grouping) -> Any:
        """Validated features, scaled."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _given(self, X: Any, y: Any, qid: npt.ArrayLike | None, *, reset: bool) -> tuple[Any, Grouping]:
        """The features, and which query each row belongs to."""
        if isinstance(X, Queries):
            check_comes_alone(y, qid)
            return self._validated(X, reset=reset), X.grouping
        x = self._validated(X, reset=reset)
        return x, Grouping(qid, x.shape[0])

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a float array in C order or canonical CSR. Infinity passes: callers find it and its place."""
        if not isinstance(X, Queries):
            return validated_features(self, X, reset=reset, order="C")
        if reset:
            note_features(self, X)
        elif hasattr(self, "n_features_in_"):  # nothing is learned for QueryMinMaxScaler, which need not be fitted
            check_noted_features(self, X, "X", "the data that the scaler was fitted on")
        return X.X if sp.issparse(X.X) else np.ascontiguousarray(X.X)

    def _column_name(self, column: int) -> str:
        names = getattr(self, "feature_names_in_", None)
        return f"column {column}" if names is None else f"column {names[column]!r}"


class QueryMinMaxScaler(_Scaler):
    r"""Scale each feature to [0, 1] within each query, as LETOR's ``QueryLevelNorm`` files are.

        x_ij ↦ (x_ij − min_q x_qj) / (max_q x_qj − min_q x_qj)

    where the minimum and maximum are over the documents of the query q that document i belongs to. A feature
    that is constant within a query becomes 0 there. NaN is ignored and stays NaN.

    Nothing is learned: every query is scaled by its own documents, so ``transform`` needs the ``qid`` of the
    rows it is given, and whole queries. Without ``qid``, all rows are one query.

    CSR stays CSR, with the same stored entries. That needs features that are nowhere negative, or that every
    document of the query has: otherwise every missing entry would have to be filled in, and that is an error.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        The number of features and, of a data frame with named columns, their names.

    Examples
    --------
    >>> from rankwright.data.normalise import QueryMinMaxScaler
    >>> QueryMinMaxScaler().fit_transform([[1.0], [10.0], [3.0], [20.0]], qid=["a", "b", "a", "b"]).ravel()
    array([0., 0., 1., 1.])
    """

    def fit(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> QueryMinMaxScaler:
        """Note the number and names of the features. X may be `Queries`, which bring qid with them."""
        self._given(X, y, qid, reset=True)
        return self

    def _scaled(self, x: Any, grouping: Grouping) -> Any:
        from rankwright.data import normalise_kernels as kernels

        order = np.arange(x.shape[0]) if grouping.order is None else grouping.order
        values = _read_only(x.data if sp.issparse(x) else x)
        scaled = np.empty(values.shape, values.dtype)
        stopped: list[tuple[int, int]] = []

        def work(first: int, last: int) -> None:
            if sp.issparse(x):
                csr = (values, _read_only(x.indices), _read_only(x.indptr))
                stop = kernels.scale_sparse_queries(csr, x.shape[1], order, grouping.offsets, first, last, scaled)
            else:
                stop = kernels.scale_dense_queries(values, order, grouping.offsets, first, last, scaled)
            stopped.append(stop)

        for_query_ranges(work, grouping.offsets)
        troubles = [stop for stop in stopped if stop[0] >= 0]
        if troubles:
            query, column = min(troubles)
            raise self._trouble(x, grouping, order[slice(*grouping.offsets[query : query + 2])], column)
        if sp.issparse(x):
            return _with_data(x, scaled)
        return scaled

    def _trouble(self, x: Any, grouping: Grouping, rows: npt.NDArray[np.intp], column: int) -> DataError:
        """What keeps a column of a query from being scaled."""
        values = x[rows][:, [column]]
        values = (values.toarray() if sp.issparse(values) else values).ravel()
        place = f"query {grouping.query_of_row(int(rows[0]))!r}, {self._column_name(column)}"
        infinite = np.isinf(values)
        if infinite.any():
            return _infinite(f"row {rows[np.argmax(infinite)]} ({place})", values[np.argmax(infinite)])
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        if high - low > np.finfo(values.dtype).max:
            return DataError(f"{place}: the difference of {low:g} and {high:g} overflows {values.dtype}")
        return DataError(
            f"{place}: the least value is {low:g} and some documents have no entry, so that each of them "
            "would need one: give X as a dense array, or use GlobalStandardScaler(with_mean=False)"
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


class GlobalStandardScaler(_Scaler):
    r"""Give each feature mean 0 and standard deviation 1 over all documents of all queries.

        x_ij ↦ (x_ij − μ_j) / σ_j

    with μ and σ (divisor m) of the documents that it was fitted on. A constant feature has scale 1. NaN is
    ignored and stays NaN. Sums are in float64, also where the features are float32.

    ``qid`` is taken so that either scaler can stand in the same place of a pipeline; it changes nothing.

    Parameters
    ----------
    with_mean : bool
        Subtract the mean. Must be False for CSR, which subtracting would make dense.

    Attributes
    ----------
    mean_, scale_ : arrays of float64
        μ and σ of each feature.
    n_features_in_, feature_names_in_
        The number of features and, of a data frame with named columns, their names.

    Examples
    --------
    >>> from rankwright.data.normalise import GlobalStandardScaler
    >>> GlobalStandardScaler().fit([[1.0], [3.0]]).transform([[5.0]])
    array([[3.]])
    """

    def __init__(self, with_mean: bool = True) -> None:
        self.with_mean = with_mean

    def fit(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None) -> GlobalStandardScaler:
        """Learn the mean and standard deviation of each feature. X may be `Queries`."""
        x, _ = self._given(X, y, qid, reset=True)
        with np.errstate(over="ignore", invalid="ignore"):  # told below, with the column's name
            moments = (_sparse_moments if sp.issparse(x) else _dense_moments)(x)
        constant = moments.low >= moments.high  # or nothing but NaN
        overflown = ~np.isfinite(moments.deviation) & ~constant
        if overflown.any():
            column = int(np.argmax(overflown))
            raise DataError(
                f"{self._column_name(column)}: the standard deviation of values from {moments.low[column]:g} "
                f"to {moments.high[column]:g} overflows float64: rescale it or leave it out"
            )
        unscalable = constant | (moments.deviation == 0)  # squares of the smallest numbers are rounded to 0
        self.scale_: npt.NDArray[np.float64] = np.where(unscalable, 1.0, moments.deviation)
        # The mean of equal values is that value, whatever the rounding of their sum.
        self.mean_: npt.NDArray[np.float64] = np.where(moments.low == moments.high, moments.low, moments.mean)
        return self

    def _scaled(self, x: Any, grouping: Grouping) -> Any:
        if sp.issparse(x):
            return _with_data(x, (x.data / self.scale_[x.indices]).astype(x.dtype, copy=False))
        from rankwright.data import normalise_kernels as kernels

        values, out = _read_only(x), np.empty(x.shape, x.dtype)
        mean = self.mean_ if self.with_mean else np.zeros(x.shape[1])
        _over_rows(
            lambda first, last: kernels.standardise_rows(values, first, last, mean, self.scale_, out),
            len(out),
        )
        return out

    def _validated(self, X: Any, *, reset: bool) -> Any:
        if not reset:
            check_is_fitted(self)
        x = super()._validated(X, reset=reset)
        if sp.issparse(x) and self.with_mean:
            raise DataError(
                "X is sparse, and subtracting the mean would make it dense: use GlobalStandardScaler(with_mean=False)"
            )
        place = _first_infinity(x)
        if place is not None:
            row, column = place
            raise _infinite(f"row {row}, {self._column_name(column)}", x[row, column])
        return x

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self.with_mean
        return tags


def normalised(queries: Queries, scaler: Any) -> Queries:
    """The same queries with their features transformed by a scaler that has been fitted: ``scaler.transform(queries)``.

    >>> import rankwright as rw
    >>> from rankwright.data.normalise import QueryMinMaxScaler, normalised
    >>> queries = rw.Queries([[1.0], [10.0], [3.0]], y=[0, 1, 0], qid=["a", "b", "a"])
    >>> normalised(queries, QueryMinMaxScaler()).X.ravel()
    array([0., 0., 1.])
    """
    scaled: Queries = scaler.transform(queries)
    return scaled


class _Moments(NamedTuple):
    """Of each column: the least and largest value, mean and standard deviation, all without NaN.

    A column of nothing but NaN has the least value +∞, the largest −∞, mean 0 and deviation 0.
    """

    low: npt.NDArray[np.floating[Any]]
    high: npt.NDArray[np.floating[Any]]
    mean: npt.NDArray[np.float64]
    deviation: npt.NDArray[np.float64]


def _dense_moments(x: npt.NDArray[np.floating[Any]]) -> _Moments:
    """Two passes over X: the means first, so that the squares do not cancel."""
    from rankwright.data import normalise_kernels as kernels

    values, n_columns = _read_only(x), x.shape[1]

    def totals(first: int, last: int) -> tuple[npt.NDArray[Any], ...]:
        count, total = np.zeros(n_columns, np.int64), np.zeros(n_columns)
        low, high = np.full(n_columns, np.inf, x.dtype), np.full(n_columns, -np.inf, x.dtype)
        kernels.total_columns(values, first, last, count, total, low, high)
        return count, total, low, high

    def squares(first: int, last: int) -> npt.NDArray[np.float64]:
        total = np.zeros(n_columns)
        kernels.total_squares(values, first, last, mean, total)
        return total

    counts, sums, lows, highs = (np.array(parts) for parts in zip(*_over_rows(totals, len(x)), strict=True))
    count = np.maximum(counts.sum(axis=0), 1)
    mean = sums.sum(axis=0) / count
    variance = np.sum(_over_rows(squares, len(x)), axis=0) / count
    return _Moments(lows.min(axis=0), highs.max(axis=0), mean, np.sqrt(variance))


def _sparse_moments(x: sp.csr_array) -> _Moments:
    """The same from the stored entries: all others are zeros."""
    n_rows, n_columns = x.shape
    present = ~np.isnan(x.data)
    columns, values = x.indices[present], x.data[present].astype(np.float64, copy=False)
    zeros = n_rows - np.bincount(x.indices, minlength=n_columns)
    low, high = np.where(zeros > 0, 0.0, np.inf), np.where(zeros > 0, 0.0, -np.inf)
    np.minimum.at(low, columns, values)
    np.maximum.at(high, columns, values)
    count = np.maximum(zeros + np.bincount(columns, minlength=n_columns), 1)
    mean = np.bincount(columns, values, minlength=n_columns) / count
    squares = np.bincount(columns, (values - mean[columns]) ** 2, minlength=n_columns) + zeros * mean**2
    return _Moments(low, high, mean, np.sqrt(squares / count))


def _over_rows(work: Callable[[int, int], R], n_rows: int) -> list[R]:
    """What ``work(first, last)`` returns for runs of rows, done side by side, in the order of the rows."""
    results: dict[int, R] = {}

    def keep(first: int, last: int) -> None:
        results[first] = work(first, last)

    for_query_ranges(keep, np.arange(n_rows + 1))
    return [results[first] for first in sorted(results)]


def _first_infinity(x: Any) -> tuple[int, int] | None:
    """The row and column of the first infinite value."""
    if sp.issparse(x):
        entries = np.flatnonzero(np.isinf(x.data))
        if len(entries) == 0:
            return None
        return int(np.searchsorted(x.indptr, entries[0], side="right")) - 1, int(x.indices[entries[0]])
    from rankwright.data import normalise_kernels as kernels

    values = _read_only(x)
    rows = _over_rows(lambda first, last: kernels.first_infinite_row(values, first, last), len(x))
    row = next((row for row in rows if row >= 0), None)
    return None if row is None else (row, int(np.argmax(np.isinf(x[row]))))


def _infinite(place: str, value: float) -> DataError:
    return DataError(f"{place}: the value is {value:g}, but features must be finite (NaN stands for a missing value)")


def _with_data(x: Any, data: npt.NDArray[np.floating[Any]]) -> Any:
    """CSR with other values in the same places, sharing nothing with x that a caller could change."""
    return type(x)((data, x.indices.copy(), x.indptr.copy()), shape=x.shape)


def _read_only(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A plain read-only view, so that a kernel is compiled once, whether or not the caller may write."""
    view = np.asarray(values).view()
    view.setflags(write=False)
    return view
