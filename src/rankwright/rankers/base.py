"""What all rankers share beside scoring: taking training data in, as scikit-learn estimators do."""

from __future__ import annotations

import warnings
from typing import Any

from rankwright.data.fingerprints import query_fingerprints
from rankwright.data.finite import check_features
from rankwright.data.learnable import nothing_to_learn
from rankwright.data.noted_features import check_comes_alone, check_noted_features, note_features
from rankwright.data.one_query import warn_of_one_query
from rankwright.data.queries import Queries
from rankwright.data.width import check_width
from rankwright.errors import ParameterError
from rankwright.models.learned import checked_weights
from rankwright.models.linear_model import LinearModel, LinearScorer
from rankwright.models.model import about
from rankwright.models.scorer import Scorer
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import MISSING, MissingName, has_missing
from rankwright.preparation.preparation import Preparation, unscaled_preparation


class Ranker(Scorer):
    """A scikit-learn estimator that learns to score documents; ``qid`` names the query of each row."""

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
        if reset:
            self._note_preparation(queries)
        return self._prepared(queries)

    def _note_preparation(self, queries: Queries) -> None:
        """Note what is to be done to the features of all queries, from those of the training data."""

    def _prepared(self, queries: Queries) -> Queries:
        """The queries with the features that are trained on."""
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

    def _validation_queries(self, valid: Any) -> Queries | None:
        if valid is None:
            return None
        if not isinstance(valid, Queries):
            raise ParameterError(f"valid must be Queries, not {type(valid).__name__}")
        check_noted_features(self, valid, "valid", "the training data")
        self._seen_queries["valid"].append(query_fingerprints(valid))
        prepared = self._prepared(valid)
        check_features(prepared, "valid: ")
        return prepared


class LinearRanker(LinearScorer, Ranker):
    """Scores are x · coef_ + intercept_, if it has one. Whoever needs the weights of a ranker asks for its `formula`.

    Missing values of the training data are filled in, and a column of its own tells where a feature was missing:
    ``coef_`` then has a weight for each such column behind those of the features, and ``preparation_`` tells which.
    """

    missing: MissingName
    preparation_: Preparation | None = None

    def _note_preparation(self, queries: Queries) -> None:
        if self.missing not in MISSING:
            raise ParameterError(f"missing must be one of {', '.join(map(repr, MISSING))}, not {self.missing!r}")
        is_complete = not has_missing(queries.X)
        self.preparation_ = None if is_complete else unscaled_preparation(queries, missing=self.missing)

    def _prepared(self, queries: Queries) -> Queries:
        return queries if self.preparation_ is None else self.preparation_.prepared(queries)

    def formula(self) -> Formula:
        """What the scores of features are computed by, as `predict` takes them, whatever was done to them in training.

        An error tells if ``coef_`` was set to something that no such score can be computed from.
        """
        weights, intercept = checked_weights(self)
        if self.preparation_ is None:
            return Formula(weights, intercept)
        return self.preparation_.fold(weights, intercept)

    def model(self) -> LinearModel:
        """What it has learned, apart from how it was trained."""
        return LinearModel.of(self.formula(), **about(self)).with_memory_of(self)
