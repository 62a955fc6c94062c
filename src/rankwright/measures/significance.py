"""How sure a difference is: bootstrap intervals, paired tests, and Holm's correction for several of them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

RESAMPLES = 2_000
FLIPS = 10_000
_AT_A_TIME = 4_000_000  # random numbers drawn at once


def bootstrap_interval(values: Values, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """The percentile bootstrap interval for the mean of per-query values."""
    if len(values) == 0:
        return float("nan"), float("nan")
    low, high = np.quantile(bootstrap_means(values, seed), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def bootstrap_means(values: Values, seed: int = 0) -> Values:
    """The means of RESAMPLES draws of as many queries, with replacement."""
    rng = np.random.default_rng(seed)
    means = np.empty(RESAMPLES)
    step = max(1, _AT_A_TIME // len(values))
    for start in range(0, RESAMPLES, step):
        stop = min(start + step, RESAMPLES)
        means[start:stop] = values[rng.integers(0, len(values), (stop - start, len(values)), dtype=np.int32)].mean(
            axis=1
        )
    return means


def randomisation_test(differences: Values, seed: int = 0) -> float:
    """Two-sided p-value of the paired randomisation test: the signs of the differences are flipped at random.

    p = (1 + flips with a mean at least as far from 0) / (1 + flips), which is never 0 and never too small.
    """
    differences = differences[differences != 0]
    if len(differences) == 0:
        return 1.0
    rng = np.random.default_rng(seed)
    observed = abs(differences.sum())
    slack = 1e-12 * np.abs(differences).sum()  # sums that differ by rounding alone count as equal
    extreme = 0
    step = max(1, _AT_A_TIME // len(differences))
    for start in range(0, FLIPS, step):
        signs = rng.integers(0, 2, (min(step, FLIPS - start), len(differences)), dtype=np.int8)
        flipped = 2 * (signs @ differences) - differences.sum()
        extreme += int(np.count_nonzero(np.abs(flipped) >= observed - slack))
    return (1 + extreme) / (1 + FLIPS)


def wilcoxon_test(differences: Values) -> float:
    """Two-sided p-value of the Wilcoxon signed-rank test (paper L, §5.1); 1 if nothing differs."""
    from scipy.stats import wilcoxon

    differences = differences[differences != 0]
    if len(differences) == 0:
        return 1.0
    return float(wilcoxon(differences).pvalue)


def holm(p_values: Values) -> Values:
    """Holm's correction: the k-th smallest of n p-values times n − k + 1, made non-decreasing, at most 1."""
    ascending = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.minimum(1.0, np.maximum.accumulate(p_values[ascending] * factors))
    result = np.empty(len(p_values))
    result[ascending] = corrected
    return result
