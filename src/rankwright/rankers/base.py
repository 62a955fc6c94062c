"""What all rankers share beside scoring: taking training data in, as scikit-learn estimators do."""

from __future__ import annotations

import warnings
from typing import Any

from rankwright.checks import check_choice
from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.finite import check_features
from rankwright.data.noted_features import check_comes_alone, check_noted_features, note_features
from rankwright.data.one_query import warn_of_one_query
from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries, StreamedQueries
from rankwright.errors import DataError, ParameterError
from rankwright.models.learned import checked_weights
from rankwright.models.linear_model import LinearModel, LinearScorer
from rankwright.models.model import about
from rankwright.models.scorer import Scorer
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import MISSING, MissingName
from rankwright.preparation.preparation import Preparation, unscaled_preparation
from rankwright.rankers.first_look import FirstLook, first_look


class Ranker(Scorer):
    """A scikit-learn estimator that learns to score documents; ``qid`` names the query of each row."""

    _takes_powers = False  # of features, so that they must not be too large
    _known_look: FirstLook | None = None  # at features that the columns it is given were made of

    def _training_queries(
        self, X: Any, y: Any, qid: Any, group: Any = None, *, reset: bool = True, are_all: bool = True
    ) -> AnyQueries:
        """Queries as given, or made of X, y and qid or group; notes (``reset``) or checks number and names of features.

        Warns of rows that nothing divides into queries, and of queries that no order can be learned from, unless more
        are to come.
        """
        queries = self._given_queries(X, y, qid, group, reset=reset)
        if isinstance(queries, Queries) and queries is not X:
            warn_of_one_query(queries)
        look = self._known_look or first_look(queries, takes_powers=self._takes_powers)
        self._n_training_queries = queries.n_queries
        before = [] if reset else self._seen_queries["train"]
        self._seen_queries = {"train": [*before, look.fingerprints], "valid": []}
        if are_all and look.nothing_to_learn is not None:
            warnings.warn(f"nothing can be learned: {look.nothing_to_learn}", stacklevel=4)
        if reset:
            self._note_preparation(queries, has_missing=look.has_missing)
        return self._prepared(queries)

    def _note_preparation(self, queries: AnyQueries, *, has_missing: bool) -> None:
        """Note what is to be done to the features of all queries, from those of the training data."""

    def _prepared(self, queries: AnyQueries) -> AnyQueries:
        """The queries with the features that are trained on."""
        return queries

    def _given_queries(self, X: Any, y: Any, qid: Any, group: Any, *, reset: bool) -> AnyQueries:
        if isinstance(X, Queries | StreamedQueries):
            check_comes_alone(y, qid, group)
            if reset:
                note_features(self, X)
            else:
                check_noted_features(self, X, "X", "earlier queries")
            return X
        self._check_has_grades(y)
        x = self._validated(X, reset=reset)
        return Queries(x, y, qid, group=group, feature_names=getattr(self, "feature_names_in_", None))

    def _validation_queries(self, valid: Any) -> AnyQueries | None:
        if valid is None:
            return None
        if not isinstance(valid, Queries | StreamedQueries):
            raise ParameterError(f"valid must be Queries, not {type(valid).__name__}")
        check_noted_features(self, valid, "valid", "the training data")
        if valid.n_documents == 0:
            raise DataError("valid has no documents to judge rankers by: give it some queries, or leave it out")
        if self._known_look is None:
            self._seen_queries["valid"] += each_part(valid, self._checked_fingerprints)
        return self._prepared(valid)

    def _checked_fingerprints(self, valid: Queries) -> Fingerprints:
        prepared = self._prepared(valid)
        assert isinstance(prepared, Queries)
        check_features(prepared, "valid: ")
        return query_fingerprints(valid)


class LinearRanker(LinearScorer, Ranker):
    """Scores are x · coef_ + intercept_, if it has one. Whoever needs the weights of a ranker asks for its `formula`.

    Missing values of the training data are filled in, and a column of its own tells where a feature was missing:
    ``coef_`` then has a weight for each such column behind those of the features, and ``preparation_`` tells which.
    """

    missing: MissingName
    preparation_: Preparation | None = None

    def _note_preparation(self, queries: AnyQueries, *, has_missing: bool) -> None:
        check_choice("missing", self.missing, MISSING)
        self.preparation_ = unscaled_preparation(queries, missing=self.missing) if has_missing else None

    def _prepared(self, queries: AnyQueries) -> AnyQueries:
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
