"""The option --engine: where data are held and worked on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankwright.errors import DataError, ParameterError

if TYPE_CHECKING:
    from rankwright.cli.memory import MemoryLimit
    from rankwright.clusters.loading import Reading
    from rankwright.clusters.queries import ClusterQueries


ENGINES = "local|dask|dask=ADDRESS|spark|spark=MASTER"


@dataclass(frozen=True)
class ChosenEngine:
    """A cluster: the name of its engine, and its address if one was given."""

    name: str
    address: str | None

    @classmethod
    def of(cls, text: str) -> ChosenEngine | None:
        """Of what was typed; None for this process."""
        name, mark, address = text.partition("=")
        if text == "local":
            return None
        if name not in _LOADERS or (mark and not address):
            raise ParameterError(f"--engine must be one of {ENGINES.replace('|', ', ')}, not {text!r}")
        return cls(name, address or None)

    def load(self, files: list[Path], reading: Reading, memory: MemoryLimit) -> ClusterQueries:
        """The queries of files, read by workers."""
        if memory.cache is not None:
            raise ParameterError(
                f"--cache is for data that are read part by part from disk, not for --engine {self.name}"
            )
        return _LOADERS[self.name](files, reading, self.address, memory)


def _load_on_dask(files: list[Path], reading: Reading, address: str | None, memory: MemoryLimit) -> ClusterQueries:
    try:
        from rankwright import dask
    except ImportError as error:
        raise ParameterError(f"--engine dask: {error}") from None
    return dask.load(files, reading, address, parts=None, shuffle=memory.sort, memory=memory.limit)


def _load_on_spark(files: list[Path], reading: Reading, address: str | None, memory: MemoryLimit) -> ClusterQueries:
    try:
        from rankwright import spark
    except ImportError as error:
        raise ParameterError(f"--engine spark: {error}") from None
    return spark.load(files, reading, address, shuffle=memory.sort, memory=memory.limit)


# A further engine is a line here.
_LOADERS: dict[str, Callable[[list[Path], Reading, str | None, MemoryLimit], ClusterQueries]] = {
    "dask": _load_on_dask,
    "spark": _load_on_spark,
}


def check_row_order(queries: Any, data: Path) -> None:
    """Refuse queries whose rows have another order on a cluster than in their files, where scores go with rows."""
    moved = getattr(queries, "moved", None)
    if moved is not None:
        raise DataError(
            f"{data}: the rows of query {moved!r} do not stand together, so that scores would not be in the order of "
            "the file: use --engine local, or sort the lines by query first"
        )
