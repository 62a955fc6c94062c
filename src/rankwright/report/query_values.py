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
        values = np.array([queries["chosen"], queries["baseline"]], dtype=np.float64)  # None becomes NaN
        counted = np.flatnonzero(~np.isnan(values).any(axis=0))
        difference = values[0] - values[1]
        difference[np.abs(difference) < _ROUNDING] = 0.0
        if report["lower_is_better"]:
            difference = -difference
        order = counted[np.argsort(difference[counted], kind="stable")]
        return cls(
            [queries["ids"][i] for i in order],
            values[0, order],
            values[1, order],
            difference[order],
            [queries["documents"][i] for i in order],
            [queries["relevant"][i] for i in order],
        )

    def with_relevant(self) -> QueryValues:
        """Those with a relevant document: in the others no order of documents is better than another."""
        kept = np.flatnonzero(self.relevant)
        return QueryValues(
            [self.ids[i] for i in kept],
            self.chosen[kept],
            self.baseline[kept],
            self.difference[kept],
            [self.documents[i] for i in kept],
            [self.relevant[i] for i in kept],
        )

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
