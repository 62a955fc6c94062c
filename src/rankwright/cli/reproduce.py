"""``rankwright reproduce``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from rankwright.cli.options import option
from rankwright.cli.output import check_output, print_table, reading, tell, writing
from rankwright.cli.progress import progress_bar


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
    from rankwright.reproduce import greedy_rankrls as experiment
    from rankwright.reproduce import greedy_rankrls_report as report

    _repeat(experiment, report, "five folds", data, out)


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
    from rankwright.reproduce import order_preserving as experiment
    from rankwright.reproduce import order_preserving_report as report

    _repeat(experiment, report, "every fold", data, out)


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
    from rankwright.reproduce import large_margin as experiment
    from rankwright.reproduce import large_margin_report as report

    _repeat(experiment, report, "five folds", data, out)


def _repeat(experiment: Any, report: Any, what: str, data: Path, out: Path | None) -> None:
    """Run an experiment on the collections in a folder, tell its averages, and write its report if that is wanted."""
    from rankwright.reproduce.folds import find_collections

    with reading(data):
        collections = find_collections(data, experiment.DATASETS)
    with _results_in(out, report.FILES):
        with progress_bar(f"training on {what}") as progress:
            reproduction = experiment.run(collections, progress=progress)
        if out is not None:
            with writing(out):
                written = report.write_report(reproduction, out)
    print_table(report.summary(reproduction))
    if out is not None:
        tell(f"wrote {', '.join(path.name for path in written)} to {out}")


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
