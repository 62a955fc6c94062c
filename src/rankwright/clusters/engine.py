"""`ClusterEngine`: how steps get to parts in other processes, and what is done again if one of them is lost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple

import cloudpickle

from rankwright.clusters.queries import ClusterQueries
from rankwright.data.part import Part
from rankwright.engines.engine import Engine, Step, check_learnable_size
from rankwright.errors import DataError
from rankwright.progress import Progress

# A part that was lost so often in a row takes more than a worker has.
_MOST_LOSSES = 5


class Call(NamedTuple):
    """A step with what is sent along, to a part or to its state."""

    step: Step
    sent: tuple[Any, ...]
    on_state: bool

    @property
    def changes_state(self) -> bool:
        """Whether what it does has to be done again if the part is lost."""
        return bool(getattr(self.step, "changes_state", False))

    def of(self, part: Part) -> Any:
        """What the step returns."""
        return self.step(part.state if self.on_state else part, *self.sent)


class Answer(NamedTuple):
    """What became of a call on a part; ``is_behind`` says that the state is not what the call should find."""

    result: Any = None
    error: Exception | None = None
    is_behind: bool = False


class ClusterEngine(Engine):
    """Sends calls to parts that are elsewhere. An engine says how they get there.

    Whoever holds a part counts what has changed its state. A part that was lost is made anew, and what has changed its
    state is done again, in order: so no result depends on who it came from.
    """

    def __init__(self, queries: ClusterQueries) -> None:
        check_learnable_size(queries)
        self._queries = queries
        self.n_features, self.is_sparse, self.offsets = queries.n_features, queries.is_sparse, queries.offsets
        self.memory = queries.memory
        self._before = queries.before_parts()
        self._changes: list[list[bytes]] = [[] for _ in self._before]  # calls that change each state, in order
        self._n_told = [0 for _ in self._before]  # of these whoever has the part knows

    def each(self, step: Step, *sent: Any, reads: bool = True) -> Iterator[Any]:
        """Tells of a pass."""
        if not reads:
            return self._results(step, sent)
        with self._passing():
            return self._results(step, sent)

    def _results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        return iter(self._asked(Call(step, sent, on_state=False), range(len(self._before))))

    def _state_results(self, step: Step, sent: tuple[Any, ...]) -> Iterator[Any]:
        return iter(self._asked(Call(step, sent, on_state=True), range(len(self._before))))

    def change_states(self, step: Step, *sent: Any) -> None:
        """Goes along with the next message."""
        packed = cloudpickle.dumps(Call(step, sent, on_state=True))
        for changes in self._changes:
            changes.append(packed)

    def in_turn(self, step: Step, carried: Any, *sent: Any, states_only: bool = False) -> Any:
        """A message for each part, as what the part before has returned goes along."""
        with nullcontext() if states_only else self._passing():
            for number in range(len(self._before)):
                (carried,) = self._asked(Call(step, (carried, *sent), states_only), [number])
        return carried

    @contextmanager
    def _passing(self) -> Iterator[None]:
        """Count a pass, and tell of it."""
        self.passes += 1
        watch = self._queries._watch
        if watch is None:
            yield
            return
        watch.passes += 1
        what = f"pass {watch.passes} over {self._queries._source.told()}"
        total = self.n_documents * self._queries.row_bytes
        watch.tell(Progress(what, 0.0, total, in_bytes=True))
        yield
        watch.tell(Progress(what, total, total, in_bytes=True))

    def _asked(self, call: Call, numbers: Any) -> list[Any]:
        """What a call returns of some parts, in this order; those that are lost are made anew."""
        answers: dict[int, Answer] = {}
        packed = cloudpickle.dumps(call)  # as it is now: learners go on to change what they have sent
        losses, behind = 0, set[int]()
        while lacking := [number for number in numbers if number not in answers]:
            untold = {n: self._changes[n][0 if n in behind else self._n_told[n] :] for n in lacking}
            found = self._message(packed, {n: (len(self._changes[n]), untold[n]) for n in lacking})
            behind = {number for number, answer in found.items() if answer.is_behind}
            answers |= {number: answer for number, answer in found.items() if not answer.is_behind}
            lost = [number for number in lacking if number not in found]
            losses = losses + 1 if lost else 0
            if losses > _MOST_LOSSES:
                raise DataError(
                    f"workers were lost {losses} times while they worked on part {lost[0] + 1} of {len(self._before)}: "
                    "they may need more memory, or smaller parts"
                )
            for number in lost:
                self._give_up(number)
        for number in numbers:
            error = answers[number].error
            if error is not None:
                raise error
            if call.changes_state:
                self._changes[number].append(packed)
            self._n_told[number] = len(self._changes[number])
        return [answers[number].result for number in numbers]

    @abstractmethod
    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]]) -> dict[int, Answer]:
        """The answers to a packed call of some parts: those that are missing were lost.

        ``changes`` has for each part how many changes its state is to have seen, and the last of them.
        """

    @abstractmethod
    def _give_up(self, number: int) -> None:
        """A part was lost: it is to be made anew for the next message."""
