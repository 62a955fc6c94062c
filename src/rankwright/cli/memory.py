"""The options --memory, --cache and --sort: which data are read part by part, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from rankwright.cli.options import naming_options
from rankwright.cli.output import tell
from rankwright.errors import ParameterError


@dataclass(frozen=True)
class MemoryLimit:
    """How much memory data may take, in bytes, and what becomes of those that take more.

    ``is_asked``: the limit was given, and not chosen by what is free. ``cache`` and ``sort`` are for `open_queries`.
    ``refused``: why data cannot be read part by part, and what to do instead, for commands that need all of them.
    """

    limit: int
    is_asked: bool
    cache: Path | None
    sort: bool
    refused: str | None = None

    @classmethod
    def of(cls, memory: str | None, cache: Path | None, sort: bool) -> MemoryLimit:
        """Of what was typed."""
        from rankwright.data.streams.estimates import available_memory
        from rankwright.data.streams.sizes import memory_limit

        with naming_options("memory"):
            limit = available_memory() // 2 if memory is None else memory_limit(memory)
        return cls(limit, memory is not None, cache, sort)

    def refusing(self, reason: str) -> MemoryLimit:
        """The same for a command that cannot read part by part, for this reason."""
        return replace(self, refused=reason)

    def is_exceeded(self, path: Path, files: list[Path]) -> bool:
        """Whether the files of a path are to be read part by part, which is told, or refused if that cannot be.

        A command that needs all data in memory takes them as they are, unless a limit was asked for.
        """
        from rankwright.data.streams.estimates import estimated_bytes
        from rankwright.data.streams.sizes import told_bytes

        size = estimated_bytes(files)
        if size <= self.limit or (self.refused is not None and not self.is_asked):
            return False
        large = f"{path} takes about {told_bytes(size)} in memory, more than {told_bytes(self.limit)}"
        if self.refused is not None:
            raise ParameterError(f"--memory: {large}: {self.refused}")
        tell(f"{large}: reading it part by part")
        return True
