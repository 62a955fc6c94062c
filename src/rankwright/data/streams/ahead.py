"""The next part is read while one is in work."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from queue import Queue
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


def one_ahead(read: Callable[[T], R], items: Sequence[T]) -> Generator[R]:
    """``read(item)`` for each item in order; while one is in work, the next is read on a thread.

    No more than one is ever read ahead. Leaving early, by an error or an interruption too, waits for the item that is
    being read, so that neither the thread nor what it has open outlasts the generator.
    """
    if len(items) < 2:
        yield from map(read, items)
        return
    wanted: Queue[T | None] = Queue()
    found: Queue[tuple[R | None, BaseException | None]] = Queue()

    def reads() -> None:
        while (item := wanted.get()) is not None:
            try:
                found.put((read(item), None))
            except BaseException as error:  # told where the items are wanted
                found.put((None, error))
            del item

    thread = threading.Thread(target=reads, name="rankwright-reads-ahead", daemon=True)
    thread.start()
    try:
        wanted.put(items[0])
        for place in range(len(items)):
            result, error = found.get()
            if error is not None:
                raise error
            if place + 1 < len(items):
                wanted.put(items[place + 1])
            yield result  # type: ignore[misc]
            del result
    finally:
        wanted.put(None)
        thread.join()
