"""`Stream`: queries larger than memory, read part by part. A part is forgotten when the next one comes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import numpy as np

from rankwright.data.part import Part
from rankwright.data.state import State
from rankwright.data.streams.streamed import StreamedQueries
from rankwright.engines.engine import Engine, Step, check_learnable_size
from rankwright.engines.states import States

# What part of the memory the states of all parts may take together; the rest of them is in files.
_STATES = 4


class Stream(Engine):
    """Every step is a reading of the data, whatever it looks at; only the states of parts stay."""

    def __init__(self, queries: StreamedQueries) -> None:
        check_learnable_size(queries)
        self._queries = queries
        self.n_features, self.is_sparse = queries.n_features, queries.is_sparse
        self.offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(queries.sizes)])
        self.memory = queries.memory
        self._states = States(queries.memory // _STATES)

    def each(self, step: Step, *sent: Any, reads: bool = True) -> Iterator[Any]:
        """Counts every reading."""
        self.passes += 1
        return self._results(step, sent)

    def _results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        number = n_queries = n_documents = 0
        with closing(self._queries.parts()) as parts:
            for queries in parts:
                with self._states.use(number, State(queries.grouping.offsets, n_queries)) as state:
                    part = Part(queries, before=(n_queries, n_documents), state=state)
                    result = step(part, *sent)
                    part.release()
                n_queries, n_documents = n_queries + queries.n_queries, n_documents + queries.n_documents
                number += 1
                del part, queries  # before the next but one is read
                yield result

    def _state_results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        for number in range(len(self._states)):
            with self._states.use(number) as state:
                result = step(state, *sent)
            yield result
