"""Kernels of two documents by their names, and matrices of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from rankwright.checks import check_choice, check_number, check_positive
from rankwright.types import Array

# The parameters that each of them has.
KERNELS: dict[str, tuple[str, ...]] = {
    "linear": (),
    "rbf": ("gamma",),
    "poly": ("gamma", "degree", "coef0"),
    "laplacian": ("gamma",),
    "cosine": (),
}
_MOST_NUMBERS = 1 << 22  # of a block of a matrix


@dataclass(frozen=True)
class Kernel:
    """k(x, z) of two rows of features: a name with its parameters, or a function of the caller's own."""

    of: str | Callable[[Any, Any], float]
    parameters: Mapping[str, float]

    POSITIVE: ClassVar[tuple[str, ...]] = ("gamma", "degree")

    @classmethod
    def given(cls, kernel: Any, gamma: Any, degree: Any, coef0: Any, n_features: int) -> Kernel:
        """As rankers have it in their parameters; gamma None is 1 / number of features."""
        if callable(kernel):
            return cls(kernel, {})
        check_choice("kernel", kernel, KERNELS, or_else="a function")
        if gamma is not None:
            check_positive("gamma", gamma, or_else="None")
        check_positive("degree", degree)
        check_number("coef0", coef0, 0.0)
        known = {"gamma": 1 / max(n_features, 1) if gamma is None else gamma, "degree": degree, "coef0": coef0}
        return cls(kernel, {name: float(known[name]) for name in KERNELS[kernel]})

    @property
    def name(self) -> str | None:
        """None for a function."""
        return self.of if isinstance(self.of, str) else None

    def matrix(self, x: Any, z: Any) -> Array:
        """k between the rows of x and those of z, which are `plain`."""
        return np.asarray(pairwise_kernels(x, z, metric=self.of, **self.parameters), dtype=np.float64)

    def sums(self, x: Any, z: Any, weights: Array) -> Array:
        """Σ_i weights_i k(z_i, x) for each row of x."""
        if len(weights) == 0:  # scikit-learn refuses to compare with no document at all
            return np.zeros(x.shape[0])
        products: Array = self.matrix(x, z) @ weights
        return products


def plain(x: Any) -> Any:
    """Features in float64, as scikit-learn's kernels take them."""
    return sp.csr_matrix(x, dtype=np.float64) if sp.issparse(x) else np.asarray(x, np.float64)


def blocks(n_rows: int, n_columns: int) -> Iterator[tuple[int, int]]:
    """Runs of the rows of a matrix, each of which takes little memory."""
    step = max(_MOST_NUMBERS // max(n_columns, 1), 1)
    return ((first, min(first + step, n_rows)) for first in range(0, n_rows, step))
