"""``rankwright convert``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwright.cli.options import DATA_HELP, DataOptions, reads_data
from rankwright.cli.output import check_output, missing_value, number_type, tell, writing


@reads_data
def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help=f"The data file to read: {DATA_HELP}.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="The data file to write; its ending tells the format.")],
    dtype: Annotated[
        str,
        typer.Option(metavar="TYPE", help="Numbers of text: float64 is exact, float32 takes half the room."),
    ] = "float64",
    missing: Annotated[
        str,
        typer.Option(metavar="zero|nan", help="What features become that a line does not mention; NULL is NaN."),
    ] = "zero",
    *,
    columns: DataOptions,
) -> None:
    """Convert LETOR / SVMlight text to Parquet, and back.

    What IN is shows in its content. OUT is text if it ends in .txt, .svm, .svmlight, .libsvm, .letor or
    .dat (with .gz: compressed), and Parquet if it ends in .parquet or .pq. OUT is written whole or not at
    all, and takes the place of an older file of that name. Of comments in text, document ids are kept.

    \b
    Examples:
      rankwright convert train.txt train.parquet
      rankwright convert train.parquet train.txt.gz
    """
    from rankwright.data.files import check_data_name, write_queries

    check_data_name(target)
    check_output(target, source)
    queries = columns.read(source, dtype=number_type(dtype), missing=missing_value(missing))
    with writing(target):
        write_queries(queries, target)
    tell(
        f"wrote {target}: {queries.n_queries:,} queries, {queries.n_documents:,} documents, "
        f"{queries.n_features:,} features"
    )
