"""Increasing functions of one feature that a model can compute, and every target with arithmetic can too.

All of them take 0 to 0, so that what is not stored in sparse data needs no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt

from rankwright.types import Array

TransformName = Literal["none", "log", "quantile"]
TRANSFORMS: tuple[TransformName, ...] = get_args(TransformName)


@dataclass(frozen=True)
class Log:
    """x ↦ sign(x) · log(1 + |x| / unit)."""

    unit: float

    name = "log"

    def __call__(self, x: npt.ArrayLike) -> Array:
        """NaN stays NaN."""
        values = np.asarray(x, dtype=np.float64)
        with np.errstate(invalid="ignore"):
            return np.copysign(np.log1p(np.abs(values) / self.unit), values)

    def inverse(self, y: npt.ArrayLike) -> Array:
        """The x that is taken to y."""
        values = np.asarray(y, dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            return np.copysign(np.expm1(np.abs(values)) * self.unit, values)

    def __str__(self) -> str:
        return "log(1 + x)" if self.unit == 1 else f"log(1 + x / {self.unit:.4g})"


@dataclass(frozen=True)
class Quantile:
    """x ↦ the share of training documents below x, as a line from knot to knot; constant outside, and 0 at 0."""

    knots: tuple[float, ...]
    heights: tuple[float, ...]

    name = "quantile"

    def __call__(self, x: npt.ArrayLike) -> Array:
        """NaN stays NaN, and what is infinite stays so: it is no value of a feature."""
        values = np.asarray(x, dtype=np.float64)
        return np.where(np.isinf(values), values, np.interp(values, self.knots, self.heights))

    def inverse(self, y: npt.ArrayLike) -> Array:
        """The x that is taken to y; NaN beyond the first and the last knot, where no x is."""
        values = np.asarray(y, dtype=np.float64)
        return np.asarray(np.interp(values, self.heights, self.knots, left=np.nan, right=np.nan), dtype=np.float64)

    def __str__(self) -> str:
        return f"quantile, {len(self.knots)} knots"


Transform: TypeAlias = Log | Quantile
Transforms: TypeAlias = Mapping[int, Transform]  # by column; a feature that is not named stays as it is
