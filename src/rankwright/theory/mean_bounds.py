"""Lower confidence bounds for the mean of values in [0, 1]: with probability ≥ 1 − δ the mean is not below them.

The values must be drawn independently from one distribution. An upper bound is 1 − the lower bound of 1 − x.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwright.arrays import real_numbers
from rankwright.checks import check_probability
from rankwright.errors import ParameterError
from rankwright.theory.betting_kernels import first_believable

Values = npt.NDArray[np.float64]

# `betting_bound`: the part of δ that tells where to begin, the target as a multiple of what is enough, and how many
# means are tried within 1/√n.
_FOR_THE_START = 1 / 32
_OVERSHOOT = 4 / 3
_TRIED = 128
_STAKES = 2.0 ** np.arange(8)


def hoeffding_bound(values: Values, delta: float) -> float:
    """x̄ − √(ln(1/δ) / 2n) (Hoeffding, 1963): it knows nothing of how the values spread."""
    values = _checked(values, delta)
    return max(0.0, float(values.mean() - np.sqrt(np.log(1 / delta) / (2 * len(values)))))


def bernstein_bound(values: Values, delta: float) -> float:
    """x̄ − √(2 V ln(2/δ) / n) − 7 ln(2/δ) / 3(n − 1), V the sample variance (Maurer and Pontil, 2009, theorem 4)."""
    values = _checked(values, delta)
    n = len(values)
    if n == 1:
        return 0.0
    log = np.log(2 / delta)
    return max(0.0, float(values.mean() - np.sqrt(2 * values.var(ddof=1) * log / n) - 7 * log / (3 * (n - 1))))


def clopper_pearson_bound(successes: int, trials: int, delta: float) -> float:
    """The p with P[Binomial(n, p) ≥ successes] = δ (Clopper and Pearson, 1934): exact for values that are 0 or 1."""
    from scipy.special import betaincinv

    check_probability("delta", delta)
    if not 0 <= successes <= trials or trials < 1:
        raise ParameterError(f"successes must be between 0 and trials ≥ 1, not {successes} of {trials}")
    return float(betaincinv(successes, trials - successes + 1, delta)) if successes else 0.0


def betting_bound(values: Values, delta: float) -> float:
    """The greatest m such that no mean up to m is believable: bets against it would have won 1/δ.

    A test by betting (Waudby-Smith and Ramdas, 2024): capital that cannot grow in expectation while the mean is at
    most m reaches 1/δ with probability ≤ δ (Markov). Bets are chosen anew for what is still to be won
    (`betting_kernels.capital`), and the capital is the mean over 16 orders of the values, which cannot grow either.
    Every order aims at 4/3 of what is enough, so that it is enough if three quarters of them succeed: the bound then
    hardly depends on how the values stand. They are shuffled first, always alike.

    How it is inverted without a loss: a bet against m is also one against all lower means, but the bets for different
    m differ, and capital need not fall as m grows. So the means tried are fixed beforehand, 1/(128 √n) apart, and all
    up to the bound must be rejected; the least of them above the true mean is rejected with probability ≤ 31/32 δ.
    The search begins at the bound of a mixture of constant bets, which does fall with m, at 1/32 δ.
    """
    values = _checked(values, delta)
    n = len(values)
    if n == 1:  # a single bet wins at most x / m
        return float(delta * values[0])
    spacing = 1 / (_TRIED * np.sqrt(n))
    start = _mixture_bound(values, _FOR_THE_START * delta, spacing)
    enough = 1 / ((1 - _FOR_THE_START) * delta)
    least = int(start / spacing) + 1
    shuffled = np.random.default_rng(0).permutation(values)
    beyond = first_believable(shuffled, least, spacing, _OVERSHOOT * enough, enough)
    return start if beyond == least else float((beyond - 1) * spacing)


def _mixture_bound(values: Values, delta: float, tolerance: float) -> float:
    """The greatest m with mean_j Π_i (1 + λ_j (x_i − m)) ≥ 1/δ, to within a tolerance below it.

    λ_j = 2^j √(8 ln(1/δ) / n), the best bets if the standard deviation is 2^−(j+1), but at most 1/m. Each factor falls
    as m grows, so the mean of the products does.
    """
    stakes = _STAKES * np.sqrt(8 * np.log(1 / delta) / len(values))
    low, high = 0.0, float(values.mean())
    while high - low > tolerance:
        middle = (low + high) / 2
        bets = np.minimum(stakes, 1 / middle)
        with np.errstate(divide="ignore"):  # all may be lost
            logs = np.log1p(np.maximum(np.outer(bets, values - middle), -1)).sum(axis=1)
        if np.logaddexp.reduce(logs) - np.log(len(logs)) >= np.log(1 / delta):
            low = middle
        else:
            high = middle
    return low


def _checked(values: npt.ArrayLike, delta: float) -> Values:
    check_probability("delta", delta)
    checked = real_numbers(values, "values")
    if checked.ndim != 1 or len(checked) == 0:
        raise ParameterError(f"values must be a list of at least one number, not of shape {checked.shape}")
    if not np.all((checked >= 0) & (checked <= 1)):
        place = int(np.argmin((checked >= 0) & (checked <= 1)))
        raise ParameterError(f"values must be between 0 and 1, but value {place} is {checked[place]:g}")
    return checked
