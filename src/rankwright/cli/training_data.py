"""What the commands that train read: training queries, validation queries, and how many features there are to take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.cli.output import reading
from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

_MOST_FEATURES = 10


def read_training_data(data: Path, valid: Path | None) -> tuple[Queries, Queries | None]:
    """The training queries, and those to judge on with the same features."""
    from rankwright.data.files import read_queries
    from rankwright.data.learnable import check_learnable
    from rankwright.data.svmlight.reader import read_parts

    with reading(data):
        train = read_queries(data)
    check_learnable(str(data), train)
    if valid is None:
        return train, None
    with reading(valid):
        held_out = read_queries(valid)
        named = train.has_feature_names or held_out.has_feature_names
        if train.n_features != held_out.n_features and not named:
            # Text does not tell of features that are 0 in all its lines.
            train, held_out = read_parts([data, valid], dtype=None, missing="zero")
    if train.has_feature_names and held_out.has_feature_names and train.feature_names != held_out.feature_names:
        raise DataError(f"{valid} has other features than {data}, or has them in another order")
    return train, held_out


def most_features(max_features: int | None, train: Queries, data: Path) -> int:
    """How many features to select at most: the option --max-features, by default 10, or all if there are fewer."""
    if max_features is None:
        return min(_MOST_FEATURES, train.n_features)
    if max_features > train.n_features:
        raise ParameterError(f"--max-features is {max_features}, but {data} has only {train.n_features} features")
    return max_features
