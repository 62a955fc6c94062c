"""Rankwright: learning to rank. Everything public is here; everything else is free to change.

Names are loaded when they are first used, so that importing the package costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankwright._version import __version__

if TYPE_CHECKING:
    from rankwright import datasets
    from rankwright.data.frames import from_frame
    from rankwright.data.parquet import read_parquet, write_parquet
    from rankwright.data.queries import Queries
    from rankwright.data.supervision import FullRanking, Grades, PreferenceGraph
    from rankwright.errors import (
        DataError,
        ParameterError,
        ParseError,
        RankwrightError,
        RankwrightWarning,
    )

_HOME = {
    "datasets": "rankwright.datasets",
    "from_frame": "rankwright.data.frames",
    "read_parquet": "rankwright.data.parquet",
    "write_parquet": "rankwright.data.parquet",
    "Queries": "rankwright.data.queries",
    "FullRanking": "rankwright.data.supervision",
    "Grades": "rankwright.data.supervision",
    "PreferenceGraph": "rankwright.data.supervision",
    "DataError": "rankwright.errors",
    "ParameterError": "rankwright.errors",
    "ParseError": "rankwright.errors",
    "RankwrightError": "rankwright.errors",
    "RankwrightWarning": "rankwright.errors",
}

__all__ = [
    "DataError",
    "FullRanking",
    "Grades",
    "ParameterError",
    "ParseError",
    "PreferenceGraph",
    "Queries",
    "RankwrightError",
    "RankwrightWarning",
    "__version__",
    "datasets",
    "from_frame",
    "read_parquet",
    "write_parquet",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'rankwright' has no attribute {name!r}")
    module = import_module(home)
    value = module if home == f"rankwright.{name}" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
