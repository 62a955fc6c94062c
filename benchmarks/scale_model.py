"""What a learner takes on a cluster, from what its messages take: the arithmetic behind ``docs/scale.md``.

A learner sends messages. Each goes to all workers, is worked on by all parts side by side (or by one part after the
other, "in turn"), and is answered by each part. All that depends on the data is a straight line in the number of
documents, queries or parts, through what was measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from statistics import median
from typing import NamedTuple

# A line that rises by less than a byte for each query or part is none: what is sent for each of them has more, and
# learners take slightly other ways on other data.
_LEAST_RISE = 1.0


class Size(NamedTuple):
    """How much data there is, and in how many parts: each worker has one."""

    documents: int
    queries: int
    parts: int


class Seen(NamedTuple):
    """A message as it was measured.

    Attributes
    ----------
    step : the name of what was to be done
    in_turn : whether one part was asked, after that before it
    by_tasks : whether it was not a message, but a Dask task for each part
    seconds : until all answers were there
    work : seconds of a processor that it took the worker that worked longest
    sent : bytes to each worker
    back : bytes of all answers
    """

    step: str
    in_turn: bool
    by_tasks: bool
    seconds: float
    work: float
    sent: int
    back: int


class Run(NamedTuple):
    """A learner as it was measured once: its passes over the data, and its messages.

    ``seconds`` are all of them, ``driver`` those of a processor that the driver took between messages, while workers
    waited for it.
    """

    seconds: float
    driver: float
    passes: int
    messages: list[Seen]


class Way(NamedTuple):
    """Seconds of a message: of one, more for each worker there is, and the same of each byte that it has."""

    fixed: float
    each: float
    byte_once: float
    byte_each: float


@dataclass(frozen=True)
class Transport:
    """What messages take themselves: those to all parts, those to one part after the other, and Dask tasks.

    Attributes
    ----------
    message, turn, task : seconds of each kind
    byte_back : seconds of a byte that comes back
    wire : seconds of a byte on the network of the driver, which all bytes pass; 0 within one machine
    """

    message: Way
    turn: Way
    task: Way
    byte_back: float
    wire: float = 0.0

    def _way(self, step: StepCost) -> Way:
        return self.task if step.by_tasks else self.turn if step.in_turn else self.message

    def receivers(self, step: StepCost, workers: int) -> int:
        """How many workers get a message of a step: in turn, the one that has the part."""
        return 1 if step.in_turn else workers

    def empty(self, step: StepCost, workers: int) -> float:
        """Seconds of a message of a step in which nothing is said."""
        way = self._way(step)
        return way.fixed + way.each * self.receivers(step, workers)

    def of_bytes(self, step: StepCost, size: Size) -> float:
        """Seconds of the bytes of a message, and of all those that come back."""
        way, receivers = self._way(step), self.receivers(step, size.parts)
        sending = way.byte_once + receivers * (way.byte_each + self.wire)
        back = step.back(size) * (1 if step.in_turn else size.parts)
        return step.sent(size) * sending + back * (self.byte_back + self.wire)

    def travelling(self, step: StepCost, size: Size) -> float:
        """Bytes of a message on the network of the driver."""
        back = step.back(size) * (1 if step.in_turn else size.parts)
        return step.sent(size) * self.receivers(step, size.parts) + back


@dataclass(frozen=True)
class StepCost:
    """What the messages of one step take; parts have equally many documents.

    Attributes
    ----------
    times : how often all parts are asked
    work_fixed, work_document : seconds of one part, and for each of its documents
    sent_fixed, sent_query, sent_part : bytes to each worker, and more for each query and each part of all
    back_fixed, back_query : bytes that each part returns, and more for each of its queries
    """

    times: float
    in_turn: bool
    by_tasks: bool
    work_fixed: float
    work_document: float
    sent_fixed: float
    sent_query: float
    sent_part: float
    back_fixed: float
    back_query: float

    def sent(self, size: Size) -> float:
        """Bytes that go to each worker at a time."""
        return self.sent_fixed + self.sent_query * size.queries + self.sent_part * size.parts

    def back(self, size: Size) -> float:
        """Bytes that each part returns."""
        return self.back_fixed + self.back_query * size.queries / size.parts

    def work(self, size: Size) -> float:
        """Seconds of each part."""
        return self.work_fixed + self.work_document * size.documents / size.parts

    def n_messages(self, size: Size) -> float:
        """How many messages there are: in turn, one for each part."""
        return self.times * (size.parts if self.in_turn else 1)


@dataclass(frozen=True)
class Predicted:
    """Seconds of a fit, by what they are spent on."""

    work: float
    in_turn: float
    messages: float
    bytes: float
    driver: float

    @property
    def seconds(self) -> float:
        """All of them."""
        return self.work + self.in_turn + self.messages + self.bytes + self.driver

    @property
    def bottleneck(self) -> str:
        """What takes most of the time."""
        return max(fields(self), key=lambda field: float(getattr(self, field.name))).name


@dataclass(frozen=True)
class LearnerCost:
    """What a learner takes: its steps, and the seconds of the driver in between."""

    passes: int
    steps: Mapping[str, StepCost]
    driver_fixed: float
    driver_document: float
    driver_part: float

    def n_messages(self, size: Size) -> float:
        """How many there are."""
        return sum(step.n_messages(size) for step in self.steps.values())

    def travelling(self, size: Size, transport: Transport) -> float:
        """Bytes on the network of the driver in all."""
        return sum(step.n_messages(size) * transport.travelling(step, size) for step in self.steps.values())

    def predicted(self, size: Size, transport: Transport) -> Predicted:
        """Seconds with as many workers as there are parts."""
        work = in_turn = messages = in_bytes = 0.0
        for step in self.steps.values():
            count = step.n_messages(size)
            messages += count * transport.empty(step, size.parts)
            in_bytes += count * transport.of_bytes(step, size)
            if step.in_turn:
                in_turn += count * step.work(size)
            else:
                work += count * step.work(size)
        driver = self.driver_fixed + self.driver_document * size.documents + self.driver_part * size.parts
        return Predicted(work, in_turn, messages, in_bytes, driver)


def learner_cost(runs: Mapping[Size, Sequence[Run]]) -> LearnerCost:
    """The lines through repeated runs of a learner: in one part of two sizes, and the larger of them in many parts."""
    small, large = sorted(size for size in runs if size.parts == 1)
    (many,) = (size for size in runs if size.parts > 1)
    steps = {}
    for name in dict.fromkeys(message.step for run in runs[large] for message in run.messages):
        means = {size: _mean_message(name, runs[size]) for size in (small, large, many)}
        steps[name] = _step_cost(means, small, large, many)
    driver = {size: median(run.driver for run in runs[size]) for size in (small, large, many)}
    fixed, rise = _line((small.documents, driver[small]), (large.documents, driver[large]))
    part = max(0.0, (driver[many] - driver[large]) / (many.parts - 1))
    return LearnerCost(runs[large][-1].passes, steps, fixed, rise, part)


class _Mean(NamedTuple):
    """The messages of a step in a run, on average; None where there are none."""

    times: float
    in_turn: bool
    by_tasks: bool
    work: float
    sent: float
    back: float


def _mean_message(step: str, runs: Sequence[Run]) -> _Mean | None:
    found = [[message for message in run.messages if message.step == step] for run in runs]
    if not all(found):
        return None
    some = found[-1]
    work = median(sum(message.work for message in messages) / len(messages) for messages in found)
    sent, back = (sum(getattr(message, name) for message in some) / len(some) for name in ("sent", "back"))
    return _Mean(len(some), some[0].in_turn, some[0].by_tasks, work, sent, back)


def _step_cost(means: Mapping[Size, _Mean | None], small: Size, large: Size, many: Size) -> StepCost:
    of_large = means[large]
    assert of_large is not None
    of_small, of_many = means[small] or of_large, means[many] or of_large
    work_fixed, work_document = _line((small.documents, of_small.work), (large.documents, of_large.work))
    sent_fixed, sent_query = _line((small.queries, of_small.sent), (large.queries, of_large.sent), _LEAST_RISE)
    back_fixed, back_query = _line((small.queries, of_small.back), (large.queries, of_large.back), _LEAST_RISE)
    sent_part = (of_many.sent - of_large.sent) / (many.parts - 1)
    sent_part = sent_part if sent_part >= _LEAST_RISE else 0.0
    return StepCost(
        of_large.times,
        of_large.in_turn,
        of_large.by_tasks,
        work_fixed,
        work_document,
        max(0.0, sent_fixed - sent_part),
        sent_query,
        sent_part,
        back_fixed,
        back_query,
    )


def _line(small: tuple[float, float], large: tuple[float, float], least: float = 0.0) -> tuple[float, float]:
    """Height at 0 and rise of the line through two points; neither is below 0, and a rise below ``least`` is none."""
    rise = (large[1] - small[1]) / (large[0] - small[0])
    if rise < max(least, 0.0):
        return large[1], 0.0
    fixed = large[1] - rise * large[0]
    return (fixed, rise) if fixed >= 0 else (0.0, large[1] / large[0])
