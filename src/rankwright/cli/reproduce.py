"""``rankwright reproduce``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rankwright.cli.options import option
from rankwright.cli.output import check_output, print_table, reading, tell, writing
from rankwright.cli.progress import progress_bar

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rankwright.reproduce import greedy_rankrls as greedy
    from rankwright.reproduce import large_margin as margin
    from rankwright.reproduce import order_preserving as ordered


def greedy_rankrls(
    data: Path = option("DIR", "The folder that contains MQ2007, MQ2008 or both, or is one of them.", default=...),
    out: Path = option("DIR", "The folder for the results; it is created if needed.", default=...),
) -> None:
    """Repeat the Greedy RankRLS experiments on LETOR 4.0.

    Trains RankRLS and greedy RankRLS on the five folds of MQ2007 and MQ2008, as far as they are in the folder, as
    Pahikkala, Airola, Naula and Salakoski did (Greedy RankRLS, 2010, section 4), and compares every figure of
    tables 1 to 10 with ours. Writes tables.md, results.json, and figure1.svg to figure4.svg.

    \b
    Examples:
      rankwright reproduce greedy-rankrls --data LETOR4.0 --out results
      rankwright reproduce greedy-rankrls --data LETOR4.0/MQ2008 --out results
    """
    from rankwright.reproduce.folds import find_collections
    from rankwright.reproduce.greedy_rankrls import run
    from rankwright.reproduce.greedy_rankrls_report import FILES, write_report

    with reading(data):
        collections = find_collections(data)
    with _results_in(out, FILES):
        with progress_bar("training on five folds") as progress:
            reproduction = run(collections, progress=progress)
        with writing(out):
            written = write_report(reproduction, out)
    print_table(_greedy_summary(reproduction))
    _tell_written(written, out)


def order_preserving(
    data: Path = option(
        "DIR", "The folder that contains MQ2007, MQ2008 or Yahoo's set1, or is one of them.", default=...
    ),
    out: Path | None = option("DIR", "The folder for the results; it is created if needed."),
) -> None:
    """Repeat the experiments on order-preserving losses.

    Trains the preorder and order-preserving losses of Buffoni, Calauzènes, Gallinari and Usunier (2011,
    section 6, tables 1 and 2) on the folds of MQ2007 and MQ2008 and on Yahoo's set1, as far as they are in the
    folder. Chooses λ, the regularisation, by the measure reported, and marks results that are significantly worse.
    Also trains the position-sensitive ranker of Riezler and De Bona, and compares RankSVM with published figures of
    SVM-rank. With --out it writes tables.md and results.json.

    \b
    Examples:
      rankwright reproduce order-preserving --data LETOR4.0
      rankwright reproduce order-preserving --data LETOR4.0/MQ2008 --out results
    """
    from rankwright.reproduce.folds import find_collections
    from rankwright.reproduce.order_preserving import DATASETS, run
    from rankwright.reproduce.order_preserving_report import FILES, write_report

    with reading(data):
        collections = find_collections(data, DATASETS)
    with _results_in(out, FILES):
        with progress_bar("training on every fold") as progress:
            reproduction = run(collections, progress=progress)
        if out is not None:
            with writing(out):
                written = write_report(reproduction, out)
    print_table(_order_preserving_summary(reproduction))
    if out is not None:
        _tell_written(written, out)


def large_margin(
    data: Path = option("DIR", "The folder that contains OHSUMED, MQ2008 or both, or is one of them.", default=...),
    out: Path = option("DIR", "The folder for the results; it is created if needed.", default=...),
) -> None:
    """Repeat the OHSUMED experiment on bounds of NDCG.

    Trains the convex and the tight bound of Chapelle, Le and Smola (Large margin optimization of ranking
    measures, 2007, section 5.3) on the five folds of OHSUMED and MQ2008, as far as they are in the folder, and
    regression, RankSVM and RankBoost for comparison. Tests the differences query by query, and compares OHSUMED with
    the published baselines of LETOR. Writes tables.md, results.json, and ohsumed.svg and mq2008.svg.

    \b
    Examples:
      rankwright reproduce large-margin --data LETOR --out results
      rankwright reproduce large-margin --data LETOR/OHSUMED --out results
    """
    from rankwright.reproduce.large_margin import find_collections, run
    from rankwright.reproduce.large_margin_report import FILES, write_report

    with reading(data):
        collections = find_collections(data)
    with _results_in(out, FILES):
        with progress_bar("training on five folds") as progress:
            reproduction = run(collections, progress=progress)
        with writing(out):
            written = write_report(reproduction, out)
    print_table(_large_margin_summary(reproduction))
    _tell_written(written, out)


@contextmanager
def _results_in(folder: Path | None, names: Sequence[str]) -> Iterator[None]:
    """Make the folder for results and see that they can be written; if anything fails, what was made goes again."""
    if folder is None:
        yield
        return
    made = [path for path in (folder, *folder.parents) if not path.exists()]
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    try:
        for name in names:
            check_output(folder / name)
        yield
    except BaseException:
        _remove_again(made, names)
        raise


def _remove_again(made: Sequence[Path], names: Sequence[str]) -> None:
    """Remove the folders that were made, innermost first, with the results in them, but nothing of anybody else."""
    with suppress(OSError):
        for name in names if made else ():
            (made[0] / name).unlink(missing_ok=True)
        for path in made:
            path.rmdir()


def _tell_written(written: Sequence[Path], out: Path) -> None:
    tell(f"wrote {', '.join(path.name for path in written)} to {out}")


def _greedy_summary(reproduction: greedy.Reproduction) -> RenderableType:
    """Our averages beside the paper's, and how many of all published figures agree."""
    from rich.console import Group

    from rankwright.evaluation.tables import rich_table
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


def _agreement(reproduction: greedy.Reproduction, dataset: str) -> str:
    rows = [row for row in reproduction.all_rows() if row.dataset == dataset]
    published = [row for row in rows if row.paper is not None]
    agree = sum(row.agrees for row in published)
    return f"{dataset}: {agree} of {len(published)} published figures agree to 0.0001"


def _order_preserving_summary(reproduction: ordered.Reproduction) -> RenderableType:
    """Every table of averages, and what the arrow means."""
    from rich.console import Group

    from rankwright.evaluation.tables import rich_table
    from rankwright.reproduce.order_preserving_report import TITLES, average_cells

    shown: list[RenderableType] = []
    for dataset in reproduction.results:
        for table, title in TITLES.items():
            shown.append(rich_table(*average_cells(reproduction, dataset, table), title=f"{dataset}: {title}"))
        shown += _letor_summary(reproduction, dataset)
    return Group(*shown, "averages over folds; ↓ is significantly worse than the best of its table")


def _letor_summary(reproduction: ordered.Reproduction, dataset: str) -> list[RenderableType]:
    """RankSVM beside the published figures of SVM-rank, where there are any."""
    from rankwright.evaluation.tables import rich_table
    from rankwright.reproduce.order_preserving import LETOR_SYSTEMS
    from rankwright.reproduce.order_preserving_report import LETOR_TITLE, letor_tables

    rows = []
    for table in letor_tables(dataset):
        averages = [figure for figure in reproduction.letor_figures(table) if figure.fold == "avg"]
        rows.append([table.measure, *(_figure(figure.ours) for figure in averages), _figure(averages[0].paper)])
    header = ["LETOR 4.0 measures", *LETOR_SYSTEMS, "SVM-rank (paper)"]
    return [rich_table(header, rows, title=f"{dataset}: {LETOR_TITLE}")] if rows else []


def _large_margin_summary(reproduction: margin.Reproduction) -> RenderableType:
    """Averages, tests, and whether the convex bound learned anything."""
    from rich.console import Group

    from rankwright.evaluation.tables import rich_table
    from rankwright.reproduce.large_margin_report import NOTE, compared_cells, signed_rank_cells, told_of_zero

    shown: list[RenderableType] = []
    for dataset in reproduction.results:
        shown.append(rich_table(*compared_cells(reproduction, dataset), title=f"{dataset}: test results"))
        shown.append(rich_table(*signed_rank_cells(reproduction, dataset), title=f"{dataset}: signed ranks"))
        shown.append(told_of_zero(reproduction, dataset))
    return Group(*shown, f"averages over folds; {NOTE}")
