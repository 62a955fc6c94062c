"""How far below the mean the bounds of certificates are, in σ/√N: ``python -m benchmarks.certificates``.

Beside those of the library: bets settled by the values seen so far, in one order or in the mean over 16 (Waudby-Smith
and Ramdas, 2024), and a mixture of constant bets, which does not depend on the order at all. The normal distribution,
for which nothing is certain, has 1.64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.evaluation.tables import plain_table
from rankwright.theory.mean_bounds import _mixture_bound, bernstein_bound, betting_bound, hoeffding_bound

Values = npt.NDArray[np.float64]

_DELTA = 0.05
_REPEATS = 40
_SIZES = (20, 100, 1_000, 5_000)
_ORDERS = 16


def _ndcg_like(rng: np.random.Generator, n: int) -> Values:
    u = rng.random(n)
    return np.where(u < 0.15, 0.0, np.where(u < 0.25, 1.0, rng.beta(1.6, 1.8, n)))


_DRAWS: dict[str, Callable[[np.random.Generator, int], Values]] = {
    "like nDCG": _ndcg_like,
    "beta(2, 2)": lambda rng, n: rng.beta(2, 2, n),
    "beta(20, 5)": lambda rng, n: rng.beta(20, 5, n),
    "0 or 1, mean 0.9": lambda rng, n: (rng.random(n) < 0.9).astype(np.float64),
}


def _settled_bets(values: Values) -> Values:
    """√(2 ln(1/δ) / (N v)), v the variance of the values before."""
    seen = np.arange(2, len(values) + 2)
    means = (0.5 + np.cumsum(values)) / seen
    variances = (0.25 + np.cumsum((values - means) ** 2)) / seen
    before: Values = np.concatenate([[0.25], variances[:-1]])
    bets: Values = np.sqrt(2 * np.log(1 / _DELTA) / (len(values) * before))
    return bets


def _settled_bound(values: Values, orders: int) -> float:
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(values) for _ in range(orders)])
    bets = np.array([_settled_bets(row) for row in rows])
    low, high = 0.0, float(values.mean())
    while high - low > 1e-3 / np.sqrt(len(values)):
        middle = (low + high) / 2
        logs = np.log1p(np.minimum(bets, 0.9 / middle) * (rows - middle)).sum(axis=1)
        enough = np.logaddexp.reduce(logs) - np.log(orders) >= np.log(1 / _DELTA)
        low, high = (middle, high) if enough else (low, middle)
    return low


_BOUNDS: dict[str, Callable[[Values], float]] = {
    "hoeffding": lambda x: hoeffding_bound(x, _DELTA),
    "bernstein": lambda x: bernstein_bound(x, _DELTA),
    "mixture": lambda x: _mixture_bound(x, _DELTA, 1e-3 / np.sqrt(len(x))),
    "settled": lambda x: _settled_bound(x, 1),
    "settled, 16 orders": lambda x: _settled_bound(x, _ORDERS),
    "betting": lambda x: betting_bound(x, _DELTA),
}


def widths(draw: Callable[[np.random.Generator, int], Values], n: int) -> list[float]:
    """The mean of (mean − bound) / (σ/√N) for every bound."""
    rng = np.random.default_rng(n)
    samples = [draw(rng, n) for _ in range(_REPEATS)]
    unit = draw(rng, 100_000).std() / np.sqrt(n)
    return [float(np.mean([x.mean() - bound(x) for x in samples]) / unit) for bound in _BOUNDS.values()]


def main() -> None:
    """Print a row for each distribution and size."""
    rows = [
        [name, f"{n:,}", *(f"{width:.2f}" for width in widths(draw, n))]
        for name, draw in _DRAWS.items()
        for n in _SIZES
    ]
    print(plain_table(["values", "N", *_BOUNDS], rows, title=f"(mean − bound) / (σ/√N), δ = {_DELTA:g}"))


if __name__ == "__main__":
    main()
