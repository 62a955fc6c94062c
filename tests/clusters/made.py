"""Queries in files, as they are read by a cluster and in memory."""

from itertools import pairwise

import numpy as np

import rankwright as rw

CONSTANT = 3  # the feature that is the same in all documents


def dirty_queries(n_queries=120, n_features=8, seed=0):
    """Text ids in no order, queries of one document, without relevant documents, a constant column."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 30, n_queries)
    ids = np.array([f"q{number}" for number in rng.permutation(n_queries)])
    x = rng.normal(size=(sizes.sum(), n_features)) * rng.uniform(0.1, 10.0, n_features)
    x[:, CONSTANT] = 2.5
    y = np.clip(np.round(x @ rng.normal(size=n_features) / 5 + rng.normal(size=len(x))), 0, 4)
    y[: sizes[0] + sizes[1]] = 0.0
    return rw.Queries(x, y, np.repeat(ids, sizes))


def written(queries, folder, n_files=3, ending="parquet"):
    """The queries in some files, one after the other."""
    cuts = np.linspace(0, queries.n_queries, n_files + 1).astype(int)
    paths = []
    for number, (first, last) in enumerate(pairwise(cuts)):
        paths.append(folder / f"part-{number}.{ending}")
        rw.write_queries(queries[int(first) : int(last)], paths[-1])
    return paths
