"""What all rankers share: taking data in, scoring, ranking, and measuring, as scikit-learn estimators do."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwright.data.arrays import validated_features
from rankwright.data.centred import check_features
from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.grouping import Grouping
from rankwright.data.learnable import nothing_to_learn
from rankwright.data.noted_features import check_comes_alone, check_noted_features, note_features
from rankwright.data.one_query import warn_of_one_query
from rankwright.data.queries import Queries
from rankwright.data.width import check_width
from rankwright.errors import DataError, ParameterError
from rankwright.losses.loss import counting_weights
from rankwright.measures.evaluation import evaluate
from rankwright.measures.measure import Measure
from rankwright.rankers.learned import LinearWeights, checked_weights
from rankwright.selection.search import optional_measures

Array = npt.NDArray[np.float64]

# Rows of float32 features that are scored at a time in float64: X is never converted as a whole.
_ROWS_PER_BLOCK = 8192


class Ranker(BaseEstimator):  # type: ignore[misc]
    """A scikit-learn estimator that scores documents; ``qid`` names the query of each row."""

    predicts_queries = True  # so `evaluate` may give it Queries, whose features have names

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 - scikit-learn wants plain class attributes
    __metadata_request__score = {"qid": True}  # noqa: RUF012

    # Subclasses give these, and their parameters, by __init__.
    measures: Any
    convention: Any

    n_features_in_: int
    _n_training_queries = 1
    _seen_queries: dict[str, list[Fingerprints]]  # what it was trained on ("train"), and chosen by ("valid")

    def _training_queries(
        self, X: Any, y: Any, qid: Any, group: Any = None, *, reset: bool = True, are_all: bool = True
    ) -> Queries:
        """Queries as given, or made of X, y and qid or group; notes (``reset``) or checks number and names of features.

        Warns of rows that nothing divides into queries, and of queries that no order can be learned from, unless more
        are to come.
        """
        queries = self._given_queries(X, y, qid, group, reset=reset)
        if not isinstance(X, Queries):
            warn_of_one_query(queries)
        check_width(queries)
        self._n_training_queries = queries.n_queries
        before = [] if reset else self._seen_queries["train"]
        self._seen_queries = {"train": [*before, query_fingerprints(queries)], "valid": []}
        why = nothing_to_learn(queries) if are_all else None
        if why is not None:
            warnings.warn(f"nothing can be learned: {why}", stacklevel=4)
        return queries

    def _given_queries(self, X: Any, y: Any, qid: Any, group: Any, *, reset: bool) -> Queries:
        if isinstance(X, Queries):
            check_comes_alone(y, qid, group)
            if reset:
                note_features(self, X)
            else:
                check_noted_features(self, X, "X", "earlier queries")
            return X
        self._check_has_grades(y)
        x = self._validated(X, reset=reset)
        return Queries(x, y, qid, group=group, feature_names=getattr(self, "feature_names_in_", None))

    def _check_has_grades(self, y: Any) -> None:
        if y is None:
            name = type(self).__name__
            raise ParameterError(f"y is missing: {name} requires y to be passed, but the target y is None")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a float array or CSR. NaN and infinity pass here; where they would count, their place is told."""
        return validated_features(self, X, reset=reset)

    def _validation_queries(self, valid: Any) -> Queries | None:
        if valid is None:
            return None
        if not isinstance(valid, Queries):
            raise ParameterError(f"valid must be Queries, not {type(valid).__name__}")
        check_noted_features(self, valid, "valid", "the training data")
        check_features(valid, "valid: ")
        self._seen_queries["valid"].append(query_fingerprints(valid))
        return valid

    def predict(self, X: Any) -> Array:
        """One score for each row of X, which may be `Queries`: the higher, the better its place.

        Where both the training data and the queries name their features, columns are picked by name.
        """
        check_is_fitted(self)
        x = self._columns_of(X) if isinstance(X, Queries) else self._validated(X, reset=False)
        scores = self._scores(x)
        self._check_scores(scores, x)
        return scores

    def _columns_of(self, queries: Queries) -> Any:
        """The features of the training data, in their order."""
        names = getattr(self, "feature_names_in_", None)
        if names is not None and queries.has_feature_names:
            if tuple(names) == queries.feature_names:
                return queries.X
            columns = {name: column for column, name in enumerate(queries.feature_names)}
            missing = next((name for name in names if name not in columns), None)
            if missing is not None:
                raise DataError(f"there is no feature {missing!r}, which the model needs")
            return queries.X[:, [columns[name] for name in names]]
        if queries.n_features != self.n_features_in_:
            raise DataError(f"there are {queries.n_features} features, but the model has {self.n_features_in_}")
        return queries.X

    @abstractmethod
    def _scores(self, x: Any) -> Array:
        """Scores of rows whose number of features has been checked."""

    def _check_scores(self, scores: Array, x: Any) -> None:
        """A score is finite if the features that it depends on are."""
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0][-1])
            values = x[[row]].toarray()[0] if sp.issparse(x) else x[row]
            names = getattr(self, "feature_names_in_", [f"f{column + 1}" for column in range(len(values))])
            odd = np.flatnonzero(~np.isfinite(values))
            told = f"feature {str(names[odd[0]])!r} is {values[odd[0]]:g}" if len(odd) else "the score overflows"
            raise DataError(
                f"row {row}: {told}, but scores need finite numbers, not NaN or infinity: fill in missing values first"
            )

    def rank(self, X: Any, qid: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """The place of each row within its query, 1 = best; of rows with equal scores, the first comes first.

        X may be `Queries`, which bring qid with them.
        """
        scores = self.predict(X)
        grouping = X.grouping if isinstance(X, Queries) else Grouping(qid, len(scores))
        order = np.lexsort((-scores, grouping.codes))
        ranks = np.empty(len(scores), np.int64)
        ranks[order] = np.arange(len(scores)) - np.repeat(grouping.offsets[:-1], np.diff(grouping.offsets)) + 1
        return ranks

    def score(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> float:
        """The mean over queries of the first of ``measures`` (nDCG @ 10 if there are none); an error is negated.

        X may be `Queries`, which bring y and qid with them. ``sample_weight`` weighs queries: a number for each of
        them, in the order of their first rows, or one for each row.
        """
        measure = (self._told_measures() or optional_measures("ndcg@10"))[0]
        queries = X if isinstance(X, Queries) else self._graded_queries(y, qid)
        told = evaluate(self.predict(X), queries, measure, self.convention)
        value = told.means[measure]
        if sample_weight is not None:
            value = _weighted_mean(told.values[measure], counting_weights(queries, sample_weight))
        return -value if measure.lower_is_better else value

    def _graded_queries(self, y: Any, qid: npt.ArrayLike | None) -> Queries:
        """The queries that scores are measured on; tells if it looks as if qid got lost on its way here."""
        self._check_has_grades(y)
        if qid is None and self._n_training_queries > 1:
            warnings.warn(
                f"score was given no qid, so all rows count as one query, but there were {self._n_training_queries} "
                "queries in training. scikit-learn's tools hand qid on to score only with metadata routing: "
                "sklearn.set_config(enable_metadata_routing=True)",
                stacklevel=3,
            )
        return Queries(None, y, qid)

    def _told_measures(self) -> tuple[Measure, ...]:
        return optional_measures(self.measures)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.positive_only = True  # grades may be 0, but not below
        return tags


def _weighted_mean(values: Array, weights: Array) -> float:
    """That of the values that count, which NaN do not; NaN if none does."""
    counted = ~np.isnan(values) & (weights > 0)
    return float(np.average(values[counted], weights=weights[counted])) if counted.any() else float("nan")


class LinearRanker(Ranker):
    """Scores are x · coef_ + intercept_, if it has one. Whoever needs the weights of a ranker asks `raw_weights`."""

    coef_: Array

    def raw_weights(self) -> LinearWeights:
        """w and c of x · w + c, the scores of features as `predict` takes them, whatever scaler a model brings along.

        An error tells if ``coef_`` was set to something that no such score can be computed from.
        """
        return checked_weights(self)

    def _scores(self, x: Any) -> Array:
        weights, intercept = self.raw_weights()
        return linear_scores(x, weights) + intercept


def linear_scores(x: Any, weights: Array) -> Array:
    """XW in float64 for one or more columns of weights. A dense column without a weight is not looked at."""
    if sp.issparse(x):
        product: Array = x @ weights
        return product
    used = np.flatnonzero(weights if weights.ndim == 1 else weights.any(axis=1))
    columns: Any = slice(None) if len(used) == x.shape[1] else used
    scores = np.empty((len(x), *weights.shape[1:]))
    for start in range(0, len(x), _ROWS_PER_BLOCK):
        rows = slice(start, start + _ROWS_PER_BLOCK)
        scores[rows] = x[rows, columns].astype(np.float64, copy=False) @ weights[columns]
    return scores
