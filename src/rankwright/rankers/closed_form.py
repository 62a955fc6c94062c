"""Rankers with a closed form: the whole λ path, and the choice of λ."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError
from rankwright.measures.conventions import convention_of
from rankwright.measures.measure import Measure
from rankwright.preparation.missing import MissingName
from rankwright.rankers.alpha_path import ALPHAS, AlphaPath, by_measure, choose_alpha
from rankwright.rankers.base import LinearRanker, Ranker
from rankwright.selection.judging import Judge
from rankwright.selection.search import (
    Estimate,
    Rule,
    Search,
    checked_alphas,
    checked_rule,
    estimates,
    given_alphas,
    optional_measures,
)
from rankwright.types import Array


class ClosedFormRanker(Ranker):
    """What rankers with a closed form and a λ share: the λ path, and the choice of λ."""

    alpha: float | Search
    rule: Rule

    def fit(
        self,
        X: Any,
        y: Any = None,
        qid: npt.ArrayLike | None = None,
        *,
        group: npt.ArrayLike | None = None,
        valid: Queries | None = None,
    ) -> Self:
        """Learn the weights; a λ that is searched for is chosen by ``valid`` if given, else by leave-query-out.

        X may be `Queries`, which bring y and qid with them. ``group`` is how many rows each query has, instead of qid.
        """
        alphas, rule = checked_alphas(self.alpha, ALPHAS), checked_rule(self.rule)
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        if len(alphas) > 1 and not measures:
            raise ParameterError("measures: name the one that alpha is to be chosen by")
        queries, held_out = self._training_queries(X, y, qid, group), self._validation_queries(valid)
        weights = self._solve(queries, alphas)
        lqo: list[dict[Measure, Estimate]] = []
        told: list[dict[Measure, Estimate]] = []
        if held_out is not None:
            told = self._judged(held_out, weights, Judge(measures, convention))
        elif len(alphas) > 1:
            scores = self._held_out_scores(queries, alphas)
            lqo = [estimates(row, queries, measures, convention) for row in scores]
        chosen = choose_alpha(told or lqo, measures, rule) if len(alphas) > 1 else 0
        self.alpha_ = float(alphas[chosen])
        self.path_ = AlphaPath(alphas, weights, by_measure(lqo, measures), by_measure(told, measures))
        self._keep(weights[chosen].copy())
        return self

    def _held_out_scores(self, queries: Queries, alphas: Array) -> Array:
        """Scores (λ × rows) of each query by the ranker trained without it."""
        if queries.n_queries < 2:
            raise DataError(
                "there is only one query, but leave-query-out needs two: name the query of each row by qid, or "
                "give validation queries"
            )
        grouped = self._leave_out(queries, alphas)
        return np.stack([queries.grouping.scatter(row) for row in grouped])

    @abstractmethod
    def _solve(self, queries: Queries, alphas: Array) -> Array:
        """The weights for every λ."""

    @abstractmethod
    def _judged(self, queries: AnyQueries, weights: Array, judge: Judge) -> list[dict[Measure, Estimate]]:
        """What measures say of the weights for every λ."""

    def path(self, queries: AnyQueries, alphas: Sequence[float] | npt.ArrayLike) -> Array:
        """The weights of training columns for each λ (λ × columns), in the order given; nothing is judged or chosen."""
        return self._solve(self._training_queries(queries, None, None), given_alphas(alphas))

    @abstractmethod
    def _leave_out(self, queries: Queries, alphas: Array) -> Array:
        """Held-out scores (λ × documents), each query's documents together."""

    @abstractmethod
    def _keep(self, weights: Array) -> None:
        """Note the weights that were chosen."""


class LinearClosedFormRanker(ClosedFormRanker, LinearRanker):
    """One whose weights are those of features."""

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
        missing: MissingName = "mean",
    ) -> None:
        self.alpha = alpha
        self.measures = measures
        self.convention = convention
        self.rule = rule
        self.missing = missing

    def _judged(self, queries: AnyQueries, weights: Array, judge: Judge) -> list[dict[Measure, Estimate]]:
        return judge.estimates(judge.values(queries, weights))

    def _keep(self, weights: Array) -> None:
        self.coef_ = weights
