"""Models with missing values, logarithms and quantiles, computed by a plain loop over documents and features."""

import math

import numpy as np

from rankwright.preparation.transforms import Log, Quantile

TRANSFORMS = {
    "none": {},
    "log": {1: Log(1.0), 4: Log(0.25)},
    "quantile": {1: Quantile((-2.0, 0.0, 0.5, 40.0), (-0.25, 0.0, 0.5, 0.75)), 2: Quantile((1.0, 3.0), (0.0, 1.0))},
}


def by_hand(formula, x, qid):
    """The scores of rows with NaN, one document and one feature at a time."""
    scores = []
    for row, query in zip(x, qid, strict=True):
        total = formula.intercept
        for j, weight in enumerate(formula.weights):
            value = transformed(formula.transforms.get(j), row[j])
            if math.isnan(value):
                others = [transformed(formula.transforms.get(j), other[j]) for other in x[qid == query]]
                known = [other for other in others if not math.isnan(other)]
                value = formula.filling.values[j]
                if formula.filling.by_query and known:
                    value = sum(known) / len(known)
                total += formula.where_missing[j]
            total += weight * value
        scores.append(total)
    return np.array(scores)


def transformed(transform, x):
    if transform is None or math.isnan(x):
        return x
    if isinstance(transform, Log):
        return math.copysign(math.log(1 + abs(x) / transform.unit), x)
    knots, heights = transform.knots, transform.heights
    if x <= knots[0] or x >= knots[-1]:
        return heights[0 if x <= knots[0] else -1]
    k = max(k for k, knot in enumerate(knots) if knot <= x)
    share = (x - knots[k]) / (knots[k + 1] - knots[k])
    return heights[k] + share * (heights[k + 1] - heights[k])


def holey_documents():
    """Rows in no order, float32 numbers, values missing alone, for a whole query, and for all documents."""
    rng = np.random.default_rng(8)
    qid = rng.permutation(np.array(["a'b", 'a"b', "7", "alone", *("many",) * 20, *("7",) * 6, *("a'b",) * 5]))
    x = np.round(rng.standard_normal((len(qid), 5)) * [1, 60, 3, 1, 9], 2).astype(np.float32).astype(float)
    x[rng.random(x.shape) < 0.3] = np.nan
    x[qid == "7", 1] = np.nan
    x[:, 3] = np.nan
    x[np.flatnonzero(qid == "many")[:4], 1] = [0.0, -2.0, 40.0, 0.5]  # knots
    return x, qid


def nulls(x):
    """Rows with None in place of NaN."""
    return [[None if math.isnan(value) else value for value in row] for row in x.tolist()]
