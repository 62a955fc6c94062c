"""Whether a ranker has seen queries before: then what it does on them says less of new ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.data.fingerprints import Fingerprints, query_fingerprints
from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries

_DOUBTS = {"train": "was trained on", "valid": "was chosen by"}


def doubts_about(who: str, system: Any, queries: AnyQueries) -> list[str]:
    """What speaks against a guarantee, in sentences: that these queries were trained on, or chosen by.

    A ranker in memory knows all queries that it was given, a model from a file a sample of them. In a pipeline, or in a
    search over parameters, it is the ranker at the end that knows. Of scores, and of other objects that predict,
    nothing is known.
    """
    from sklearn.pipeline import Pipeline

    system = getattr(system, "best_estimator_", system)
    ranker = system[-1] if isinstance(system, Pipeline) else system
    remembered = getattr(ranker, "_seen_queries", None)
    if remembered is None:
        return []
    found = np.unique(np.concatenate([*each_part(queries, _fingerprints, system, ranker)]))
    doubts = []
    for role, known in remembered.items():
        n_seen = int(np.isin(found, np.concatenate(known)).sum()) if known else 0
        if n_seen:
            doubts.append(f"{who} {_DOUBTS[role]} these queries ({n_seen:,} of {queries.n_queries:,} recognised)")
    return doubts


def _fingerprints(queries: Queries, system: Any, ranker: Any) -> Fingerprints:
    """Those of queries with the features that the ranker at the end of a system was trained on."""
    if ranker is system:
        features = ranker._columns_trained_on(queries)
    else:
        features = system[:-1].transform(queries.X) if len(system) > 1 else queries.X
    return query_fingerprints(Queries(features, queries.supervision, queries.qid))
