"""``rankwright evaluate``."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DATA_HELP, DataReader, reads_data_anywhere
from rankwright.cli.engines import check_row_order
from rankwright.cli.options import argument, flag, option
from rankwright.cli.output import (
    check_output,
    print_json,
    print_lines,
    print_table,
    reading,
    working,
    writing,
)
from rankwright.plain import without_nan

if TYPE_CHECKING:
    from rankwright.evaluation.evaluation import Evaluation


@reads_data_anywhere
def evaluate(
    scores: Path = argument("SCORES", "One score per line, in the order of the rows of DATA; plain text or gzip."),
    data: Path = argument("DATA", f"The judged documents: {DATA_HELP}."),
    measures: str = option("LIST", "Measures, separated by commas: ndcg@10,map,err@20,p@5 …", default="ndcg@10,map"),
    convention: str = option(
        "NAME",
        "The tool whose definition to use: default, letor4, mslr, trec_eval, sklearn, lightgbm or xgboost.",
        default="default",
    ),
    per_query: Path | None = option(
        "FILE", "Also write each query's values here: CSV, or JSON lines if FILE ends in .jsonl."
    ),
    as_json: bool = flag("--json", "Print JSON instead of a table."),
    *,
    reader: DataReader,
) -> None:
    """Measure how well scores rank judged documents.

    Prints the mean of each measure over the queries and its 95 % bootstrap interval: the range in which 95 % of the
    means fall when the queries are resampled. --convention chooses whose definition of the measures to use, because
    tools differ in gains, discounts, ties, and queries without a relevant document.

    \b
    Examples:
      rankwright evaluate scores.txt test.txt
      rankwright evaluate scores.txt test.txt --measures ndcg@10,map --convention letor4
      rankwright evaluate scores.txt.gz test.parquet --per-query values.csv --json
    """
    from rankwright.data.scores import scored_parts
    from rankwright.evaluation.evaluation import evaluate_parts
    from rankwright.measures import parse_measures
    from rankwright.measures.conventions import convention_of

    chosen_measures, chosen_convention = parse_measures(measures), convention_of(convention)
    if per_query is not None:
        check_output(per_query, scores, data)
    queries = reader.read_judgments(data)
    check_row_order(queries, data)
    with reading(scores):
        scored = scored_parts(scores, queries)
        evaluation = evaluate_parts(scored, queries.query_ids, chosen_measures, chosen_convention)
    with working("evaluating"):
        result = evaluation.to_dict()
    if per_query is not None:
        with writing(per_query):
            write_per_query(evaluation, per_query)
    if as_json:
        print_json(result)
    else:
        print_table(evaluation)
        print_lines("95 % interval: how much the mean depends on which queries were sampled (bootstrap).")


def write_per_query(evaluation: Evaluation, path: Path) -> None:
    """Write a line per query, whole or not at all; a query that a measure leaves out has no value there."""
    from rankwright.data.paths import atomic_path
    from rankwright.text import spreadsheet_cell

    rows = _rows(evaluation)
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        if path.name.lower().endswith(".jsonl"):
            file.writelines(json.dumps(row, allow_nan=False, default=str) + "\n" for row in rows)
        else:
            table = csv.DictWriter(file, ["qid", *map(str, evaluation.measures)], lineterminator="\n")
            table.writeheader()
            table.writerows({name: spreadsheet_cell(value) for name, value in row.items()} for row in rows)


def _rows(evaluation: Evaluation) -> Iterator[dict[str, Any]]:
    from rankwright.judgments.grouping import plain_values

    columns = [evaluation.values[measure].tolist() for measure in evaluation.measures]
    names = ["qid", *map(str, evaluation.measures)]
    for row in zip(plain_values(evaluation.query_ids), *columns, strict=True):
        yield dict(zip(names, without_nan(row), strict=True))
