"""What a fit gives: `FitResult`."""

from __future__ import annotations

from dataclasses import dataclass, replace
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
from rankwright.html import notebook_html
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
        """For the chosen ranker, and for its gain over the baseline; estimates unless there are unseen test queries.

        None for a measure without a greatest value, such as DCG, or ERR without its max_grade.
        """
        if not can_certify(self.measure, self.convention):
            return None
        queries, (scores, baseline) = self.final_queries, self.final_scores
        chosen = scores if self.test is None else self.model  # which knows what it was trained on
        options: dict[str, Any] = {"measure": self.measure, "delta": self.delta, "convention": self.convention}
        found = certificate(chosen, queries, **options), certificate(chosen, queries, baseline=baseline, **options)
        mean, gain = (each if self.test is not None else each.doubted(self._doubt()) for each in found)
        return mean, gain

    def _doubt(self) -> str:
        """What speaks against a guarantee where there are no test queries."""
        if self.data.valid is not None:
            return "the same queries chose the ranker"
        return "the same queries chose the ranker, and rankers of cross-validation share most of their queries"

    @cached_property
    def nothing_learned(self) -> str | None:
        """Why nothing was learned, on the final queries, if that is so.

        Either all weights are 0, or every query has its documents in the same order as by the baseline, tied ones tied,
        or the measure has the same value for every query as by the baseline.
        """
        scores, baseline = self.final_scores
        queries = self.final_queries
        if not self.model.coef_.any() or _is_same_ranking(scores, np.zeros_like(scores), queries):
            return "no feature has a weight that tells documents of a query apart"
        if _is_same_ranking(scores, baseline, queries):
            return f"every query is ranked as by the {self.baseline_title} alone"
        if np.array_equal(self.values_of(scores, queries), self.values_of(baseline, queries), equal_nan=True):
            return f"every query has the same {self.measure} as by the {self.baseline_title} alone"
        return None

    # For people

    def _verdict(self) -> str:
        entry, n_used = self.entries[self.chosen], int(np.count_nonzero(self.model.coef_))
        lines = [
            f"chosen: {entry.family.title}, {entry.setting}; {n_used} of {len(self.model.coef_)} features used",
            *([f"nothing was learned: {self.nothing_learned}"] if self.nothing_learned else []),
            self._promise(),
            *(f"left out: {each.family.title}: {each.reason}" for each in self.left_out),
        ]
        return "\n".join(lines)

    def _promise(self) -> str:
        if self.certificates is None:
            return f"{self.measure} of new queries cannot be certified: it has no greatest value that is known"
        is_error, bound = self.measure.lower_is_better, self.certificates[0].bound
        told = f"at most {ceil(1e4 * bound) / 1e4:.4f}" if is_error else f"at least {floor(1e4 * bound) / 1e4:.4f}"
        doubts = self.certificates[0].doubts
        sure = f", an estimate, not certified: {'; '.join(doubts)}" if doubts else ""
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

    def _repr_html_(self) -> str:
        table = self._final.html_block()
        title = f"on {self.evaluated_on} queries: {table.title}"
        return notebook_html(replace(table, title=title, notes=self._verdict().split("\n")))

    __repr__ = __str__


def _is_same_ranking(scores: Array, others: Array, queries: Queries) -> bool:
    """Whether two rankers agree on every two documents of a query: which comes first, or that they are tied."""
    codes = queries.grouping.codes
    return np.array_equal(_places(scores, codes), _places(others, codes))


def _places(scores: Array, codes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Query by query, how many different scores come up to that of a document; tied ones have the same place."""
    order = np.lexsort((scores, codes))
    is_next = (np.diff(scores[order]) != 0) | (np.diff(codes[order]) != 0)
    places = np.empty(len(scores), np.int64)
    places[order] = np.concatenate([[0], np.cumsum(is_next)])
    return places
