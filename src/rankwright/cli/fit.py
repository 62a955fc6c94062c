"""``rankwright fit``."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright._version import __version__
from rankwright.cli.fit_folder import check_free, going_on, own_folder
from rankwright.cli.options import DATA_HELP, DataOptions, check_at_least, check_one_of, naming_options, reads_data
from rankwright.cli.output import (
    check_output_folder,
    print_json,
    print_lines,
    print_table,
    reading,
    working,
)
from rankwright.cli.progress import progress_bar
from rankwright.cli.training_data import read_training_data
from rankwright.cli.training_record import command_text, data_records, digests_of
from rankwright.errors import OneQueryWarning, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.fitting.folder import Origin
    from rankwright.fitting.result import FitResult

_BUDGET = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|h|)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}
_NOT_IN_WORK = ("files", "out", "overwrite", "budget", "costs", "baseline", "delta")  # the files have their digests
_JSON = ("chosen", "evaluated_on", "rule", "summary", "leaderboard", "gave_up", "notes", "left_out")


@reads_data
def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"Judged documents: {DATA_HELP}.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder for the results; it is created if needed.")],
    valid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Choose on these queries instead of by cross-validation.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries for the final results and the certificate.")
    ] = None,
    measure: Annotated[str, typer.Option(metavar="NAME", help="The measure: ndcg@10, map, err@20, p@5 …")] = "ndcg@10",
    ranker: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Try only these: regression, rankrls, greedy-rankrls, ranksvm, order-preserving, structured.",
        ),
    ] = None,
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Skip rankers that are not finished by then: 90, 90s, 5m or 1h.")
    ] = None,
    folds: Annotated[int, typer.Option(metavar="N", help="The number of folds of cross-validation.")] = 5,
    rule: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="best, or one-standard-error: the fewest features within one standard error of the best.",
        ),
    ] = "one-standard-error",
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="FEATURE",
            help="Compare with ranking by this feature alone (-NAME: lowest value first); by default the best feature.",
        ),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV file with the columns feature and cost: prefer cheap features."),
    ] = None,
    missing: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Replace a missing value by the mean of all documents (mean), of its query (query-mean), or auto: by "
            "the better of the two.",
        ),
    ] = "auto",
    transform: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The transform of heavy-tailed features: log, quantile, none, or auto: the simplest that is as good. "
            "Solr, Elasticsearch and OpenSearch support only none.",
        ),
    ] = "auto",
    convention: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="The tool whose definition of the measure to use, as in `rankwright evaluate`."
        ),
    ] = "default",
    delta: Annotated[
        float, typer.Option(metavar="P", help="The probability that the certificate does not hold.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(metavar="N", help="The random seed of the folds.")] = 0,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results of another fit in the folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    *,
    columns: DataOptions,
) -> None:
    """Try all linear rankers, choose one, and write a report.

    Tries every ranker with a range of settings and measures each on held-out queries. Among the rankers within one
    standard error of the best, the one with the fewest features is trained on all queries. Writes model.json,
    leaderboard.csv and report.html. With --test, prints a certificate: a guaranteed lower bound for the measure on
    new queries.

    If the command is interrupted, run it again to continue where it stopped. It does not replace the results of
    another fit in the folder without --overwrite.

    \b
    Examples:
      rankwright fit train.txt --out ranker
      rankwright fit train.txt --valid vali.txt --test test.txt --measure map --out ranker
      rankwright fit clicks.csv --label grade --qid query --doc url --one-hot category --out ranker
      rankwright fit clicks.jsonl --features 'bm25*,clicks' --budget 5m --out ranker
    """
    job = _Job(
        files={role: path for role, path in (("train", data), ("valid", valid), ("test", test)) if path is not None},
        out=out,
        measure=measure,
        rankers=ranker,
        budget=budget,
        folds=folds,
        rule=rule,
        baseline=baseline,
        costs=costs,
        convention=convention,
        missing=missing,
        transform=transform,
        columns=columns,
        delta=delta,
        seed=seed,
        overwrite=overwrite,
    )
    with working("starting"):  # importing all that trains takes a second or two
        from rankwright.fitting.folder import FILES
        from rankwright.fitting.summary import ON_COMMAND_LINE, FitSummary
    named = ("measure", "rule", "convention", "baseline", "costs", "delta")
    with naming_options(*named, measures="measure"):
        job.check()
        result, report = job.run()
    if as_json:
        print_json({key: report[key] for key in _JSON})
    else:
        print_table(FitSummary(result, ON_COMMAND_LINE))
        print_lines(f"\nWritten to {out}: {', '.join(FILES)}")


@dataclass(frozen=True)
class _Job:
    """What was asked for."""

    files: Mapping[str, Path]
    out: Path
    measure: str
    rankers: str | None
    budget: str | None
    folds: int
    rule: str
    baseline: str | None
    costs: Path | None
    convention: str
    missing: str
    transform: str
    columns: DataOptions
    delta: float
    seed: int
    overwrite: bool

    def check(self) -> None:
        """Refuse what cannot be, before any file is read."""
        from rankwright.checks import check_probability
        from rankwright.fitting.folder import FILES
        from rankwright.fitting.preparing import MISSING_OPTIONS, TRANSFORM_OPTIONS
        from rankwright.measures.conventions import convention_of
        from rankwright.measures.measure import one_measure
        from rankwright.selection.search import checked_rule

        check_at_least(2, folds=self.folds)
        check_at_least(0, seed=self.seed)
        check_probability("delta", self.delta)
        checked_rule(self.rule)
        convention_of(self.convention)
        one_measure(self.measure)
        check_one_of(MISSING_OPTIONS, missing=self.missing)
        check_one_of(TRANSFORM_OPTIONS, transform=self.transform)
        self._wanted_rankers()
        self._seconds()
        inputs = [*self.files.values(), *([] if self.costs is None else [self.costs])]
        check_output_folder(self.out, FILES, *inputs)
        for path in inputs:
            with reading(path):
                if path.exists() and not path.is_dir() and not path.is_file():
                    raise ParameterError(
                        f"{path} is a pipe or a device, but fit reads its data twice: save the data to a file first"
                    )

    def _wanted_rankers(self) -> tuple[str, ...]:
        from rankwright.fitting.fit import RANKERS

        if self.rankers is None:
            return RANKERS
        wanted = tuple(word.strip() for word in self.rankers.split(","))
        unknown = next((name for name in wanted if name not in RANKERS), None)
        if unknown is not None:
            raise ParameterError(f"--ranker: {unknown!r} is not one of {', '.join(RANKERS)}")
        return wanted

    def _seconds(self) -> float | None:
        return None if self.budget is None else _parse_budget(self.budget)

    def run(self) -> tuple[FitResult, dict[str, Any]]:
        """Read, fit, and write."""
        from rankwright.fitting.data import check_grades
        from rankwright.fitting.fit import fit as fit_rankers
        from rankwright.fitting.folder import save_fit
        from rankwright.fitting.work import Work

        others = {"costs": self.costs, "column_description": self.columns.description}
        files = {**self.files, **{role: path for role, path in others.items() if path is not None}}
        with digests_of(files) as digests:
            self._check_apart(digests)
            fingerprint = self._fingerprint(digests)
            if not self.overwrite:
                check_free(self.out, fingerprint)
            with warnings.catch_warnings():
                if "valid" not in self.files:  # one query alone is refused, in the same words
                    warnings.simplefilter("ignore", OneQueryWarning)
                read = read_training_data(self.files, self.columns)
            for role, queries in read.items():
                check_grades(f"{self.files[role]}: the data", queries)
            costs = None if self.costs is None else _read_costs(self.costs, read["train"])
        work = Work(self.out, fingerprint)
        with own_folder(self.out, work), going_on(work):
            with progress_bar("preparing the data") as bar:
                result = fit_rankers(
                    read["train"],
                    valid=read.get("valid"),
                    test=read.get("test"),
                    measure=self.measure,
                    rankers=self._wanted_rankers(),
                    folds=self.folds,
                    rule=self.rule,  # type: ignore[arg-type]
                    convention=self.convention,
                    baseline=self.baseline,
                    costs=costs,
                    missing=self.missing,  # type: ignore[arg-type]
                    transform=self.transform,  # type: ignore[arg-type]
                    delta=self.delta,
                    budget=self._seconds(),
                    seed=self.seed,
                    work=work,
                    progress=bar,
                )
            # That no other fit is there was checked before, and the folder has been locked since.
            with working("writing the report"):
                report = save_fit(result, self.out, self._origin(read, digests), overwrite=True)
            if not result.ended_for_time:  # else more time can go on from there
                work.clear()
        return result, report

    def _check_apart(self, digests: Mapping[str, str | None]) -> None:
        """Refuse to judge on what was trained on."""
        roles = list(self.files)
        for i, role in enumerate(roles):
            for other in roles[:i]:
                if digests[role] == digests[other]:
                    raise ParameterError(f"--{role}: {self.files[role]} has the same content as {self.files[other]}")

    def _fingerprint(self, digests: Mapping[str, str | None]) -> str:
        """All that the result depends on; not the budget, so that more time goes on from what is finished."""
        from rankwright.fitting.work import fingerprint

        asked = {field.name: getattr(self, field.name) for field in fields(self) if field.name not in _NOT_IN_WORK}
        return fingerprint({"version": __version__, "data": digests, **asked})

    def _origin(self, read: Mapping[str, Queries], digests: Mapping[str, str | None]) -> Origin:
        from rankwright.fitting.folder import Origin

        return Origin(command_text(), data_records(self.files, read, digests))


def _read_costs(costs: Path, train: Queries) -> list[float]:
    from rankwright.cli.select import read_costs

    with reading(costs):
        return list(map(float, read_costs(costs, train)))


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
