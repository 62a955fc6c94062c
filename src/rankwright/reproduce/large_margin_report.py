"""What the reproduction of paper L leaves behind: tables in Markdown, every figure in JSON, charts in SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.evaluation.tables import rich_table
from rankwright.report import line_chart
from rankwright.reproduce.folds import folds_of
from rankwright.reproduce.large_margin import (
    BOOSTING,
    CONVEX,
    DATASETS,
    MEAN_OF_ALL,
    MEAN_OF_PUBLISHED,
    MEASURES,
    NDCG,
    PUBLISHED_NDCG,
    SYSTEMS,
    Reproduction,
    published,
)
from rankwright.reproduce.output import Cells, figure_text, json_rows, markdown_table, power_of_two, write_texts
from rankwright.reproduce.published import LETOR_BASELINES, OHSUMED

if TYPE_CHECKING:
    from rich.console import RenderableType

FIGURES = {dataset: f"{dataset.lower()}.svg" for dataset in DATASETS}
FILES = ("tables.md", "results.json", *FIGURES.values())

# Short names, so that a terminal of 80 columns has room for all.
COMPARED = {
    "NDCG@1": "NDCG@1",
    "@3": "NDCG@3",
    "@5": "NDCG@5",
    "@10": "NDCG@10",
    "mean": MEAN_OF_PUBLISHED,
    "@1–10": MEAN_OF_ALL,
    "MAP": "MAP",
}
NOTE = (
    "mean is that of NDCG@1, 3, 5 and 10, @1–10 that of NDCG@1 to NDCG@10; "
    "† marks what was published with LETOR, – what was not"
)

_INTRODUCTION = """\
# Large margin optimisation of NDCG: LETOR's baselines beside ours

Protocol of Chapelle, Le and Smola, *Large margin optimization of ranking measures* (2007), section 5.3: the five folds
as distributed; λ, and the rounds of RankBoost, chosen by NDCG@10 on the validation queries; averages over folds of the
test results, by the rules of the LETOR 4.0 script. Features are scaled to [0, 1] within each query, for all systems.
Both bounds are those of NDCG@10 with A(r) = 11 − r. The tight one is descended by conjugate subgradients from the
weights w₀ of the regression, with the regulariser ‖w − w₀‖².

In tables of averages {note}.
"""


def write_report(reproduction: Reproduction, folder: Path) -> list[Path]:
    """Write tables.md, results.json and a chart for each collection that was there, each whole or not at all."""
    rows = json_rows(reproduction.all_figures())
    return write_texts({"tables.md": tables(reproduction), "results.json": rows, **figures(reproduction)}, folder)


# Charts


def figures(reproduction: Reproduction) -> dict[str, str]:
    """NDCG@k against k, as in figure 2 of the paper, by file name."""
    return {FIGURES[dataset]: _figure(reproduction, dataset) for dataset in reproduction.results}


def _figure(reproduction: Reproduction, dataset: str) -> str:
    """A system that learned nothing on any fold is left out, as in the paper: it would press the others together."""
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for system in SYSTEMS:
        if reproduction.folds_not_learned(dataset, system) < len(reproduction.results[dataset]):
            values = [reproduction.average(dataset, system, name) for name in NDCG]
            lines[system] = [float(k) for k in range(1, len(NDCG) + 1)], values
    for system in SYSTEMS:
        known = {name: published(dataset, system, name) for name in PUBLISHED_NDCG}
        points = {float(name.removeprefix("NDCG@")): value for name, value in known.items() if value is not None}
        if points:
            lines[f"{system}, published"] = list(points), list(points.values())
    title = f"Average NDCG@k on the test sets of {dataset}"
    return line_chart(lines, title=title, x_label="k", y_label="NDCG@k")


# Tables


def tables(reproduction: Reproduction) -> str:
    """All tables of the collections that were there, as Markdown."""
    parts = [_INTRODUCTION.format(note=NOTE)]
    for dataset in reproduction.results:
        parts.append(f"## {dataset}\n")
        for cells in (_compared_cells, _cutoff_cells, _signed_rank_cells, _chosen_cells, _valid_cells):
            parts.append(markdown_table(*cells(reproduction, dataset)))
        parts.append(_told_of_zero(reproduction, dataset) + "\n")
    return "\n".join(parts)


def _compared_cells(reproduction: Reproduction, dataset: str) -> Cells:
    """The head and the rows of a table of averages, the published ones below ours."""
    names = COMPARED.values()
    ours = [[system, *(f"{reproduction.average(dataset, system, name):.4f}" for name in names)] for system in SYSTEMS]
    theirs = [
        [f"{system}†", *(figure_text(published(dataset, system, name)) for name in names)]
        for system in (LETOR_BASELINES if dataset == OHSUMED else ())
    ]
    return ["system", *COMPARED], ours + theirs


def _signed_rank_cells(reproduction: Reproduction, dataset: str) -> Cells:
    """The head and the rows of the table of Wilcoxon's tests."""
    rows = [
        [f"{test.system} − {test.baseline}", f"{test.difference:+.4f}", _p_value(test.p), _p_value(test.p_holm)]
        for test in reproduction.tests(dataset)
    ]
    return ["Wilcoxon, NDCG@1 + … + NDCG@10", "mean of NDCG@k", "p", "p (Holm)"], rows


def _p_value(p: float) -> str:
    return f"{p:.4f}" if p >= 0.0001 else "< 0.0001"


def _told_of_zero(reproduction: Reproduction, dataset: str) -> str:
    """Whether the convex bound learned anything."""
    folds = len(reproduction.results[dataset])
    stays = reproduction.folds_not_learned(dataset, CONVEX)
    if not stays:
        return f"The convex bound is below that of w = 0 on all {folds} folds."
    return (
        f"On {stays} of {folds} folds no weights have a lower convex bound than w = 0, with the λ chosen: nothing is "
        "learned there, and documents stand as they do in the file."
    )


def _cutoff_cells(reproduction: Reproduction, dataset: str) -> Cells:
    """NDCG at every k: what the chart shows."""
    rows = [[system, *(f"{reproduction.average(dataset, system, n):.4f}" for n in MEASURES)] for system in SYSTEMS]
    return ["system", *MEASURES], rows


def _chosen_cells(reproduction: Reproduction, dataset: str) -> Cells:
    """The λ chosen on each fold, and the rounds of RankBoost."""
    results = reproduction.results[dataset]
    rows = [[system, *(_choice(system, result.chosen[system]) for result in results)] for system in SYSTEMS]
    return ["λ, or rounds", *(f"fold {fold}" for fold in folds_of(dataset))], rows


def _choice(system: str, value: float) -> str:
    return f"{value:.0f}" if system == BOOSTING else power_of_two(value)


def _valid_cells(reproduction: Reproduction, dataset: str) -> Cells:
    results = reproduction.results[dataset]
    rows = [[system, *(f"{result.valid[system]:.4f}" for result in results)] for system in SYSTEMS]
    return ["validation NDCG@10", *(f"fold {fold}" for fold in folds_of(dataset))], rows


# For a terminal


def summary(reproduction: Reproduction) -> RenderableType:
    """Averages, tests, and whether the convex bound learned anything."""
    from rich.console import Group

    shown: list[RenderableType] = []
    for dataset in reproduction.results:
        shown.append(rich_table(*_compared_cells(reproduction, dataset), title=f"{dataset}: test results"))
        shown.append(rich_table(*_signed_rank_cells(reproduction, dataset), title=f"{dataset}: signed ranks"))
        shown.append(_told_of_zero(reproduction, dataset))
    return Group(*shown, f"averages over folds; {NOTE}")
