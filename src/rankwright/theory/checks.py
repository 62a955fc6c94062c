"""Parameters of the theory, checked; every error names the parameter."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from rankwright.data.queries import Queries
from rankwright.errors import ParameterError

_LEAST_DELTA = 1e-290  # 2/δ and its shares must be float64


def check_positive(name: str, value: Any) -> None:
    """A finite number above 0."""
    if not (_is_number(value) and 0 < value < inf):
        raise ParameterError(f"{name} must be a finite number above 0, not {value!r}")


def check_delta(delta: Any) -> None:
    """A probability that is neither 0 nor 1."""
    if not (_is_number(delta) and _LEAST_DELTA <= delta < 1):
        raise ParameterError(f"delta must be a number between 0 and 1, such as 0.05, not {delta!r}")


def check_whole(name: str, value: Any, least: int) -> None:
    """A whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}, not {value!r}")


def check_queries(queries: Any) -> None:
    """Queries, and not X alone."""
    if not isinstance(queries, Queries):
        raise ParameterError(f"queries must be Queries, not {type(queries).__name__}")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """One of some names."""
    if not isinstance(value, str) or value not in choices:
        raise ParameterError(f"{name} must be one of {', '.join(map(repr, choices))}, not {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
