"""Rankers with a closed form: the whole λ path, and the choice of λ."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.errors import DataError, ParameterError
from rankwright.measures.conventions import convention_of
from rankwright.measures.measure import Measure
from rankwright.rankers.base import LinearRanker, Ranker, linear_scores
from rankwright.selection.search import (
    Estimate,
    Rule,
    Search,
    checked_alphas,
    checked_rule,
    estimates,
    first_best,
    optional_measures,
    within_one_standard_error,
)

if TYPE_CHECKING:
    from rankwright.data.frames import Backend

Array = npt.NDArray[np.float64]

# The grid of paper G's experiments.
ALPHAS: Array = 2.0 ** np.arange(-15.0, 16.0)


@dataclass(frozen=True, eq=False)
class AlphaPath:
    """Weights for every λ of a grid, and what measures say of each on held-out queries.

    Weights are λ × features; of a kernel, λ × training documents. ``lqo`` is by leave-query-out, ``folds`` by
    cross-validation, ``valid`` on validation queries. ``objectives`` and ``gaps``, for rankers that iterate, are the
    objective for every λ and how far it can be above the least.
    """

    alphas: Array
    weights: Array
    lqo: dict[Measure, list[Estimate]] = field(default_factory=dict)
    valid: dict[Measure, list[Estimate]] = field(default_factory=dict)
    folds: dict[Measure, list[Estimate]] = field(default_factory=dict)
    objectives: Array | None = None
    gaps: Array | None = None

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A row for each λ: columns alpha, ``lqo nDCG @ 10``, its standard error; likewise ``valid`` and ``folds``."""
        import pyarrow as pa

        from rankwright.data.frames import as_backend

        columns: dict[str, Any] = {"alpha": self.alphas}
        for kind, values in (("lqo", self.lqo), ("valid", self.valid), ("folds", self.folds)):
            for measure, told in values.items():
                columns[f"{kind} {measure}"] = [value.mean for value in told]
                columns[f"{kind} {measure} standard error"] = [value.standard_error for value in told]
        return as_backend(pa.table(columns), backend)


class ClosedFormRanker(Ranker):
    """What rankers with a closed form and a λ share: the λ path, and the choice of λ."""

    alpha: float | Search
    rule: Rule

    def fit(self, X: Any, y: Any = None, qid: npt.ArrayLike | None = None, *, valid: Queries | None = None) -> Self:
        """Learn the weights; a λ that is searched for is chosen by ``valid`` if given, else by leave-query-out.

        X may be `Queries`, which bring y and qid with them.
        """
        alphas, rule = checked_alphas(self.alpha, ALPHAS), checked_rule(self.rule)
        measures, convention = optional_measures(self.measures), convention_of(self.convention)
        if len(alphas) > 1 and not measures:
            raise ParameterError("measures: name the one that alpha is to be chosen by")
        queries, held_out = self._training_queries(X, y, qid), self._validation_queries(valid)
        weights = self._solve(queries, alphas)
        lqo: list[dict[Measure, Estimate]] = []
        told: list[dict[Measure, Estimate]] = []
        if held_out is not None:
            scores = self._score_path(held_out.X, weights)
            told = [estimates(row, held_out, measures, convention) for row in scores]
        elif len(alphas) > 1:
            scores = self.held_out_scores(queries, alphas)
            lqo = [estimates(row, queries, measures, convention) for row in scores]
        chosen = choose_alpha(told or lqo, measures, rule) if len(alphas) > 1 else 0
        self.alpha_ = float(alphas[chosen])
        self.path_ = AlphaPath(alphas, weights, by_measure(lqo, measures), by_measure(told, measures))
        self._keep(weights[chosen].copy())
        return self

    def held_out_scores(self, queries: Queries, alphas: Array) -> Array:
        """Scores (λ × rows) of each query by the ranker trained without it."""
        if queries.n_queries < 2:
            raise DataError("leave-query-out needs at least two queries: give qid, or validation queries")
        grouped = self._leave_out(queries, alphas)
        return np.stack([queries.grouping.scatter(row) for row in grouped])

    @abstractmethod
    def _solve(self, queries: Queries, alphas: Array) -> Array:
        """The weights for every λ."""

    @abstractmethod
    def _score_path(self, x: Any, weights: Array) -> Array:
        """Scores (λ × rows) with the weights for every λ."""

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
    ) -> None:
        self.alpha = alpha
        self.measures = measures
        self.convention = convention
        self.rule = rule

    def _score_path(self, x: Any, weights: Array) -> Array:
        return linear_scores(x, weights.T).T

    def _keep(self, weights: Array) -> None:
        self.coef_ = weights


def choose_alpha(values: list[dict[Measure, Estimate]], measures: tuple[Measure, ...], rule: Rule) -> int:
    """The λ of the best mean (the first of equals), or the largest λ within one standard error of it."""
    told, lower = [value[measures[0]] for value in values], measures[0].lower_is_better
    return first_best(told, lower) if rule == "best" else max(within_one_standard_error(told, lower))


def by_measure(values: list[dict[Measure, Estimate]], measures: tuple[Measure, ...]) -> dict[Measure, list[Estimate]]:
    """For each measure, what it says of every λ."""
    return {measure: [value[measure] for value in values] for measure in measures} if values else {}
