"""Training, told: a line for each iteration while it runs, and what has been learned when it is done."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rankwright.evaluation.tables import number, regularisation

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.measures import Measure
    from rankwright.preparation.preparation import Preparation
    from rankwright.progress import Iteration, Progress
    from rankwright.selection.search import Estimate

# Sums of losses are not more exact.
_ROUNDING = 1e-9
# Of a list, so many are shown.
_MOST_NUMBERS = 10


class IterationLines:
    """Prints a line for each iteration of a solver to standard error; a header stands above the first."""

    def __init__(self, measure: str | None, *, has_gap: bool = True) -> None:
        # Without validation queries there may be folds, counted where the others are trained on.
        self._headings = ["alpha", "iteration", "objective", "relative gap", "passes", measure or "fold"]
        self._on_valid, self._has_gap = measure is not None, has_gap
        self._widths = [max(width, len(name)) for name, width in zip(self._headings, (11, 9, 14, 9, 6, 7), strict=True)]
        self._has_header = False

    def __call__(self, now: Progress) -> None:
        """Print one."""
        iteration = now.iteration
        if iteration is None:
            return
        if not self._has_header:
            self._print(self._headings)
            self._has_header = True
        cells = [
            regularisation(iteration.alpha),
            str(iteration.step),
            f"{iteration.objective:.8g}",
            f"{relative_gap(iteration.gap, iteration.objective):.1e}" if self._has_gap else "–",
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
    """What a fitted linear ranker has learned, and how well it ranks queries that it was not trained on.

    ``by`` tells how features became the columns that it was trained on; None if it takes them as they are.
    """

    ranker: Any
    by: Preparation | None

    _how_to_be_measured: ClassVar[str] = "add --valid FILE, or give --alpha several values"

    @property
    def _n_alphas(self) -> int:
        """How many values of alpha there were to choose from."""
        return len(self.ranker.paths_) if self._is_greedy else len(self.ranker.path_.alphas)

    @property
    def _is_greedy(self) -> bool:
        return hasattr(self.ranker, "selected_features_")

    @property
    def _features_used(self) -> int:
        if self._has_kernel:
            return len(self.ranker.model().used_features())
        assert self.by is not None  # which is so for linear rankers
        return int(self.by.used_features(self.by.of_ranking(self.ranker.coef_)).sum())

    @property
    def _has_kernel(self) -> bool:
        return hasattr(self.ranker, "dual_coef_")

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
        selected = tuple(self.ranker.selected_columns_.tolist())
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

    def problems(self) -> list[str]:
        """What to warn of, besides what the library warns of itself."""
        return []

    def table(self, out: Path) -> RenderableType:
        """A line for everything worth telling, and where the model was written."""
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(style="bold", no_wrap=True)
        table.add_column(overflow="fold")
        ranker = ("ranker", type(self.ranker).__name__)
        for name, told in [ranker, *self._lines(), *self._measure_lines(), ("model", str(out))]:
            table.add_row(Text(name), Text(told))  # as Text, brackets in names are no markup
        return table

    def _lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        n_features = ranker.n_features_in_ if self.by is None else self.by.n_features
        return [
            ("alpha", f"{regularisation(ranker.alpha_)}{among(self._n_alphas)} (regularisation λ)"),
            *(self._objective_lines() if self._has_certificate else []),
            self._kernel_line()
            if self._has_kernel
            else ("features", f"{self._features_used:,} of {n_features:,} with a weight"),
            *([("passes", self._effort())] if hasattr(ranker, "passes_") else []),
        ]

    def _kernel_line(self) -> tuple[str, str]:
        kernel, documents, *_ = self.ranker.model().kernel_sum()
        told = ", ".join(f"{name} = {value:.4g}" for name, value in kernel.parameters.items())
        return "documents", f"{documents.shape[0]:,} with a weight, in the kernel {kernel.name}{told and f' ({told})'}"

    def _effort(self) -> str:
        return f"{self.ranker.passes_:,} over the data"

    def _objective_lines(self) -> list[tuple[str, str]]:
        gap = f"at most {self.ranker.gap_:.2g} (relative: {self._relative_gap:.1e}) above the minimum"
        return [("objective", f"{self.ranker.objective_:.8g}, {gap}")]

    def _measure_lines(self) -> list[tuple[str, str]]:
        judged_on, told = self._judgement()
        if judged_on is None:
            return [("measures", f"not measured: {self._how_to_be_measured}")]
        where = "on the validation queries" if judged_on == "valid" else "on held-out queries"
        return [
            (str(measure), f"{number(value.mean)} ± {number(value.standard_error)} (standard error) {where}")
            for measure, value in told.items()
        ]

    # For machines

    def to_dict(self) -> dict[str, Any]:
        """How training went, ready for JSON but for numbers that are not finite."""
        judged_on, told = self._judgement()
        return {
            **self._figures(),
            "judged_on": judged_on,
            "measures": [
                {"measure": str(measure), "mean": value.mean, "standard_error": value.standard_error}
                for measure, value in told.items()
            ],
        }

    def _figures(self) -> dict[str, Any]:
        ranker, certificate = self.ranker, {}
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
        }


@dataclass(frozen=True, eq=False)
class StructuredReport(TrainingReport):
    """The same of a fitted `StructuredRanker`, and what is known of its bound."""

    @property
    def _argmax_gap(self) -> float:
        """By how much the objective can be above what was found of it; 0 where that is rounding."""
        unsure = float(self.ranker.argmax_gap_)
        return unsure if unsure > _ROUNDING * self.ranker.objective_ else 0.0

    @property
    def _learned_positions(self) -> list[float] | None:
        ranker = self.ranker
        is_learned = isinstance(ranker.position_weights, str) and ranker.position_weights == "learned"
        return ranker.position_weights_.tolist() if is_learned else None

    def problems(self) -> list[str]:
        """That nothing was learned."""
        if not self.ranker.stays_at_center_:
            return []
        return [
            "no weights have a lower convex bound than all-zero weights, so nothing was learned. "
            "Another alpha does not help, unless this one is very large: use --bound tight"
        ]

    def _lines(self) -> list[tuple[str, str]]:
        ranker, positions = self.ranker, self._learned_positions
        return [
            ("optimised", f"{ranker.measure}, through its {ranker.bound} bound"),
            *super()._lines(),
            *([("positions", f"{_first_of(positions)} (learned weights of the ranks)")] if positions else []),
        ]

    def _effort(self) -> str:
        return f"{super()._effort()}, {self.ranker.argmax_calls_:,} searches for a most violating ranking"

    def _objective_lines(self) -> list[tuple[str, str]]:
        ranker = self.ranker
        if ranker.bound == "convex":
            lines = [*super()._objective_lines(), ("lower bound", f"{ranker.lower_bound_:.8g} for any weights")]
            if not ranker.stays_at_center_:
                most = ranker.gain_ + ranker.objective_ - ranker.lower_bound_
                lines.append(("gained", f"{ranker.gain_:.4g} over zero weights; at most {most:.4g} is possible"))
        else:
            ended = "descent converged" if ranker.converged_ else "descent was stopped early"
            lines = [
                ("objective", f"{ranker.objective_:.8g}; {ended}"),
                ("lower bound", "0; the tight bound is not convex, so no better one is known"),
            ]
        if self._argmax_gap:
            lines.append(("search", f"rankings that were not found could add {self._argmax_gap:.2g} to the objective"))
        if ranker.stays_at_center_:
            lines.append(("learned", "nothing: the bound of zero weights is as low"))
        return lines

    def _figures(self) -> dict[str, Any]:
        ranker, positions = self.ranker, self._learned_positions
        return {
            **super()._figures(),
            "lower_bound": float(ranker.lower_bound_),
            "gain": float(ranker.gain_),
            "argmax_calls": int(ranker.argmax_calls_),
            "argmax_gap": self._argmax_gap,
            "stays_at_center": bool(ranker.stays_at_center_),
            **({"position_weights": positions} if positions else {}),
        }


def _first_of(numbers: list[float]) -> str:
    """The first few numbers."""
    more = ", …" if len(numbers) > _MOST_NUMBERS else ""
    return ", ".join(f"{value:.4g}" for value in numbers[:_MOST_NUMBERS]) + more


def among(n: int) -> str:
    """How many there were to choose from, if there was a choice."""
    return f", chosen from {n}" if n > 1 else ""
