"""What the commands that train read: training, validation and test queries, and how many features there are to take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.cli.output import reading
from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.cli.options import DataOptions
    from rankwright.data.queries import Queries
    from rankwright.preparation.preparation import Preparation

_MOST_FEATURES = 10


def read_training_data(files: Mapping[str, Path], columns: DataOptions) -> dict[str, Queries]:
    """The queries of files by their roles, "train" first, all with the features of the training data in their order.

    Features are matched by name where the training data name them, and columns of text encoded as there.
    """
    from rankwright.data.as_queries import equally_wide
    from rankwright.data.learnable import check_learnable

    train = columns.read(files["train"])
    if train.n_features == 0:
        raise DataError(f"{files['train']}: there are no features to learn from")
    check_learnable(str(files["train"]), train)
    others = columns.with_features_of(train.feature_names) if train.has_feature_names else columns
    read = {"train": train, **{role: others.read(path) for role, path in files.items() if role != "train"}}
    with reading(files["train"]):
        read = dict(zip(files, equally_wide(list(files.values()), list(read.values())), strict=True))
    for role, queries in read.items():
        _check_features(files[role], queries, files["train"], read["train"])
    return read


def prepared(
    read: Mapping[str, Queries], scale: str | None, missing: str | None
) -> tuple[Preparation, dict[str, Queries]]:
    """How features become the columns that are trained on, and all queries with these columns."""
    from rankwright.data.width import check_width, n_values
    from rankwright.preparation.missing import has_missing
    from rankwright.preparation.preparation import prepare

    for queries in read.values():
        check_width(queries, n_values(queries.X))
    others_miss = any(has_missing(queries.X) for queries in read.values())
    is_scaled, filling = scale != "none", missing or "mean"
    by, train = prepare(read["train"], missing=filling, scale=is_scaled, others_miss=others_miss)  # type: ignore[arg-type]
    return by, {role: train if role == "train" else by.prepared(queries) for role, queries in read.items()}


def _check_features(path: Path, queries: Queries, train_path: Path, train: Queries) -> None:
    """Refuse queries that have other features than the training data."""
    is_numbered = not queries.has_feature_names and not train.has_feature_names
    if is_numbered and queries.n_features == train.n_features:
        return  # there may be very many
    if queries.feature_names == train.feature_names:
        return
    known = set(queries.feature_names)
    lacking = next((name for name in train.feature_names if name not in known), None)
    which = "it has more features" if lacking is None else f"{lacking!r} is missing"
    raise DataError(f"{path} does not have the same features as {train_path}: {which}")


def most_features(max_features: int | None, train: Queries, data: Path) -> int:
    """How many features to select at most: the option --max-features, by default 10, or all if there are fewer.

    ``train`` has the features as they are in ``data``.
    """
    if max_features is None:
        return min(_MOST_FEATURES, train.n_features)
    if max_features > train.n_features:
        raise ParameterError(f"--max-features is {max_features}, but {data} has only {train.n_features} features")
    return max_features
