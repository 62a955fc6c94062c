"""The queries of a fit: scaled for training, split for judging, and put together again for the last training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.learnable import check_learnable
from rankwright.data.queries import Queries
from rankwright.data.query_blocks import ROWS_PER_BLOCK, QueryBlocks
from rankwright.data.supervision import Grades
from rankwright.data.width import check_width
from rankwright.errors import DataError

Array = npt.NDArray[np.float64]

_ROUNDING = 1e-12  # of the size of a feature


class Split(NamedTuple):
    """A part to train on, a part to judge on, and where the latter's queries stand among all that are judged."""

    name: str
    train: Queries
    judged: Queries
    positions: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FitData:
    """Training queries, validation queries if there are any, and the scale of each feature.

    Features are divided by their spread within queries, so that λ means the same for all of them; the weights that
    come out are those of the features as given.
    """

    train: Queries
    valid: Queries | None
    scale: Array
    n_folds: int
    seed: int

    @classmethod
    def of(cls, train: Queries, valid: Queries | None, n_folds: int, seed: int) -> FitData:
        """Checked and scaled."""
        for name, queries in (("the training data", train), ("the validation data", valid)):
            if queries is not None:
                check_grades(name, queries)
                check_width(queries, f"{name}: ")
        if valid is not None:
            check_same_features("the validation data", valid, train)
        check_learnable("the training data", train)
        if valid is None and train.n_queries < 2:
            raise DataError(
                train.grouping.why_one_query
                or "there is only one query, but a ranker is judged by queries that it was not trained on: give more "
                "queries, or validation data"
            )
        scale = within_query_spread(train)
        return cls(
            scaled(train, scale),
            None if valid is None else scaled(valid, scale),
            scale,
            min(n_folds, train.n_queries),
            seed,
        )

    @property
    def judged(self) -> Queries:
        """The queries that settings are judged on: each one is judged by a ranker that was trained without it."""
        return self.train if self.valid is None else self.valid

    @property
    def whole(self) -> Queries:
        """All queries, for the last training."""
        return self.train if self.valid is None else joined(self.train, self.valid)

    @property
    def split_of_query(self) -> npt.NDArray[np.intp]:
        """In which split each judged query is judged, counted from 0."""
        if self.valid is not None:
            return np.zeros(self.valid.n_queries, np.intp)
        return np.random.default_rng(self.seed).permutation(np.arange(self.train.n_queries) % self.n_folds)

    def splits(self) -> Iterator[Split]:
        """Validation queries, or each of the folds in turn."""
        if self.valid is not None:
            yield Split("valid", self.train, self.valid, np.arange(self.valid.n_queries))
            return
        fold = self.split_of_query
        for number in range(self.n_folds):
            left_out = np.flatnonzero(fold == number)
            yield Split(f"fold{number + 1}", self.train[fold != number], self.train[left_out], left_out)

    @property
    def fewest_queries(self) -> int:
        """How many queries there are to train on, at least."""
        n = self.train.n_queries
        return n - -(-n // self.n_folds) if self.valid is None else n

    @property
    def n_splits(self) -> int:
        """How many splits there are."""
        return self.n_folds if self.valid is None else 1


def check_same_features(name: str, queries: Queries, train: Queries) -> None:
    """Refuse queries whose features are not those of the training data, in their order."""
    if queries.n_features != train.n_features:
        raise DataError(f"{name} have {queries.n_features} features, the training data {train.n_features}")
    named = queries.has_feature_names and train.has_feature_names
    if named and queries.feature_names != train.feature_names:
        raise DataError(f"{name} have other features than the training data, or have them in another order")


def check_grades(name: str, queries: Queries) -> None:
    """Grades and finite features are what every ranker can be trained on."""
    if not isinstance(queries.supervision, Grades):
        raise DataError(f"{name} carry a {queries.supervision.kind}: fit needs grades")
    if queries.n_documents == 0 or queries.n_features == 0:
        raise DataError(f"{name} have no documents, or no features")
    values = queries.X.data if sp.issparse(queries.X) else queries.X
    for start in range(0, len(values), ROWS_PER_BLOCK):
        if not np.isfinite(values[start : start + ROWS_PER_BLOCK]).all():
            raise DataError(f"{name} have features that are not finite: fill them in, `rankwright inspect` tells which")


def within_query_spread(queries: Queries) -> Array:
    """The standard deviation of each feature within queries; 1 where there is none."""
    squares, varies = _within_query_squares(queries)
    return np.where(varies, np.sqrt(squares / queries.n_documents), 1.0)


def varies_within_queries(queries: Queries) -> npt.NDArray[np.bool_]:
    """Whether a feature differs between documents of the same query, in any query: else it can rank nothing."""
    return _within_query_squares(queries)[1]


def _within_query_squares(queries: Queries) -> tuple[Array, npt.NDArray[np.bool_]]:
    """The sum of squares of each feature less its mean in each query, and whether that is more than rounding."""
    blocks = QueryBlocks(queries.X, queries.grouping)
    total, size = np.zeros(queries.n_features), np.zeros(queries.n_features)
    for of_queries, _, rows in blocks:
        sizes = np.diff(blocks.offsets[of_queries.start : of_queries.stop + 1])
        if sp.issparse(rows):
            size += np.bincount(rows.indices, rows.data**2, minlength=len(size))
            total += _squares_of_sparse(rows, sizes)
        else:
            centred = rows - np.repeat(blocks.sums(of_queries, rows) / sizes[:, None], sizes, axis=0)
            size += np.einsum("ij,ij->j", rows, rows)
            total += np.einsum("ij,ij->j", centred, centred)
    return total, np.sqrt(total) > _ROUNDING * np.sqrt(size)


def _squares_of_sparse(rows: Any, sizes: npt.NDArray[np.int64]) -> Array:
    """Σ_q Σ_i (x_i − x̄_q)² of each column: of what is stored, and x̄_q² for each document of q that has nothing there.

    Differences of sums of squares would lose what varies little beside how large it is, such as a time.
    """
    n_features = rows.shape[1]
    query = np.repeat(np.repeat(np.arange(len(sizes)), sizes), np.diff(rows.indptr))
    pairs, of_pair, stored = np.unique(query * n_features + rows.indices, return_inverse=True, return_counts=True)
    size = sizes[pairs // n_features]
    mean = np.bincount(of_pair, rows.data, len(pairs)) / size
    squares = np.bincount(of_pair, (rows.data - mean[of_pair]) ** 2, len(pairs)) + (size - stored) * mean**2
    return np.bincount(pairs % n_features, squares, n_features).astype(np.float64, copy=False)


def scaled(queries: Queries, scale: Array) -> Queries:
    """The same queries with features divided by ``scale``."""
    x: Any = queries.X
    if sp.issparse(x):
        values = (x.data / scale[x.indices]).astype(x.dtype, copy=False)
        x = sp.csr_array((values, x.indices, x.indptr), shape=x.shape)
    else:
        x = x / scale.astype(x.dtype)
    names = queries.feature_names if queries.has_feature_names else None
    return Queries(x, queries.supervision, queries.qid, feature_names=names, doc_ids=queries.doc_ids)


def of_columns(queries: Queries, columns: npt.NDArray[np.intp]) -> Queries:
    """The same queries with these features alone."""
    if len(columns) == queries.n_features:
        return queries
    return Queries(queries.X[:, columns], queries.supervision, queries.qid)


def joined(first: Queries, second: Queries) -> Queries:
    """The queries of both; those of the same id stay apart."""
    stack = sp.vstack if sp.issparse(first.X) or sp.issparse(second.X) else np.vstack
    x = stack([first.X, second.X])
    codes = np.concatenate([first.grouping.codes, first.n_queries + second.grouping.codes])
    names = first.feature_names if first.has_feature_names else None
    return Queries(
        sp.csr_array(x) if sp.issparse(x) else x, np.concatenate([first.y, second.y]), codes, feature_names=names
    )
