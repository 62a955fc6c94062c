"""A linear ranker that was trained on prepared columns, as a model of the features themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankwright.data.fingerprints import query_fingerprints
from rankwright.data.streams.streamed import AnyQueries
from rankwright.models.learned import checked_weights
from rankwright.models.linear_model import LinearModel, LinearScorer
from rankwright.models.model import about
from rankwright.preparation.preparation import Preparation


def model_of_features(
    ranker: LinearScorer,
    by: Preparation,
    train: AnyQueries,
    valid: AnyQueries | None = None,
    *,
    training: Mapping[str, Any] | None = None,
) -> LinearModel:
    """The model that scores features as ``train`` has them as the ranker scores the columns that were made of them."""
    weights, intercept = checked_weights(ranker)
    if not hasattr(ranker, "intercept_"):  # one with an intercept learns from grades, all others from pairs
        weights = by.of_ranking(weights)
    told = {
        **about(ranker),
        "feature_names": train.feature_names if train.has_feature_names else None,
        "training": training or {},
    }
    model = LinearModel.of(by.fold(weights, intercept), **told)
    model._seen_queries = {
        "train": [query_fingerprints(train)],
        "valid": [] if valid is None else [query_fingerprints(valid)],
    }
    return model
