"""`compare`: several systems on the same queries, and which differences are more than chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_probability
from rankwright.data.streams.streamed import AnyQueries
from rankwright.errors import DataError, ParameterError
from rankwright.evaluation.evaluation import Ranker, evaluate, json_number
from rankwright.evaluation.judged import judged_queries
from rankwright.evaluation.significance import bootstrap_interval, holm, randomisation_test, wilcoxon_test
from rankwright.evaluation.tables import interval, number, plain_table, rich_table
from rankwright.html import Block, notebook_html
from rankwright.judgments.supervision import Supervision
from rankwright.measures.conventions import Convention
from rankwright.measures.measure import Measure, Values, one_measure

if TYPE_CHECKING:
    from rich.console import Group

Test = Literal["wilcoxon", "randomisation"]
_MEANING = (
    "p: the probability of a difference at least this large by chance, corrected for several comparisons (Holm).\n"
    "95 % interval: how much the mean depends on which queries were sampled (bootstrap)."
)
_TESTS: dict[str, Callable[[Values, Values], float]] = {
    "wilcoxon": wilcoxon_test,
    "randomisation": lambda differences, _: randomisation_test(differences),
}


def compare(
    systems: Mapping[str, npt.ArrayLike | Ranker],
    queries: AnyQueries | Supervision | npt.ArrayLike,
    measure: str | Measure = "ndcg@10",
    *,
    convention: str | Convention = "default",
    baseline: str | None = None,
    test: Test = "wilcoxon",
    level: float = 0.05,
    qid: npt.ArrayLike | None = None,
    group: npt.ArrayLike | None = None,
) -> Comparison:
    """Compare systems query by query with the best of them, or with a baseline.

    The result prints as a table, best first: ``▲`` marks a system that is significantly better than the
    reference, ``▼`` one that is significantly worse.

    Parameters
    ----------
    systems : name → scores or ranker
    queries : Queries, in memory or read from files, or the grades of all documents
        With grades, systems are scores, and ``qid`` or ``group`` says which query each row belongs to.
    baseline : the name of the system that the others are tested against; None: the best one
    test : "wilcoxon" (signed ranks, as in paper L, §5.1) or "randomisation" (paired sign flips)
    level : the probability of calling any difference significant if all are due to chance; Holm's method corrects the
        p-values for testing several systems
    """
    chosen = one_measure(measure)
    if len(systems) < 2:
        raise ParameterError(f"systems: a comparison needs at least two, not {len(systems)}")
    if baseline is not None and baseline not in systems:
        raise ParameterError(f"baseline: there is no system {baseline!r} among {', '.join(systems)}")
    check_choice("test", test, _TESTS)
    check_probability("level", level)
    judged = judged_queries(systems.values(), queries, qid, group)
    values = {name: _values(name, system, judged, chosen, convention) for name, system in systems.items()}
    return Comparison(chosen, judged.query_ids, values, baseline, test, level)


def _values(
    name: str, system: npt.ArrayLike | Ranker, queries: AnyQueries, measure: Measure, convention: str | Convention
) -> Values:
    try:
        return evaluate(system, queries, measure, convention).values[measure]
    except DataError as error:
        raise DataError(f"system {name!r}: {error}") from None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Per-query values of several systems under one measure, with paired tests against a reference."""

    measure: Measure
    query_ids: npt.NDArray[Any]
    values: dict[str, Values]
    baseline: str | None
    test: Test
    level: float

    @cached_property
    def _counted(self) -> dict[str, Values]:
        """Values of the queries that count for every system: only these can be compared query by query."""
        left_out = np.any([np.isnan(values) for values in self.values.values()], axis=0)
        return {name: values[~left_out] for name, values in self.values.items()}

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean of each system, best first."""
        means = {name: float(v.mean()) if len(v) else float("nan") for name, v in self._counted.items()}
        return dict(sorted(means.items(), key=lambda item: item[1], reverse=not self.measure.lower_is_better))

    @property
    def reference(self) -> str:
        """The system that the others are tested against."""
        return next(iter(self.means)) if self.baseline is None else self.baseline

    @cached_property
    def intervals(self) -> dict[str, tuple[float, float]]:
        """A 95 % bootstrap confidence interval for each mean."""
        return {name: bootstrap_interval(self._counted[name]) for name in self.means}

    @cached_property
    def differences(self) -> dict[str, Values]:
        """Per-query differences from the reference, for every other system."""
        reference = self._counted[self.reference]
        return {name: self._counted[name] - reference for name in self.means if name != self.reference}

    @cached_property
    def difference_intervals(self) -> dict[str, tuple[float, float]]:
        """A 95 % bootstrap confidence interval for the mean difference from the reference."""
        return {name: bootstrap_interval(differences) for name, differences in self.differences.items()}

    @cached_property
    def p_values(self) -> dict[str, float]:
        """Holm-corrected two-sided p-values of the differences from the reference."""
        reference = np.abs(self._counted[self.reference])
        raw = np.array(
            [
                _TESTS[self.test](differences, np.maximum(reference, np.abs(self._counted[name])))
                for name, differences in self.differences.items()
            ]
        )
        return dict(zip(self.differences, holm(raw).tolist(), strict=True))

    def _mean_difference(self, name: str) -> float:
        return self.means[name] - self.means[self.reference]

    def mark(self, name: str) -> str:
        """``▲`` if significantly better than the reference, ``▼`` if significantly worse, else nothing."""
        if name == self.reference or not self.p_values[name] < self.level:
            return ""
        better = self._mean_difference(name) > 0
        return "▲" if better != self.measure.lower_is_better else "▼"

    def to_dict(self) -> dict[str, Any]:
        """The table, ready for JSON."""
        return {
            "measure": str(self.measure),
            "reference": self.reference,
            "test": self.test,
            "level": self.level,
            "systems": [
                {
                    "system": name,
                    "mean": json_number(mean),
                    "interval": [json_number(bound) for bound in self.intervals[name]],
                    "difference": None if name == self.reference else json_number(self._mean_difference(name)),
                    "p": self.p_values.get(name),
                    "mark": self.mark(name),
                }
                for name, mean in self.means.items()
            ],
        }

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        header = ["system", str(self.measure), "95 % interval", "difference", "p (Holm)", ""]
        rows = []
        for name, mean in self.means.items():
            row = [name, number(mean), interval(self.intervals[name])]
            if name == self.reference:
                row += ["reference", "", ""]
            else:
                row += [f"{self._mean_difference(name):+.4f}", f"{self.p_values[name]:.4f}", self.mark(name)]
            rows.append(row)
        return header, rows

    def _title(self) -> str:
        return f"{len(self._counted[self.reference]):,} queries, {self.test} test, significance level {self.level:g}"

    def __str__(self) -> str:
        return f"{plain_table(*self._cells(), title=self._title())}\n{_MEANING}"

    def __rich__(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        return Group(rich_table(*self._cells(), title=self._title()), Text(_MEANING, style="dim"))

    def _repr_html_(self) -> str:
        return notebook_html(Block(self._title(), *self._cells()))

    __repr__ = __str__
