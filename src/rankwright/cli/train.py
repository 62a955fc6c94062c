"""``rankwright train``."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DATA_HELP, DataReader, reads_data
from rankwright.cli.options import CONVENTION, FILLING, SCALE, argument, flag, option
from rankwright.cli.output import check_output, print_json, print_table, working, writing
from rankwright.cli.preparing import most_features, prepared
from rankwright.cli.progress import progress_bar
from rankwright.cli.ranker_options import RANKERS, is_linear, ranker_class, ranker_parameters
from rankwright.cli.training_record import command_text, data_records, digests_of

if TYPE_CHECKING:
    from rankwright.cli.training_report import TrainingReport

# Those that tell every step of their solver.
_ITERATIVE = ("ranksvm", "order-preserving", "structured")


@reads_data
def train(
    data: Path = argument("DATA", f"The training data: {DATA_HELP}."),
    out: Path = option("FILE", "Write the model here, as JSON.", default=...),
    ranker: str = option("NAME", f"What to train: {', '.join(RANKERS)}.", default="ranksvm"),
    valid: Path | None = option(
        "FILE", "Choose alpha (rankboost: the rounds) on these queries; by default on held-out training queries."
    ),
    measures: str = option(
        "LIST",
        "Measures, separated by commas. The first one chooses the model, and structured optimises it: ndcg or map.",
        "--measure",
        "--measures",
        default="ndcg@10",
    ),
    alpha: str | None = option(
        "LIST",
        "Values of the regularisation λ to choose from: 1,2,4 or 2^-5..2^5; auto (the default) is the "
        "ranker's own grid. A larger λ gives smaller weights.",
    ),
    convention: str = CONVENTION,
    rule: str | None = option(
        "best|one-standard-error",
        "Choose the best model (the default), or the simplest one within one standard error of the best.",
    ),
    loss: str | None = option(
        "NAME",
        "ranksvm: squared-hinge, hinge, huber-hinge or logistic; "
        "order-preserving: squared-hinge, huber-hinge or squared.",
    ),
    weights: str | None = option("NAME", "ranksvm: unit, per-query or gain-per-query; rankboost: unit or per-query."),
    margin: str | None = option("NAME", "ranksvm: unit or position."),
    standardize: str | None = option("NAME", "order-preserving: ndcg, dcg, wpd or zero-one."),
    cutoff: int | None = option(
        "K", "order-preserving: only the top K ranks count; by default the cutoff of --measure."
    ),
    normalize: bool = flag("--normalize", "order-preserving: divide by the number of pairs in a query."),
    solver: str | None = option(
        "NAME",
        "structured: bundle, cutting-plane, frank-wolfe, subgradient or conjugate-subgradient; "
        "ranksvm, order-preserving: newton or sgd.",
    ),
    bound: str | None = option(
        "convex|tight", "structured: which upper bound of 1 - measure to minimise; convex by default."
    ),
    position_weights: str | None = option(
        "NAME|LIST",
        "structured: linear, inverse-sqrt, discount, learned, or the weights of ranks 1, 2, … as 1,0.5,0.25.",
    ),
    rescale: str | None = option(
        "margin|slack", "structured: use the loss of a ranking as its margin (the default) or as a factor of its slack."
    ),
    early_stopping: bool = flag("--early-stopping", "Stop when the measure on validation queries no longer improves."),
    tol: float | None = option(
        "X",
        "ranksvm, order-preserving, structured: stop when the objective is at most this fraction above its "
        "minimum (structured: also at most this fraction of the possible gain over w = 0).",
    ),
    max_iter: int | None = option("N", "ranksvm, order-preserving, structured: the largest number of solver steps."),
    max_features: int | None = option(
        "K", "greedy-rankrls: the largest number of features; by default 10, or all if fewer."
    ),
    rounds: int | None = option("N", "rankboost: most rounds; default 300."),
    thresholds: int | None = option("N", "rankboost: the largest number of thresholds per feature; by default 255."),
    patience: int | None = option("N", "rankboost: stop after N rounds without improvement on validation queries."),
    scale: str | None = SCALE,
    missing: str | None = FILLING,
    verbose: bool = flag("--verbose", "Print every iteration to standard error even if it is not a terminal."),
    as_json: bool = flag("--json", "Print JSON instead of a table."),
    *,
    reader: DataReader,
) -> None:
    """Train a ranker, and write it to a model file.

    Chooses alpha, the regularisation λ, by the first measure on validation queries or on held-out training queries.
    Then trains on all of DATA and writes the weights and a record of the training to a JSON file, which `rankwright
    predict` uses to score documents. (rankboost chooses the number of rounds instead, and writes decision stumps.)

    Linear rankers are trained on scaled features: each is divided by its spread within queries. Missing values are
    replaced by a mean, and an extra 0/1 feature marks them. The model includes these steps, so give it unscaled
    features. Use --scale none to train on unscaled features.

    \b
    Examples:
      rankwright train train.txt --valid vali.txt --measure ndcg@10,map --out model.json
      rankwright train train.txt --ranker rankrls --alpha 2^-5..2^5 --out model.json
      rankwright train train.parquet --ranker greedy-rankrls --max-features 20 --out model.json
      rankwright train train.txt --ranker structured --measure ndcg@5 --bound tight --out model.json
    """
    from rankwright.cli.training_report import report_of
    from rankwright.models.model_file import save_model
    from rankwright.models.prepared import model_of_features
    from rankwright.selection.search import search

    parameters = ranker_parameters(
        ranker,
        measures,
        convention,
        scale=scale,
        has_valid=valid is not None,
        alpha=alpha,
        rule=rule,
        loss=loss,
        weights=weights,
        margin=margin,
        standardize=standardize,
        cutoff=cutoff,
        normalize=normalize,
        solver=solver,
        bound=bound,
        position_weights=position_weights,
        rescale=rescale,
        early_stopping=early_stopping,
        tol=tol,
        max_iter=max_iter,
        max_features=max_features,
        rounds=rounds,
        thresholds=thresholds,
        patience=patience,
        missing=missing,
    )
    check_output(out, *(path for path in (data, valid) if path is not None))
    files = {"train": data, **({} if valid is None else {"valid": valid})}
    with digests_of(files) as digests:
        read = reader.read_training(files)
    by, trained = prepared(read, scale, missing) if is_linear(ranker) else (None, read)
    queries, held_out = trained["train"], trained.get("valid")
    if ranker == "greedy-rankrls":
        sizes = range(1, most_features(max_features, read["train"], data) + 1)
        parameters |= {"n_features": search(*sizes), "tell": "deciding"}
    learner = ranker_class(ranker)(**parameters)
    on_valid = str(parameters["measures"][0]) if valid else None
    with _watching(ranker, on_valid, has_gap=bound != "tight", verbose=verbose) as watcher, _warning_by_report():
        learner.fit(queries, valid=held_out, **watcher)
    report = report_of(learner, by)
    for problem in report.problems():
        warnings.warn(problem, stacklevel=1)
    training = _record(learner, report, data_records(files, read, digests))
    model = learner if by is None else model_of_features(learner, by, read["train"], read.get("valid"))
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

    if ranker in ("greedy-rankrls", "rankboost"):
        with progress_bar("boosting" if ranker == "rankboost" else "selecting features") as progress:
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
