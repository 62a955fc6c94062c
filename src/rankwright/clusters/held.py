"""`Held`: a part where it is, with a state that can be made again: what runs in the processes of a cluster."""

from __future__ import annotations

from typing import Any, NamedTuple

import cloudpickle

from rankwright.data.part import Part
from rankwright.data.state import State
from rankwright.engines.engine import Step


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
    """What became of a call on a part.

    ``is_behind`` says that the state is not what the call should find; ``is_added``, that the result has been added to
    that of the part before.
    """

    result: Any = None
    error: Exception | None = None
    is_behind: bool = False
    is_added: bool = False


class Held:
    """A part with its state, which as many changes have made as ``version`` says; −1 if it is none of these states."""

    def __init__(self, part: Part) -> None:
        self.part, self.version = part, 0

    def answer(self, call: Call, version: int, changes: list[bytes]) -> Answer:
        """What the call returns, once the state is what so many changes make it, of which the last are given."""
        begin = version - len(changes)
        if begin == 0 and self.version != 0:  # all changes that there are
            self.part.state, self.version = self.new_state(), 0
        if self.version != begin:
            return Answer(is_behind=True)
        for change in changes:
            self._do(cloudpickle.loads(change))
        return Answer(self._do(call))

    def new_state(self) -> State:
        """A state that nothing has changed."""
        return State(self.part.offsets, self.part.first_query)

    def _do(self, call: Call) -> Any:
        if not call.changes_state:
            return call.of(self.part)
        version, self.version = self.version, -1  # a state that is half changed is none
        result = call.of(self.part)
        self.version = version + 1
        return result
