"""A linear ranker on some queries: its scores, its length, and the features that it sees."""

from __future__ import annotations

from functools import cached_property
from math import ceil, log2
from typing import Any, NamedTuple

import numpy as np

from rankwright.data.as_queries import checked_queries
from rankwright.data.parts import each_part
from rankwright.data.queries import Queries
from rankwright.data.query_blocks import blocks_of
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError
from rankwright.models.model import Model
from rankwright.models.model_of import model_of, not_wanted
from rankwright.preparation.formula import Formula
from rankwright.preparation.missing import missing_within_queries
from rankwright.theory.bound import Constant
from rankwright.theory.formulas import share_of_delta
from rankwright.theory.lengths import largest_length
from rankwright.types import Array

_MOST_DOUBLINGS = 64  # B is looked for among 2^−64, …, 2^64


class Radius(NamedTuple):
    """B, which share of δ its class of rankers has, and where it came from."""

    B: float
    share: float
    origin: str

    def constants(self, delta: float, *others: Constant) -> tuple[Constant, ...]:
        """What a bound depends on: B, the others, and the share of δ."""
        share = Constant("δ_B", delta * self.share, "the share of δ for this B")
        return Constant("B", self.B, self.origin), *others, share


class ScoredQueries:
    """What risk bounds need of a ranker and of queries."""

    def __init__(self, ranker: Any, queries: AnyQueries) -> None:
        wanted = (
            "ranker must be a fitted linear one, such as RankSVM or a loaded model, as the bounds are for classes of "
            "linear functions"
        )
        model = model_of(ranker, None, wanted)
        formula = model.formula()
        if formula is None:
            raise not_wanted(wanted, ranker)
        if checked_queries(queries).n_documents == 0:
            raise DataError("there are no queries to bound a risk with")
        self.judgments = queries.judgments
        self.scores = model.predict(queries)
        linear, weights = _as_linear(model, formula, queries)
        with np.errstate(over="ignore"):
            self.length = float(np.linalg.norm(weights))
        if not np.isfinite(self.length):
            raise ParameterError("ranker: its weights are so large that their squares overflow")
        self.blocks = blocks_of(linear)

    @cached_property
    def longest_document(self) -> float:
        """max ‖x‖."""
        return largest_length(self.blocks)

    def scores_within(self, B: float) -> Array:
        """Scores of the ranker, made shorter if need be: its rankings stay as they are."""
        return self.scores if self.length <= B else self.scores_at(B)

    def scores_at(self, B: float) -> Array:
        """Scores of the ranker made as long as B; a ranker of length 0 has none to change."""
        return self.scores * (B / self.length) if self.length > 0 else self.scores

    def radius(self, given: float | None) -> Radius:
        """B as given, or the least power of two that is no less than ‖w‖."""
        if given is not None:
            longer = f"; ‖w‖ = {self.length:.4g} is scaled down to it" if self.length > given else ""
            return Radius(float(given), 1.0, f"given, as fixed before training{longer}")
        k = ceil(log2(self.length)) if self.length > 0 else -_MOST_DOUBLINGS
        k = max(-_MOST_DOUBLINGS, min(k, _MOST_DOUBLINGS))
        return Radius(2.0**k, share_of_delta(k), f"the least power of 2 from ‖w‖ = {self.length:.4g} up")

    def document_length(self, given: float | None) -> tuple[float, str]:
        """M, and where it came from."""
        if given is None:
            return self.longest_document, "the longest document of these queries"
        if given < self.longest_document * (1 - 1e-12):
            raise ParameterError(f"M = {given:g} is less than the length of a document, {self.longest_document:g}")
        return float(given), "given"


def _as_linear(model: Model, formula: Formula, queries: AnyQueries) -> tuple[AnyQueries, Array]:
    """The queries with features that scores are linear in, and their weights."""
    lacking = None
    if formula.filling is not None:
        lacking = np.any([*each_part(queries, _lacking, model)], axis=0)

    def of_part(part: Queries) -> tuple[Queries, Array]:
        features, weights = formula.as_linear(model._columns_of(part), part.grouping, lacking)
        return Queries(features, part.supervision, part.qid), weights

    if isinstance(queries, Queries):
        return of_part(queries)
    return queries.mapped(lambda part: of_part(part)[0]), of_part(queries[:1].in_memory())[1]


def _lacking(queries: Queries, model: Model) -> Any:
    """Which features of a model some documents of a query have, and others have not."""
    return missing_within_queries(model._columns_of(queries), queries.grouping)
