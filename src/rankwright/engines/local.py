"""`Local`: queries in memory. They are one part, whose steps run on the threads of this process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.engines.engine import Engine, Step, check_learnable_size
from rankwright.types import Array, Columns


class Local(Engine):
    """One part, which stays in memory, and so does what it keeps."""

    keeps = True

    def __init__(self, queries: Queries) -> None:
        check_learnable_size(queries)
        self._part = Part(queries)
        self.n_features, self.offsets, self.is_sparse = (
            queries.n_features,
            queries.grouping.offsets,
            self._part.is_sparse,
        )

    def _results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        yield step(self._part, *sent)

    def _state_results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        yield step(self._part.state, *sent)

    def fill(
        self,
        step: Step,
        out: Array,
        *sent: Any,
        axis: int = 0,
        by: Literal["query", "document"] = "query",
        slots: Columns | None = None,
        reads: bool = True,
    ) -> list[Any]:
        """The part writes to ``out`` itself: nothing is copied."""
        self.passes += int(reads)
        return [step(self._part, out, *sent)]

    def whole(self, who: str) -> Part:
        """All queries as one part, for those who need them so."""
        return self._part
