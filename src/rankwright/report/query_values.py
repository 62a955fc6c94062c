"""The values of single queries, sorted by what the chosen ranker changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

_IN_TABLE = 5_000  # so many rows make a megabyte
_ROUNDING = 1e-9


@dataclass(frozen=True)
class QueryValues:
    """Queries that have a value by both rankers, from most harmed to most improved."""

    ids: list[str]
    chosen: Values
    baseline: Values
    difference: Values  # above 0 is better, whichever way the measure runs
    documents: list[int]
    relevant: list[int]

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> QueryValues:
        """Those of a checked report."""
        queries = report["queries"]
        chosen, baseline = np.array([queries["chosen"], queries["baseline"]], dtype=np.float64)  # None becomes NaN
        difference = chosen - baseline
        difference[np.abs(difference) < _ROUNDING] = 0.0
        if report["lower_is_better"]:
            difference = -difference
        found = cls(queries["ids"], chosen, baseline, difference, queries["documents"], queries["relevant"])
        counted = np.flatnonzero(~np.isnan(difference))
        return found._some(counted[np.argsort(difference[counted], kind="stable")])

    def with_relevant(self) -> QueryValues:
        """Those with a relevant document: in the others no order of documents is better than another."""
        return self._some(np.flatnonzero(self.relevant))

    def _some(self, kept: npt.NDArray[np.intp]) -> QueryValues:
        values = (self.chosen[kept], self.baseline[kept], self.difference[kept])
        ids, documents, relevant = ([of[i] for i in kept] for of in (self.ids, self.documents, self.relevant))
        return QueryValues(ids, *values, documents, relevant)

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def in_table(self) -> list[int]:
        """The places of the queries that get a row of a table: of very many, those that changed most."""
        most_changed = np.argsort(-np.abs(self.difference), kind="stable")[:_IN_TABLE]
        return [int(place) for place in np.sort(most_changed)]

    def columns(self) -> tuple[Values, Values, Values]:
        """Values by the chosen ranker, by the baseline, and the differences."""
        return self.chosen, self.baseline, self.difference
