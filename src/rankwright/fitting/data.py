"""The queries of a fit: prepared for training, split for judging, and put together again for the last training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.learnable import check_learnable
from rankwright.data.queries import Queries
from rankwright.data.query_blocks import ROWS_PER_BLOCK
from rankwright.data.width import check_width, n_values
from rankwright.errors import DataError
from rankwright.fitting.preparing import How
from rankwright.judgments.supervision import Grades
from rankwright.preparation.preparation import Preparation, prepare


class Split(NamedTuple):
    """A part to train on, a part to judge on, and where the latter's queries stand among all that are judged."""

    name: str
    train: Queries
    judged: Queries
    positions: npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FitData:
    """Training queries, and validation queries if there are any, with columns prepared from their features.

    Columns are divided by their spread within queries, so that λ means the same for all of them; ``by`` folds weights
    of columns into those of the features as given.
    """

    train: Queries
    valid: Queries | None
    how: How
    by: Preparation
    n_folds: int
    seed: int

    @staticmethod
    def check(train: Queries, valid: Queries | None) -> None:
        """Refuse queries that nothing can be learned from, or judged by."""
        for name, queries in (("the training data", train), ("the validation data", valid)):
            if queries is not None:
                check_grades(name, queries)
                check_width(queries, n_values(queries.X), f"{name}: ")
        if valid is not None:
            check_same_features("the validation data", valid, train)
        check_learnable("the training data", train)
        if valid is None and train.n_queries < 2:
            raise DataError(
                train.grouping.why_one_query
                or "there is only one query, but a ranker is judged by queries that it was not trained on: give more "
                "queries, or validation data"
            )

    @classmethod
    def of(cls, train: Queries, valid: Queries | None, how: How, n_folds: int, seed: int) -> FitData:
        """Queries that were checked, prepared."""
        by, columns = prepare(train, missing=how.missing, transform=how.transform, others_miss=how.has_missing)
        judged = None if valid is None else by.prepared(valid)
        return cls(columns, judged, how, by, min(n_folds, train.n_queries), seed)

    @property
    def judged(self) -> Queries:
        """The queries that settings are judged on: each one is judged by a ranker that was trained without it.

        How features are prepared (scales, means, quantiles) is learned from the features of all training queries,
        without their grades.
        """
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
        raise DataError(f"{name} have {queries.n_features} features, but the training data have {train.n_features}")
    named = queries.has_feature_names and train.has_feature_names
    if named and queries.feature_names != train.feature_names:
        raise DataError(f"{name} have other features than the training data, or have them in another order")


def check_grades(name: str, queries: Queries) -> None:
    """Grades, and features that are finite or missing, are what every ranker can be trained on."""
    if not isinstance(queries.supervision, Grades):
        raise DataError(f"{name} have a {queries.supervision.kind}, but fit needs grades")
    if queries.n_documents == 0 or queries.n_features == 0:
        raise DataError(f"{name} have no documents, or no features")
    values = queries.X.data if sp.issparse(queries.X) else queries.X
    for start in range(0, len(values), ROWS_PER_BLOCK):
        if np.isinf(values[start : start + ROWS_PER_BLOCK]).any():
            raise DataError(f"{name} have infinite values: run `rankwright inspect` to see in which features")


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
