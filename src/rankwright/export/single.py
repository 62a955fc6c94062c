"""Numbers for engines that compute in float32; each is given by the fewest digits that tell it there."""

from __future__ import annotations

import math

import numpy as np

from rankwright.errors import ParameterError
from rankwright.export.content import Linear

_LEAST = float(np.finfo(np.float32).tiny)
_INFINITY = np.float32(math.inf)
_LARGEST = float(np.finfo(np.float32).max)


def single(value: float, what: str) -> float:
    """The nearest number of float32; an error that says what if it keeps less than all of its 24 bits.

    >>> single(1 / 3, "a weight")
    0.33333334
    """
    return _shortest(_in_range(value, what))


def single_or_zero(value: float, what: str) -> float:
    """The same of a number that is added, of which nothing is lost if it is too small."""
    return single(value, what) if abs(value) >= _LEAST else 0.0


def single_weights(content: Linear) -> dict[str, float]:
    """The weights by the names of the features."""
    pairs = zip(content.features, content.weights, strict=True)
    return {feature.name: single(weight, f"the weight of feature {feature.name!r}") for feature, weight in pairs}


def at_most(value: float, what: str) -> float:
    """The largest number of float32 that is no larger: x ≤ it where x ≤ value, for any x of float32."""
    return _shortest(_at_most(value, what))


def above(value: float, what: str) -> float:
    """The least number of float32 that is larger: x ≥ it where x > value, for any x of float32."""
    larger = np.nextafter(_at_most(value, what), _INFINITY)
    if larger == _INFINITY:
        raise _unfit(value, what, "large")
    return _shortest(larger)


def reached_by_adding(slack: float, value: float, what: str) -> float:
    """A number of float32 that becomes ``at_most(value)`` once ``slack`` is added in float32, or the next such sum.

    Not every number is such a sum: around 0, they are spaced as numbers around the slack are.
    """
    goal, added = _at_most(value, what), np.float32(slack)
    nearest = np.float32(float(goal) - float(added))
    candidates = (np.nextafter(nearest, -_INFINITY), nearest, np.nextafter(nearest, _INFINITY))
    return _shortest(min((start for start in candidates if start + added >= goal), key=lambda start: start + added))


def _at_most(value: float, what: str) -> np.float32:
    if abs(value) > _LARGEST:
        raise _unfit(value, what, "large")
    nearest = np.float32(value)
    return nearest if float(nearest) <= value else np.nextafter(nearest, -_INFINITY)


def _in_range(value: float, what: str) -> np.float32:
    if abs(value) > _LARGEST or 0 < abs(value) < _LEAST:
        raise _unfit(value, what, "large" if abs(value) > 1 else "small")
    return np.float32(value)


def _unfit(value: float, what: str, size: str) -> ParameterError:
    return ParameterError(f"{what} is {value:g}, which is too {size} for float32, in which this target computes")


def _shortest(value: np.float32) -> float:
    return float(str(value))
