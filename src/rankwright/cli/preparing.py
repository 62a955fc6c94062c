"""What the commands that train make of the queries they read: columns to train on, and how many features to take."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.data.streams.streamed import AnyQueries
    from rankwright.models.standardisation import Standardisation
    from rankwright.preparation.preparation import Preparation

_MOST_FEATURES = 10


def prepared(
    read: Mapping[str, AnyQueries], scale: str | None, missing: str | None
) -> tuple[Preparation, dict[str, Any]]:
    """How features become the columns that are trained on, and all queries with these columns."""
    from rankwright.data.parts import each_part
    from rankwright.data.width import check_width
    from rankwright.preparation.preparation import prepare

    for queries in read.values():
        check_width(queries, sum(each_part(queries, _n_values)))
    others_miss = any(any(each_part(queries, _misses)) for queries in read.values())
    is_scaled, filling = scale != "none", missing or "mean"
    by, train = prepare(read["train"], missing=filling, scale=is_scaled, others_miss=others_miss)  # type: ignore[arg-type]
    return by, {role: train if role == "train" else by.prepared(queries) for role, queries in read.items()}


def scaled(
    read: Mapping[str, AnyQueries], scale: str | None, ranker: str
) -> tuple[Standardisation | None, dict[str, Any]]:
    """What features are divided by for a ranker with a kernel, if by anything, and all queries with these columns.

    Features that are missing are left to the ranker, which says where one is.
    """
    from rankwright.data.streams.streamed import in_memory
    from rankwright.models.standardisation import standardised, within_query_scale

    held = {role: in_memory(queries, f"--ranker {ranker}", "--ranker rankrls") for role, queries in read.items()}
    if scale == "none" or any(map(_misses, held.values())):
        return None, held
    by = within_query_scale(held["train"])
    return by, {role: standardised(queries, by) for role, queries in held.items()}


def _n_values(queries: Queries) -> int:
    from rankwright.data.width import n_values

    return n_values(queries.X)


def _misses(queries: Queries) -> bool:
    from rankwright.preparation.missing import has_missing

    return has_missing(queries.X)


def most_features(max_features: int | None, train: AnyQueries, data: Path) -> int:
    """How many features to select at most: the option --max-features, by default 10, or all if there are fewer.

    ``train`` has the features as they are in ``data``.
    """
    if max_features is None:
        return min(_MOST_FEATURES, train.n_features)
    if max_features > train.n_features:
        raise ParameterError(f"--max-features is {max_features}, but {data} has only {train.n_features} features")
    return max_features
