"""``rankwright predict``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwright.cli.options import DocumentColumn, LabelColumn, QueryColumn
from rankwright.cli.output import check_output, print_lines, reading, working, writing
from rankwright.errors import DataError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.rankers.linear_model import LinearModel
    from rankwright.rankers.stump_model import StumpModel


def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `rankwright train` writes it.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="The documents: text, gzipped text or Parquet.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the scores here instead of to standard output.")
    ] = None,
    label: LabelColumn = None,
    qid: QueryColumn = None,
    doc: DocumentColumn = None,
) -> None:
    """Score documents with a model that was trained before.

    Prints one score per line, in the order of DATA: the higher, the better its place in its query. Every score
    has the fewest digits that read back as the same number. Features are picked by name where both the model
    and DATA name them, and else by their number; features that text does not show are 0.

    \b
    Examples:
      rankwright predict model.json test.txt --out scores.txt
      rankwright evaluate scores.txt test.txt
    """
    from rankwright.data.files import read_queries
    from rankwright.data.paths import atomic_path
    from rankwright.rankers.model_file import load_model

    if out is not None:
        check_output(out, model, data)
    with reading(model):
        ranker = load_model(model)
    with reading(data):
        queries = read_queries(data, label=label, qid=qid, doc=doc)
    with working("scoring"):
        try:
            scores = for_features_of(ranker, queries).predict(queries)
        except DataError as error:
            raise DataError(f"{data}: {error}") from None
    lines = "\n".join(map(repr, scores.tolist()))
    if out is None:
        print_lines(lines)
    else:
        with writing(out), atomic_path(out) as temporary:
            temporary.write_text(f"{lines}\n", encoding="ascii")


def for_features_of(model: LinearModel | StumpModel, queries: Queries) -> LinearModel | StumpModel:
    """The model without the features that the queries lack: text does not tell of those that are 0 in all its lines."""
    if queries.n_features >= model.n_features_in_ or queries.has_feature_names:
        return model
    return model.cut_to(queries.n_features)
