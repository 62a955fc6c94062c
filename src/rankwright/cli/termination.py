"""SIGTERM, which ends a command as Ctrl-C does: what it has begun to write is removed on the way out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(SystemExit):
    """Somebody wants the command to end."""


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """While a command is at work, SIGTERM raises `Terminated` instead of ending the process where it stands."""
    if threading.current_thread() is not threading.main_thread():  # others cannot say what a signal does
        yield
        return
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: object) -> None:
    raise Terminated
