"""Where queries live, and how a function of some of them is run over all of them."""

from __future__ import annotations

from typing import Any

from rankwright.engines.engine import Engine
from rankwright.engines.local import Local


def engine_of(queries: Any) -> Engine:
    """The engine that runs steps over these queries, wherever they are."""
    return Local(queries)
