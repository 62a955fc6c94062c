"""Which setting of a ranker, and which ranker: by held-out queries, the simplest that is as good.

A linear ranker is simpler than a formula, and that is simpler than trees, kernels or networks; of the same kind, fewer
features are simpler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.fitting.family import AnySetting, End, Family
from rankwright.fitting.preparing import Tried
from rankwright.measures.measure import Measure
from rankwright.selection.search import Estimate, Rule, choose_by, estimate_of
from rankwright.types import Array

_ROUNDING = 1e-9  # of a mean: a better one by less is no better


@dataclass(frozen=True, eq=False)
class Judged:
    """A family on held-out queries: a value of the measure for each setting and query.

    ``selections`` has, for a family that selects features, an array (settings × most features) for each split: the
    columns that its rankers there have a weight for, and −1 where there are fewer. ``costs`` and ``n_features`` are of
    the features that each setting uses, in the mean over splits. ``ended_for_time`` says that more settings would have
    been tried, had there been time.
    """

    family: Family
    settings: tuple[AnySetting, ...]
    values: Array
    costs: Array
    n_features: Array
    selections: tuple[npt.NDArray[np.int64], ...] = ()
    ended_for_time: bool = False

    @property
    def estimates(self) -> list[Estimate]:
        """The mean of each setting, and its standard error."""
        return [estimate_of(row) for row in self.values]

    def chosen(self, measure: Measure, rule: Rule) -> int:
        """The best setting, or the cheapest that is as good: the best of these, if several are."""
        return choose_by(rule, self.estimates, self.values.__getitem__, self.costs, measure.lower_is_better)

    def end_of_grid(self, measure: Measure) -> End | None:
        """At which end of the grid the best λ is, if it is clearly better there than anywhere else.

        A mean that stays the same up to the end is not: beyond, it would stay the same. Settings that were drawn have
        no grid.
        """
        means = [-mean if measure.lower_is_better else mean for mean, _ in self.estimates]
        best: dict[float, float] = {}
        for setting, mean in zip(self.settings, means, strict=True):
            if setting.alpha is None:
                return None
            best[setting.alpha] = float(np.fmax(best.get(setting.alpha, -np.inf), mean))
        alphas = sorted(best)
        at = max(alphas, key=lambda alpha: best[alpha])
        others = [best[alpha] for alpha in alphas if alpha != at]
        if not others or at not in (alphas[0], alphas[-1]):
            return None
        is_better = best[at] > max(others) + _ROUNDING * max(1.0, abs(best[at]))
        return ("least" if at == alphas[0] else "largest") if is_better else None

    def joined(self, other: Judged) -> Judged:
        """Together with further settings of the same family, by λ ascending if they have one."""
        first, second = sorted((self, other), key=lambda judged: judged.settings[0].alpha or 0.0)
        selections = zip(first.selections, second.selections, strict=True)
        return Judged(
            self.family,
            first.settings + second.settings,
            np.vstack([first.values, second.values]),
            np.concatenate([first.costs, second.costs]),
            np.concatenate([first.n_features, second.n_features]),
            tuple(_stacked(one, two) for one, two in selections),
        )


def _stacked(one: npt.NDArray[np.int64], two: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Both below each other, with −1 where one has fewer columns."""
    width = max(one.shape[1], two.shape[1])
    padded = (np.pad(rows, ((0, 0), (0, width - rows.shape[1])), constant_values=-1) for rows in (one, two))
    return np.vstack(list(padded))


@dataclass(frozen=True, eq=False)
class Entry:
    """A family with the setting that was chosen for it."""

    family: Family
    setting: AnySetting
    values: Array
    cost: float
    n_features: int

    @property
    def estimate(self) -> Estimate:
        """The mean over held-out queries, and its standard error."""
        return estimate_of(self.values)


def entry_of(judged: Judged, measure: Measure, rule: Rule) -> Entry:
    """The family with its chosen setting."""
    at = judged.chosen(measure, rule)
    n_features = round(float(judged.n_features[at]))
    return Entry(judged.family, judged.settings[at], judged.values[at], float(judged.costs[at]), n_features)


def choose(entries: Sequence[Entry], measure: Measure, rule: Rule) -> int:
    """The best entry, or the simplest that is as good: the cheapest of the least complexity."""
    simplicity = [(entry.family.complexity, entry.cost) for entry in entries]
    places = {key: place for place, key in enumerate(sorted(set(simplicity)))}
    return _choose(entries, [places[key] for key in simplicity], measure, rule)


class GivenUp(NamedTuple):
    """What the rule gave up for a simpler ranker: the best of all, and how the chosen one differs from it."""

    best: Entry
    difference: Estimate


def given_up(chosen: Entry, judged: Sequence[Judged], measure: Measure) -> GivenUp | None:
    """What "best" would have taken, unless that is what was chosen."""
    entries = [entry_of(each, measure, "best") for each in judged]
    best = entries[choose(entries, measure, "best")]
    if (best.family, best.setting) == (chosen.family, chosen.setting):
        return None
    return GivenUp(best, estimate_of(chosen.values - best.values))


def choose_preparation(tried: Sequence[Tried], measure: Measure, rule: Rule) -> int:
    """The best one; or by the rule of one standard error the first, and so simplest, that is as good as it."""
    return _choose(tried, range(len(tried)), measure, rule)


def _choose(judged: Sequence[Entry] | Sequence[Tried], costs: Sequence[float], measure: Measure, rule: Rule) -> int:
    estimates = [each.estimate for each in judged]
    return choose_by(rule, estimates, lambda at: judged[at].values, costs, measure.lower_is_better)
