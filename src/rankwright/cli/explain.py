"""``rankwright explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankwright.cli.model_data import for_features_of, read_for_models
from rankwright.cli.options import DATA_HELP, DataOptions, check_at_least, reads_data
from rankwright.cli.output import print_json, print_table, reading, working
from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.explanation.explanation import Explanation


@reads_data
def explain(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model file, as `rankwright train` writes it.")],
    data: Annotated[
        Path,
        typer.Argument(metavar="DATA", help=f"The query and others beside it: {DATA_HELP}."),
    ],
    query: Annotated[str, typer.Option(metavar="ID", help="The query to explain.")],
    document: Annotated[
        str | None,
        typer.Option(
            metavar="D", help="One document of it: its id or its rank; or rank:3, or row:17 for a row of DATA, from 0."
        ),
    ] = None,
    to_rank: Annotated[
        int | None, typer.Option(metavar="R", help="Where the document is to rise to; by default one place up.")
    ] = None,
    top: Annotated[int, typer.Option(metavar="N", help="Documents, or features, that a table shows.")] = 10,
    measure: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="What a rise is worth: ndcg@10, map, err@20 … By default ndcg@10."),
    ] = None,
    convention: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Whose rules to measure by: default, letor4, mslr, trec_eval, sklearn, lightgbm or xgboost.",
        ),
    ] = "default",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables: all of it.")] = False,
    *,
    columns: DataOptions,
) -> None:
    """Tell why documents rank as they do, and what would lift them.

    Prints the documents by score with the features that move each away from the mean of the query, the
    cheapest change of one feature that would put each one place higher and what the measure would gain by
    that, and the features that pull good documents down. With --document, all about one of them: what it
    lacks, why another is above it, which change of a single feature would do, and the smallest change of
    several. Features are picked as `rankwright predict` does.

    \b
    Examples:
      rankwright explain model.json test.txt --query 17
      rankwright explain model.json test.txt --query 17 --document GX08-31-2 --to-rank 1
      rankwright explain model.json test.parquet --query "red shoes" --document 4 --measure map --json
    """
    from rankwright.explanation.explanation import explain as explain_query
    from rankwright.rankers.model_file import load_model

    check_at_least(1, top=top, to_rank=to_rank)
    if to_rank is not None and document is None:
        raise ParameterError("--to-rank needs --document: which one is to rise?")
    with reading(model):
        ranker = load_model(model)
    queries = read_for_models(data, columns, ranker)
    with working("explaining"):
        try:
            ranker = for_features_of(ranker, queries)
            explanation = explain_query(
                ranker, queries, _query_id(queries, query), measure=measure, convention=convention
            )
        except DataError as error:
            raise DataError(f"{data}: {error}") from None
    if document is None:
        _print_query(explanation, top, as_json)
    else:
        _print_document(explanation, document, to_rank, top, as_json)


def _query_id(queries: Queries, text: str) -> Any:
    """The id that is written so, or the text itself if there is none."""
    from rankwright.data.grouping import plain_values

    return next((known for known in plain_values(queries.query_ids) if str(known) == text), text)


def _print_query(explanation: Explanation, top: int, as_json: bool) -> None:
    from rankwright.explanation.tables import explanation_sections, rich

    if as_json:
        print_json(explanation.to_dict())
    else:
        print_table(rich(explanation_sections(explanation, top)))


def _print_document(explanation: Explanation, document: str, to_rank: int | None, top: int, as_json: bool) -> None:
    """All about one document; the first of a query has no place to rise to."""
    from rankwright.explanation.explanation import json_id
    from rankwright.explanation.tables import rich, rise_sections, why_sections

    why = explanation.why(document)
    rise = None if why.document.rank == 1 and to_rank is None else explanation.rise(why.document.rank, to_rank)
    if as_json:
        told = None if rise is None else rise.to_dict()
        print_json({"query": json_id(explanation.query_id), **why.to_dict(), "rise": told})
    else:
        print_table(rich([*why_sections(why, top), *([] if rise is None else rise_sections(rise, top))]))
