"""What a reproduction leaves behind: tables in Markdown, every figure in JSON, charts in SVG."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rankwright.report import line_chart
from rankwright.reproduce.folds import LETOR
from rankwright.reproduce.greedy_rankrls import CURVES, GREEDY, GREEDY_ALPHAS, PLAIN, Reproduced, Reproduction
from rankwright.reproduce.output import json_rows, power_of_two, table_head, table_line, write_texts
from rankwright.reproduce.published import (
    FOLDS,
    FOLDS_AND_AVERAGE,
    GREEDY_RESULTS,
    GREEDY_SELECTIONS,
    MeasureTable,
    SelectionTable,
)

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
    for table in (*GREEDY_SELECTIONS, *GREEDY_RESULTS):
        what = "Selected features" if isinstance(table, SelectionTable) else table.measure
        parts.append(f"## Table {table.number}: {what} on {table.dataset}\n")
        if table.dataset not in reproduction.results:
            parts.append(f"{table.dataset} was not there, so the paper's figures stand alone.\n")
        rows = reproduction.rows(table)
        lines = _selection_lines(rows) if isinstance(table, SelectionTable) else _measure_lines(table, rows)
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _selection_lines(rows: list[Reproduced]) -> Iterator[str]:
    """A line for λ, k and each selected feature; for each fold, our figure and the paper's."""
    yield from table_head(["", *(name for fold in FOLDS for name in (f"fold {fold}", "paper"))])
    by_place = {(row.measure, row.fold): row for row in rows}
    for measure in sorted({row.measure for row in rows}, key=_order_of_selection):
        cells = [_cells(by_place.get((measure, fold)), _choice) for fold in FOLDS]
        yield table_line(["λ" if measure == "lambda" else measure, *(cell for pair in cells for cell in pair)])


def _order_of_selection(measure: str) -> int:
    return {"lambda": -2, "k": -1}.get(measure) or int(measure.removeprefix("selected "))


def _choice(row: Reproduced, value: float) -> str:
    return power_of_two(value) if row.measure == "lambda" else f"{value:.0f}"


def _measure_lines(table: MeasureTable, rows: list[Reproduced]) -> Iterator[str]:
    """A line for each fold and their average; the figures of RankSVM are the paper's alone."""
    yield from table_head(["Fold", GREEDY, "paper", PLAIN, "paper", "RankSVM (paper)"])
    by_place = {(row.system, row.fold): row for row in rows}
    for fold, svm in zip(FOLDS_AND_AVERAGE, table.systems["RankSVM"], strict=True):
        cells = [_cells(by_place[system, fold], lambda row, value: f"{value:.4f}") for system in (GREEDY, PLAIN)]
        yield table_line([str(fold), *(cell for pair in cells for cell in pair), f"{svm:.4f}"])


def _cells(row: Reproduced | None, told: Callable[[Reproduced, float], str]) -> tuple[str, str]:
    """Our figure, marked if it differs, and the paper's."""
    if row is None:
        return "", ""
    ours = "–" if row.ours is None else told(row, row.ours)
    differs = row.ours is not None and not row.agrees
    return ours + " ≠" * differs, "–" if row.paper is None else told(row, row.paper)
