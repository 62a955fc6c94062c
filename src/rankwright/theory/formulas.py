"""Risk bounds as formulas of numbers, in natural logarithms: m! has no float64 beyond m = 170."""

from __future__ import annotations

from math import exp, inf, log, log1p, pi, sqrt
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln


class Deviation(NamedTuple):
    """What a bound adds to the empirical risk: logarithms of its complexity term and of its confidence term."""

    complexity: float
    confidence: float


def log_factorial(m: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """ln m!"""
    logs: npt.NDArray[np.float64] = gammaln(np.asarray(m) + 1.0)
    return logs


def log_binomial(m: npt.ArrayLike, k: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """ln (m over k)."""
    return log_factorial(m) - log_factorial(k) - log_factorial(np.asarray(m) - k)


def log_of(value: float) -> float:
    """ln of a number that may be 0."""
    return log(value) if value > 0 else -inf


def log_sum(logs: npt.ArrayLike) -> float:
    """ln Σ exp(l), where l may be −∞."""
    return float(np.logaddexp.reduce(np.asarray(logs, dtype=np.float64), initial=-np.inf))


def log_less_one(log_value: float) -> float:
    """ln (e^l − 1) for l ≥ 0."""
    return -inf if log_value <= 0 else log_value + log1p(-exp(-log_value))


def sum_of_hinges(log_count: float, largest_margin: float, B: float, M: float, n: int, delta: float) -> Deviation:
    r"""K · 4BM/√N and K (a + 2BM) √(8 ln(2/δ)/N) (paper P, theorems 3 and 4, corollaries 1–3).

    A loss is a sum of K hinges, of K pairs or of K rankings, whose margins are at most a: m − 1 for full rankings,
    r − 1 for r levels, 1 for losses L in [0, 1]. Documents (rankings) have features of length M at most.

    >>> round(exp(sum_of_hinges(log_of(6), 3, B=1, M=2, n=10_000, delta=0.05).complexity), 6)
    0.48
    """
    complexity = log_count + log_of(4 * B * M / sqrt(n))
    confidence = log_count + log_of((largest_margin + 2 * B * M) * sqrt(8 * log(2 / delta) / n))
    return Deviation(complexity, confidence)


def by_contraction(lipschitz: float, B: float, M: float, m: int, n: int) -> float:
    """2 · √2 Λ B M √(m/N): twice the Rademacher average of a Λ-Lipschitz loss of m scores (Maurer 2016)."""
    return 2 * sqrt(2) * lipschitz * B * M * sqrt(m / n)


def by_comparison(radius: float, target_sum: float, B: float, M: float, m: int, n: int) -> float:
    """2 · (√(π/2) Λ₀ √m + ‖t‖₁) B M / √N: the same by Gaussian comparison, with the target ranking apart."""
    return 2 * (sqrt(pi / 2) * radius * sqrt(m) + target_sum) * B * M / sqrt(n)


def confidence(n: int, delta: float) -> float:
    """√(ln(1/δ) / 2N), for losses in [0, 1] and a complexity that does not depend on the sample (McDiarmid)."""
    return sqrt(log(1 / delta) / (2 * n))


def share_of_delta(k: int) -> float:
    """⅔ / ((|k| + 1)(|k| + 2)), the share of δ that the class with B = 2^k gets: Σ_k over all whole numbers is 1."""
    return 2 / (3 * (abs(k) + 1) * (abs(k) + 2))
