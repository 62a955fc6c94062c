"""`ClusterEngine`: how steps get to parts in other processes, and what is done again if one of them is lost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import cloudpickle

from rankwright.clusters.changes import Changes
from rankwright.clusters.held import Answer, Call
from rankwright.clusters.queries import ClusterQueries
from rankwright.engines.engine import Engine, Step, added_up, check_learnable_size
from rankwright.errors import DataError
from rankwright.progress import Progress

# What was lost so often in a row takes more than a worker has.
MOST_LOSSES = 5
# The results of so many parts are added up, then these sums: always by this tree, whoever adds.
PARTS_PER_SUM = 32


class ClusterEngine(Engine):
    """Sends calls to parts that are elsewhere. An engine says how they get there.

    Whoever holds a part counts what has changed its state. A part that was lost is made anew, and what has changed its
    state is done again, in order: so no result depends on who it came from.
    """

    asks_dearly = True

    def __init__(self, queries: ClusterQueries) -> None:
        check_learnable_size(queries)
        self._queries = queries
        self.n_features, self.is_sparse, self.offsets = queries.n_features, queries.is_sparse, queries.offsets
        self.memory = queries.memory
        self._before = queries.before_parts()
        self._changes = Changes(len(self._before))
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

    def sum(self, step: Step, *sent: Any, reads: bool = True) -> Any:
        """Of groups of parts, then of all groups."""
        with self._passing() if reads else nullcontext():
            return self._sum(Call(step, sent, on_state=False))

    def sum_of_states(self, step: Step, *sent: Any) -> Any:
        """Of groups of parts, then of all groups."""
        return self._sum(Call(step, sent, on_state=True))

    def _sum(self, call: Call) -> Any:
        answers = self._answers(call, range(len(self._before)), may_add=True)
        groups = [answers[begin : begin + PARTS_PER_SUM] for begin in range(0, len(answers), PARTS_PER_SUM)]
        return added_up(added_up(each.result for each in group if not each.is_added) for group in groups)

    def change_states(self, step: Step, *sent: Any) -> None:
        """Goes along with the next message."""
        self._changes.add(cloudpickle.dumps(Call(step, sent, on_state=True)), range(len(self._before)))

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

    def _asked(self, call: Call, numbers: Sequence[int]) -> list[Any]:
        """What a call returns of some parts, in this order."""
        return [answer.result for answer in self._answers(call, numbers)]

    def _answers(self, call: Call, numbers: Sequence[int], *, may_add: bool = False) -> list[Answer]:
        """The answers of some parts, in this order; those that are lost are made anew."""
        answers: dict[int, Answer] = {}
        packed = cloudpickle.dumps(call)  # as it is now: learners go on to change what they have sent
        losses, behind = 0, set[int]()
        while lacking := [number for number in numbers if number not in answers]:
            untold = self._changes.since({n: 0 if n in behind else self._n_told[n] for n in lacking})
            changes = {n: (self._changes.count(n), untold[n]) for n in lacking}
            found = self._message(packed, changes, may_add=may_add and len(lacking) == len(self._before))
            behind = {number for number, answer in found.items() if answer.is_behind}
            answers |= {number: answer for number, answer in found.items() if not answer.is_behind}
            lost = [number for number in lacking if number not in found]
            losses = losses + 1 if lost else 0
            if losses > MOST_LOSSES:
                raise DataError(
                    f"workers were lost {losses} times while they worked on part {lost[0] + 1} of {len(self._before)}: "
                    "they may need more memory, or smaller parts"
                )
        for number in numbers:
            error = answers[number].error
            if error is not None:
                raise error
        if call.changes_state:
            self._changes.add(packed, numbers)
        for number in numbers:
            self._n_told[number] = self._changes.count(number)
        return [answers[number] for number in numbers]

    @abstractmethod
    def _message(self, call: bytes, changes: dict[int, tuple[int, list[bytes]]], *, may_add: bool) -> dict[int, Answer]:
        """The answers to a packed call of some parts: those that are missing were lost, and are made anew when asked.

        ``changes`` has for each part how many changes its state is to have seen, and the last of them. The results of
        PARTS_PER_SUM parts may be added up on their way, where all of them have one.
        """
