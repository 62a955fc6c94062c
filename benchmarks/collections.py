"""The two collections of the benchmarks, drawn with the sizes and grades of well-known ones."""

from __future__ import annotations

import numpy as np

from rankwright import Queries, QueryMinMaxScaler, normalised
from rankwright.datasets import make_queries


def mq2007_sized() -> Queries:
    """1,000 queries of 41 documents on average: 46 features scaled to [0, 1] within each query, grades 0–2."""
    mix = (0.74, 0.2, 0.06)
    options = {"n_informative": 12, "n_correlated": 24, "seed": 7}
    made = make_queries(1000, 41, 46, grade_mix=mix, noise=1.5, dtype=np.float32, **options).queries
    return normalised(made, QueryMinMaxScaler().fit(made.X, qid=made.qid))


def mslr_sized() -> Queries:
    """3,000 queries of 120 documents on average: 136 features in float32, grades 0–4."""
    mix = (0.52, 0.32, 0.13, 0.02, 0.01)
    options = {"n_informative": 30, "n_correlated": 60, "seed": 1}
    return make_queries(3000, 120, 136, grade_mix=mix, noise=1.5, dtype=np.float32, **options).queries
