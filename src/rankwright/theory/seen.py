"""Whether a ranker has seen queries before: then what it does on them says less of new ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from rankwright.data.fingerprints import query_fingerprints
from rankwright.data.queries import Queries
from rankwright.rankers.base import Ranker
from rankwright.rankers.standardisation import Standardisation

_DOUBTS = {"train": "was trained on", "valid": "was chosen by"}


def doubts_about(who: str, system: Any, queries: Queries) -> list[str]:
    """What speaks against a guarantee, in sentences: that these queries were trained on, or chosen by.

    A ranker in memory knows all queries that it was given, a model from a file a sample of them. In a pipeline, or in a
    search over parameters, it is the ranker at the end that knows. Of scores, and of other objects that predict,
    nothing is known.
    """
    ranker, seen_by_it = _at_the_end(system, queries)
    remembered = getattr(ranker, "_seen_queries", None)
    if remembered is None:
        return []
    found = query_fingerprints(seen_by_it)
    doubts = []
    for role, known in remembered.items():
        n_seen = int(np.isin(found, np.concatenate(known)).sum()) if known else 0
        if n_seen:
            doubts.append(f"{who} {_DOUBTS[role]} these queries ({n_seen:,} of {queries.n_queries:,} recognised)")
    return doubts


def _at_the_end(system: Any, queries: Queries) -> tuple[Any, Queries]:
    """The ranker in a scikit-learn search or pipeline, and the queries with features as they come to it."""
    from sklearn.pipeline import Pipeline

    system = getattr(system, "best_estimator_", system)
    if isinstance(system, Pipeline):
        features = system[:-1].transform(queries.X) if len(system) > 1 else queries.X
        return system[-1], Queries(features, queries.supervision, queries.qid)
    if isinstance(system, Ranker):
        features = system._columns_of(queries)
        by = getattr(system, "standardisation_", None)
        return system, Queries(
            features if by is None else _standardised(features, by), queries.supervision, queries.qid
        )
    return system, queries


def _standardised(x: Any, by: Standardisation) -> Any:
    """(x − mean) / scale in the type of x, as the scaler gave it to the ranker; CSR has no mean to subtract."""
    if sp.issparse(x):
        return sp.csr_array(((x.data / by.scale[x.indices]).astype(x.dtype), x.indices, x.indptr), shape=x.shape)
    return ((x - by.mean) / by.scale).astype(x.dtype)
