"""Where queries live, and how a function of some of them is run over all of them."""

from __future__ import annotations

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import AnyQueries
from rankwright.engines.engine import Engine
from rankwright.engines.local import Local
from rankwright.engines.stream import Stream


def engine_of(queries: AnyQueries) -> Engine:
    """The engine that runs steps over these queries, wherever they are."""
    return Local(queries) if isinstance(queries, Queries) else Stream(queries)
