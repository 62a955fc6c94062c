"""Linear algebra of many small matrices: one thread in each call, since the calls themselves run side by side."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController


def one_thread_per_call() -> AbstractContextManager[Any]:
    """While it lasts, BLAS and LAPACK use one thread for each call, and leave the others to our pool."""
    limit: AbstractContextManager[Any] = _controller().limit(limits=1, user_api="blas")
    return limit


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """What libraries there are takes a while to find out."""
    import scipy.linalg  # noqa: F401 - so that SciPy's own BLAS is found too

    return ThreadpoolController()
