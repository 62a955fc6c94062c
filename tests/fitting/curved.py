"""Queries whose relevance is curved in the features, as awkward as real ones."""

import numpy as np

import rankwright as rw


def curved_queries(n_queries=60, seed=0, *, dirty=True):
    """A product and a hinge make the grades; rows stand in any order, ids are text, and some values are missing."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(8, 16, n_queries)
    qid = np.repeat([f"q {number}" for number in rng.permutation(n_queries)], sizes)
    X = rng.standard_normal((len(qid), 5))
    truth = X[:, 0] * X[:, 1] + np.maximum(0, X[:, 2])
    y = np.clip(np.round(1 + truth + 0.2 * rng.standard_normal(len(qid))), 0, 4)
    X[:, 4] = 2.5
    if dirty:
        y[qid == qid[0]] = 0
        qid[-1] = "alone"
        X[rng.random(len(qid)) < 0.1, 3] = np.nan
        order = rng.permutation(len(qid))
        X, y, qid = X[order], y[order], qid[order]
    return rw.Queries(X.astype(np.float32), y, qid, feature_names=["bm25", "fresh", "clicks", "price", "same"])
