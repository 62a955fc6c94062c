"""Rankers with a closed form: the whole λ path, and the choice of λ."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_whole
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError
from rankwright.measures.conventions import convention_of
from rankwright.preparation.missing import MissingName
from rankwright.rankers.alpha_path import ALPHAS, AlphaPath, choose_alpha
from rankwright.rankers.base import LinearRanker, Ranker
from rankwright.selection.judging import Judge, splits_of
from rankwright.selection.search import Rule, Search, checked_alphas, checked_rule, given_alphas, optional_measures
from rankwright.types import Array


class ClosedForm(ABC):
    """The solution on some training data, for any λ. What is summed up of the data is kept for what is asked next."""

    def __init__(self, queries: AnyQueries) -> None:
        self.queries = queries

    @abstractmethod
    def weights(self, alphas: Array) -> Array:
        """The weights for every λ."""

    @abstractmethod
    def held_out_scores(self, alphas: Array) -> Array:
        """Scores (λ × documents) of each query by the ranker trained without it, each query's documents together."""

    def held_out_values(self, alphas: Array, judge: Judge) -> Array:
        """What measures say of these scores, queries × λ × measures."""
        judgments = self.queries.judgments
        return judge.values_of_scores(self.held_out_scores(alphas), judgments.run(0, judgments.n_queries))

    def folded_values(self, alphas: Array, judge: Judge, n_folds: int) -> Array:
        """The same of each query by the ranker trained without the fold that it is in."""
        values = np.empty((self.queries.n_queries, len(alphas), len(judge.measures)))
        for split in splits_of(self.queries, n_folds):
            values[split.is_judged] = judge.values(split.judged, type(self)(split.train).weights(alphas))
        return values


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
        valid: AnyQueries | None = None,
    ) -> Self:
        """Learn the weights; a λ that is searched for is chosen by ``valid`` if given, else by leave-query-out.

        X may be queries, in memory or read from files, which bring y and qid with them. ``group`` is how many rows each
        query has, instead of qid.
        """
        alphas, rule = checked_alphas(self.alpha, ALPHAS), checked_rule(self.rule)
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        self._check_parameters()
        if len(alphas) > 1 and not measures:
            raise ParameterError("measures: name the one that alpha is to be chosen by")
        queries, held_out = self._training_queries(X, y, qid, group), self._validation_queries(valid)
        solution, judge = self._closed_form(queries), Judge(measures, convention)
        left_out: dict[str, Any] = {}
        if held_out is None and len(alphas) > 1:
            check_can_be_left_out(queries)
            kind, values = self._left_out_values(solution, alphas, judge)
            left_out = {kind: judge.estimates(values)}
        weights = solution.weights(alphas)
        path = AlphaPath(alphas, weights, **left_out)
        if held_out is not None:
            values = self._values(held_out, weights, judge)
            path.valid.update(judge.estimates(values))
        chosen = choose_alpha(alphas, values, path.valid or path.lqo or path.folds, rule) if len(alphas) > 1 else 0
        self.alpha_, self.path_ = float(alphas[chosen]), path
        self._keep(weights[chosen].copy(), solution)
        return self

    def _check_parameters(self) -> None:
        """Refuse parameters that a ranker of one kind has beyond those of all."""

    def _left_out_values(self, solution: ClosedForm, alphas: Array, judge: Judge) -> tuple[str, Array]:
        """How queries are left out, by the name that the path has for it, and what measures say of them."""
        return "lqo", solution.held_out_values(alphas, judge)

    @abstractmethod
    def _closed_form(self, queries: AnyQueries) -> Any:
        """The `ClosedForm` on prepared queries."""

    @abstractmethod
    def _values(self, queries: AnyQueries, weights: Array, judge: Judge) -> Array:
        """What measures say of the weights for every λ, queries × λ × measures."""

    def path(self, queries: AnyQueries, alphas: Sequence[float] | npt.ArrayLike) -> Array:
        """The weights of training columns for each λ (λ × columns), in the order given; nothing is judged or chosen."""
        weights: Array = self._closed_form(self._training_queries(queries, None, None)).weights(given_alphas(alphas))
        return weights

    @abstractmethod
    def _keep(self, weights: Array, solution: Any) -> None:
        """Note the weights that were chosen, and what else the solution knows."""


def check_can_be_left_out(queries: AnyQueries) -> None:
    """Refuse to leave out the only query."""
    if queries.n_queries < 2:
        raise DataError(
            "there is only one query, but leave-query-out needs two: name the query of each row by qid, or "
            "give validation queries"
        )


class LinearClosedFormRanker(ClosedFormRanker, LinearRanker):
    """One whose weights are those of features."""

    def __init__(
        self,
        alpha: float | Search = 1.0,
        *,
        measures: Any = "ndcg@10",
        convention: Any = "default",
        rule: Rule = "best",
        folds: int | None = None,
        missing: MissingName = "mean",
    ) -> None:
        self.alpha = alpha
        self.measures = measures
        self.convention = convention
        self.rule = rule
        self.folds = folds
        self.missing = missing

    def _check_parameters(self) -> None:
        if self.folds is not None:
            check_whole("folds", self.folds, 2, or_else="None")

    def _left_out_values(self, solution: ClosedForm, alphas: Array, judge: Judge) -> tuple[str, Array]:
        if self.folds is None:
            return super()._left_out_values(solution, alphas, judge)
        return "folds", solution.folded_values(alphas, judge, self.folds)

    def _values(self, queries: AnyQueries, weights: Array, judge: Judge) -> Array:
        return judge.values(queries, weights)

    def _keep(self, weights: Array, solution: Any) -> None:
        self.coef_ = weights
