"""A selection of features, told: tables for people, JSON for machines, the paths of all alphas as a file."""

from __future__ import annotations

import csv
import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rankwright.evaluation.tables import number, regularisation
from rankwright.plain import without_nan
from rankwright.text import spreadsheet_cell

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from rankwright.data.queries import Queries
    from rankwright.measures import Measure
    from rankwright.preparation.preparation import Preparation
    from rankwright.rankers.greedy_rankrls import GreedyRankRLS
    from rankwright.selection.path import ParetoPoint, SelectionPath, Step
    from rankwright.selection.search import Estimate

_BAR_WIDTH = 16
_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_MOST_WEIGHTS = 10

_T = TypeVar("_T")


@dataclass(frozen=True, eq=False)
class SelectionReport:
    """What a fitted :class:`GreedyRankRLS` found on the training queries, whose columns a preparation has made."""

    ranker: GreedyRankRLS
    queries: Queries
    by: Preparation
    on_valid: bool
    with_costs: bool

    @property
    def _measures(self) -> tuple[Measure, ...]:
        """The first of them decides."""
        return tuple(self._estimates(self.ranker.path_[0]))

    @property
    def _chosen(self) -> Step:
        selected = tuple(map(int, self.ranker.selected_columns_))
        return next(step for step in self.ranker.path_ if tuple(step.selected) == selected)

    def _estimates(self, step: Step) -> dict[Measure, Estimate]:
        """The means of the measures where they decide: on the validation queries, or else on queries left out."""
        return step.valid if self.on_valid else step.lqo

    def _raw_weights(self, step: Step) -> list[float]:
        """The weights of features as they are, where columns were scaled."""
        scale = self.by.scale
        raw = step.weights if scale is None else step.weights / scale[list(step.selected)]
        return [float(weight) for weight in raw]

    def _name(self, feature: int) -> str:
        """The number of a feature, from 1, and its name if it was given one."""
        named = f" {self.queries.feature_name(feature)}" if self.queries.has_feature_names else ""
        return f"{feature + 1}{named}"

    # For people

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.text import Text

        judged = (
            "measured on the validation queries"
            if self.on_valid
            else "measured by leave-query-out (each query is ranked by a model trained on the others)"
        )
        return Group(
            Text(f"Steps for alpha {regularisation(self.ranker.path_.alpha)}, {judged}", style="dim"),
            self._path_table(),
            Text(f"{_mark()} chosen: {self._choice()}"),
            Text(f"  weights: {self._weights()}"),
            Text(
                f"\nPareto front: the best result for each {'cost' if self.with_costs else 'number of features'}",
                style="dim",
            ),
            self._pareto_table(),
        )

    def _path_table(self) -> Table:
        """A mark at the chosen step, step, feature, criterion, measures, cost, and a bar."""
        chosen = self._chosen
        table = _table("", "step", "<feature", "criterion", *map(str, self._measures), *self._if_costs("cost"), "<")
        sign_of_better = -1 if self._measures[0].lower_is_better else 1
        bars = _bars([sign_of_better * self._estimates(step)[self._measures[0]].mean for step in self.ranker.path_])
        for position, (step, bar) in enumerate(zip(self.ranker.path_, bars, strict=True), start=1):
            sign = "+" if step.action == "add" else "-"
            means = [self._estimates(step)[measure].mean for measure in self._measures]
            numbers = [*map(number, (step.criterion, *means)), *self._if_costs(f"{step.cost:g}")]
            mark, style = (_mark(), "bold") if step is chosen else ("", "")
            _add_row(table, [mark, str(position), sign + self._name(step.feature), *numbers, bar], style)
        return table

    def _choice(self) -> str:
        step, measure = self._chosen, self._measures[0]
        estimate = self._estimates(step)[measure]
        size = f"{len(step.selected)} feature{'s' * (len(step.selected) != 1)}"
        costs = self._if_costs(f"cost {step.cost:g}")
        value = f"{measure} {number(estimate.mean)} (standard error {number(estimate.standard_error)})"
        return ", ".join([f"alpha {regularisation(self.ranker.alpha_)}", size, *costs, value])

    def _weights(self) -> str:
        """The features that move scores most first."""
        step = self._chosen
        rows = sorted(
            zip(step.weights, self._raw_weights(step), step.selected, strict=True), key=lambda row: -abs(row[0])
        )
        told = [f"{self._name(feature)} {weight:+.4g}" for _, weight, feature in rows[:_MOST_WEIGHTS]]
        rest = [f"and {len(rows) - len(told)} more"] if len(rows) > len(told) else []
        return ", ".join([*told, *rest])

    def _pareto_table(self) -> Table:
        table = _table("size", *self._if_costs("cost"), str(self._measures[0]), "alpha", "<features")
        for point in self.ranker.pareto_front_:
            features = " ".join(str(feature + 1) for feature in point.step.selected)
            costs = self._if_costs(f"{point.cost:g}")
            _add_row(table, [str(point.n_features), *costs, number(point.value), regularisation(point.alpha), features])
        return table

    def _if_costs(self, *cells: _T) -> tuple[_T, ...]:
        return cells if self.with_costs else ()

    # For machines

    def to_dict(self) -> dict[str, Any]:
        """What was chosen, its path and the Pareto front, ready for JSON."""
        step = self._chosen
        return {
            "judged_on": "valid" if self.on_valid else "leave-query-out",
            "measures": list(map(str, self._measures)),
            "alpha": self.ranker.alpha_,
            "n_features": len(step.selected),
            "features": [
                {"feature": int(feature) + 1, "name": self.queries.feature_name(feature), "weight": weight}
                for feature, weight in zip(step.selected, self._raw_weights(step), strict=True)
            ],
            "chosen_step": 1 + next(i for i, other in enumerate(self.ranker.path_) if other is step),
            "path": list(self._rows(self.ranker.path_)),
            "pareto_front": list(map(self._point, self.ranker.pareto_front_)),
        }

    def _point(self, point: ParetoPoint) -> dict[str, Any]:
        cost = {"cost": float(point.cost)} if self.with_costs else {}
        features = [int(feature) + 1 for feature in point.step.selected]
        value = {str(self._measures[0]): float(point.value)}
        return {"alpha": float(point.alpha), "n_features": point.n_features, **cost, **value, "features": features}

    def _rows(self, path: SelectionPath) -> Iterator[dict[str, Any]]:
        """The rows of the library, with features counted from 1, and with the model of each step."""
        for row, step in zip(path.to_rows(), path, strict=True):
            features = [feature + 1 for feature in step.selected]
            yield {**row, "feature": step.feature + 1, "selected": features, "weights": self._raw_weights(step)}

    # As a file

    def write_paths(self, path: Path) -> None:
        """Write every step of every alpha, whole or not at all: JSON if the name ends so, else CSV."""
        from rankwright.data.paths import atomic_path

        rows = [without_nan(row) for one in self.ranker.paths_ for row in self._rows(one)]
        with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            if path.suffix.lower() == ".json":
                json.dump(rows, file, indent=1, allow_nan=False)
                file.write("\n")
            else:
                table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
                table.writeheader()
                table.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: Any) -> Any:
    """Lists in one cell, their items apart by blanks."""
    return " ".join(map(str, value)) if isinstance(value, list) else spreadsheet_cell(value)


def _table(*headings: str) -> Table:
    """A table with its columns to the right, or to the left where the heading begins with ``<``."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for heading in headings:
        table.add_column(
            heading.removeprefix("<"),
            justify="left" if heading.startswith("<") else "right",
            no_wrap=True,
            overflow="ellipsis",
        )
    return table


def _add_row(table: Table, cells: list[str], style: str = "") -> None:
    from rich.text import Text

    table.add_row(*map(Text, cells), style=style)  # as Text, brackets in names are no markup


def _mark() -> str:
    return "▶" if _can_print("▶") else ">"


def _bars(values: list[float]) -> list[str]:
    """A bar for each value: none for the lowest, the full width for the highest."""
    finite = [value for value in values if math.isfinite(value)]
    low, high = min(finite, default=0.0), max(finite, default=0.0)
    in_blocks = _can_print("".join(_EIGHTHS) + "█")
    return [_bar((value - low) / (high - low) if high > low else 1.0, in_blocks=in_blocks) for value in values]


def _bar(share: float, *, in_blocks: bool) -> str:
    if not math.isfinite(share):
        return ""
    if not in_blocks:
        return "#" * round(share * _BAR_WIDTH)
    whole, eighths = divmod(round(share * _BAR_WIDTH * 8), 8)
    return "█" * whole + _EIGHTHS[eighths]


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
