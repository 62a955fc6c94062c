"""Queries as they come: ids are text in no order, values are missing, columns constant, some queries say nothing."""

import numpy as np

import rankwright as rw


def dirty_queries(n_queries=60, seed=0, *, missing=0.1, dtype=np.float32):
    """Relevance is a product of two features. Some queries have one document, or none that is relevant."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, n_queries)
    ids = np.repeat([f"query {place}" for place in random.permutation(n_queries)], sizes)
    x = random.standard_normal((len(ids), 6))
    x[:, 2] *= 1e4  # on another scale
    x[:, 4] = np.exp(2 * x[:, 4])  # a heavy tail
    grades = np.clip(np.round(x[:, 0] * x[:, 1] + 1), 0, 3)
    grades[ids == ids[0]] = 0
    x[random.random(x.shape) < missing] = np.nan
    x[:, 5] = 7.0
    order = random.permutation(len(ids))
    return rw.Queries(x[order].astype(dtype), grades[order], ids[order], feature_names=list("abcdef"))
