"""What a fit gives: `FitResult`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.fitting.baseline import Baseline
from rankwright.fitting.choice import Entry, Judged
from rankwright.fitting.data import FitData
from rankwright.fitting.families import Family
from rankwright.measures.comparison import Comparison
from rankwright.measures.conventions import Convention
from rankwright.measures.evaluation import evaluate
from rankwright.measures.measure import Measure
from rankwright.rankers.linear_model import LinearModel
from rankwright.selection.search import Rule
from rankwright.theory.certificates import Certificate, can_certify, certificate

if TYPE_CHECKING:
    from rich.console import Group

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class LeftOut:
    """A ranker that was not tried, or not to the end, and why; more time may help, or not."""

    family: Family
    reason: str
    for_time: bool = False


@dataclass(frozen=True, eq=False)
class FitResult:
    """What was tried, what was chosen, and how good it is.

    Attributes
    ----------
    measure, convention : what rankers were judged by
    judged : every ranker with the values of all its settings on held-out queries
    entries : every ranker with the setting chosen for it
    chosen : position of the chosen one
    models : every entry trained on all queries, in terms of the features as given
    baseline : ranking by one feature
    data : the queries, as trained on
    test : test queries, if given
    held_out_scores : of the chosen ranker, for every document of the judged queries; not computed with test queries
    held_out_weights : those that these scores come from, for features as scaled: a row for each split
    selection : columns in the order that greedy selection takes them on all queries, with the λ chosen for it
    left_out : rankers that were not tried to the end
    rule, delta : how the choice was made, and the probability that a certificate is wrong
    """

    measure: Measure
    convention: Convention
    rule: Rule
    delta: float
    judged: tuple[Judged, ...]
    entries: tuple[Entry, ...]
    chosen: int
    models: tuple[LinearModel, ...]
    baseline: Baseline
    data: FitData
    test: Queries | None
    held_out_scores: Array | None
    held_out_weights: Array | None
    selection: tuple[int, ...]
    left_out: tuple[LeftOut, ...]

    @property
    def model(self) -> LinearModel:
        """The chosen ranker, trained on all queries."""
        return self.models[self.chosen]

    @property
    def evaluated_on(self) -> str:
        """What the final figures are from."""
        if self.test is not None:
            return "test"
        return "cross-validation" if self.data.valid is None else "validation"

    @property
    def final_queries(self) -> Queries:
        """The queries of the final figures, with features as scaled for training unless they are test queries."""
        return self.data.judged if self.test is None else self.test

    @cached_property
    def final_scores(self) -> tuple[Array, Array]:
        """Scores of the chosen ranker and of the baseline for these."""
        queries = self.final_queries
        scores = self.model.predict(queries) if self.held_out_scores is None else self.held_out_scores
        return scores, self.baseline.scores(queries)

    def final_weights(self, q: int) -> Array:
        """The weights that the q-th of the final queries was ranked by, in terms of its features."""
        if self.held_out_weights is None:
            return self.model.coef_
        weights: Array = self.held_out_weights[self.data.split_of_query[q]]
        return weights

    def selected_features(self, count: int | None) -> list[str]:
        """The names of the first features that greedy selection takes on all queries."""
        return [self.data.train.feature_names[column] for column in self.selection[:count]]

    @cached_property
    def held_out(self) -> Comparison:
        """The entries and the baseline on held-out queries, tested against the best."""
        values = {entry.family.title: entry.values for entry in self.entries}
        return self._compared(self.data.judged, values)

    @cached_property
    def on_test(self) -> Comparison | None:
        """The same on test queries."""
        if self.test is None:
            return None
        named = zip(self.entries, self.models, strict=True)
        return self._compared(
            self.test, {e.family.title: self.values_of(m.predict(self.test), self.test) for e, m in named}
        )

    def _compared(self, queries: Queries, values: dict[str, Array]) -> Comparison:
        values = values | {self.baseline_title: self.values_of(self.baseline.scores(queries), queries)}
        return Comparison(self.measure, queries.query_ids, values, None, "wilcoxon", 0.05)

    @property
    def baseline_title(self) -> str:
        """How the baseline is named in tables."""
        return f"single feature {self.baseline.name}"

    def values_of(self, scores: Array, queries: Queries) -> Array:
        """The measure of each query."""
        return evaluate(scores, queries, self.measure, self.convention).values[self.measure]

    @cached_property
    def certificates(self) -> tuple[Certificate, Certificate] | None:
        """For the chosen ranker, and for its gain over the baseline; guaranteed only if there are test queries.

        None for a measure without a greatest value, such as DCG, or ERR without its max_grade.
        """
        chosen, baseline = self.final_scores
        options: dict[str, Any] = {"measure": self.measure, "delta": self.delta, "convention": self.convention}
        queries = self.final_queries
        if not can_certify(self.measure, self.convention):
            return None
        return (
            certificate(chosen, queries, **options),
            certificate(chosen, queries, baseline=baseline, **options),
        )

    # For people

    def _verdict(self) -> str:
        entry, n_used = self.entries[self.chosen], int(np.count_nonzero(self.model.coef_))
        lines = [
            f"chosen: {entry.family.title}, {entry.setting}; {n_used} of {len(self.model.coef_)} features used",
            self._promise(),
            *(f"left out: {each.family.title}: {each.reason}" for each in self.left_out),
        ]
        return "\n".join(lines)

    def _promise(self) -> str:
        if self.certificates is None:
            return f"{self.measure} of new queries cannot be certified: it has no greatest value that is known"
        is_error, bound = self.measure.lower_is_better, self.certificates[0].bound
        told = f"at most {ceil(1e4 * bound) / 1e4:.4f}" if is_error else f"at least {floor(1e4 * bound) / 1e4:.4f}"
        sure = "" if self.test is not None else ", at a guess: the same queries chose it"
        return f"{self.measure} of new queries: {told} with probability {1 - self.delta:g}{sure}"

    @property
    def _final(self) -> Comparison:
        return self.held_out if self.on_test is None else self.on_test

    def __str__(self) -> str:
        return f"on {self.evaluated_on} queries: {self._final}\n\n{self._verdict()}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(Text(f"on {self.evaluated_on} queries", style="dim"), self._final, Text(self._verdict()))

    __repr__ = __str__
