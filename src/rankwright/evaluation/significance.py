"""How sure a difference is: bootstrap intervals, paired tests, and Holm's correction for several of them."""

from __future__ import annotations

from math import erfc, sqrt

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]

RESAMPLES = 2_000
FLIPS = 10_000
_AT_A_TIME = 4_000_000  # random numbers drawn at once
_ROUNDING = 1e-12  # differences of measured values that are nearer to each other, relative to the values, are equal
_EXACT_UP_TO = 50  # differences whose signs are all counted: 2^50 is still exact in float64


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
    slack = _ROUNDING * np.abs(differences).sum()  # sums that differ by rounding alone count as equal
    extreme = 0
    step = max(1, _AT_A_TIME // len(differences))
    for start in range(0, FLIPS, step):
        signs = rng.integers(0, 2, (min(step, FLIPS - start), len(differences)), dtype=np.int8)
        flipped = 2 * (signs @ differences) - differences.sum()
        extreme += int(np.count_nonzero(np.abs(flipped) >= observed - slack))
    return (1 + extreme) / (1 + FLIPS)


def wilcoxon_test(differences: Values, scale: npt.ArrayLike = 1.0) -> float:
    """Two-sided p-value of the Wilcoxon signed-rank test (paper L, §5.1); 1 if nothing differs.

    W⁺ = Σ ranks of the positive differences among all |d|, without the zeros. Up to 50 differences its distribution
    over all signs is counted exactly, ties included; beyond that it is taken for normal, with variance Σ rank² / 4.

    Equal differences of measured values rarely agree in the last digit: 0.9 − 0.6 and 0.5 − 0.2 are two floating-point
    numbers. So what differs by less than 10⁻¹² of ``scale`` counts as tied, and what is smaller counts as zero.

    Parameters
    ----------
    differences : one for each query
    scale : how large the values were that were subtracted; one number, or one for each query
    """
    sizes = np.abs(differences)
    rounding = _ROUNDING * np.maximum(np.broadcast_to(np.abs(scale), sizes.shape), sizes)
    counts = sizes > rounding
    if not counts.any():
        return 1.0
    doubled = _doubled_ranks(sizes[counts], rounding[counts])
    positive = int(doubled[differences[counts] > 0].sum())
    smaller = min(positive, int(doubled.sum()) - positive)
    return _exact_p(doubled, smaller) if len(doubled) <= _EXACT_UP_TO else _normal_p(doubled, smaller)


def _doubled_ranks(sizes: Values, rounding: Values) -> npt.NDArray[np.int64]:
    """Twice the rank of each size, a whole number: ties share the mean of their ranks."""
    ascending = np.argsort(sizes, kind="stable")
    is_larger = np.diff(sizes[ascending]) > rounding[ascending][:-1] + rounding[ascending][1:]
    firsts = np.flatnonzero(np.append(True, is_larger))
    lasts = np.append(firsts[1:], len(sizes)) - 1
    ranks = np.empty(len(sizes), np.int64)
    ranks[ascending] = np.repeat(firsts + lasts + 2, lasts - firsts + 1)
    return ranks


def _exact_p(doubled: npt.NDArray[np.int64], smaller: int) -> float:
    """2 P(W ≤ smaller) when every choice of signs is as likely as any other."""
    choices = np.zeros(int(doubled.sum()) + 1)  # how many choices of signs give each sum: whole numbers below 2^53
    choices[0] = 1.0
    for rank in doubled:
        choices[rank:] += choices[:-rank].copy()
    return min(1.0, 2 * float(choices[: smaller + 1].sum() / choices.sum()))


def _normal_p(doubled: npt.NDArray[np.int64], smaller: int) -> float:
    deviations = (doubled.sum() / 2 - smaller) / sqrt(float(np.square(doubled, dtype=np.float64).sum()) / 4)
    return erfc(deviations / sqrt(2))


def holm(p_values: Values) -> Values:
    """Holm's correction: the k-th smallest of n p-values times n − k + 1, made non-decreasing, at most 1."""
    ascending = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    corrected = np.minimum(1.0, np.maximum.accumulate(p_values[ascending] * factors))
    result = np.empty(len(p_values))
    result[ascending] = corrected
    return result
