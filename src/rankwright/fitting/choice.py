"""Which setting of a ranker, and which ranker: by held-out queries, and for the fewest features that are as good."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.fitting.families import Family, Setting
from rankwright.measures.measure import Measure
from rankwright.selection.search import Estimate, Rule, estimate_of, first_best

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Judged:
    """A family on held-out queries: a value of the measure for each setting and query.

    ``selections`` has, for a family that selects features, an array (settings × most features) for each split: the
    columns that its rankers there have a weight for, and −1 where there are fewer.
    """

    family: Family
    settings: tuple[Setting, ...]
    values: Array
    costs: Array
    selections: tuple[npt.NDArray[np.int64], ...] = ()

    @property
    def estimates(self) -> list[Estimate]:
        """The mean of each setting, and its standard error."""
        return [estimate_of(row) for row in self.values]

    def chosen(self, measure: Measure, rule: Rule) -> int:
        """The best setting, or the cheapest that is as good: the best of these, if several are."""
        return _cheapest_best(self.values, self.costs, measure.lower_is_better, rule)


@dataclass(frozen=True, eq=False)
class Entry:
    """A family with the setting that was chosen for it."""

    family: Family
    setting: Setting
    values: Array
    cost: float

    @property
    def estimate(self) -> Estimate:
        """The mean over held-out queries, and its standard error."""
        return estimate_of(self.values)


def entry_of(judged: Judged, measure: Measure, rule: Rule) -> Entry:
    """The family with its chosen setting."""
    at = judged.chosen(measure, rule)
    return Entry(judged.family, judged.settings[at], judged.values[at], float(judged.costs[at]))


def choose(entries: Sequence[Entry], measure: Measure, rule: Rule) -> int:
    """The best entry, or the cheapest that is as good."""
    values, costs = np.stack([entry.values for entry in entries]), np.array([entry.cost for entry in entries])
    return _cheapest_best(values, costs, measure.lower_is_better, rule)


def _cheapest_best(values: Array, costs: Array, lower_is_better: bool, rule: Rule) -> int:
    estimates = [estimate_of(row) for row in values]
    best = first_best(estimates, lower_is_better)
    if rule == "best":
        return best
    as_good = [position for position in range(len(values)) if _is_as_good(values[position], values[best])]
    cheapest = min(costs[position] for position in as_good)
    kept = [position for position in as_good if costs[position] == cheapest]
    return kept[first_best([estimates[position] for position in kept], lower_is_better)]


def _is_as_good(values: Array, best: Array) -> bool:
    """Whether the mean difference from the best is within one standard error, query by query.

    Queries differ in difficulty far more than rankers do. That the same queries were ranked by both takes this out: the
    standard error of the best mean alone would call rankers as good that are clearly worse.
    """
    difference = estimate_of(values - best)
    return not abs(difference.mean) > difference.standard_error
