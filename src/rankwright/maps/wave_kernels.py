"""Compiled loops that make columns of a map: rows put on one scale, cosines and sines, and Gaussians.

Angles are in turns: a whole turn is 1, so that taking whole turns off is exact, however many there are.
"""

from __future__ import annotations

from math import factorial, pi
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import inlined_kernel, kernel

Floats = npt.NDArray[Any]


def _coefficients(n_terms: int) -> list[float]:
    """Those of sin(2πs) = s · (c_0 + c_1 s² + …)."""
    return [(-1) ** k * (2 * pi) ** (2 * k + 1) / factorial(2 * k + 1) for k in range(n_terms)]


# For |s| ≤ 1/4 what is left out is below the rounding of each type.
_D0, _D1, _D2, _D3, _D4, _D5, _D6, _D7, _D8, _D9, _D10 = _coefficients(11)
_S0, _S1, _S2, _S3, _S4, _S5, _S6 = map(np.float32, _coefficients(7))
_HALF, _QUARTER = np.float32(0.5), np.float32(0.25)


@inlined_kernel
def _double_sine(s: float) -> float:
    """sin(2πs) for |s| ≤ 1/4."""
    q = s * s
    high = _D6 + q * (_D7 + q * (_D8 + q * (_D9 + q * _D10)))
    return s * (_D0 + q * (_D1 + q * (_D2 + q * (_D3 + q * (_D4 + q * (_D5 + q * high))))))


@inlined_kernel
def _single_sine(s: np.float32) -> np.float32:
    """sin(2πs) for |s| ≤ 1/4."""
    q = s * s
    return s * (_S0 + q * (_S1 + q * (_S2 + q * (_S3 + q * (_S4 + q * (_S5 + q * _S6))))))


@kernel
def double_waves(turns: Floats, size: float, out: Floats) -> None:
    """size · cos of each angle of a row, then size · sin of as many of them as there is room for, in float64."""
    n, n_sines = turns.shape[1], out.shape[1] - turns.shape[1]
    for i in range(turns.shape[0]):
        row, cosines, sines = turns[i], out[i, :n], out[i, n:]
        for j in range(n):
            cosines[j] = size * _double_sine(0.25 - abs(row[j] - np.rint(row[j])))
        for j in range(n_sines):
            rest = row[j] - np.rint(row[j])
            sines[j] = size * _double_sine(np.copysign(min(abs(rest), 0.5 - abs(rest)), rest))


@kernel
def single_waves(turns: Floats, size: np.float32, out: Floats) -> None:
    """The same in float32."""
    n, n_sines = turns.shape[1], out.shape[1] - turns.shape[1]
    for i in range(turns.shape[0]):
        row, cosines, sines = turns[i], out[i, :n], out[i, n:]
        for j in range(n):
            cosines[j] = size * _single_sine(_QUARTER - abs(row[j] - np.rint(row[j])))
        for j in range(n_sines):
            rest = row[j] - np.rint(row[j])
            sines[j] = size * _single_sine(np.copysign(min(abs(rest), _HALF - abs(rest)), rest))


@kernel
def standardised_rows(x: Floats, kept: Floats, shift: Floats, scale: Floats, begin: int, end: int, out: Floats) -> None:
    """(x − shift) / scale of some columns of rows begin … end − 1, in float64 before they are rounded."""
    for i in range(begin, end):
        row, to = x[i], out[i]
        for j in range(len(kept)):
            to[j] = (row[kept[j]] - shift[j]) / scale[j]
