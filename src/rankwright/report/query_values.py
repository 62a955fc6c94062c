"""The values of single queries, sorted by what the chosen ranker changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.report.markup import count

Values = npt.NDArray[np.float64]

_LISTED = 5_000  # so many rows make a megabyte


@dataclass(frozen=True)
class QueryValues:
    """Queries that have a value by both rankers, from most worsened to most improved."""

    ids: list[str]
    chosen: Values
    baseline: Values
    difference: Values  # above 0 is better, whichever way the measure runs
    documents: list[int]
    n_left_out: int

    @classmethod
    def of(cls, report: Mapping[str, Any]) -> QueryValues:
        """Those of a checked report."""
        queries = report["queries"]
        values = np.array([queries["chosen"], queries["baseline"]], dtype=np.float64)  # None becomes NaN
        counted = np.flatnonzero(~np.isnan(values).any(axis=0))
        difference = values[0] - values[1]
        if report["lower_is_better"]:
            difference = -difference
        order = counted[np.argsort(difference[counted], kind="stable")]
        return cls(
            [queries["ids"][i] for i in order],
            values[0, order],
            values[1, order],
            difference[order],
            [queries["documents"][i] for i in order],
            values.shape[1] - len(counted),
        )

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def listed(self) -> list[int]:
        """The places of the queries that are listed one by one: of very many, those that changed most."""
        most_changed = np.argsort(-np.abs(self.difference), kind="stable")[:_LISTED]
        return [int(place) for place in np.sort(most_changed)]

    def list_title(self) -> str:
        """What the list holds, in words."""
        total = count(len(self), "query", "queries")
        title = f"The {_LISTED:,} most changed of {total}" if len(self) > _LISTED else f"List of {total}"
        left_out = count(self.n_left_out, "query", "queries")
        return f"{title} ({left_out} without a value left out)" if self.n_left_out else title

    def columns(self) -> tuple[Values, Values, Values]:
        """Values by the chosen ranker, by the baseline, and the differences."""
        return self.chosen, self.baseline, self.difference
