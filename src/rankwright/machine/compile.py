"""One decorator for every compiled kernel, so that all are compiled alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from numba.core.dispatcher import Dispatcher

from rankwright.machine.cache import KernelCache, warn_not_kept

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
    compiled: Any = numba.njit(nogil=True, error_model="numpy", **options)(function)
    if isinstance(compiled, Dispatcher):  # and not the plain function, with NUMBA_DISABLE_JIT
        try:
            compiled._cache = KernelCache(function)  # type: ignore[attr-defined]
        except Exception as error:  # there is no folder to keep it in, or Numba keeps kernels in another way
            warn_not_kept(f"({error})")
    return cast(F, compiled)
