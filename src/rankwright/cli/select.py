"""``rankwright select``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankwright.cli.costs import read_costs
from rankwright.cli.data import DATA_HELP, DataReader, reads_data_anywhere
from rankwright.cli.options import (
    CONVENTION,
    FILLING,
    SCALE,
    SCALES,
    argument,
    check_at_least,
    check_one_of,
    flag,
    option,
    parse_alphas,
)
from rankwright.cli.output import check_output, print_json, print_table, writing
from rankwright.cli.preparing import most_features, prepared
from rankwright.cli.progress import progress_bar
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.measures import Measure


@reads_data_anywhere
def select(
    data: Path = argument("DATA", f"The training data: {DATA_HELP}."),
    valid: Path | None = option(
        "FILE", "Measure on these queries; by default by leave-query-out on the training data."
    ),
    max_features: int | None = option(
        "K", "The largest number of features to select; by default 10, or all if there are fewer."
    ),
    alpha: str = option(
        "LIST", "Values of the regularisation λ to choose from, such as 1,2,4; auto is 2^0..2^10.", default="auto"
    ),
    measures: str = option("LIST", "Measures, separated by commas; the first one chooses.", default="ndcg@10,map"),
    convention: str = CONVENTION,
    rule: str = option(
        "best|one-standard-error",
        "Choose the best step, or the one with the fewest features whose difference from the best is within one "
        "standard error.",
        default="best",
    ),
    costs: Path | None = option(
        "FILE", "CSV file with the columns feature (number or name) and cost, a row per feature."
    ),
    floating: bool = flag("--floating", "Drop selected features again if that helps."),
    criterion: str = option(
        "squared-error|MEASURE", "What each step improves, by leave-query-out.", default="squared-error"
    ),
    candidates: int | None = option("N", "Consider only N random features in each step."),
    scale: str | None = SCALE,
    missing: str | None = FILLING,
    seed: int | None = option("N", "The random seed, for repeatable results."),
    out: Path | None = option("FILE", "Write all steps for every alpha here: CSV or JSON, by the extension of FILE."),
    as_json: bool = flag("--json", "Print JSON instead of tables."),
    *,
    reader: DataReader,
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
    read = reader.read_training({"train": data, **({} if valid is None else {"valid": valid})})
    by, trained = prepared(read, scale, missing)
    train, held_out = trained["train"], trained.get("valid")
    feature_costs = None
    if costs is not None:
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
