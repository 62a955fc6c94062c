"""Whether a ranker has seen queries before: then what it does on them says less of new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rankwright.data.fingerprints import query_fingerprints, sketched
from rankwright.data.queries import Queries


def doubts_about(who: str, system: Any, queries: Queries) -> list[str]:
    """What speaks against a guarantee, in sentences: that these queries were trained on, or chosen by.

    A ranker in memory knows all queries that it was given, a model from a file a sample of them, if its training
    record has one. Of scores, and of other objects that predict, nothing is known.
    """
    remembered = getattr(system, "_seen_queries", None)
    training = getattr(system, "training_", None)
    if remembered is None and not isinstance(training, Mapping):
        return []
    found = query_fingerprints(queries)
    if remembered is None:
        return [f"{who} {_SAMPLED[role]}" for role, known in _sketches(training) if np.isin(known, found).any()]
    doubts = []
    for role, known in remembered.items():
        n_seen = int(np.isin(found, np.concatenate(known)).sum()) if known else 0
        if n_seen:
            doubts.append(_COUNTED[role].format(who=who, seen=f"{n_seen:,} of these {queries.n_queries:,} queries"))
    return doubts


_COUNTED = {"train": "{who} was trained on {seen}", "valid": "{seen} were validation queries of {who}"}
_SAMPLED = {
    "train": "was trained on these queries, or on some of them",
    "valid": "was chosen by these queries, or by some of them",
}


def _sketches(training: Any) -> Iterator[tuple[str, Any]]:
    """Roles and fingerprints in a model's training record."""
    noted = training.get("data")
    for part in noted if isinstance(noted, list) else []:
        if isinstance(part, Mapping) and part.get("role") in ("train", "valid"):
            yield part["role"], sketched(part.get("known_by"))
