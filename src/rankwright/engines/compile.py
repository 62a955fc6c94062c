"""One decorator for every compiled kernel, so that all are compiled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile with Numba on the first call, keep the result on disk, and release the GIL while running.

    The floating-point rules stay strict: sums come out the same on every run.
    """
    compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    return compiled


def inlined_kernel(function: F) -> F:
    """A kernel that is always copied into its caller: for the few instructions at the heart of a loop."""
    compiled: F = numba.njit(nogil=True, cache=True, error_model="numpy", inline="always")(function)
    return compiled
