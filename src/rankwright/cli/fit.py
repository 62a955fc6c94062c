"""``rankwright fit``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.costs import read_costs
from rankwright.cli.data import DATA_HELP, DataReader, reads_data_anywhere
from rankwright.cli.fit_folder import check_free, going_on, own_folder
from rankwright.cli.options import CONVENTION, argument, flag, naming_options, option
from rankwright.cli.output import (
    check_output_folder,
    print_json,
    print_lines,
    print_table,
    reading,
    working,
)
from rankwright.cli.progress import progress_bar
from rankwright.cli.training_record import command_text, data_records, digests_of
from rankwright.errors import OneQueryWarning, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.fitting.folder import Origin
    from rankwright.fitting.request import Request
    from rankwright.fitting.result import FitResult

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_JSON = ("chosen", "evaluated_on", "rule", "summary", "leaderboard", "gave_up", "notes", "left_out")


@reads_data_anywhere
def fit(
    data: Path = argument("DATA", f"Judged documents: {DATA_HELP}."),
    out: Path = option("DIR", "The folder for the results; it is created if needed.", default=...),
    valid: Path | None = option("FILE", "Choose on these queries instead of by cross-validation."),
    test: Path | None = option("FILE", "Queries for the final results and the certificate."),
    measure: str = option("NAME", "The measure: ndcg@10, map, err@20, p@5 …", default="ndcg@10"),
    ranker: str | None = option(
        "LIST",
        "Try only these: regression, rankrls, greedy-rankrls, ranksvm, order-preserving, structured, or the non-linear "
        "kernel-map, basis, boosted, lambdarank, xendcg, neural.",
    ),
    nonlinear: bool = flag("--nonlinear", "Try non-linear rankers as well, with settings drawn at random."),
    budget: str | None = option(
        "TIME",
        "Skip what is not finished by then: 90, 90s, 5m or 1h. Without it, the search of non-linear rankers takes 5 "
        "minutes at most.",
    ),
    folds: int = option("N", "The number of folds of cross-validation.", default=5),
    rule: str = option(
        "NAME",
        "best, or one-standard-error: the simplest ranker whose difference from the best is within one standard error: "
        "linear rather than not, and few features.",
        default="one-standard-error",
    ),
    baseline: str | None = option(
        "FEATURE",
        "Compare with ranking by this feature alone (-NAME: lowest value first); by default the best feature.",
    ),
    costs: Path | None = option("FILE", "CSV file with the columns feature and cost: prefer cheap features."),
    missing: str = option(
        "NAME",
        "Replace a missing value by the mean of all documents (mean), of its query (query-mean), or auto: by "
        "the better of the two.",
        default="auto",
    ),
    transform: str = option(
        "NAME",
        "The transform of heavy-tailed features: log, quantile, none, or auto: the simplest that is as good. "
        "Solr, Elasticsearch and OpenSearch support only none.",
        default="auto",
    ),
    convention: str = CONVENTION,
    delta: float = option("P", "The probability that the certificate does not hold.", default=0.05),
    seed: int = option(
        "N", "The random seed of the folds, of settings that are drawn, and of non-linear rankers.", default=0
    ),
    overwrite: bool = flag("--overwrite", "Replace the results of another fit in the folder."),
    as_json: bool = flag("--json", "Print JSON instead of a table."),
    *,
    reader: DataReader,
) -> None:
    """Try many rankers, choose one, and write a report.

    Tries every ranker with a range of settings and measures each on held-out queries. Among the rankers within one
    standard error of the best, the one with the fewest features is trained on all queries. Writes model.json,
    leaderboard.csv and report.html. With --test, prints a certificate: a guaranteed lower bound for the measure on
    new queries.

    With --nonlinear, kernels, formulas, boosted trees and networks are tried as well. A linear ranker is chosen unless
    one of these is better by more than one standard error.

    If the command is interrupted, run it again to continue where it stopped. It does not replace the results of
    another fit in the folder without --overwrite.

    \b
    Examples:
      rankwright fit train.txt --out ranker
      rankwright fit train.txt --valid vali.txt --test test.txt --measure map --out ranker
      rankwright fit clicks.csv --label grade --qid query --doc url --one-hot category --out ranker
      rankwright fit clicks.jsonl --features 'bm25*,clicks' --budget 5m --out ranker
      rankwright fit train.txt --test test.txt --nonlinear --budget 10m --out ranker
    """
    files = {role: path for role, path in (("train", data), ("valid", valid), ("test", test)) if path is not None}
    with working("starting"):  # importing all that trains takes a second or two
        from rankwright.fitting.fit import checked_options
        from rankwright.fitting.folder import FILES, Origin
        from rankwright.fitting.request import Request
        from rankwright.fitting.summary import ON_COMMAND_LINE, FitSummary
    named = ("folds", "rule", "convention", "missing", "transform", "baseline", "costs", "delta", "seed")
    with naming_options(*named, measure="measure", measures="measure", rankers="ranker"):
        options = checked_options(
            measure=measure,
            rankers=ranker and [word.strip() for word in ranker.split(",")],
            nonlinear=nonlinear,
            folds=folds,
            rule=rule,
            convention=convention,
            baseline=baseline,
            missing=missing,
            transform=transform,
            delta=delta,
            budget=None if budget is None else _parse_budget(budget),
            seed=seed,
        )
        inputs = [*files.values(), *([] if costs is None else [costs])]
        check_output_folder(out, FILES, *inputs)
        _refuse_pipes(inputs)
        with digests_of(files) as digests:
            queries = _read(reader, files)
            feature_costs = None if costs is None else read_costs(costs, queries["train"])
        request = Request(queries, {**options, "costs": feature_costs})
        _check_apart(request, files)
        origin = Origin(command_text(), data_records(files, queries, digests))
        result, report = _run(request, out, origin, overwrite=overwrite)
    if as_json:
        more = ("beyond_linear",) if report["beyond_linear"] else ()
        print_json({key: report[key] for key in (*_JSON, *more)})
    else:
        print_table(FitSummary(result, ON_COMMAND_LINE))
        print_lines(f"\nWritten to {out}: {', '.join(FILES)}")


def _refuse_pipes(inputs: Sequence[Path]) -> None:
    """Refuse, before anything is read, what can be read only once."""
    for path in inputs:
        with reading(path):
            if path.exists() and not path.is_dir() and not path.is_file():
                raise ParameterError(
                    f"{path} is a pipe or a device, but fit reads its data twice: save the data to a file first"
                )


def _read(reader: DataReader, files: Mapping[str, Path]) -> dict[str, Queries]:
    from rankwright.fitting.data import check_grades

    with warnings.catch_warnings():
        if "valid" not in files:  # one query alone is refused, in the same words
            warnings.simplefilter("ignore", OneQueryWarning)
        read = reader.read_training(files)
    for role, queries in read.items():
        check_grades(f"{files[role]}: the data", queries)
    return read


def _check_apart(request: Request, files: Mapping[str, Path]) -> None:
    """Refuse to judge on what was trained on."""
    first_with: dict[str, str] = {}
    for record in request.data:
        role, other = record["role"], first_with.setdefault(record["sha256"], record["role"])
        if other != role:
            raise ParameterError(f"--{role}: {files[role]} has the same content as {files[other]}")


def _run(request: Request, out: Path, origin: Origin, *, overwrite: bool) -> tuple[FitResult, dict[str, Any]]:
    """Fit, and write."""
    from rankwright.fitting.folder import save_fit
    from rankwright.fitting.job import Job
    from rankwright.fitting.work import Work

    if not overwrite:
        check_free(out, request.fingerprint)
    work = Work(out, request.fingerprint)
    with own_folder(out, work), going_on(work):
        with progress_bar("preparing the data") as bar:
            result = Job(request, work, bar).run()
        # That no other fit is there was checked before, and the folder has been locked since.
        with working("writing the report"):
            report = save_fit(result, out, origin, overwrite=True)
        if not result.ended_for_time:  # else more time can go on from there
            work.clear()
    return result, report


def _parse_budget(text: str) -> float:
    """The option --budget in seconds.

    >>> _parse_budget("5m")
    300.0
    """
    found = _BUDGET.fullmatch(text.strip().lower())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if not 0 < seconds < float("inf"):
        raise ParameterError(f"--budget must be a time such as 90, 90s, 5m or 1h, not {text!r}")
    return seconds
