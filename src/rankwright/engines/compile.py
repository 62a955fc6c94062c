"""One decorator for every compiled kernel, so that all are compiled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba

F = TypeVar("F", bound=Callable[..., object])


def kernel(function: F) -> F:
    """Compile with Numba on the first call, keep the result on disk, and release the GIL while running.

    The floating-point rules stay strict: sums come out the same on every run.
    """
    return _compiled(function)


def inlined_kernel(function: F) -> F:
    """A kernel that is always copied into its caller: for the few instructions at the heart of a loop."""
    return _compiled(function, inline="always")


def summing_kernel(function: F) -> F:
    """A kernel whose sums may be reordered, so that they use vector instructions: still the same on every run."""
    return _compiled(function, fastmath={"reassoc", "nsz", "contract"})


def _compiled(function: F, **options: Any) -> F:
    try:
        compiled: F = numba.njit(nogil=True, error_model="numpy", cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in can be written to: compile anew in each process
        compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
    return compiled
