"""``rankwright study``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankwright.cli.data import DATA_HELP, DataReader, reads_data
from rankwright.cli.options import argument, check_at_least, flag, option
from rankwright.cli.output import check_output_folder, print_json, print_lines, print_table, writing
from rankwright.cli.progress import progress_bar
from rankwright.errors import ParameterError

_IN_MEMORY = (
    "study trains on many samples of the queries, in memory: leave --memory out, or write a sample of the queries to a "
    "file of their own"
)
_FILES = ("bounds.csv", "bounds.svg")


@reads_data
def study_bounds(
    data: Path | None = argument("[DATA]", f"Judged documents: {DATA_HELP}. By default, synthetic data.", default=None),
    measure: str = option("NAME", "ndcg, ndcg@K or map.", default="ndcg@10"),
    sizes: str | None = option("LIST", "The numbers of training queries to try, such as 100,1000,10000."),
    repeats: int = option("N", "How many random samples of training queries to draw for each size.", default=3),
    delta: float = option("P", "The probability that a bound does not hold.", default=0.05),
    seed: int = option("N", "The random seed.", default=0),
    out: Path | None = option("DIR", "Write bounds.csv and bounds.svg into this folder."),
    as_json: bool = flag("--json", "Print JSON instead of tables."),
    *,
    reader: DataReader,
) -> None:
    """Compare risk bounds with held-out risk as data grow.

    Risk is the expected loss on a new query: 1 - MEASURE. Trains a position-sensitive max-margin ranker on more and
    more queries. Prints its risk on the training queries and on held-out queries, and the bounds computed from the
    training queries alone: our bound (by vector contraction or Gaussian comparison) and those of Riezler and De Bona
    (theorem 4, corollary 1).

    \b
    Examples:
      rankwright study bounds
      rankwright study bounds train.txt --measure ndcg@5 --out study
      rankwright study bounds --sizes 100,1000,10000 --repeats 5
    """
    from rankwright.checks import check_probability
    from rankwright.losses.structured import checked_measure
    from rankwright.theory import study as studies

    check_at_least(1, repeats=repeats)
    check_at_least(0, seed=seed)
    check_probability("delta", delta)
    checked_measure(measure)
    steps = None if sizes is None else _parse_sizes(sizes)
    if out is not None:
        check_output_folder(out, _FILES, *([] if data is None else [data]))
    queries: Any = None if data is None else reader.in_memory(_IN_MEMORY).read(data)
    with progress_bar("training on more and more queries") as progress:
        study = studies.study_bounds(
            queries, measure=measure, sizes=steps, repeats=repeats, delta=delta, seed=seed, progress=progress
        )
    if out is not None:
        from rankwright.reproduce.output import write_texts

        with writing(out):
            out.mkdir(exist_ok=True)
            write_texts(dict(zip(_FILES, (study.to_csv(), study.chart()), strict=True)), out)
    if as_json:
        print_json(study.to_dict())
        return
    print_table(study)
    if out is not None:
        print_lines(f"written to {out}: {', '.join(_FILES)}")


def _parse_sizes(text: str) -> list[int]:
    """The option --sizes.

    >>> _parse_sizes("100, 1000")
    [100, 1000]
    """
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        raise ParameterError(f"--sizes must be whole numbers, as in 100,1000,10000, not {text!r}") from None
    check_at_least(1, sizes=min(sizes))
    return sizes
