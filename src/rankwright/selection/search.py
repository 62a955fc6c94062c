"""`search()`: marks a parameter as one to be chosen, and how a choice among models is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeGuard

import numpy as np

from rankwright.checks import check_choice, check_positive
from rankwright.errors import DataError, ParameterError
from rankwright.measures.measure import Measure, measures_of
from rankwright.types import Array

Rule = Literal["best", "one-standard-error"]
RULES = ("best", "one-standard-error")
NONE_COUNTS = "the measure that decides is defined for none of the held-out queries: do any have a relevant document?"

_ROUNDING = 1e-9  # of a standard error


@dataclass(frozen=True)
class Search:
    """A parameter that is to be chosen from values; None stands for the estimator's own grid."""

    values: tuple[float, ...] | None = None

    def __repr__(self) -> str:
        return f"search({', '.join(_told(value) for value in self.values or ())})"


def _told(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float | np.number) else repr(value)


def search(*values: float | Iterable[float]) -> Search:
    """Choose a parameter from these values, or from the estimator's own grid, by what comes out on held-out queries.

    >>> import rankwright as rw
    >>> rw.RankRLS(alpha=rw.search(0.1, 1, 10)).alpha
    search(0.1, 1, 10)
    """
    several: list[Iterable[Any]] = [item if _is_several(item) else (item,) for item in values]
    flat = tuple(value for part in several for value in part)
    if values and not flat:
        raise ParameterError("search: give at least one value, or none at all for the default grid")
    return Search(flat or None)


def _is_several(item: Any) -> TypeGuard[Iterable[Any]]:
    return isinstance(item, Iterable) and not isinstance(item, str)


class Estimate(NamedTuple):
    """A measure's mean over held-out queries and the standard error of that mean."""

    mean: float
    standard_error: float


def estimate_of(values: Array) -> Estimate:
    """The mean over queries, without those that a measure leaves out (NaN), and its standard error."""
    left_out = np.isnan(values)
    counted = values[~left_out] if left_out.any() else values
    n = len(counted)
    if n == 0:
        return Estimate(np.nan, np.nan)
    mean = float(counted.sum()) / n
    deviations = counted - mean
    error = math.sqrt(float(deviations @ deviations) / (n - 1) / n) if n > 1 else math.inf
    return Estimate(mean, error)


def first_best(values: Sequence[Estimate], lower_is_better: bool) -> int:
    """The position of the best mean; the first one if several are equal, NaN never."""
    return int(np.argmax([_worth(value.mean, lower_is_better) for value in values]))


def choose_by(
    rule: Rule,
    estimates: Sequence[Estimate],
    values_of: Callable[[int], Array],
    costs: Sequence[float] | Array,
    lower_is_better: bool,
) -> int:
    """The position of the best model, or by the one-standard-error rule of the cheapest that is as good.

    If several are as cheap, it is the best of these. ``values_of`` gives what the estimate of a model is made of, a
    value for each held-out query. Only the one-standard-error rule asks for it, model by model until one is as good.
    """
    if all(math.isnan(estimate.mean) for estimate in estimates):
        raise DataError(NONE_COUNTS)
    best = first_best(estimates, lower_is_better)
    if rule == "best":
        return best
    worth = [_worth(estimate.mean, lower_is_better) for estimate in estimates]
    cheapest_first = sorted(range(len(worth)), key=lambda at: (costs[at], -worth[at]))
    of_best = values_of(best)
    return next(at for at in cheapest_first if is_as_good(estimate_of(values_of(at) - of_best), lower_is_better))


def is_as_good(difference: Estimate, lower_is_better: bool) -> bool:
    """Whether a model that differs from the best by so much, query by query, is within one standard error of it.

    Queries differ in difficulty far more than models do. That both ranked the same queries takes this out: the standard
    error of the best mean alone would call models as good that are clearly worse. A single query has no standard error:
    then only what is no worse is as good. If all queries but one are alike, the difference is just one standard error.
    """
    mean, error = difference
    return (mean if lower_is_better else -mean) <= (error * (1 + _ROUNDING) if math.isfinite(error) else 0.0)


def _worth(mean: float, lower_is_better: bool) -> float:
    """The more the better."""
    if np.isnan(mean):
        return -np.inf
    return -mean if lower_is_better else mean


def checked_rule(rule: Any) -> Rule:
    """The parameter ``rule``, checked."""
    check_choice("rule", rule, RULES)
    chosen: Rule = rule
    return chosen


def optional_measures(measures: Any) -> tuple[Measure, ...]:
    """Measures as text or objects; none at all is fine."""
    if measures is None or (not isinstance(measures, str | Measure) and len(tuple(measures)) == 0):
        return ()
    return measures_of(measures)


def checked_alphas(alpha: Any, grid: Array) -> Array:
    """The values of λ to fit, in ascending order: one, those of a search, or the estimator's grid."""
    if isinstance(alpha, Search):
        return np.unique(_positive(grid if alpha.values is None else alpha.values, alpha))
    check_positive("alpha", alpha, or_else="search(…)")
    return np.array([alpha], np.float64)


def given_alphas(alphas: Any) -> Array:
    """Values of λ that a caller lists, as listed."""
    return _positive(alphas, alphas)


def _positive(values: Any, told: Any) -> Array:
    try:
        alphas = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        alphas = np.array([np.nan])
    if alphas.ndim != 1 or len(alphas) == 0 or not np.all((alphas > 0) & np.isfinite(alphas)):
        raise ParameterError(f"alpha must be finite and above 0, not {told!r}")
    return alphas
