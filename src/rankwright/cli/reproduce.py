"""``rankwright reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.output import check_output, print_table, reading, writing
from rankwright.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.reproduce.greedy_rankrls import Reproduction


def greedy_rankrls(
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder that holds MQ2007, MQ2008 or both, or one of these itself.")
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the results; it is made if need be.")],
) -> None:
    """Repeat the Greedy RankRLS experiments on LETOR 4.0.

    Trains RankRLS and greedy RankRLS on the five folds of MQ2007 and MQ2008, whichever are there, as
    Pahikkala, Airola, Naula and Salakoski did (Greedy RankRLS, 2010, section 4), and holds every figure of
    tables 1 to 10 against ours. Writes tables.md, results.json, and figure1.svg to figure4.svg.

    \b
    Examples:
      rankwright reproduce greedy-rankrls --data LETOR4.0 --out results
      rankwright reproduce greedy-rankrls --data LETOR4.0/MQ2008 --out results
    """
    from rankwright.reproduce.greedy_rankrls import find_collections, run
    from rankwright.reproduce.report import FILES, write_report

    with reading(data):
        collections = find_collections(data)
    is_new = not out.exists()
    with writing(out):
        out.mkdir(parents=True, exist_ok=True)
    try:
        for name in FILES:
            check_output(out / name)
        with progress_bar("training on five folds") as progress:
            reproduction = run(collections, progress=progress)
    except BaseException:
        if is_new:
            out.rmdir()
        raise
    with writing(out):
        written = write_report(reproduction, out)
    print_table(_summary(reproduction))
    typer.echo(f"wrote {', '.join(path.name for path in written)} to {out}", err=True)


def _summary(reproduction: Reproduction) -> RenderableType:
    """Our averages beside the paper's, and how many of all published figures agree."""
    from rich.console import Group

    from rankwright.measures.tables import rich_table
    from rankwright.reproduce.greedy_rankrls import GREEDY, PLAIN
    from rankwright.reproduce.published import GREEDY_RESULTS

    shown = []
    for table in GREEDY_RESULTS:
        averages = {row.system: row for row in reproduction.rows(table) if row.fold == "avg"}
        if table.dataset in reproduction.results:
            figures = [figure for name in (GREEDY, PLAIN) for figure in (averages[name].ours, averages[name].paper)]
            shown.append([f"{table.dataset} {table.measure}", *map(_figure, figures)])
    header = ["average over five folds", GREEDY, "paper", PLAIN, "paper"]
    table_of_averages = rich_table(header, shown, title="test results, LETOR 4.0 measures")
    return Group(table_of_averages, *(_agreement(reproduction, dataset) for dataset in reproduction.results))


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _agreement(reproduction: Reproduction, dataset: str) -> str:
    rows = [row for row in reproduction.all_rows() if row.dataset == dataset]
    published = [row for row in rows if row.paper is not None]
    agree = sum(row.agrees for row in published)
    return f"{dataset}: {agree} of {len(published)} published figures agree to 0.0001"
