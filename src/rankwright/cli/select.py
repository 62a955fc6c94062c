"""``rankwright select``."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rankwright.cli.options import (
    DATA_HELP,
    SCALES,
    DataOptions,
    Missing,
    Scale,
    check_at_least,
    check_one_of,
    parse_alphas,
    reads_data,
)
from rankwright.cli.output import check_output, print_json, print_table, reading, writing
from rankwright.cli.progress import progress_bar
from rankwright.cli.training_data import most_features, prepared, read_training_data
from rankwright.errors import DataError, ParameterError, ParseError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.measures import Measure

_MOST_DIGITS = 10  # of a feature's number


@reads_data
def select(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"The training data: {DATA_HELP}.")],
    valid: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Measure on these queries; by default by leave-query-out on the training data."
        ),
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="The largest number of features to select; by default 10, or all if there are fewer."
        ),
    ] = None,
    alpha: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Values of the regularisation λ to choose from, such as 1,2,4; auto is 2^0..2^10."
        ),
    ] = "auto",
    measures: Annotated[
        str, typer.Option(metavar="LIST", help="Measures, separated by commas; the first one chooses.")
    ] = "ndcg@10,map",
    convention: Annotated[
        str,
        typer.Option(metavar="NAME", help="The tool whose definition of measures to use, as in `rankwright evaluate`."),
    ] = "default",
    rule: Annotated[
        str,
        typer.Option(
            metavar="best|one-standard-error",
            help="Choose the best step, or the step with the fewest features within one standard error of the best.",
        ),
    ] = "best",
    costs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="CSV file with the columns feature (number or name) and cost, a row per feature."
        ),
    ] = None,
    floating: Annotated[bool, typer.Option("--floating", help="Drop selected features again if that helps.")] = False,
    criterion: Annotated[
        str,
        typer.Option(metavar="squared-error|MEASURE", help="What each step improves, by leave-query-out."),
    ] = "squared-error",
    candidates: Annotated[
        int | None, typer.Option(metavar="N", help="Consider only N random features in each step.")
    ] = None,
    scale: Scale = None,
    missing: Missing = None,
    seed: Annotated[int | None, typer.Option(metavar="N", help="The random seed, for repeatable results.")] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write all steps for every alpha here: CSV or JSON, by the extension of FILE."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    *,
    columns: DataOptions,
) -> None:
    """Select the features that matter, one by one (greedy RankRLS).

    Each step adds the feature that helps most by leave-query-out: every query is ranked by a model trained on all
    other queries. Prints the steps for the best alpha (the regularisation λ) with the chosen step marked, its
    weights, and the Pareto front: the best result for each number of features. Features are counted from 1, as in
    LETOR files.

    Features are scaled: each is divided by its spread within queries. Missing values are replaced by a mean, and an
    extra 0/1 feature marks them. The weights printed are for unscaled features.

    \b
    Examples:
      rankwright select train.txt --valid vali.txt --max-features 20
      rankwright select train.txt --measures map --convention letor4 --alpha 2^0..2^10
      rankwright select train.parquet --rule one-standard-error --costs costs.csv --out path.csv
    """
    import numpy as np

    from rankwright.cli.selection_report import SelectionReport
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of
    from rankwright.preparation.missing import MISSING
    from rankwright.rankers.greedy_rankrls import GreedyRankRLS
    from rankwright.selection.search import checked_rule, search

    chosen_measures, chosen_convention = parse_measures(measures), convention_of(convention)
    alphas, chosen_criterion, chosen_rule = parse_alphas(alpha), _criterion(criterion), checked_rule(rule)
    check_at_least(1, max_features=max_features)
    check_at_least(0, seed=seed)
    check_one_of(SCALES, scale=scale)
    check_one_of(MISSING, missing=missing)
    if out is not None:
        _check_path_name(out)
        check_output(out, *(path for path in (data, valid, costs) if path is not None))
    read = read_training_data({"train": data, **({} if valid is None else {"valid": valid})}, columns)
    by, trained = prepared(read, scale, missing)
    train, held_out = trained["train"], trained.get("valid")
    feature_costs = None
    if costs is not None:
        with reading(costs):
            feature_costs = by.of_columns(np.array(read_costs(costs, read["train"])))
    most = most_features(max_features, read["train"], data)
    ranker = GreedyRankRLS(
        alpha=search(*alphas),
        n_features=search(*range(1, most + 1)),
        measures=chosen_measures,
        convention=chosen_convention,
        rule=chosen_rule,
        criterion=chosen_criterion,
        floating=floating,
        candidates=candidates,
        feature_costs=feature_costs,
        random_state=seed,
    )
    with progress_bar("selecting features") as progress:
        ranker.fit(train, valid=held_out, progress=progress)
    report = SelectionReport(ranker, train, by, on_valid=held_out is not None, with_costs=costs is not None)
    if out is not None:
        with writing(out):
            report.write_paths(out)
    if as_json:
        print_json(report.to_dict())
    else:
        print_table(report)


# What is asked for


def _criterion(text: str) -> Measure | Literal["squared-error"]:
    from rankwright.measures import parse_measures

    if text == "squared-error":
        return "squared-error"
    measures = parse_measures(text)
    if len(measures) > 1:
        raise ParameterError(f"--criterion must be squared-error or a single measure, not {len(measures)} measures")
    return measures[0]


def _check_path_name(path: Path) -> None:
    if path.suffix.lower() not in (".csv", ".json"):
        raise ParameterError(f"--out: {path} must end in .csv or .json")


# What is read


def read_costs(path: Path, queries: Queries) -> list[float]:
    """The cost of every feature from a CSV file with the columns feature (a number from 1, or a name) and cost."""
    names = {name: column for column, name in enumerate(queries.feature_names)}
    costs: dict[int, float] = {}
    for line, feature, cost in _cost_lines(path):
        column = names.get(feature, _number_of(feature) - 1)
        if not 0 <= column < queries.n_features:
            raise ParseError(path, f"the data have no feature {feature!r}", line=line)
        if column in costs:
            raise ParseError(path, f"feature {feature!r} is listed twice", line=line)
        costs[column] = _cost(cost, path, line)
    missing = next((column for column in range(queries.n_features) if column not in costs), None)
    if missing is not None:
        raise DataError(f"{path}: there is no cost for feature {missing + 1}")
    return [costs[column] for column in range(queries.n_features)]


def _cost_lines(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, feature and cost, as they stand in the file."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file, restval="")
            if not {"feature", "cost"} <= set(table.fieldnames or ()):
                raise ParseError(path, "the first line must name the columns feature and cost", line=1)
            for row in table:
                if None in row:
                    raise ParseError(path, "the line has more fields than the first one", line=table.line_num)
                yield table.line_num, row["feature"].strip(), row["cost"].strip()
    except (UnicodeDecodeError, csv.Error) as error:
        raise ParseError(path, f"this is not a CSV file: {error}") from None


def _number_of(feature: str) -> int:
    """A feature's number; 0, which no feature has, if it is none."""
    return int(feature) if feature.isdecimal() and len(feature) <= _MOST_DIGITS else 0


def _cost(text: str, path: Path, line: int) -> float:
    try:
        cost = float(text)
    except ValueError:
        cost = math.nan
    if not 0 < cost < math.inf:
        raise ParseError(path, f"a cost must be a number above 0, not {text!r}", line=line)
    return cost
