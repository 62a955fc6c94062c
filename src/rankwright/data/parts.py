"""Queries part by part, whether they are in memory or read from files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rankwright.data.queries import Queries

if TYPE_CHECKING:
    from rankwright.data.streams.streamed import StreamedQueries


def parts_of(queries: Queries | StreamedQueries) -> Iterable[Queries]:
    """Some whole queries at a time, in their order: queries in memory are one part."""
    return (queries,) if isinstance(queries, Queries) else queries.parts()
