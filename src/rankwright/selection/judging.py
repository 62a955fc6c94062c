"""What measures say of linear rankers on queries that they were not trained on, and the splits of cross-validation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.part import Part
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines import engine_of
from rankwright.errors import DataError
from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.judgments import Judgments
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.preparation.formula import linear_scores
from rankwright.selection.search import Estimate, estimate_of
from rankwright.types import Array

_LEAST_AT_ONCE = 8  # rankers whose scores are in memory together


class Judge:
    """Some measures, computed by some conventions, and what they say of weights."""

    def __init__(self, measures: Sequence[Measure], convention: Convention) -> None:
        self.measures, self.convention = tuple(measures), convention

    def values(self, queries: AnyQueries, weights: Array) -> Array:
        """The measures of each query by each ranker, queries × rankers × measures; weights are rankers × columns."""
        values: Array = engine_of(queries).per_query(_values, weights, self)
        return values

    def values_of_scores(self, scores: Array, judgments: Judgments) -> Array:
        """The same for scores, rankers × documents, of judged documents."""
        values = np.empty((judgments.n_queries, len(scores), len(self.measures)))
        for ranker, of_ranker in enumerate(scores):
            found = measure_values(of_ranker, judgments, self.measures, self.convention)
            for column, measure in enumerate(self.measures):
                values[:, ranker, column] = found[measure]
        return values

    def estimates(self, values: Array) -> dict[Measure, list[Estimate]]:
        """For each measure, the mean over the queries and its standard error by each ranker."""
        by_measure = zip(self.measures, values.transpose(2, 1, 0), strict=True)
        return {measure: [estimate_of(of_ranker) for of_ranker in of_measure] for measure, of_measure in by_measure}


class Split(NamedTuple):
    """Queries to train on, queries to judge on, and which of all that are judged the latter are."""

    name: str
    train: AnyQueries
    judged: AnyQueries
    is_judged: npt.NDArray[np.bool_]


def splits_of(queries: AnyQueries, n_folds: int, seed: int | None = None) -> Iterator[Split]:
    """Queries for cross-validation, each fold in turn to be judged, as `fold_of_query` deals them."""
    if queries.n_queries < 2:
        raise DataError(
            "there is only one query, but cross-validation needs two: name the query of each row by qid, or "
            "give validation queries"
        )
    fold_of = fold_of_query(queries.n_queries, n_folds, seed)
    for fold in range(min(n_folds, queries.n_queries)):
        left_out = fold_of == fold
        yield Split(f"fold{fold + 1}", queries[~left_out], queries[left_out], left_out)


def fold_of_query(n_queries: int, n_folds: int, seed: int | None = None) -> npt.NDArray[np.intp]:
    """The fold of each query, from 0: queries are dealt to the folds in turn; with a seed, in a random order."""
    dealt: npt.NDArray[np.intp] = np.arange(n_queries) % min(n_folds, n_queries)
    return dealt if seed is None else np.random.default_rng(seed).permutation(dealt)


def _values(part: Part, weights: Array, judge: Judge) -> Array:
    queries = part.queries
    at_once = max(_LEAST_AT_ONCE, queries.n_features)  # so that scores take no more memory than features
    blocks = (weights[first : first + at_once] for first in range(0, len(weights), at_once))
    values = [judge.values_of_scores(linear_scores(queries.X, block.T).T, queries.judgments) for block in blocks]
    return np.concatenate(values, axis=1)
