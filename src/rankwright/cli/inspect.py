"""``rankwright inspect``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwright.cli.options import DATA_HELP, DataOptions, reads_data
from rankwright.cli.output import missing_value, print_json, print_table, working


@reads_data
def inspect(
    data: Annotated[Path, typer.Argument(metavar="DATA", help=f"The data file: {DATA_HELP}.")],
    missing: Annotated[
        str,
        typer.Option(metavar="zero|nan", help="What features become that a line does not mention; NULL is NaN."),
    ] = "zero",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    *,
    columns: DataOptions,
) -> None:
    """Look a data file over and tell what looks wrong.

    Tells its sizes and grades; queries that teach nothing; repeated and contradictory documents; where values
    are missing, and whether that is linked to the grade; features that are constant, infinite or the same as
    another; and features that leak the label, number the documents or have extreme outliers.

    \b
    Examples:
      rankwright inspect train.txt
      rankwright inspect train.parquet --json > train.json
      rankwright inspect sparse.txt --missing nan
    """
    queries = columns.read(data, missing=missing_value(missing))
    with working("inspecting"):
        from rankwright.data.inspection import inspect as inspect_queries

        found = inspect_queries(queries)
    if as_json:
        print_json({"data": str(data), **found.to_dict()})
    else:
        print_table(found)
