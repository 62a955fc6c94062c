"""Queries part by part, whether they are in memory or read from files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from rankwright.data.queries import Queries
from rankwright.judgments.judgments import Judgments

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries

R = TypeVar("R")


def parts_of(queries: Queries | StreamedQueries) -> Iterable[Queries]:
    """Some whole queries at a time, in their order: queries in memory are one part."""
    return (queries,) if isinstance(queries, Queries) else queries.parts()


def each_part(queries: Queries | StreamedQueries, function: Callable[..., R], *sent: Any) -> Iterable[R]:
    """What ``function(part, *sent)`` makes of each part, in their order, and wherever the part is."""
    return (function(queries, *sent),) if isinstance(queries, Queries) else queries.each(function, *sent)


def judgments_of(queries: Queries) -> Judgments:
    """All but the features of a part."""
    return queries.judgments
