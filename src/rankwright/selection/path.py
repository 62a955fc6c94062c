"""The path of a greedy selection: what each step added, and what the model of that step is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rankwright.measures.measure import Measure
from rankwright.selection.search import Estimate, Rule, choose_by

if TYPE_CHECKING:
    from rankwright.data.frames import Backend


@dataclass(frozen=True, eq=False)
class Step:
    """One step: the feature that came or went, and the model with the features selected after it.

    ``criterion`` is what the steps were chosen by: the squared leave-query-out error summed over queries (paper G,
    eq. 7), or the leave-query-out mean of a measure. Features are columns, counted from 0.
    """

    action: Literal["add", "drop"]
    feature: int
    selected: tuple[int, ...]
    weights: npt.NDArray[np.float64]
    criterion: float
    cost: float
    squared_error: Estimate
    lqo: dict[Measure, Estimate] = field(default_factory=dict)
    valid: dict[Measure, Estimate] = field(default_factory=dict)

    def deciding(self, measure: Measure | None) -> Estimate:
        """What the choice of a model looks at: validation if there is any, else leave-query-out."""
        if measure is None:
            return self.squared_error
        return self.valid[measure] if measure in self.valid else self.lqo[measure]


@dataclass(frozen=True, eq=False)
class SelectionPath(Sequence[Step]):
    """The steps of one selection, for one λ."""

    alpha: float
    steps: tuple[Step, ...]
    feature_names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.steps)

    def __getitem__(self, which: Any) -> Any:
        return self.steps[which]

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """A frame with a row for each step, ready to be plotted.

        Columns: alpha, step, action, feature (counted from 0), name, n_features, cost, criterion, and for each measure
        ``lqo nDCG @ 10``, ``lqo nDCG @ 10 standard error``, and likewise ``valid …``.
        """
        import pyarrow as pa

        from rankwright.data.frames import as_backend

        return as_backend(pa.Table.from_pylist(self.to_rows()), backend)

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows of `to_frame` as dictionaries."""
        return [self._row(number, step) for number, step in enumerate(self.steps, 1)]

    def _row(self, number: int, step: Step) -> dict[str, Any]:
        row: dict[str, Any] = {
            "alpha": self.alpha,
            "step": number,
            "action": step.action,
            "feature": step.feature,
            "name": self.feature_names[step.feature],
            "n_features": len(step.selected),
            "cost": step.cost,
            "criterion": step.criterion,
        }
        for kind, values in (("lqo", step.lqo), ("valid", step.valid)):
            for measure, value in values.items():
                row[f"{kind} {measure}"] = value.mean
                row[f"{kind} {measure} standard error"] = value.standard_error
        return row

    def __repr__(self) -> str:
        return f"SelectionPath(alpha={self.alpha:g}, {len(self.steps)} steps)"


@dataclass(frozen=True, eq=False)
class ParetoPoint:
    """A model that no other one beats in both cost and value."""

    alpha: float
    step: Step
    value: float

    @property
    def n_features(self) -> int:
        """How many features the model uses."""
        return len(self.step.selected)

    @property
    def cost(self) -> float:
        """What its features cost; how many they are, if costs were not given."""
        return self.step.cost


def all_steps(paths: Sequence[SelectionPath], sizes: frozenset[int]) -> list[tuple[SelectionPath, Step]]:
    """The steps with an allowed number of features, λ by λ, those with fewer features first."""
    return [
        (path, step)
        for path in paths
        for step in sorted(path, key=lambda step: len(step.selected))
        if len(step.selected) in sizes
    ]


def choose(
    steps: Sequence[tuple[SelectionPath, Step]],
    measure: Measure | None,
    rule: Rule,
    values_of: Callable[[Step], npt.NDArray[np.float64]],
) -> int:
    """The position of the best step, or of the cheapest that is as good; ``values_of`` has what decides, by query."""
    told, costs = [step.deciding(measure) for _, step in steps], [step.cost for _, step in steps]
    lower = measure is None or measure.lower_is_better
    return choose_by(rule, told, lambda at: values_of(steps[at][1]), costs, lower)


def pareto_front(steps: Sequence[tuple[SelectionPath, Step]], measure: Measure | None) -> tuple[ParetoPoint, ...]:
    """The models that none beats in both cost and value, the cheapest first."""
    sign = -1.0 if measure is None or measure.lower_is_better else 1.0
    points = [ParetoPoint(path.alpha, step, step.deciding(measure).mean) for path, step in steps]
    front: list[ParetoPoint] = []
    for point in sorted(points, key=lambda point: (point.cost, -sign * point.value)):
        if not np.isnan(point.value) and (not front or sign * point.value > sign * front[-1].value):
            front.append(point)
    return tuple(front)
