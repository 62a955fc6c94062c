"""How :class:`~rankwright.data.queries.Queries` look in a notebook: the first of them, and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwright.html import Block, notebook_html
from rankwright.judgments.supervision import Grades

if TYPE_CHECKING:
    from rankwright.data.queries import Queries

_MOST_QUERIES = 5
_MOST_NAMES = 8


def queries_html(queries: Queries) -> str:
    """Sizes, the first queries with their documents and grades, and the names of the first features."""
    is_graded = isinstance(queries.supervision, Grades)
    header = ["query", "documents", *(["relevant", "highest grade"] if is_graded else [])]
    rows = [_row(query, is_graded) for query in queries[:_MOST_QUERIES]]
    notes = [*(["relevant: grade above 0"] if is_graded else []), *([_features(queries)] if queries.n_features else [])]
    return notebook_html(Block(repr(queries), header, rows, notes=notes, n_rows=queries.n_queries))


def _row(query: Queries, is_graded: bool) -> list[str]:
    sizes = [str(query.query_ids[0]), f"{query.n_documents:,}"]
    return [*sizes, f"{(query.y > 0).sum():,}", f"{query.y.max():g}"] if is_graded else sizes


def _features(queries: Queries) -> str:
    first = ", ".join(map(queries.feature_name, range(min(_MOST_NAMES, queries.n_features))))
    more = queries.n_features - _MOST_NAMES
    return f"features: {first}" + (f" and {more:,} more" if more > 0 else "")
