"""The queries of a fit: prepared for training, split for judging, and put together again for the last training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.query_blocks import ROWS_PER_BLOCK
from rankwright.data.streams.chained import chained
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import DataError
from rankwright.fitting.preparing import How
from rankwright.judgments.supervision import Grades
from rankwright.preparation.preparation import Preparation, prepare
from rankwright.rankers.first_look import FirstLook, first_look
from rankwright.selection.judging import Split, fold_of_query, splits_of


@dataclass(frozen=True, eq=False)
class Sides:
    """Training queries, and validation queries if there are any, and how they are split for judging."""

    train: AnyQueries
    valid: AnyQueries | None
    n_folds: int
    seed: int

    @property
    def judged(self) -> AnyQueries:
        """The queries that settings are judged on: each one is judged by a ranker that was trained without it."""
        return self.train if self.valid is None else self.valid

    @property
    def whole(self) -> AnyQueries:
        """All queries, for the last training."""
        return self.train if self.valid is None else chained(self.train, self.valid)

    @property
    def split_of_query(self) -> npt.NDArray[np.intp]:
        """In which split each judged query is judged, counted from 0."""
        if self.valid is not None:
            return np.zeros(self.valid.n_queries, np.intp)
        return fold_of_query(self.train.n_queries, self.n_folds, self.seed)

    def splits(self) -> Iterator[Split]:
        """Validation queries, or each of the folds in turn."""
        if self.valid is None:
            return splits_of(self.train, self.n_folds, self.seed)
        return iter([Split("valid", self.train, self.valid, np.ones(self.valid.n_queries, bool))])

    @property
    def fewest_queries(self) -> int:
        """How many queries there are to train on, at least."""
        n = self.train.n_queries
        return n - -(-n // self.n_folds) if self.valid is None else n


@dataclass(frozen=True, eq=False)
class FitData(Sides):
    """The queries of a fit with columns prepared from their features, and the same queries with features as given.

    Columns are divided by their spread within queries, so that λ means the same for all of them; ``by`` folds weights
    of columns into those of the features as given. How features are prepared (scales, means, quantiles) is learned
    from the features of all training queries, without their grades.
    """

    how: How
    by: Preparation
    given: Sides

    @staticmethod
    def look_at(train: AnyQueries, valid: AnyQueries | None) -> dict[str, FirstLook]:
        """What is seen of the queries at first; refuses those that nothing can be learned from, or judged by."""
        looks = {"train": _looked_at("the training data", train)}
        if valid is not None:
            looks["valid"] = _looked_at("the validation data", valid)
            check_same_features("the validation data", valid, train)
        if looks["train"].nothing_to_learn is not None:
            raise DataError(f"the training data: there is nothing to learn: {looks['train'].nothing_to_learn}")
        if valid is None and train.n_queries < 2:
            raise DataError(
                (train.grouping.why_one_query if isinstance(train, Queries) else None)
                or "there is only one query, but a ranker is judged by queries that it was not trained on: give more "
                "queries, or validation data"
            )
        return looks

    @classmethod
    def of(cls, train: AnyQueries, valid: AnyQueries | None, how: How, n_folds: int, seed: int) -> FitData:
        """Queries that were checked, prepared."""
        by, columns = prepare(train, missing=how.missing, transform=how.transform, others_miss=how.has_missing)
        judged = None if valid is None else by.prepared(valid)
        n_folds = min(n_folds, train.n_queries)
        return cls(columns, judged, n_folds, seed, how, by, Sides(train, valid, n_folds, seed))


def _looked_at(name: str, queries: AnyQueries) -> FirstLook:
    check_grades(name, queries)
    return first_look(queries, takes_powers=False, name=f"{name}: ")


def check_same_features(name: str, queries: AnyQueries, train: AnyQueries) -> None:
    """Refuse queries whose features are not those of the training data, in their order."""
    if queries.n_features != train.n_features:
        raise DataError(f"{name} have {queries.n_features} features, but the training data have {train.n_features}")
    named = queries.has_feature_names and train.has_feature_names
    if named and queries.feature_names != train.feature_names:
        raise DataError(f"{name} have other features than the training data, or have them in another order")


def check_grades(name: str, queries: AnyQueries) -> None:
    """Grades, and features that are finite or missing, are what every ranker can be trained on."""
    for problem in each_part(queries, _problem):
        if problem is not None:
            raise DataError(f"{name} have {problem}")
    if queries.n_documents == 0 or queries.n_features == 0:
        raise DataError(f"{name} have no documents, or no features")


def _problem(queries: Queries) -> str | None:
    if not isinstance(queries.supervision, Grades):
        return f"a {queries.supervision.kind}, but fit needs grades"
    values = queries.X.data if sp.issparse(queries.X) else queries.X
    for start in range(0, len(values), ROWS_PER_BLOCK):
        if np.isinf(values[start : start + ROWS_PER_BLOCK]).any():
            return "infinite values: run `rankwright inspect` to see in which features"
    return None


def of_columns(queries: AnyQueries, columns: npt.NDArray[np.intp]) -> AnyQueries:
    """The same queries with these features alone."""
    if len(columns) == queries.n_features:
        return queries
    if isinstance(queries, StreamedQueries):
        return queries.mapped(partial(_of_columns, columns=columns))
    return _of_columns(queries, columns)


def _of_columns(queries: Queries, columns: npt.NDArray[np.intp]) -> Queries:
    return Queries(queries.X[:, columns], queries.supervision, queries.qid)
