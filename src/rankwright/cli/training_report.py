"""Training, told: a line for each iteration while it runs, and what has been learned when it is done."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.measures.tables import number

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.measures import Measure
    from rankwright.selection.search import Estimate
    from rankwright.solvers.trace import Iteration


class IterationLines:
    """Prints a line for each iteration of a solver to standard error; a header stands above the first."""

    def __init__(self, measure: str | None) -> None:
        # Without validation queries there may be folds, counted where the others are trained on.
        self._headings = ["alpha", "iteration", "objective", "relative gap", "passes", measure or "fold"]
        self._on_valid = measure is not None
        self._widths = [max(width, len(name)) for name, width in zip(self._headings, (11, 9, 14, 9, 6, 7), strict=True)]
        self._has_header = False

    def __call__(self, iteration: Iteration) -> None:
        """Print one."""
        if not self._has_header:
            self._print(self._headings)
            self._has_header = True
        cells = [
            f"{iteration.alpha:.6g}",
            str(iteration.step),
            f"{iteration.objective:.8g}",
            f"{relative_gap(iteration.gap, iteration.objective):.1e}",
            str(iteration.passes),
            self._last_cell(iteration),
        ]
        self._print(cells)

    def _last_cell(self, iteration: Iteration) -> str:
        if self._on_valid:
            return "–" if iteration.measure is None else number(iteration.measure)
        return "all" if iteration.fold is None else str(iteration.fold)

    def _print(self, cells: list[str]) -> None:
        padded = [cell.rjust(width) for cell, width in zip(cells, self._widths, strict=True)]
        print("  ".join(padded), file=sys.stderr, flush=True)


def relative_gap(gap: float, objective: float) -> float:
    """The gap as a part of the objective."""
    return gap / max(abs(objective), sys.float_info.min)


@dataclass(frozen=True, eq=False)
class TrainingReport:
    """What a fitted linear ranker has learned, and how well it ranks queries that it was not trained on."""

    ranker: Any

    @property
    def _n_alphas(self) -> int:
        """How many values of alpha there were to choose from."""
        return len(self.ranker.paths_) if self._is_greedy else len(self.ranker.path_.alphas)

    @property
    def _is_greedy(self) -> bool:
        return hasattr(self.ranker, "selected_features_")

    @property
    def _features_used(self) -> int:
        return sum(weight != 0 for weight in self.ranker.coef_.tolist())

    @property
    def _has_certificate(self) -> bool:
        """Whether training minimised an objective step by step, and knows how far it got."""
        return hasattr(self.ranker, "gap_")

    @property
    def _relative_gap(self) -> float:
        return relative_gap(self.ranker.gap_, self.ranker.objective_)

    def _judgement(self) -> tuple[str | None, dict[Measure, Estimate]]:
        """Where the chosen model was measured, if it was, and what came out."""
        valid, held_out = self._greedy_estimates() if self._is_greedy else self._estimates()
        return ("valid", valid) if valid else ("held-out", held_out) if held_out else (None, {})

    def _greedy_estimates(self) -> tuple[dict[Measure, Estimate], dict[Measure, Estimate]]:
        selected = tuple(self.ranker.selected_features_.tolist())
        step = next(step for step in self.ranker.path_ if tuple(step.selected) == selected)
        return step.valid, step.lqo

    def _estimates(self) -> tuple[dict[Measure, Estimate], dict[Measure, Estimate]]:
        """On the validation queries, and on queries left out of training."""
        path = self.ranker.path_
        chosen = path.alphas.tolist().index(self.ranker.alpha_)

        def at_chosen(told: dict[Measure, list[Estimate]]) -> dict[Measure, Estimate]:
            return {measure: values[chosen] for measure, values in told.items()}

        return at_chosen(path.valid), at_chosen(path.lqo or path.folds)

    # For people

    def table(self, out: Path) -> RenderableType:
        """A line for everything worth telling, and where the model was written."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        for name, told in [*self._lines(), ("model", str(out))]:
            table.add_row(Text(name), Text(told))  # as Text, brackets in names are no markup
        return table

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        among = f", chosen from {self._n_alphas}" if self._n_alphas > 1 else ""
        lines = [("ranker", type(ranker).__name__), ("alpha", f"{ranker.alpha_:g}{among}")]
        if self._has_certificate:
            gap = f"at most {ranker.gap_:.2g} ({self._relative_gap:.1e} of it) above the least"
            lines.append(("objective", f"{ranker.objective_:.8g}, {gap}"))
        lines.append(("features", f"{self._features_used:,} of {ranker.n_features_in_:,} with a weight"))
        if hasattr(ranker, "passes_"):
            lines.append(("passes", f"{ranker.passes_:,} over the data"))
        return [*lines, *self._measure_lines()]

    def _measure_lines(self) -> list[tuple[str, str]]:
        judged_on, told = self._judgement()
        if judged_on is None:
            return [("measures", "none: give --valid, or several values of --alpha")]
        where = "on the validation queries" if judged_on == "valid" else "on held-out queries"
        return [
            (str(measure), f"{number(value.mean)} ± {number(value.standard_error)} {where}")
            for measure, value in told.items()
        ]

    # For machines

    def to_dict(self) -> dict[str, Any]:
        """How training went, ready for JSON but for numbers that are not finite."""
        ranker, (judged_on, told) = self.ranker, self._judgement()
        certificate = {}
        if self._has_certificate:
            certificate = {
                "objective": float(ranker.objective_),
                "gap": float(ranker.gap_),
                "relative_gap": float(self._relative_gap),
                "converged": bool(ranker.converged_),
            }
        return {
            "alpha": float(ranker.alpha_),
            "alphas_tried": self._n_alphas,
            **certificate,
            "features_used": self._features_used,
            **({"passes": int(ranker.passes_)} if hasattr(ranker, "passes_") else {}),
            "judged_on": judged_on,
            "measures": [
                {"measure": str(measure), "mean": value.mean, "standard_error": value.standard_error}
                for measure, value in told.items()
            ],
        }
