"""`Scorer`: what scores documents, be it a ranker or a model that was read: predict, rank, score."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from rankwright.arrays import validated_features
from rankwright.data.fingerprints import Fingerprints
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import DataError, ParameterError
from rankwright.evaluation.evaluation import evaluate
from rankwright.judgments.grouping import Grouping
from rankwright.losses.loss import counting_weights
from rankwright.measures.measure import Measure
from rankwright.selection.search import optional_measures
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.models.model import Model


class Scorer(BaseEstimator):  # type: ignore[misc]
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

    @abstractmethod
    def model(self) -> Model:
        """What it has learned, apart from how it was trained; a :class:`ParameterError` tells why there is none."""

    def predict(self, X: Any) -> Array:
        """One score for each row of X, which may be `Queries`: the higher, the better its place.

        Where both the training data and the queries name their features, columns are picked by name. Queries that are
        read from files are scored part by part.
        """
        if isinstance(X, StreamedQueries):
            return _of_parts(self.predict, X)
        return self._predicted(X, X.grouping if isinstance(X, Queries) else None)

    def _predicted(self, X: Any, grouping: Grouping | None) -> Array:
        """The scores of rows, whose queries may be known."""
        check_is_fitted(self)
        x = self._columns_of(X) if isinstance(X, Queries) else self._validated(X, reset=False)
        scores = self.scores(x, grouping)
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
                raise DataError(
                    f"there is no feature {missing!r}, which the model needs: read frames and files with for_model=, "
                    "which also encodes columns of text as they were for training"
                )
            return queries.X[:, [columns[name] for name in names]]
        if queries.n_features != self.n_features_in_:
            raise DataError(f"there are {queries.n_features} features, but the model has {self.n_features_in_}")
        return queries.X

    def _columns_trained_on(self, queries: Queries) -> Any:
        """The features as training had them, by which queries that were seen are known again."""
        return self._columns_of(queries)

    @abstractmethod
    def scores(self, x: Any, grouping: Grouping | None) -> Array:
        """Scores of rows whose number of features has been checked, and whose queries may be known."""

    def _check_scores(self, scores: Array, x: Any) -> None:
        """A score is finite if the features that it depends on are."""
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0][-1])
            values = x[[row]].toarray()[0] if sp.issparse(x) else x[row]
            names = getattr(self, "feature_names_in_", [f"f{column + 1}" for column in range(len(values))])
            raise DataError(f"row {row}: {self._told_of_score(values, names)}")

    def _told_of_score(self, values: Array, names: Any) -> str:
        """Why a document with these features has no finite score."""
        infinite = np.flatnonzero(np.isinf(values))
        if len(infinite):
            return f"feature {str(names[infinite[0]])!r} is {values[infinite[0]]:g}, but scores need finite numbers"
        missing = np.flatnonzero(np.isnan(values))
        if len(missing):
            return f"feature {str(names[missing[0]])!r} is missing (NaN). {self._why_missing_is_refused()}"
        return "the score overflows"

    def _why_missing_is_refused(self) -> str:
        return f"{type(self).__name__} does not take missing values: fill them in first"

    def _check_has_grades(self, y: Any) -> None:
        if y is None:
            name = type(self).__name__
            raise ParameterError(f"y is missing: {name} requires y to be passed, but the target y is None")

    def _validated(self, X: Any, *, reset: bool) -> Any:
        """X as a float array or CSR. NaN and infinity pass here; where they would count, their place is told."""
        return validated_features(self, X, reset=reset)

    def rank(self, X: Any, qid: npt.ArrayLike | None = None) -> npt.NDArray[np.int64]:
        """The place of each row within its query, 1 = best; of rows with equal scores, the first comes first.

        X may be `Queries`, which bring qid with them.
        """
        if isinstance(X, StreamedQueries):
            return _of_parts(self.rank, X)
        grouping = X.grouping if isinstance(X, Queries) else Grouping(qid, _n_rows(X))
        scores = self._predicted(X, grouping)
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
        queries: AnyQueries
        if isinstance(X, Queries | StreamedQueries):
            queries, told = X, evaluate(self, X, measure, self.convention)
        else:
            queries = self._graded_queries(y, qid)
            told = evaluate(self._predicted(X, queries.grouping), queries, measure, self.convention)
        value = told.means[measure]
        if sample_weight is not None:
            value = _weighted_mean(told.values[measure], counting_weights(queries.judgments, sample_weight))
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


def _of_parts(function: Callable[[Queries], npt.NDArray[Any]], queries: StreamedQueries) -> npt.NDArray[Any]:
    """A number for each row of queries that are read part by part."""
    return np.concatenate([np.zeros(0, np.int64), *queries.each(function)])


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
