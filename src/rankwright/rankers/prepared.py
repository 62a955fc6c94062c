"""A linear ranker that was trained on prepared columns, as a model of the features themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.data.fingerprints import query_fingerprints
from rankwright.data.queries import Queries
from rankwright.preparation.preparation import Preparation
from rankwright.rankers.base import LinearRanker
from rankwright.rankers.learned import checked_weights
from rankwright.rankers.linear_model import LinearModel
from rankwright.rankers.regression import RegressionRanker
from rankwright.rankers.saved_model import plain_parameters


def model_of_features(
    ranker: LinearRanker,
    by: Preparation,
    train: Queries,
    valid: Queries | None = None,
    *,
    training: Mapping[str, Any] | None = None,
) -> LinearModel:
    """The model that scores features as ``train`` has them as the ranker scores the columns that were made of them."""
    weights, intercept = checked_weights(ranker)
    if not isinstance(ranker, RegressionRanker):
        weights = by.of_ranking(weights)
    model = LinearModel.of(
        by.fold(weights, intercept),
        feature_names=train.feature_names if train.has_feature_names else None,
        ranker=type(ranker).__name__,
        parameters=plain_parameters(ranker),
        training=training or {},
    )
    model._seen_queries = {
        "train": [query_fingerprints(train)],
        "valid": [] if valid is None else [query_fingerprints(valid)],
    }
    return model
