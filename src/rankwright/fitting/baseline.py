"""What a ranker has to beat: the best single feature, or the one that is named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.errors import ParameterError
from rankwright.evaluation.per_query import measure_values
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.selection.search import estimate_of, first_best
from rankwright.types import Array

_LOOKED_AT = 50  # features most correlated with the grades, of which the measure picks the best


class Baseline(NamedTuple):
    """Ranking by one feature, the larger the better (sign 1) or the smaller (−1)."""

    column: int
    sign: float
    name: str

    def scores(self, queries: AnyQueries) -> Array:
        """The feature itself."""
        scores: Array = engine_of(queries).per_query(_scores, self)
        return scores


def baseline_of(
    queries: AnyQueries, n_features: int, measure: Measure, convention: Convention, wanted: str | None
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
    engine = engine_of(queries)
    correlation = engine.sum(_products_with_grades)[:n_features]
    likely = np.argsort(-np.abs(correlation), kind="stable")[:_LOOKED_AT]
    found = [Baseline(int(j), -1.0 if correlation[j] < 0 else 1.0, names[j]) for j in likely]
    values = engine.per_query(_values, found, measure, convention)
    best = found[first_best([estimate_of(of_feature) for of_feature in values.T], measure.lower_is_better)]
    return best if best.sign > 0 else best._replace(name=f"-{best.name}")


def _scores(part: Part, baseline: Baseline) -> Array:
    column = part.queries.X[:, [baseline.column]]
    values = column.toarray() if hasattr(column, "toarray") else column
    return baseline.sign * np.asarray(values, dtype=np.float64).ravel()


def _values(part: Part, baselines: Sequence[Baseline], measure: Measure, convention: Convention) -> Array:
    """The measure of each query by each baseline."""
    judgments = part.queries.judgments
    scored = (_scores(part, baseline) for baseline in baselines)
    return np.stack([measure_values(scores, judgments, [measure], convention)[measure] for scores in scored], axis=1)


def _products_with_grades(part: Part) -> Array:
    """Xᵀŷ, with the grades less their mean in each query."""
    queries: Queries = part.queries
    codes, y = queries.grouping.codes, queries.y
    means = np.bincount(codes, y) / queries.sizes
    products: Array = np.asarray(queries.X.T @ (y - means[codes])).ravel()
    return products
