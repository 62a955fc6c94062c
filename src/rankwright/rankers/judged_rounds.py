"""Boosting round by round, judged on queries that it does not learn from: how many rounds are best, and when to end."""

from __future__ import annotations

from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.judgments import Judgments
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.selection.search import Estimate, estimate_of, first_best
from rankwright.types import Array


class JudgedRounds:
    """What measures say after each round; the first of them decides."""

    def __init__(self, judgments: Judgments, measures: tuple[Measure, ...], convention: Convention) -> None:
        self._judgments, self._measures, self._convention = judgments, measures, convention
        self.told: dict[Measure, list[Estimate]] = {measure: [] for measure in measures}

    def hear(self, scores: Array) -> None:
        """The scores after one more round."""
        found = measure_values(scores, self._judgments, self._measures, self._convention)
        for measure, of_queries in found.items():
            self.told[measure].append(estimate_of(of_queries))

    @property
    def best(self) -> int:
        """The number of rounds with the best first measure, the least of equals."""
        deciding = self._measures[0]
        told = self.told[deciding]
        return first_best(told, deciding.lower_is_better) + 1 if told else 0

    def has_waited(self, patience: int | None) -> bool:
        """Whether so many rounds have passed since the best one."""
        return patience is not None and len(self.told[self._measures[0]]) - self.best >= patience
