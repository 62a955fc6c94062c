"""The one place where measures are computed: the value of each query, runs of whole queries side by side."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.driver import of_runs
from rankwright.judgments.judgments import Judgments
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure, Values
from rankwright.measures.ranked import RankedQueries, checked_scores


def measure_values(
    scores: npt.ArrayLike, judgments: Judgments, measures: Iterable[Measure], convention: Convention
) -> dict[Measure, Values]:
    """The values of each measure, one for each query; NaN where the query is left out."""
    checked, chosen = checked_scores(scores, judgments), tuple(measures)
    offsets, order = judgments.grouping.offsets, judgments.grouping.order

    def of_run(run: tuple[int, int]) -> list[Values]:
        rows: Any = slice(offsets[run[0]], offsets[run[1]])
        ranked = RankedQueries(checked[rows if order is None else order[rows]], judgments.run(*run))
        return [measure.compute(ranked, convention) for measure in chosen]

    parts = of_runs(of_run, offsets)
    return {measure: np.concatenate(values) for measure, *values in zip(chosen, *parts, strict=True)}
