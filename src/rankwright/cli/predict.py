"""``rankwright predict``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from rankwright.cli.data import DATA_HELP, DataReader, about, for_features_of, read_model, reads_data_anywhere
from rankwright.cli.engines import check_row_order
from rankwright.cli.options import argument, option
from rankwright.cli.output import check_output, print_text, working, writing_into

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.data.streams.streamed import StreamedQueries
    from rankwright.models.model import Model


@reads_data_anywhere
def predict(
    model: Path = argument("MODEL", "A model file, as `rankwright train` writes it."),
    data: Path = argument("DATA", f"The documents: {DATA_HELP}."),
    out: Path | None = option("FILE", "Write the scores here instead of to standard output."),
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
    check_row_order(queries, data)
    ranker = for_features_of(ranker, queries)
    if out is None:
        with tempfile.TemporaryFile("w+", encoding="ascii") as file:  # nothing is printed before all is well
            _score(ranker, queries, data, file)
            file.seek(0)
            print_text(file)
    else:
        with writing_into(out), atomic_path(out) as temporary, temporary.open("w", encoding="ascii") as file:
            _score(ranker, queries, data, file)


def _score(ranker: Model, queries: Queries | StreamedQueries, data: Path, file: TextIO) -> None:
    """Write a line for each document, part by part."""
    from rankwright.data.parts import each_part

    with working("scoring"), about(data):
        for scores in each_part(queries, ranker.predict):
            file.writelines(f"{score!r}\n" for score in scores.tolist())
