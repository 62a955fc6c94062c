"""What the commands that use a model read: the documents with the features of the model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankwright.cli.options import DataOptions
    from rankwright.data.queries import Queries
    from rankwright.models.model import Model


def read_for_models(data: Path, columns: DataOptions, *models: Model) -> Queries:
    """The queries with the features that the models name, if they do, and if no others are asked for.

    So columns that the models do not know are not looked at, and columns of text are encoded as for training.
    """
    asked = columns.columns
    if asked.features is None and not asked.one_hot and all(hasattr(model, "feature_names_in_") for model in models):
        names = (str(name) for model in models for name in model.feature_names_in_)
        columns = columns.with_features_of(dict.fromkeys(names))
    return columns.read(data)


def for_features_of(model: Model, queries: Queries) -> Model:
    """The model without the features that the queries lack: text does not tell of those that are 0 in all its lines."""
    if queries.n_features >= model.n_features_in_ or queries.has_feature_names:
        return model
    return model.cut_to(queries.n_features)
