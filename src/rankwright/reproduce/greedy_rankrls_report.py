"""What a reproduction leaves behind: tables in Markdown, every figure in JSON, charts in SVG."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.evaluation.tables import rich_table
from rankwright.report import line_chart
from rankwright.reproduce.folds import LETOR
from rankwright.reproduce.greedy_rankrls import CURVES, GREEDY, GREEDY_ALPHAS, PLAIN, Reproduced, Reproduction
from rankwright.reproduce.output import figure_text, json_rows, markdown_table, power_of_two, write_texts
from rankwright.reproduce.published import (
    FOLDS,
    FOLDS_AND_AVERAGE,
    GREEDY_RESULTS,
    GREEDY_TABLES,
    MeasureTable,
    SelectionTable,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

FIGURES = {
    f"figure{number}.svg": (dataset, measure)
    for number, (dataset, measure) in enumerate(((d, m) for d in LETOR for m in CURVES), start=1)
}
FILES = ("tables.md", "results.json", *FIGURES)

_INTRODUCTION = """\
# Greedy RankRLS on LETOR 4.0: the published tables beside ours

Protocol of Pahikkala, Airola, Naula and Salakoski, *Greedy RankRLS* (2010), section 4: train on three parts, choose the
parameters by MAP on the fourth, test on the fifth. Measures by the rules of the LETOR 4.0 script. Features are
counted from 1. ≠ marks a figure of ours that differs from the paper's by more than 0.0001; – is a figure that is not
there.
"""


def write_report(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write tables.md, results.json and the figures of the collections that were there, each whole or not at all."""
    rows = json_rows(reproduction.all_rows())
    return write_texts({"tables.md": tables(reproduction), "results.json": rows, **figures(reproduction)}, folder)


# Figures 1 to 4


def figures(reproduction: Reproduction) -> dict[str, str]:
    """The charts by file name."""
    return {
        name: _figure(reproduction, dataset, measure)
        for name, (dataset, measure) in FIGURES.items()
        if dataset in reproduction.results
    }


def _figure(reproduction: Reproduction, dataset: str, measure: str) -> str:
    curves = reproduction.mean_curve(dataset, measure)
    steps = range(1, curves.shape[1] + 1)
    return line_chart(
        {f"λ = {power_of_two(alpha)}": (steps, curve) for alpha, curve in zip(GREEDY_ALPHAS, curves, strict=True)},
        title=f"Average {measure} on the validation sets of {dataset}",
        x_label="selected features",
        y_label=measure,
    )


# Tables 1 to 10


def tables(reproduction: Reproduction) -> str:
    """All ten tables as Markdown."""
    parts = [_INTRODUCTION]
    for table in GREEDY_TABLES:
        what = "Selected features" if isinstance(table, SelectionTable) else table.measure
        parts.append(f"## Table {table.number}: {what} on {table.dataset}\n")
        if table.dataset not in reproduction.results:
            parts.append(f"{table.dataset} was not there, so the paper's figures stand alone.\n")
        rows = reproduction.rows(table)
        parts.append(_selection_table(rows) if isinstance(table, SelectionTable) else _measure_table(table, rows))
    return "\n".join(parts)


def _selection_table(rows: list[Reproduced]) -> str:
    """A line for λ, k and each selected feature; for each fold, our figure and the paper's."""
    by_place = {(row.measure, row.fold): row for row in rows}
    lines = []
    for measure in sorted({row.measure for row in rows}, key=_order_of_selection):
        cells = [cell for fold in FOLDS for cell in _cells(by_place.get((measure, fold)), _choice)]
        lines.append(["λ" if measure == "lambda" else measure, *cells])
    return markdown_table(["", *(name for fold in FOLDS for name in (f"fold {fold}", "paper"))], lines)


def _order_of_selection(measure: str) -> int:
    return {"lambda": -2, "k": -1}.get(measure) or int(measure.removeprefix("selected "))


def _choice(row: Reproduced, value: float) -> str:
    return power_of_two(value) if row.measure == "lambda" else f"{value:.0f}"


def _measure_table(table: MeasureTable, rows: list[Reproduced]) -> str:
    """A line for each fold and their average; the figures of RankSVM are the paper's alone."""
    by_place = {(row.system, row.fold): row for row in rows}
    lines = []
    for fold, svm in zip(FOLDS_AND_AVERAGE, table.systems["RankSVM"], strict=True):
        cells = [c for name in (GREEDY, PLAIN) for c in _cells(by_place[name, fold], lambda _, value: f"{value:.4f}")]
        lines.append([str(fold), *cells, f"{svm:.4f}"])
    return markdown_table(["Fold", GREEDY, "paper", PLAIN, "paper", "RankSVM (paper)"], lines)


def _cells(row: Reproduced | None, told: Callable[[Reproduced, float], str]) -> tuple[str, str]:
    """Our figure, marked if it differs, and the paper's."""
    if row is None:
        return "", ""
    ours = "–" if row.ours is None else told(row, row.ours)
    differs = row.ours is not None and not row.agrees
    return ours + " ≠" * differs, "–" if row.paper is None else told(row, row.paper)


# For a terminal


def summary(reproduction: Reproduction) -> RenderableType:
    """Our averages beside the paper's, and how many of all published figures agree."""
    from rich.console import Group

    shown = []
    for table in GREEDY_RESULTS:
        averages = {row.system: row for row in reproduction.rows(table) if row.fold == "avg"}
        if table.dataset in reproduction.results:
            figures = [figure for name in (GREEDY, PLAIN) for figure in (averages[name].ours, averages[name].paper)]
            shown.append([f"{table.dataset} {table.measure}", *map(figure_text, figures)])
    header = ["average over five folds", GREEDY, "paper", PLAIN, "paper"]
    table_of_averages = rich_table(header, shown, title="test results, LETOR 4.0 measures")
    return Group(table_of_averages, *(_agreement(reproduction, dataset) for dataset in reproduction.results))


def _agreement(reproduction: Reproduction, dataset: str) -> str:
    rows = [row for row in reproduction.all_rows() if row.dataset == dataset]
    published = [row for row in rows if row.paper is not None]
    agree = sum(row.agrees for row in published)
    return f"{dataset}: {agree} of {len(published)} published figures agree to 0.0001"
