"""``rankwright convert``."""

from __future__ import annotations

from pathlib import Path

from rankwright.cli.data import DATA_HELP, DataReader, reads_data
from rankwright.cli.options import ABSENT, argument, option
from rankwright.cli.output import check_output, tell, writing


@reads_data
def convert(
    source: Path = argument("IN", f"The data file to read: {DATA_HELP}."),
    target: Path = argument("OUT", "The data file to write; its extension sets the format."),
    dtype: str = option(
        "TYPE", "The number type for text input: float64 is exact, float32 takes half the memory.", default="float64"
    ),
    missing: str = ABSENT,
    *,
    reader: DataReader,
) -> None:
    """Convert a data file to LETOR / SVMlight text or to Parquet.

    The format of IN is recognised by its content. OUT is written as text if it ends in .txt, .svm, .svmlight,
    .libsvm, .letor or .dat (compressed if .gz follows), and as Parquet if it ends in .parquet or .pq. An existing
    file is replaced, but only once the new one is complete. Document ids in comments are kept; other comments are
    dropped.

    \b
    Examples:
      rankwright convert train.txt train.parquet
      rankwright convert train.parquet train.txt.gz
    """
    from rankwright.data.files import check_data_name, write_queries

    check_data_name(target)
    check_output(target, source)
    queries = reader.read(source, dtype=dtype, missing=missing)
    with writing(target):
        write_queries(queries, target)
    tell(
        f"wrote {target}: {queries.n_queries:,} queries, {queries.n_documents:,} documents, "
        f"{queries.n_features:,} features"
    )
