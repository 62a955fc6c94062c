"""What makes conjugate gradients short: the Hessian of a part of the queries, factored.

Features differ in scale and go together, so that λI + XᵀHX is badly conditioned; a few queries show how.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import numpy as np
import scipy.linalg

from rankwright.engines.engine import Engine
from rankwright.machine.runs import split_by_size
from rankwright.solvers.linear_objective import LinearObjective, LinearPoint
from rankwright.types import Array

# Beyond this many features the matrix would take too much memory.
_MOST_FEATURES = 4096
# How many documents per feature show the shape of the Hessian well enough; they are taken in runs of about so many.
_DOCUMENTS_PER_FEATURE = 80
_DOCUMENTS_PER_RUN = 512
_TOO_MANY = 4
# What a number of X costs in a Hessian-vector product by columns, and in a product with X for each feature, against
# what it costs in a pass; and up to how many passes are well spent in any case.
_CURVE_PER_NUMBER, _PRODUCT_PER_NUMBER = 50.0, 0.15
_PASSES_WORTH_IT = 4
# So few numbers of X take a millisecond or two.
_FEW_NUMBERS = 1 << 17


class Preconditioner(Protocol):
    """A positive definite matrix M, like the Hessian."""

    def solve(self, vector: Array) -> Array:
        """M⁻¹v."""

    def norm(self, vector: Array) -> float:
        """√(vᵀMv)."""


class Diagonal(NamedTuple):
    """M is diagonal."""

    diagonal: Array

    def solve(self, vector: Array) -> Array:
        """Number by number."""
        return vector / self.diagonal

    def norm(self, vector: Array) -> float:
        """Weighted."""
        return float(np.sqrt(vector @ (self.diagonal * vector)))


class Factored(NamedTuple):
    """M = LLᵀ."""

    factor: Array

    def solve(self, vector: Array) -> Array:
        """By substitution."""
        solved: Array = scipy.linalg.cho_solve((self.factor, True), vector, check_finite=False)
        return solved

    def norm(self, vector: Array) -> float:
        """‖Lᵀv‖."""
        return float(np.linalg.norm(self.factor.T @ vector))


def preconditioner(
    objective: LinearObjective, point: LinearPoint, previous: Preconditioner | None = None, inner_steps: int = 0
) -> Preconditioner:
    """λI + the Hessian of some queries, scaled up to all of them, if it is worth its cost.

    It is, if it takes no more than a few passes over X, or no more than the ``inner_steps`` that were spent with the
    previous one: so at most twice as much is spent as would have been best. Else the previous one is kept, or the
    diagonal of the Hessian has to do.
    """
    runs, documents = _sample(objective)
    engine, alpha = objective.engine, objective.alpha
    if _cost_in_passes(engine, documents) > max(inner_steps, _PASSES_WORTH_IT):
        if isinstance(previous, Factored):
            return previous
        return Diagonal(alpha + np.maximum(objective.diagonal(point), 0.0))
    matrix = objective.sampled_hessian(point, runs) * (engine.n_documents / documents)
    matrix[np.diag_indices_from(matrix)] += alpha
    try:
        return Factored(scipy.linalg.cholesky(matrix, lower=True, check_finite=False))
    except np.linalg.LinAlgError:  # rounding: features of very different scales
        return Diagonal(np.maximum(np.diag(matrix), alpha))


def _cost_in_passes(engine: Engine, documents: int) -> float:
    """How many passes over X the Hessian of so many documents takes: n Hessian-vector products, and one matrix product.

    Infinite if they would not fit beside X: too many features, or one query that is far too long. Few numbers are free.
    """
    n, wanted = engine.n_features, _DOCUMENTS_PER_FEATURE * engine.n_features
    if n > _MOST_FEATURES or documents > max(_TOO_MANY * wanted, _DOCUMENTS_PER_RUN):
        return np.inf
    if documents * n <= _FEW_NUMBERS:
        return 0.0
    return documents / engine.n_documents * (_CURVE_PER_NUMBER + _PRODUCT_PER_NUMBER * n)


def _sample(objective: LinearObjective) -> tuple[list[tuple[int, int]], int]:
    """Runs of queries from all over the data, and how many documents they have."""
    engine = objective.engine
    wanted = _DOCUMENTS_PER_FEATURE * engine.n_features
    runs = split_by_size(engine.offsets, max(1, engine.n_documents // _DOCUMENTS_PER_RUN))
    every = max(1, engine.n_documents // wanted)
    chosen = runs[:: min(every, len(runs))]
    return chosen, sum(int(engine.offsets[last] - engine.offsets[first]) for first, last in chosen)
