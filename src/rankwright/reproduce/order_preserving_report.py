"""What the reproduction of paper O leaves behind: tables in Markdown, and every figure in JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.evaluation.tables import rich_table
from rankwright.reproduce.folds import folds_of
from rankwright.reproduce.order_preserving import LETOR_SYSTEMS, MEASURES, TABLES, Figure, Reproduction
from rankwright.reproduce.output import Cells, figure_text, json_rows, markdown_table, power_of_two, write_texts
from rankwright.reproduce.published import FOLDS_AND_AVERAGE, GREEDY_RESULTS, ORDER_PRESERVING_RESULTS, MeasureTable

if TYPE_CHECKING:
    from rich.console import RenderableType

FILES = ("tables.md", "results.json")

TITLES = {"O1": "Buffoni et al., table 1", "O2": "Buffoni et al., table 2", "P": "Riezler & De Bona"}
LETOR_TITLE = "SVM-rank in Pahikkala et al."

_INTRODUCTION = """\
# Order-preserving losses: the published tables beside ours

Protocol of Buffoni, Calauzènes, Gallinari and Usunier, *Learning Scoring Functions with Order-Preserving Losses and
Standardized Supervision* (2011), section 6: linear rankers, λ among 4⁻⁵, 4⁻⁴, … 4⁸, chosen on the validation queries by
the very measure that is reported; averages over folds of the test results. Measures are not cut off, tied documents
count their mean over all orders, and a query without relevant documents counts 0.

DCG is Σ R_k / ln(1 + k) with the R_k = (2^y − 1) / 2^gMax of ERR. The paper leaves the base of the logarithm open, and
this scale is inferred from the size of its figures. It changes neither the choice of λ nor any mark.

↓ marks a system that is significantly worse than the best of its table: paired randomisation test over the test queries
of all folds, level 0.05, Holm's correction. – is a figure that was not published.

Position is the pairwise hinge loss of Riezler and De Bona, *Simple Risk Bounds for Position-Sensitive Max-Margin
Ranking Algorithms*, definition 1; RankSVM is the same with unit margins.
"""
_LETOR_INTRODUCTION = """\
RankSVM beside the figures that Pahikkala, Airola, Naula and Salakoski print for SVM-rank (*Greedy RankRLS*, 2010,
tables {numbers}): λ among the same, chosen by MAP on the validation queries; measures by the rules of the LETOR 4.0
script.
"""


def write_report(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write tables.md and results.json, each whole or not at all."""
    rows = json_rows(reproduction.all_figures())
    return write_texts({"tables.md": tables(reproduction), "results.json": rows}, folder)


def tables(reproduction: Reproduction) -> str:
    """All tables of the collections that were there, as Markdown."""
    parts = [_INTRODUCTION]
    for dataset in reproduction.results:
        for table, title in TITLES.items():
            parts.append(f"## {dataset}: {title}\n")
            parts += [markdown_table(*cells(reproduction, dataset, table)) for cells in (_average_cells, _alpha_cells)]
        parts += _letor_parts(reproduction, dataset)
    return "\n".join(parts)


# Tables 1 and 2 of paper O, and the one for paper P


def _average_cells(reproduction: Reproduction, dataset: str, table: str) -> Cells:
    """The head and the rows of a table of averages: ours, and beside them the paper's if it has any."""
    averages = {(f.system, f.measure): f for f in reproduction.figures(dataset, table) if f.fold == "avg"}
    is_published = any(figure.paper is not None for figure in averages.values())
    head = ["system", *(name for measure in MEASURES for name in (measure, "paper")[: 1 + is_published])]
    rows = [
        [system, *(cell for m in MEASURES for cell in _cells(averages[system, m])[: 1 + is_published])]
        for system in TABLES[table]
    ]
    return head, rows


def _cells(figure: Figure) -> tuple[str, str]:
    """Our figure and the paper's, each with its mark."""
    ours = f"{figure.ours:.4f}" + " ↓" * bool(figure.significantly_worse)
    return ours, figure_text(figure.paper) + " ↓" * _is_worse_in_paper(figure)


def _is_worse_in_paper(figure: Figure) -> bool:
    return any(
        (figure.system, figure.measure) in published.worse
        for published in ORDER_PRESERVING_RESULTS
        if (f"O{published.number}", published.dataset) == (figure.table, figure.dataset)
    )


def _alpha_cells(reproduction: Reproduction, dataset: str, table: str) -> Cells:
    """The λ that each measure chose, fold by fold."""
    folds = folds_of(dataset)
    chosen = {(f.system, f.measure, f.fold): f.ours for f in reproduction.figures(dataset, table)}
    rows = [
        [f"{system}, {m}", *(power_of_two(chosen[system, f"lambda by {m}", fold]) for fold in folds)]
        for system in TABLES[table]
        for m in MEASURES
    ]
    return ["λ chosen by", *(f"fold {fold}" for fold in folds)], rows


# RankSVM beside paper G's figures


def _letor_tables(dataset: str) -> list[MeasureTable]:
    """The tables of paper G on a collection."""
    return [table for table in GREEDY_RESULTS if table.dataset == dataset]


def _letor_parts(reproduction: Reproduction, dataset: str) -> list[str]:
    published = _letor_tables(dataset)
    if not published:
        return []
    numbers = ", ".join(str(table.number) for table in published)
    parts = [f"## {dataset}: {LETOR_TITLE}\n", _LETOR_INTRODUCTION.format(numbers=numbers)]
    return parts + [_letor_table(reproduction, table) for table in published]


def _letor_table(reproduction: Reproduction, table: MeasureTable) -> str:
    by_place = {(figure.system, figure.fold): figure for figure in reproduction.letor_figures(table)}
    rows = []
    for fold in FOLDS_AND_AVERAGE:
        figures = [by_place[system, fold] for system in LETOR_SYSTEMS]
        rows.append([str(fold), *(f"{figure.ours:.4f}" for figure in figures), f"{figures[0].paper:.4f}"])
    return markdown_table([f"{table.measure}, fold", *LETOR_SYSTEMS, "SVM-rank (paper)"], rows)


# For a terminal


def summary(reproduction: Reproduction) -> RenderableType:
    """Every table of averages, and what the arrow means."""
    from rich.console import Group

    shown: list[RenderableType] = []
    for dataset in reproduction.results:
        for table, title in TITLES.items():
            shown.append(rich_table(*_average_cells(reproduction, dataset, table), title=f"{dataset}: {title}"))
        shown += _letor_summary(reproduction, dataset)
    return Group(*shown, "averages over folds; ↓ is significantly worse than the best of its table")


def _letor_summary(reproduction: Reproduction, dataset: str) -> list[RenderableType]:
    """RankSVM beside the published figures of SVM-rank, where there are any."""
    rows = []
    for table in _letor_tables(dataset):
        averages = [figure for figure in reproduction.letor_figures(table) if figure.fold == "avg"]
        rows.append([table.measure, *(figure_text(figure.ours) for figure in averages), figure_text(averages[0].paper)])
    header = ["LETOR 4.0 measures", *LETOR_SYSTEMS, "SVM-rank (paper)"]
    return [rich_table(header, rows, title=f"{dataset}: {LETOR_TITLE}")] if rows else []
