"""Ctrl-C while processes of a cluster are started."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def interrupted_later() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started. They inherit this, and never get it.

    In a terminal, Ctrl-C goes to all processes; it is for the one that started the others to end them.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # which would let Ctrl-C through again, if it were started in between
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
