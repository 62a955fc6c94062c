"""What runs in the Python workers of Spark.

Spark gives a task to any Python worker of an executor. So a partition that came to one of them is in a file that all
of them map, in the folder that Spark has for files of the application, and removes with it. A state is in such a file
too: never changed, but followed by that of the next version.
"""

from __future__ import annotations

import gc
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from pyspark import SparkFiles

from rankwright.clusters.engine import Answer, Call
from rankwright.clusters.queries import part_of
from rankwright.data.part import Part
from rankwright.data.queries import Queries
from rankwright.data.state import State
from rankwright.errors import DataError
from rankwright.judgments.whole import Whole
from rankwright.machine.blas import one_thread_per_call
from rankwright.machine.threads import on_this_thread
from rankwright.spark.packing import Failed, mapped, opened, packed, written


class Names(NamedTuple):
    """The names that are in use, which are numbers: others up to ``last`` are not any more."""

    used: frozenset[int]
    last: int

    def are_without(self, name: int) -> bool:
        """Whether what has this name can go."""
        return name <= self.last and name not in self.used


class Lacking(Exception):
    """A partition has not been brought to this machine."""


_n_modules = 0
_objects: dict[int, dict[int, Any]] = {}  # what this worker has, by name and partition


def _folder() -> Path:
    return Path(SparkFiles.getRootDirectory()) / "rankwright"


def tidy(names: Names) -> None:
    """Give up what has a name that is no longer used."""
    for name in filter(names.are_without, list(_objects)):
        del _objects[name]
    folder = _folder()
    for path in folder.iterdir() if folder.is_dir() else ():
        if names.are_without(int(path.name)):
            rmtree(path, ignore_errors=True)


def worked(number: int, items: Iterator[Any], content: bytes) -> Answer:
    """What a packed function makes of a partition: of its number and items."""
    try:
        with on_this_thread(), one_thread_per_call():
            function, arguments = pickle.loads(content)
            answer = Answer(function(number, items, *arguments))
    except Exception as error:
        answer = Answer(error=error)
    for _ in items:  # Spark ends a worker that leaves some
        pass
    _settle()
    return answer


def _settle() -> None:
    """Spark lets workers look for garbage after each task, among all that was ever imported: it need not look there."""
    global _n_modules
    if len(sys.modules) > _n_modules:
        _n_modules = len(sys.modules)
        gc.collect()
        gc.freeze()


def made(number: int, items: Iterator[Any], content: bytes) -> Iterator[bytes]:
    """The same as pieces of what it returns, or of why it could not."""
    answer = worked(number, items, content)
    return packed(answer.result if answer.error is None else Failed(answer.error))


def dealt(source: int, items: Iterator[Any], content: bytes) -> Iterator[tuple[int, tuple[int, int, bytes]]]:
    """Pieces of the objects that a packed function makes of a partition, each with the goal of its object."""
    function, arguments = pickle.loads(content)
    with on_this_thread():
        for goal, found in function(source, items, *arguments):
            for place, piece in enumerate(packed(found)):
                yield goal, (source, place, piece)
    for _ in items:
        pass


def joined(pieces: Iterable[bytes]) -> Any:
    """The object that pieces are of."""
    return opened(memoryview(b"".join(pieces)))


def of_partition(
    number: int,
    pieces: Iterator[bytes],
    name: int,
    names: Names,
    brings: bool,
    known_digests: dict[int, int],
    function: Callable[..., Any],
    sent: dict[int, tuple[Any, ...]] | tuple[Any, ...],
) -> tuple[int | None, Any]:
    """``function(queries, *sent)`` of a partition, from its pieces if they are brought, or as this machine has it.

    Returns the digest of the pieces as well, which must be that which is known.
    """
    tidy(names)
    digest: int | None = None
    path, known = _folder() / str(name) / f"{number}.queries", _objects.setdefault(name, {})
    if number not in known:
        if not path.exists():
            if not brings:
                raise Lacking
            digest = written(pieces, path)
            if known_digests.get(number, digest) != digest:
                path.unlink()
                raise DataError(
                    f"partition {number + 1} was lost, and when Spark made it again, it had other rows, or in another "
                    "order: write the data to files before, or checkpoint the frame"
                )
        known[number] = mapped(path)
    return digest, function(known[number], *(sent[number] if isinstance(sent, dict) else sent))


class Held:
    """A part in this process, with its state: as so many changes made it as ``version`` says."""

    def __init__(self, part: Part) -> None:
        self.part, self.version = part, 0

    def do(self, call: Call) -> Any:
        """What a call returns."""
        if not call.changes_state:
            return call.of(self.part)
        version, self.version = self.version, -1  # a state that is half changed is none
        result = call.of(self.part)
        self.version = version + 1
        return result


def answer(
    queries: Queries,
    engine: int,
    number: int,
    place: tuple[tuple[int, int], Whole],
    content: bytes,
    version: int,
    changes: list[bytes],
) -> Answer:
    """What a packed call returns of a part, once its state is what so many changes make it, the last of them given."""
    held_here = _objects.setdefault(engine, {})
    held = held_here.setdefault(number, Held(part_of(queries, *place)))
    begin = version - len(changes)
    folder = _folder() / str(engine)
    if held.version != begin:
        held.version, held.part.state = begin, State(held.part.offsets, held.part.first_query)
        if begin > 0:
            try:
                held.part.state = mapped(folder / f"{number}.{begin}", writable=True)
            except FileNotFoundError:
                held.version = -1
                return Answer(is_behind=True)
    for change in changes:
        held.do(pickle.loads(change))
    result = held.do(pickle.loads(content))
    if held.version != begin:
        written(packed(held.part.state), folder / f"{number}.{held.version}")
        _remove_before(folder, number, begin)
    return Answer(result)


def _remove_before(folder: Path, number: int, version: int) -> None:
    """The state that a call began with stays, as the call may be made again."""
    for path in folder.glob(f"{number}.*"):
        with suppress(ValueError):
            if int(path.suffix[1:]) < version:
                path.unlink(missing_ok=True)
