"""``rankwright train``."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.options import check_at_least, option_of, parse_alphas
from rankwright.cli.output import check_output, print_json, print_table, reading, without_nan, working, writing
from rankwright.cli.progress import progress_bar
from rankwright.cli.training_data import most_features, read_training_data
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

# The values of --ranker, and the public names of their classes.
RANKERS = {
    "ranksvm": "RankSVM",
    "order-preserving": "OrderPreservingRanker",
    "rankrls": "RankRLS",
    "greedy-rankrls": "GreedyRankRLS",
    "regression": "RegressionRanker",
}

# Options whose parameters have another name.
_PARAMETERS = {"max_features": "n_features"}


def train(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The training data: text, gzipped text or Parquet.")],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Write the model here, as JSON.")],
    ranker: Annotated[str, typer.Option(metavar="NAME", help=f"What to train: {', '.join(RANKERS)}.")] = "ranksvm",
    valid: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Choose alpha on these queries; without them, on held-out training queries."),
    ] = None,
    measures: Annotated[
        str,
        typer.Option("--measure", "--measures", metavar="LIST", help="Separated by commas; the first one decides."),
    ] = "ndcg@10",
    alpha: Annotated[
        str,
        typer.Option(
            metavar="LIST", help="Regularisation to choose from: 1,2,4 or 2^-5..2^5; auto is the ranker's own grid."
        ),
    ] = "auto",
    convention: Annotated[
        str, typer.Option(metavar="NAME", help="Whose rules measures follow, as for `rankwright evaluate`.")
    ] = "default",
    rule: Annotated[
        str,
        typer.Option(
            metavar="best|one-standard-error",
            help="Choose the best model, or the simplest within one standard error of it.",
        ),
    ] = "best",
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="ranksvm: squared-hinge, hinge, huber-hinge or logistic; "
            "order-preserving: squared-hinge, huber-hinge or squared.",
        ),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="NAME", help="ranksvm: unit, per-query or gain-per-query.")
    ] = None,
    margin: Annotated[str | None, typer.Option(metavar="NAME", help="ranksvm: unit or position.")] = None,
    standardize: Annotated[
        str | None, typer.Option(metavar="NAME", help="order-preserving: ndcg, dcg, wpd or zero-one.")
    ] = None,
    cutoff: Annotated[
        int | None, typer.Option(metavar="K", help="order-preserving: only the best K places count.")
    ] = None,
    normalize: Annotated[
        bool, typer.Option("--normalize", help="order-preserving: divide by the number of pairs in a query.")
    ] = False,
    early_stopping: Annotated[
        bool, typer.Option("--early-stopping", help="Stop when validation queries are ranked no better.")
    ] = False,
    tol: Annotated[
        float | None,
        typer.Option(metavar="X", help="ranksvm, order-preserving: the gap to reach, as a part of the objective."),
    ] = None,
    max_iter: Annotated[
        int | None, typer.Option(metavar="N", help="ranksvm, order-preserving: steps of the solver at most.")
    ] = None,
    max_features: Annotated[
        int | None,
        typer.Option(metavar="K", help="greedy-rankrls: features at most; by default 10, or all if there are fewer."),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Tell every iteration on standard error, as on a terminal.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Train a linear ranker, and write it to a model file.

    Chooses alpha by the first measure, trains on all of DATA, and writes the weights and what is known of their
    training as JSON, whole or not at all. `rankwright predict` scores with it.

    \b
    Examples:
      rankwright train train.txt --valid vali.txt --measure ndcg@10,map --out model.json
      rankwright train train.txt --ranker rankrls --alpha 2^-5..2^5 --out model.json
      rankwright train train.parquet --ranker greedy-rankrls --max-features 20 --out model.json
    """
    from rankwright.cli.training_report import TrainingReport
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of
    from rankwright.rankers.model_file import save_model
    from rankwright.selection.search import checked_rule, search

    check_at_least(1, cutoff=cutoff, max_features=max_features, max_iter=max_iter)
    if early_stopping and valid is None:
        raise ParameterError("--early-stopping needs --valid: it stops where validation queries are ranked no better")
    chosen_measures, alphas = parse_measures(measures), parse_alphas(alpha)
    parameters = {
        "alpha": alphas[0] if len(alphas) == 1 else search(*alphas),
        "measures": chosen_measures,
        "convention": convention_of(convention).name,
        "rule": checked_rule(rule),
        **_own_parameters(
            ranker,
            loss=loss,
            weights=weights,
            margin=margin,
            standardize=standardize,
            cutoff=cutoff,
            normalize=normalize or None,
            early_stopping=early_stopping or None,
            tol=tol,
            max_iter=max_iter,
            max_features=max_features,
        ),
    }
    check_output(out, *(path for path in (data, valid) if path is not None))
    queries, held_out = read_training_data(data, valid)
    notes = {"data": _noted(data, queries), "valid": _noted(valid, held_out)}
    if ranker == "greedy-rankrls":
        sizes = range(1, most_features(max_features, queries, data) + 1)
        parameters |= {"n_features": search(*sizes), "tell": "deciding"}
    learner = _ranker_class(ranker)(**parameters)
    with _watching(ranker, str(chosen_measures[0]) if valid else None, verbose=verbose) as watcher:
        learner.fit(queries, valid=held_out, **watcher)
    report = TrainingReport(learner)
    with writing(out):
        save_model(learner, out, training=without_nan({**notes, **report.to_dict()}))
    if as_json:
        print_json({"ranker": RANKERS[ranker], **report.to_dict(), "model": str(out)})
    else:
        print_table(report.table(out))


# What is asked for


def _ranker_class(name: str) -> Any:
    import rankwright

    if name not in RANKERS:
        raise ParameterError(f"--ranker must be one of {', '.join(RANKERS)}, not {name!r}")
    return getattr(rankwright, RANKERS[name])


def _own_parameters(ranker: str, **options: Any) -> dict[str, Any]:
    """The parameters of the ranker that were given; an option that it does not know is refused."""
    given = {name: value for name, value in options.items() if value is not None}
    knows = _parameters_of(ranker)
    for name in given:
        if _PARAMETERS.get(name, name) not in knows:
            others = [other for other in RANKERS if _PARAMETERS.get(name, name) in _parameters_of(other)]
            raise ParameterError(f"{option_of(name)} is for {' and '.join(others)}, not for {ranker}")
    return {_PARAMETERS.get(name, name): value for name, value in given.items()}


def _parameters_of(ranker: str) -> set[str]:
    return set(signature(_ranker_class(ranker)).parameters)


# While it trains


@contextmanager
def _watching(ranker: str, measure: str | None, *, verbose: bool) -> Iterator[dict[str, Any]]:
    """What to give to ``fit`` so that it shows how far it is: iterations line by line, features as a bar."""
    from rankwright.cli.training_report import IterationLines

    if ranker == "greedy-rankrls":
        with progress_bar("selecting features") as progress:
            yield {"progress": progress}
    elif ranker in ("ranksvm", "order-preserving"):
        yield {"progress": IterationLines(measure) if verbose or sys.stderr.isatty() else None}
    else:
        with working("training"):
            yield {}


# What is told


def _noted(path: Path | None, queries: Queries | None) -> dict[str, Any] | None:
    """What the model file remembers of a data file: its name, a hash to know it again by, and what it holds."""
    if path is None or queries is None:
        return None
    digest = None
    if path.is_file():  # a pipe can be read only once
        with reading(path), path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": path.name, "sha256": digest, "queries": queries.n_queries, "documents": queries.n_documents}
