"""Where queries live, and how a function of some of them is run over all of them."""

from __future__ import annotations

from typing import Any

from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import StreamedQueries
from rankwright.engines.engine import Engine
from rankwright.engines.local import Local
from rankwright.engines.stream import Stream

__all__ = ["ENGINES", "Engine", "Local", "Part", "Stream", "engine_of"]

# The engine of each kind of queries; a kind made of another one may have its own.
ENGINES: dict[type[Any], type[Any]] = {Queries: Local, StreamedQueries: Stream}


def engine_of(queries: Any) -> Engine:
    """The engine that runs steps over these queries, wherever they are."""
    for kind in type(queries).__mro__:
        if kind in ENGINES:
            engine: Engine = ENGINES[kind](queries)
            return engine
    raise TypeError(f"there is no engine for {type(queries).__name__}")
