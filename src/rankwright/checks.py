"""Parameters, checked: every error names the parameter, and says what it must be and what it is."""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import Any, TypeGuard

import numpy as np

from rankwright.errors import ParameterError

_LEAST_PROBABILITY = 1e-290  # its inverse, and shares of it, must be float64
_MOST_SEED = 2**32 - 1  # of scikit-learn's random numbers


def is_whole(value: Any) -> TypeGuard[int]:
    """Whether this is a whole number by its type; True and False are not."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def is_number(value: Any) -> TypeGuard[float]:
    """Whether this is a real number by its type; True and False are not."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def check_whole(name: str, value: Any, least: int, most: float = inf, *, or_else: str = "") -> None:
    """Refuse what is not a whole number in a range. ``or_else`` tells what the parameter could be instead.

    >>> check_whole("folds", 1.5, 2)
    Traceback (most recent call last):
    rankwright.errors.ParameterError: folds must be a whole number of at least 2, not 1.5
    """
    if not (is_whole(value) and least <= value <= most):
        limits = f"of at least {least}" if most == inf else f"from {least} to {most}"
        raise _not(name, f"a whole number {limits}", value, or_else)


def check_seed(name: str, value: Any) -> None:
    """Refuse what does not seed random numbers; None stands for others each time."""
    if value is not None:
        check_whole(name, value, 0, _MOST_SEED, or_else="None")


def check_number(name: str, value: Any, least: float, most: float = inf) -> None:
    """Refuse what is not a finite number in a range."""
    if not (is_number(value) and least <= value <= most and value < inf):
        limits = f"finite number of at least {least}" if most == inf else f"number from {least} to {most}"
        raise _not(name, f"a {limits}", value)


def check_positive(name: str, value: Any, *, or_else: str = "") -> None:
    """Refuse what is not a finite number above 0."""
    if not (is_number(value) and 0 < value < inf):
        raise _not(name, "a finite number above 0", value, or_else)


def check_probability(name: str, value: Any) -> None:
    """Refuse what is not a probability, or is one of 0 or 1."""
    if not (is_number(value) and _LEAST_PROBABILITY <= value < 1):
        raise _not(name, "a number between 0 and 1, such as 0.05", value)


def check_bool(name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool | np.bool_):
        raise _not(name, "True or False", value)


def check_choice(name: str, value: Any, choices: Iterable[str], *, or_else: str = "") -> None:
    """Refuse what is none of these names.

    >>> check_choice("tell", "some", ("all", "deciding"))
    Traceback (most recent call last):
    rankwright.errors.ParameterError: tell must be one of 'all', 'deciding', not 'some'
    """
    known = list(choices)
    if not (isinstance(value, str) and value in known):
        raise _not(name, f"one of {', '.join(map(repr, known))}", value, or_else)


def _not(name: str, expected: str, value: Any, or_else: str = "") -> ParameterError:
    also = f", or {or_else}" if or_else else ""
    return ParameterError(f"{name} must be {expected}{also}, not {value!r}")
