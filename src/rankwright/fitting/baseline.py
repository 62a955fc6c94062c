"""What a ranker has to beat: the best single feature, or the one that is named."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankwright.data.queries import Queries
from rankwright.errors import ParameterError
from rankwright.evaluation.evaluation import evaluate
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.types import Array

_LOOKED_AT = 50  # features most correlated with the grades, of which the measure picks the best


class Baseline(NamedTuple):
    """Ranking by one feature, the larger the better (sign 1) or the smaller (−1)."""

    column: int
    sign: float
    name: str

    def scores(self, queries: Queries) -> Array:
        """The feature itself."""
        column = queries.X[:, [self.column]]
        values = column.toarray() if hasattr(column, "toarray") else column
        return self.sign * np.asarray(values, dtype=np.float64).ravel()


def baseline_of(
    queries: Queries, n_features: int, measure: Measure, convention: Convention, wanted: str | None
) -> Baseline:
    """The feature that is wanted, or the best one by the measure; columns must be scaled to the same spread.

    The first columns are the features; the others, which tell what is missing, are none.
    """
    names = queries.feature_names[:n_features]
    if wanted is not None:
        sign, name = (-1.0, wanted[1:]) if wanted.startswith("-") else (1.0, wanted)
        if name not in names:
            raise ParameterError(f"baseline: there is no feature {name!r}")
        return Baseline(names.index(name), sign, wanted)
    correlation = _products_with_grades(queries)[:n_features]
    likely = np.argsort(-np.abs(correlation), kind="stable")[:_LOOKED_AT]
    found = [Baseline(int(j), -1.0 if correlation[j] < 0 else 1.0, names[j]) for j in likely]
    values = [evaluate(each.scores(queries), queries, measure, convention).means[measure] for each in found]
    worth = [-value if measure.lower_is_better else value for value in values]
    best = found[int(np.argmax(worth))]
    return best if best.sign > 0 else best._replace(name=f"-{best.name}")


def _products_with_grades(queries: Queries) -> Array:
    """Xᵀŷ, with the grades less their mean in each query."""
    grouping, y = queries.grouping, queries.y
    means = np.bincount(grouping.codes, y) / queries.sizes
    products: Array = np.asarray(queries.X.T @ (y - means[grouping.codes])).ravel()
    return products
