"""``rankwright train``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DATA_HELP, DataReader, reads_data_anywhere
from rankwright.cli.options import CONVENTION, SCALE, argument, flag, option, takes
from rankwright.cli.output import check_output, print_json, print_table, working, writing
from rankwright.cli.preparing import most_features, prepared, scaled
from rankwright.cli.progress import progress_bar
from rankwright.cli.ranker_options import (
    RANKERS,
    has_kernel,
    is_linear,
    ranker_class,
    ranker_options,
    ranker_parameters,
)
from rankwright.cli.training_record import command_text, data_records, digests_of

if TYPE_CHECKING:
    from rankwright.cli.training_report import TrainingReport

# What is said of those that tell how far they are.
_COUNTED = {
    "greedy-rankrls": "selecting features",
    "rankboost": "boosting",
    "boosted": "boosting",
    "basis": "selecting terms",
    "kernel-map": "training",
    "neural": "training",
}
# Those that tell every step of their solver.
_ITERATIVE = ("ranksvm", "order-preserving", "structured", "kernel-structured")

_MOST_TERMS = 10


@reads_data_anywhere
@takes("options", of=ranker_options)
def train(
    *,
    data: Path = argument("DATA", f"The training data: {DATA_HELP}."),
    out: Path = option("FILE", "Write the model here, as JSON.", default=...),
    ranker: str = option("NAME", f"What to train: {', '.join(RANKERS)}.", default="ranksvm"),
    valid: Path | None = option(
        "FILE",
        "Choose alpha (rankboost: the rounds, boosted: the trees, neural: the epoch) on these queries; by default on "
        "held-out training queries.",
    ),
    measures: str = option(
        "LIST",
        "Measures, separated by commas. The first one chooses the model, and structured optimises it: ndcg or map.",
        "--measure",
        "--measures",
        default="ndcg@10",
    ),
    convention: str = CONVENTION,
    options: dict[str, Any],
    scale: str | None = SCALE,
    verbose: bool = flag("--verbose", "Print every iteration to standard error even if it is not a terminal."),
    as_json: bool = flag("--json", "Print JSON instead of a table."),
    reader: DataReader,
) -> None:
    """Train a ranker, and write it to a model file.

    Chooses alpha, the regularisation λ, by the first measure on validation queries or on held-out training queries.
    Then trains on all of DATA and writes the weights and a record of the training to a JSON file, which `rankwright
    predict` uses to score documents. (rankboost and boosted choose the number of rounds instead, and write decision
    stumps and trees; neural chooses the epoch, and writes the layers of a network. boosted needs LightGBM or XGBoost,
    and neural PyTorch, for training only.)

    Linear rankers are trained on scaled features: each is divided by its spread within queries. Missing values are
    replaced by a mean, and an extra 0/1 feature marks them. The model includes these steps, so give it unscaled
    features. Use --scale none to train on unscaled features. Rankers with a kernel are for a few thousand documents:
    their features are scaled as well, but must not be missing.

    \b
    Examples:
      rankwright train train.txt --valid vali.txt --measure ndcg@10,map --out model.json
      rankwright train train.txt --ranker rankrls --alpha 2^-5..2^5 --out model.json
      rankwright train train.parquet --ranker greedy-rankrls --max-features 20 --out model.json
      rankwright train train.txt --ranker basis --terms 10 --out model.json
      rankwright train train.txt --ranker structured --measure ndcg@5 --bound tight --out model.json
      rankwright train train.txt --ranker kernel-map --components 1500 --out model.json
      rankwright train train.txt --valid vali.txt --ranker boosted --patience 50 --out model.json
    """
    from rankwright.cli.training_reports import report_of
    from rankwright.measures import parse_measures
    from rankwright.models.model_file import save_model
    from rankwright.models.prepared import model_of_features
    from rankwright.selection.search import search

    parameters = ranker_parameters(ranker, measures, convention, options, scale=scale, has_valid=valid is not None)
    check_output(out, *(path for path in (data, valid) if path is not None))
    files = {"train": data, **({} if valid is None else {"valid": valid})}
    with digests_of(files) as digests:
        read = reader.read_training(files)
    by, trained = prepared(read, scale, options["missing"]) if is_linear(ranker) else (None, read)
    scaling, trained = scaled(read, scale, ranker) if has_kernel(ranker) else (None, trained)
    queries, held_out = trained["train"], trained.get("valid")
    if ranker == "greedy-rankrls":
        sizes = range(1, most_features(options["max_features"], read["train"], data) + 1)
        parameters |= {"n_features": search(*sizes), "tell": "deciding"}
    if ranker == "basis":
        parameters["n_terms"] = search(*range(1, parameters.get("n_terms", _MOST_TERMS) + 1))
    learner = ranker_class(ranker)(**parameters)
    on_valid = str(parse_measures(measures)[0]) if valid else None
    watching = _watching(ranker, on_valid, has_gap=options["bound"] != "tight", verbose=verbose)
    with watching as watcher, _warning_by_report():
        learner.fit(queries, valid=held_out, **watcher)
    report = report_of(learner, by)
    for problem in report.problems():
        warnings.warn(problem, stacklevel=1)
    training = _record(learner, report, data_records(files, read, digests))
    model = learner if by is None else model_of_features(learner, by, read["train"], read.get("valid"))
    if scaling is not None:
        model = learner.model().scaled_by(scaling)
    with writing(out):
        save_model(model, out, training=training)
    if as_json:
        print_json({"ranker": RANKERS[ranker], **report.to_dict(), "model": str(out)})
    else:
        print_table(report.table(out))


# While it trains


@contextmanager
def _watching(ranker: str, measure: str | None, *, has_gap: bool, verbose: bool) -> Iterator[dict[str, Any]]:
    """What to give to ``fit`` so that it shows how far it is: iterations line by line, features and rounds as a bar."""
    from rankwright.cli.training_report import IterationLines

    if ranker in _COUNTED:
        with progress_bar(_COUNTED[ranker]) as progress:
            yield {"progress": progress}
    elif ranker in _ITERATIVE:
        tell = IterationLines(measure, has_gap=has_gap)
        yield {"progress": tell if verbose or sys.stderr.isatty() else None}
    else:
        with working("training"):
            yield {}


@contextmanager
def _warning_by_report() -> Iterator[None]:
    """Silence the library where the report has the same to say in terms of options, not of parameters."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*no weights have a lower convex bound")
        yield


# What is told


def _record(learner: Any, report: TrainingReport, data: list[dict[str, Any]]) -> dict[str, Any]:
    """What the model file says of its training."""
    from rankwright.models.training_record import training_record

    figures = report.to_dict()
    judged_on, measures = figures.pop("judged_on"), figures.pop("measures")
    return training_record(
        command=command_text(),
        data=data,
        convention=learner.convention,
        rule=getattr(learner, "rule", None),
        judged_on=judged_on,
        measures=measures,
        figures=figures,
        certificate=None,
    )
