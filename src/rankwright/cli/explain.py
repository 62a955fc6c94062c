"""``rankwright explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.cli.data import DATA_HELP, DataReader, about, for_features_of, read_model, reads_data
from rankwright.cli.options import CONVENTION, argument, check_at_least, flag, option
from rankwright.cli.output import print_json, print_table, working
from rankwright.errors import ParameterError

if TYPE_CHECKING:
    from rankwright.data.queries import Queries
    from rankwright.explanation.explanation import Explanation


_IN_MEMORY = (
    "explain compares the query with all others at once, in memory: leave --memory out, or write the query and a few "
    "hundred others to a file of their own"
)


@reads_data
def explain(
    model: Path = argument("MODEL", "A model file, as `rankwright train` writes it."),
    data: Path = argument("DATA", f"A file with the query; its other queries show the usual values: {DATA_HELP}."),
    query: str = option("ID", "The query to explain.", default=...),
    document: str | None = option(
        "D", "The document to explain: its id or its rank; or rank:3; or row:17 for a row of DATA, counted from 0."
    ),
    to_rank: int | None = option("R", "The rank that the document should reach; by default one place up."),
    top: int = option("N", "The number of documents or features that a table shows.", default=10),
    measure: str | None = option("NAME", "The measure of the ranking: ndcg@10 (the default), map, err@20 …"),
    convention: str = CONVENTION,
    as_json: bool = flag("--json", "Print everything as JSON instead of tables."),
    *,
    reader: DataReader,
) -> None:
    """Explain why documents rank where they do.

    Prints the documents of a query by score, with the features that move each score away from the query's mean; for
    each document, the smallest change of a single feature that moves it up one place, and how much the measure
    would gain; and the features that lower the scores of good documents. With --document, explains one document:
    why the next one ranks above it, which changes of a single feature would move it up, and the smallest change of
    several features together. Features are matched as by `rankwright predict`.

    \b
    Examples:
      rankwright explain model.json test.txt --query 17
      rankwright explain model.json test.txt --query 17 --document GX08-31-2 --to-rank 1
      rankwright explain model.json test.parquet --query "red shoes" --document 4 --measure map --json
    """
    from rankwright.explanation.explanation import explain as explain_query

    check_at_least(1, top=top, to_rank=to_rank)
    if to_rank is not None and document is None:
        raise ParameterError("--to-rank needs --document: add the document that should reach this rank")
    ranker = read_model(model)
    queries = reader.in_memory(_IN_MEMORY).read_for_models(data, ranker)
    with working("explaining"), about(data):
        ranker = for_features_of(ranker, queries)
        explanation = explain_query(ranker, queries, _query_id(queries, query), measure=measure, convention=convention)
    if document is None:
        _print_query(explanation, top, as_json)
    else:
        _print_document(explanation, document, to_rank, top, as_json)


def _query_id(queries: Queries, text: str) -> Any:
    """The id that is written so, or the text itself if there is none."""
    from rankwright.judgments.grouping import plain_values

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
