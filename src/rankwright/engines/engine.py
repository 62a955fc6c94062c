"""`Engine`: what learners see of data. They send a step to the parts, and get a sum, or a row for each query.

A step is a plain function ``step(part, *sent)`` of some whole queries and of small things that are sent along, so that
it can run wherever the part is. It returns a number, an array, None, or a tuple of these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from threading import Condition
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankwright.data.part import Part
from rankwright.data.state import QueryRun
from rankwright.errors import DataError, ParameterError
from rankwright.types import Array, Columns

Step = Callable[..., Any]


class Engine(ABC):
    """Parts of whole queries, wherever they are. A new engine says how steps get to them, and how results get back.

    Attributes
    ----------
    n_queries, n_documents, n_features : of all parts together
    offsets : where the documents of each query begin and end, if all stand query by query
    is_sparse : whether features are CSR
    passes : how often the features have been read as a whole
    keeps : whether parts stay, with what they have computed: what is known of it is then asked for without a reading
    asks_dearly : whether a question takes longer than many an answer, so that one asks for what one may need next, too
    memory : the limit of memory in bytes, for data that may be larger; None if they are in memory, as what is computed
        of them may be too
    """

    n_features: int
    offsets: npt.NDArray[np.int64]
    is_sparse: bool
    passes: int = 0
    keeps: bool = False
    asks_dearly: bool = False
    memory: int | None = None

    @property
    def n_queries(self) -> int:
        """N."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """m."""
        return int(self.offsets[-1])

    def whole(self, who: str) -> Part:
        """All queries as one part, which only data in memory can be; ``who`` needs them so, and what to use instead."""
        raise ParameterError(f"{who}, or give queries in memory")

    @abstractmethod
    def _results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        """What the step returns of each part, in the order of the queries."""

    def _results_in_turn(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        """The same, but a part begins when the one before is done: to be said by engines that have several at work."""
        return self._results(step, sent)

    @abstractmethod
    def _state_results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        """What ``step(state, *sent)`` returns of the state of each part, in the order of the queries."""

    def each_state(self, step: Step, *sent: Any) -> list[Any]:
        """What ``step(state, *sent)`` makes of the state of each part, in their order. The data are not read."""
        return list(self._state_results(step, sent))

    def change_states(self, step: Step, *sent: Any) -> None:
        """Let ``step(state, *sent)`` change the state of each part; an engine may put it off until one is asked for."""
        for _ in self._state_results(step, sent):
            pass

    def sum_of_states(self, step: Step, *sent: Any) -> Any:
        """What ``step(state, *sent)`` makes of the states that parts were given by earlier steps, added up."""
        return added_up(self._state_results(step, sent))

    def in_turn(self, step: Step, carried: Any, *sent: Any, states_only: bool = False) -> Any:
        """One reading in which ``step(part, carried, *sent)`` takes over what it has returned of the part before.

        Returns what it returns of the last part. With ``states_only`` it goes through the states, and nothing is read.
        """
        turn = _Turn(step, carried)
        self.passes += int(not states_only)
        for _ in self._state_results(turn, sent) if states_only else self._results_in_turn(turn, sent):
            pass
        return turn.carried

    def each(self, step: Step, *sent: Any, reads: bool = True) -> Iterator[Any]:
        """What a step returns of each part, in the order of the queries, as it comes.

        ``reads`` says whether the step looks at features: then this is a pass.
        """
        if reads:
            self.passes += 1
        return self._results(step, sent)

    def sum(self, step: Step, *sent: Any, reads: bool = True) -> Any:
        """What the step returns, added up over all parts, always in the same order."""
        return added_up(self.each(step, *sent, reads=reads))

    def per_query(self, step: Step, *sent: Any, reads: bool = True) -> Any:
        """What the step returns for each query of a part, or each document, of all parts one behind the other."""
        return _joined(list(self.each(step, *sent, reads=reads)))

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
        """Let ``step(part, room, *sent)`` write numbers of its queries, or documents, to their places in ``out``.

        ``room`` is the part's share of ``out`` along an axis; of its first axis the step may write ``slots`` only.
        Returns what the steps returned.
        """
        returned, place, written = [], 0, slice(None) if slots is None else slots
        for room, result in self.each(_written, step, out.shape, axis, by, sent, reads=reads):
            out[_along(axis, place, place + room.shape[axis])][written] = room[written]
            place += room.shape[axis]
            returned.append(result)
        return returned


class _Turn:
    """A step that remembers what it has returned. Of an engine that runs several at once, each waits for its turn."""

    def __init__(self, step: Step, carried: Any) -> None:
        self._step, self.carried = step, carried
        self._next_query, self._has_failed = 0, False
        self._changed = Condition()

    def __call__(self, part: QueryRun, *sent: Any) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._has_failed or part.first_query == self._next_query)
            if self._has_failed:  # whoever failed tells why
                return
            self._has_failed = True
            try:
                self.carried = self._step(part, self.carried, *sent)
                self._next_query, self._has_failed = part.first_query + part.n_queries, False
            finally:
                self._changed.notify_all()


def _written(part: Part, step: Step, shape: tuple[int, ...], axis: int, by: str, sent: tuple[Any, ...]) -> Any:
    length = part.n_queries if by == "query" else part.n_documents
    room = np.empty((*shape[:axis], length, *shape[axis + 1 :]))
    return room, step(part, room, *sent)


def _along(axis: int, begin: int, end: int) -> tuple[slice, ...]:
    return (*(slice(None),) * axis, slice(begin, end))


def added_up(results: Iterator[Any]) -> Any:
    """What parts return, added up in their order.

    The first sum is a new array, as what a step returns may be something that its part keeps; others go there."""
    total, is_ours = next(results), False
    for result in results:
        total, is_ours = _added(total, result, in_place=is_ours), True
    return total


def check_learnable_size(queries: Any) -> None:
    """Refuse queries without documents or features."""
    if queries.n_documents == 0:
        raise DataError("there are no documents to learn from")
    if queries.n_features == 0:
        raise DataError("the queries have no features to learn from")


def _added(total: Any, result: Any, *, in_place: bool) -> Any:
    """Sums of numbers and arrays; tuples element by element."""
    if isinstance(total, tuple):
        sums = [_added(a, b, in_place=in_place) for a, b in zip(total, result, strict=True)]
        return type(total)(*sums) if hasattr(total, "_fields") else tuple(sums)
    if in_place and isinstance(total, np.ndarray):
        return np.add(total, result, out=total)
    return None if total is None else total + result


def _joined(results: list[Any]) -> Any:
    """Arrays one behind the other; tuples element by element."""
    if isinstance(results[0], tuple):
        columns = [_joined(list(column)) for column in zip(*results, strict=True)]
        return type(results[0])(*columns) if hasattr(results[0], "_fields") else tuple(columns)
    return results[0] if len(results) == 1 else np.concatenate(results)
