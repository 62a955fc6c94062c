"""``rankwright inspect``."""

from __future__ import annotations

from pathlib import Path

from rankwright.cli.data import DATA_HELP, DataReader, reads_data
from rankwright.cli.options import ABSENT, argument, flag
from rankwright.cli.output import print_json, print_table, working


@reads_data
def inspect(
    data: Path = argument("DATA", f"The data file: {DATA_HELP}."),
    missing: str = ABSENT,
    as_json: bool = flag("--json", "Print JSON instead of tables."),
    *,
    reader: DataReader,
) -> None:
    """Summarise a data file and report what looks wrong in it.

    Prints the number of queries, documents and features, and how many documents have each grade. Reports queries
    from which nothing can be learned, repeated and contradictory documents, missing values and whether they are
    linked to the grade, and suspicious features: constant, infinite or duplicate ones, and those that leak the
    label, number the documents or have extreme outliers.

    \b
    Examples:
      rankwright inspect train.txt
      rankwright inspect train.parquet --json > train.json
      rankwright inspect sparse.txt --missing nan
    """
    queries = reader.read(data, missing=missing)
    with working("inspecting"):
        from rankwright.data.inspection import inspect as inspect_queries

        found = inspect_queries(queries)
    if as_json:
        print_json({"data": str(data), **found.to_dict()})
    else:
        print_table(found)
