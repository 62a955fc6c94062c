"""What runs in the Python workers of Spark.

Spark gives a task to any Python worker of an executor. So a partition that came to one of them is in a file that all
of them map, in a folder that Spark has for data of the executor, and removes with it. The state of a part is in such a
file too, between two calls.
"""

from __future__ import annotations

import gc
import mmap
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

import numpy as np
from pyspark import SparkFiles

from rankwright.clusters.held import Answer, Call, Held
from rankwright.clusters.queries import part_of
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.state import State
from rankwright.engines.engine import added_up
from rankwright.judgments.whole import Whole
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import on_this_thread
from rankwright.spark.packing import Failed, mapped, packed, written


class Name(NamedTuple):
    """A number that a program gives. Several programs may share an application, so each has a ``run`` of its own."""

    run: str
    number: int


class Names(NamedTuple):
    """The numbers that a run has in use: others up to ``last`` are not in use any more."""

    run: str
    used: frozenset[int]
    last: int

    def are_without(self, name: Name) -> bool:
        """Whether what has this name can go. What other runs have is theirs."""
        return name.run == self.run and name.number <= self.last and name.number not in self.used


_n_modules = 0
_queries: dict[Name, dict[int, Any]] = {}  # partitions that this worker has mapped, by name and number
_parts: dict[Name, dict[int, _FiledPart]] = {}  # parts that it has, by the name of their engine and number


def _folder() -> Path:
    """Where Spark keeps blocks of this executor, if it says so: its folder for files can be the working directory."""
    local = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0]
    return Path(local or SparkFiles.getRootDirectory()) / "rankwright"


def _path(name: Name, number: int) -> Path:
    return _folder() / name.run / str(name.number) / str(number)


def _tidy(names: Names) -> None:
    """Give up what has a name that is no longer used."""
    for name in filter(names.are_without, list(_parts)):
        for held in _parts.pop(name).values():
            held.part.release()
    for name in filter(names.are_without, list(_queries)):
        del _queries[name]
    folder = _folder() / names.run
    for path in folder.iterdir() if folder.is_dir() else ():
        if names.are_without(Name(names.run, int(path.name))):
            rmtree(path, ignore_errors=True)


def done(number: int, items: Iterator[Any], function: Callable[..., Any], *arguments: Any) -> Answer:
    """What a function makes of the number and the items of a partition, or what it raises."""
    try:
        with on_this_thread(), one_thread_per_call():
            answer = Answer(function(number, items, *arguments))
    except Exception as error:
        answer = Answer(error=error)
    for _ in items:  # Spark ends a worker that leaves some
        pass
    _settle()
    return answer


def answered(number: int, items: Iterator[Any], version: str, content: bytes) -> Iterator[tuple[int, str, Answer]]:
    """The same, of a function and arguments that are packed, with what says whose answer it is."""
    function, arguments = pickle.loads(content)
    yield number, version, done(number, items, function, *arguments)


def _settle() -> None:
    """Spark lets workers look for garbage after each task, among all that was ever imported: it need not look there."""
    global _n_modules
    if len(sys.modules) > _n_modules:
        _n_modules = len(sys.modules)
        gc.collect()
        gc.freeze()


def made(number: int, items: Iterator[Any], function: Callable[..., Any], *arguments: Any) -> Iterator[bytes]:
    """The same, packed."""
    answer = done(number, items, function, *arguments)
    return packed(answer.result if answer.error is None else Failed(answer.error))


def of_partition(
    number: int,
    pieces: Iterator[bytes] | None,
    name: Name,
    names: Names,
    function: Callable[..., Any],
    sent: Mapping[int, tuple[Any, ...]],
) -> tuple[Any] | None:
    """``function(queries, *sent)`` of a partition, as this executor has it, or else from its pieces.

    None if these are needed and were not brought.
    """
    _tidy(names)
    path, known = _path(name, number), _queries.setdefault(name, {})
    if number not in known:
        if not path.exists():
            if pieces is None:
                return None
            written(pieces, path)
        known[number] = mapped(path)
    return (function(known[number], *sent[number]),)


def added(items: Iterator[tuple[int, Any, Any]]) -> Iterator[tuple[int, Any, Any]]:
    """What `of_partition` returns of answers, with their sum as the first result, if all of them have one."""
    found = sorted(items, key=itemgetter(0))
    answers = [
        done.result[0] if isinstance(done, Answer) and done.result else Answer(is_behind=True) for *_, done in found
    ]
    if any(answer.is_behind or answer.error is not None for answer in answers):
        yield from found
        return
    total = added_up(answer.result for answer in answers)
    for place, (number, version, _) in enumerate(found):
        answer = Answer(is_added=True) if place else Answer(total)
        yield number, version, Answer((answer,))


class _FiledPart(Held):
    """A part whose state is in a file between calls, which any worker of this machine goes on with.

    A call takes the file away, changes it where it is, and puts it back under the number of the new version. If a
    worker is lost in between, or two are given the same call, somebody finds no file: all changes are done again.
    """

    def __init__(self, part: Part, path: Path) -> None:
        super().__init__(part)
        self._path = path

    def answer(self, call: Call, version: int, changes: list[bytes]) -> Answer:
        """With the state in the file that so many changes have made as are not given."""
        self.version = version - len(changes)
        own = self._path.with_suffix(f".{uuid.uuid4().hex}")
        try:
            self.part.state = self._taken(own) if self.version else self.new_state()
            before = dict(self.part.state)
            answer = super().answer(call, version, changes)
            if self.version:
                self._put(own, before)
            return answer
        except _NoState:
            return Answer(is_behind=True)
        finally:
            own.unlink(missing_ok=True)
            self.part.state = self.new_state()

    def _taken(self, own: Path) -> State:
        try:
            self._path.with_suffix(f".{self.version}").rename(own)
        except FileNotFoundError:
            raise _NoState from None
        state = mapped(own, mmap.ACCESS_WRITE)
        assert isinstance(state, State)
        return state

    def _put(self, own: Path, before: Mapping[Any, Any]) -> None:
        """Arrays that are still those of the file are in it already. Else a new one is written.

        That is beside the old one: what takes the place of another file, file systems write to the disk at once.
        """
        state, path = self.part.state, self._path.with_suffix(f".{self.version}")
        if before and state.keys() == before.keys() and all(state[name] is before[name] for name in before):
            own.rename(path)
            return
        state.update({name: np.asarray(array, order="C") for name, array in state.items()})
        written(packed(state), path)


class _NoState(Exception):
    """There is no file with the state that a call should find."""


def answer(
    queries: Queries,
    engine: Name,
    number: int,
    place: tuple[tuple[int, int], Whole],
    call: bytes,
    version: int,
    changes: list[bytes],
) -> Answer:
    """What a packed call returns of a part, once its state is what so many changes make it, the last of them given."""
    parts = _parts.setdefault(engine, {})
    if number not in parts:
        parts[number] = _FiledPart(part_of(queries, *place), _path(engine, number))
    return parts[number].answer(pickle.loads(call), version, changes)
