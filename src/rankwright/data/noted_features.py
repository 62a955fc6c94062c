"""Which features an estimator was fitted on: it notes those of Queries as scikit-learn does those of data frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError


def note_features(estimator: Any, queries: AnyQueries) -> None:
    """Set ``n_features_in_``, and ``feature_names_in_`` if the features have names."""
    estimator.n_features_in_ = queries.n_features
    if queries.has_feature_names:
        estimator.feature_names_in_ = np.array(queries.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_noted_features(estimator: Any, queries: AnyQueries, what: str, known: str) -> None:
    """Refuse queries with more or fewer features than noted, or other names where both have names."""
    if queries.n_features != estimator.n_features_in_:
        raise DataError(f"{what} has {queries.n_features} features, but {known} have {estimator.n_features_in_}")
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None and queries.has_feature_names and tuple(names) != queries.feature_names:
        raise DataError(f"{what} has other features than {known}, or has them in another order")


def check_comes_alone(y: Any, qid: Any, group: Any = None) -> None:
    """Refuse y, qid or group beside Queries."""
    if y is not None or qid is not None or group is not None:
        told = "y and qid" if group is None else "y, qid and group"
        raise ParameterError(f"{told} are part of the Queries that were given as X: leave them out")
