"""Linear algebra of many small matrices: one thread in each call, since the calls themselves run side by side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_thread_per_call() -> Iterator[None]:
    """While it lasts, BLAS and LAPACK use one thread for each call, and leave the others to our pool.

    The limit is one of the whole process, so the first to ask for it sets it, and the last to leave lifts it.
    """
    global _users, _limit
    with _lock:
        if _users == 0:
            _limit = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """What libraries there are takes a while to find out."""
    import scipy.linalg  # noqa: F401 - so that SciPy's own BLAS is found too

    return ThreadpoolController()
