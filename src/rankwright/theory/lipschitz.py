"""How much a structured hinge can change with the scores: ξ(s) = max_y Δ(y) + c(y)ᵀs − tᵀs.

|ξ(s) − ξ(s')| ≤ Λ‖s − s'‖ with Λ = max_y ‖c(y) − t‖. And ξ is a maximum, which is Λ₀-Lipschitz with the length Λ₀ of
c(y) − c̄, less a linear function, which needs no such constant. A query that has no loss has Λ = Λ₀ = 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankwright.losses.structured import APLosses, NDCGLosses, StructuredHinge, StructuredLosses, checked_measure
from rankwright.measures.conventions import convention_of
from rankwright.types import Array


@dataclass(frozen=True, eq=False)
class Lipschitz:
    """Of each query: Λ, Λ₀, and how large its coefficients are; of each document, its coefficient in the target.

    Attributes
    ----------
    constants : Λ_q = max_y ‖c(y) − t‖
    radii : Λ₀_q = ‖c(y) − c̄‖ at most, over y
    targets : t − c̄, each query's documents together
    sums : max_y ‖c(y) − c̄‖₁, and so at least ‖t − c̄‖₁
    """

    constants: Array
    radii: Array
    targets: Array
    sums: Array


def lipschitz_of(losses: StructuredLosses) -> Lipschitz:
    """In closed form: the ranking that is farthest from the target is its reverse."""
    assert losses.targets is not None
    counts = losses.weights > 0
    if isinstance(losses, APLosses):
        constants, radii, sums, mean = *_of_precision(losses), np.zeros(losses.n_queries)
    else:
        assert isinstance(losses, NDCGLosses)
        constants, radii, sums, mean = _of_ndcg(losses)
    targets = losses.targets - np.repeat(mean, np.diff(losses.offsets))
    return Lipschitz(
        np.where(counts, constants, 0.0),
        np.where(counts, radii, 0.0),
        np.where(np.repeat(counts, np.diff(losses.offsets)), targets, 0.0),
        np.where(counts, sums, 0.0),
    )


def _of_ndcg(losses: NDCGLosses) -> tuple[Array, Array, Array, Array]:
    """c(y) has A₁, …, A_m in the order of y: Λ² = Σ A² + Σ t² − 2 Σ_r A_r t₍m+1−r₎ by the rearrangement inequality."""
    offsets, targets = losses.offsets, losses.targets
    assert targets is not None
    sizes = np.diff(offsets)
    depth = np.minimum(sizes, len(losses.position_weights))
    sum_of, square_of = (
        np.append(0.0, np.cumsum(values)) for values in (losses.position_weights, losses.position_weights**2)
    )
    mean = sum_of[depth] / sizes
    codes = np.repeat(np.arange(len(sizes)), sizes)
    ascending = targets[np.lexsort((targets, codes))]
    weights = losses.weights_by_place()
    opposed, own, sums = (
        np.add.reduceat(values, offsets[:-1])
        for values in (weights * ascending, targets**2, np.abs(weights - mean[codes]))
    )
    farthest = np.sqrt(np.maximum(square_of[depth] + own - 2 * opposed, 0.0))
    radius = np.sqrt(np.maximum(square_of[depth] - sizes * mean**2, 0.0))
    return farthest, radius, sums, mean


def _of_precision(losses: APLosses) -> tuple[Array, Array, Array]:
    """|c_i| is at most 1/R for relevant and 1/M for other documents, as in the target and, negated, in its reverse."""
    relevant = np.add.reduceat(losses.levels, losses.offsets[:-1])
    others = np.diff(losses.offsets) - relevant
    radius = np.sqrt(1 / np.maximum(relevant, 1) + 1 / np.maximum(others, 1))
    return 2 * radius, radius, np.full(losses.n_queries, 2.0)


def risk_of(hinge: StructuredHinge) -> str:
    """What the hinge bounds, in words: some conventions have rules that it does not know."""
    measure = checked_measure(hinge.measure)
    convention = convention_of(hinge.convention).but(**dict(measure.options))
    is_zero_if_short = measure.name == "nDCG" and measure.cutoff is not None and convention.short_ndcg == "zero"
    short = f", and lists of fewer than {measure.cutoff} documents as they are" if is_zero_if_short else ""
    return f"expected 1 − {measure} of a new query (0 for a query that has nothing to lose{short})"


def worst_loss(losses: StructuredLosses) -> float:
    """max_y Δ(y), mean over queries: the hinge of scores that are all equal."""
    return float(losses.at(np.zeros(losses.n_documents)).values.mean())
