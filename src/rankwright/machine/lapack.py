"""LAPACK routines that SciPy's own wrappers keep the interpreter locked for: here threads run them side by side.

The routines are those of ``scipy.linalg.cython_lapack``; `ctypes` unlocks the interpreter while it calls them.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from rankwright.types import Array

_BLOCK = 32  # columns that LAPACK works on together


@lru_cache
def _routine(name: str, n_arguments: int) -> Any:
    from scipy.linalg import cython_lapack

    capsule = cython_lapack.__pyx_capi__[name]
    name_of, pointer_of = ctypes.pythonapi.PyCapsule_GetName, ctypes.pythonapi.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * n_arguments)(pointer_of(capsule, name_of(capsule)))


def _call(name: str, *arguments: bytes | int | Array) -> None:
    """Call a routine: texts and arrays as they are, numbers by reference, the trailing ``info`` added and checked."""
    info = ctypes.c_int(0)
    passed = [_reference(argument) for argument in arguments]
    _routine(name, len(passed) + 1)(*passed, ctypes.addressof(info))
    if info.value:
        raise RuntimeError(f"LAPACK's {name} returned {info.value}")


def _reference(argument: bytes | int | Array) -> Any:
    if isinstance(argument, bytes):
        return argument
    return argument.ctypes.data if isinstance(argument, np.ndarray) else ctypes.byref(ctypes.c_int(argument))


class Tridiagonal(NamedTuple):
    """A symmetric matrix as QTQᵀ, T tridiagonal; Q is a product of reflections I − f_k v_k v_kᵀ.

    v_k is 0 up to coordinate k, 1 at k + 1, and reflections[k, k + 2:] from there on.
    """

    diagonal: Array
    beside: Array
    reflections: Array
    factors: Array


def tridiagonalise(matrix: Array) -> Tridiagonal:
    """Reduce a symmetric matrix, which is overwritten, in 4/3 n³ flops."""
    n = len(matrix)
    reduced = Tridiagonal(np.empty(n), np.empty(n), matrix, np.empty(n))
    work = np.empty(_BLOCK * n)
    _call("dsytrd", b"L", n, matrix, n, reduced.diagonal, reduced.beside, reduced.factors, work, len(work))
    return reduced
