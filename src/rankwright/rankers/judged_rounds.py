"""Training round by round, judged on queries that it does not learn from: which round is best, and when to end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwright.errors import DataError
from rankwright.evaluation.per_query import measure_values
from rankwright.judgments.judgments import Judgments
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure
from rankwright.selection.search import NONE_COUNTS, Estimate, estimate_of, first_best
from rankwright.types import Array

if TYPE_CHECKING:
    from rankwright.data.frames import Backend

_LEAST_HELD_OUT = 10  # queries: fewer say nothing of a round


class JudgedRounds:
    """What measures say after each round; the first of them decides."""

    def __init__(self, judgments: Judgments, measures: tuple[Measure, ...], convention: Convention) -> None:
        self._judgments, self._measures, self._convention = judgments, measures, convention
        self.told: dict[Measure, list[Estimate]] = {measure: [] for measure in measures}

    def hear(self, scores: Array) -> None:
        """The scores after one more round."""
        for measure, estimate in self.estimates(scores).items():
            self.told[measure].append(estimate)

    def estimates(self, scores: Array) -> dict[Measure, Estimate]:
        """What each measure says of scores."""
        found = measure_values(scores, self._judgments, self._measures, self._convention)
        return {measure: estimate_of(of_queries) for measure, of_queries in found.items()}

    @property
    def best(self) -> int:
        """The number of rounds with the best first measure, the least of equals."""
        deciding = self._measures[0]
        told = self.told[deciding]
        if told and all(math.isnan(estimate.mean) for estimate in told):
            raise DataError(NONE_COUNTS)
        return first_best(told, deciding.lower_is_better) + 1 if told else 0

    def has_waited(self, patience: int | None) -> bool:
        """Whether so many rounds have passed since the best one."""
        return patience is not None and len(self.told[self._measures[0]]) - self.best >= patience


def held_out_queries(
    n_queries: int, weights: Array | None, share: float, seed: int | np.random.SeedSequence
) -> npt.NDArray[np.bool_] | None:
    """Which queries judge rounds: a share of those that count, drawn at random; None if these would be too few."""
    counted = np.arange(n_queries) if weights is None else np.flatnonzero(weights > 0)
    n_held_out = round(share * len(counted))
    if n_held_out < _LEAST_HELD_OUT:
        return None
    is_held_out = np.zeros(n_queries, bool)
    is_held_out[np.random.default_rng(seed).choice(counted, n_held_out, replace=False)] = True
    return is_held_out


def rounds_frame(
    columns: Mapping[str, Any], valid: Mapping[Measure, Sequence[Estimate]], backend: Backend = "pandas"
) -> Any:
    """A row for each round: these columns, and of each measure ``valid nDCG @ 10`` and its standard error."""
    import pyarrow as pa

    from rankwright.data.frames import as_backend

    told = dict(columns)
    for measure, estimates in valid.items():
        told[f"valid {measure}"] = [value.mean for value in estimates]
        told[f"valid {measure} standard error"] = [value.standard_error for value in estimates]
    return as_backend(pa.table(told), backend)
