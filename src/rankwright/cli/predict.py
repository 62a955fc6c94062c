"""``rankwright predict``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwright.cli.data import DATA_HELP, DataReader, about, for_features_of, read_model, reads_data
from rankwright.cli.output import check_output, print_lines, working, writing


@reads_data
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `rankwright train` writes it.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"The documents: {DATA_HELP}.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the scores here instead of to standard output.")
    ] = None,
    *,
    reader: DataReader,
) -> None:
    """Score documents with a trained model.

    Prints one score per line, in the order of the rows of DATA. The document with the highest score of a query ranks
    first. Scores are printed in full precision. Features are matched by name if both the model and DATA have names,
    and otherwise by number; features that a line of text leaves out are 0. DATA needs no grades.

    \b
    Examples:
      rankwright predict model.json test.txt --out scores.txt
      rankwright evaluate scores.txt test.txt
    """
    from rankwright.data.paths import atomic_path

    if out is not None:
        check_output(out, model, data)
    ranker = read_model(model)
    queries = reader.read_for_models(data, ranker, judged=False)
    with working("scoring"), about(data):
        scores = for_features_of(ranker, queries).predict(queries)
    lines = "\n".join(map(repr, scores.tolist()))
    if out is None:
        print_lines(lines)
    else:
        with writing(out), atomic_path(out) as temporary:
            temporary.write_text(f"{lines}\n", encoding="ascii")
