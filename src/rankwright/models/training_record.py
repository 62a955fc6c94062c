"""What a model file says of its training: one record, whatever wrote it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankwright.plain import without_nan


def training_record(
    *,
    command: str | None,
    data: Sequence[Mapping[str, Any]],
    convention: str,
    rule: str | None,
    judged_on: str | None,
    measures: Sequence[Mapping[str, Any]],
    figures: Mapping[str, Any],
    certificate: Mapping[str, Any] | None,
    fingerprint: str | None = None,
) -> dict[str, Any]:
    """The field ``training`` of a model file.

    Parameters
    ----------
    command : what ran, if that is known
    data : of each part its role, name, SHA-256, queries and documents
    convention, rule : whose rules the measures follow, and how the choice was made
    judged_on : "valid", "held-out" or None, the queries that ``measures`` are from
    measures : mappings with measure, mean and standard_error; the first measure made the choice
    figures : what is known of the training itself, such as alpha, features_used, objective or gap
    certificate : the bound for new queries, from test queries
    fingerprint : of a fit, what tells it from any other
    """
    record: dict[str, Any] = without_nan(locals())
    return record
