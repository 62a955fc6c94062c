"""Bounds for the arg-max and soft-max hinge, and so for NDCG and AP: what paper P leaves open (section 5).

The hinge ξ of a query is a Λ-Lipschitz function of its m scores and does not change when a number is added to them all.
Cut off at 1 it still bounds Δ = 1 − measure, and never leaves [0, 1]. Twice the Rademacher average of linear rankers
under it is at most

  2√2 B/N √(Σ_q Λ_q² Σ_i ‖x_qi − x̄_q‖²)  (vector contraction, Maurer 2016),
  the same with √(π/2) in place of √2  (Gaussian comparison), and
  2B/N (√(π/2) √(Σ_q Λ₀_q² Σ_i ‖x_qi − x̄_q‖²) + √(Σ_q ‖X̂_qᵀt_q‖²))  (Gaussian comparison, target apart),

where paper P has m!. `docs/theory.md` derives them; the least of them is taken, and the first one told beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, log2, pi, sqrt
from typing import NamedTuple

import numpy as np

from rankwright.losses.loss import QueryLosses
from rankwright.losses.structured import StructuredLosses
from rankwright.theory.bound import Constant, RiskBound, Term
from rankwright.theory.formulas import by_comparison, by_contraction, confidence, log_of, share_of_delta
from rankwright.theory.lengths import spreads, squared_products
from rankwright.theory.lipschitz import lipschitz_of, worst_loss
from rankwright.theory.scored import Radius, ScoredQueries
from rankwright.types import Array

# Complexity terms that are worth a look: with less, B is as good as 0, and with more the bound is vacuous.
_LEAST_COMPLEXITY, _MOST_COMPLEXITY = 2.0**-10, 1.0
_SAVED = sqrt(pi / 4)  # Gaussian comparison gives so much of what vector contraction gives


@dataclass(frozen=True)
class Complexity:
    """Twice the Rademacher average for B = 1, at most, its formula, and what is in it.

    ``contraction`` is what vector contraction alone would give.
    """

    per_radius: float
    contraction: float
    formula: str
    constants: tuple[Constant, ...]
    confidences: int  # how many times √(ln(1/δ)/2N) is added
    notes: tuple[str, ...]


def complexity_of_data(scored: ScoredQueries, losses: StructuredLosses) -> Complexity:
    """From sums over the queries, whatever the distribution: the sample itself tells how long documents are."""
    lipschitz, spread, N = lipschitz_of(losses), spreads(scored.blocks), losses.n_queries
    products = squared_products(scored.blocks, lipschitz.targets)
    contraction = 2 * sqrt(2 * float(lipschitz.constants**2 @ spread)) / N
    comparison = 2 * (sqrt(pi / 2 * float(lipschitz.radii**2 @ spread)) + sqrt(float(products.sum()))) / N
    constants = (
        Constant("Λ", float(lipschitz.constants.max()), "largest Lipschitz constant of a query's hinge"),
        Constant("Λ₀", float(lipschitz.radii.max()), "the same, without the target ranking"),
        Constant("spread", float(spread.mean()), "Σ_i ‖x_i − x̄_q‖², mean over queries"),
    )
    if _SAVED * contraction <= comparison:
        return Complexity(_SAVED * contraction, contraction, "2B/N · √(π/2 · Σ Λ² spread)", constants, 3, ())
    formula = "2B/N · (√(π/2 · Σ Λ₀² spread) + √Σ‖X̂ᵀt‖²)"
    return Complexity(comparison, contraction, formula, constants, 3, ())


def complexity_of_largest(scored: ScoredQueries, losses: StructuredLosses, M: float | None) -> Complexity:
    """From the longest list, the longest document and the largest Λ: known before the queries are, if these are."""
    lipschitz, N, m = lipschitz_of(losses), losses.n_queries, int(scored.judgments.sizes.max())
    length, length_from = scored.document_length(M)
    largest = float(lipschitz.constants.max())
    radius, target = float(lipschitz.radii.max()), float(lipschitz.sums.max())
    contraction = by_contraction(largest, 1.0, length, m, N)
    comparison = by_comparison(radius, target, 1.0, length, m, N)
    constants = (
        Constant("M", length, length_from),
        Constant("m", m, "the largest number of documents in a query"),
        Constant("Λ", largest, "largest Lipschitz constant of a query's hinge"),
        Constant("Λ₀", radius, "the same, without the target ranking"),
        Constant("‖t‖₁", target, "largest sum of |coefficients| of a ranking, and so of a target"),
    )
    notes = ("the bound assumes that no new query has larger constants than these queries",)
    if _SAVED * contraction <= comparison:
        return Complexity(_SAVED * contraction, contraction, "2√(π/2) ΛBM √(m/N)", constants, 1, notes)
    return Complexity(comparison, contraction, "2BM (√(π/2) Λ₀ √m + ‖t‖₁) / √N", constants, 1, notes)


@dataclass(frozen=True, eq=False)
class VectorBound:
    """A bound for 1 − measure by a hinge: the structured one (``losses``), or another that is at least as large."""

    kind: str
    risk: str
    scored: ScoredQueries
    losses: StructuredLosses
    hinge: QueryLosses
    complexity: Complexity
    delta: float

    def within(self, B: float) -> RiskBound:
        """For rankers of length B at most."""
        return self._told(self._at(self.scored.radius(B), self.scored.scores_within(B)))

    def best(self) -> RiskBound:
        """The least over all powers of two as B, which hold together."""
        origin = "the power of 2 with the lowest bound; w is scaled to it, which keeps its rankings"
        best: _Found | None = None
        for k in _exponents(self.complexity.per_radius):
            radius = Radius(2.0**k, share_of_delta(k), origin)
            if best is not None and self._added(radius) >= best.total:
                break  # the complexity only grows from here on
            found = self._at(radius, self.scored.scores_at(radius.B))
            best = found if best is None or found.total < best.total else best
        assert best is not None
        return self._told(best)

    def _added(self, radius: Radius) -> float:
        """The complexity, and the confidence that a B has at least: that of B = 1, which has the largest share of δ."""
        return self.complexity.per_radius * radius.B + self._confidence(share_of_delta(0))

    def _confidence(self, share: float) -> float:
        return self.complexity.confidences * confidence(self.losses.n_queries, self.delta * share)

    def _at(self, radius: Radius, scores: Array) -> _Found:
        empirical = float(np.minimum(self.hinge.at(scores).values, 1.0).mean())
        return _Found(radius, empirical, self.complexity.per_radius * radius.B, self._confidence(radius.share))

    def _told(self, found: _Found) -> RiskBound:
        times = f"{self.complexity.confidences} · " if self.complexity.confidences > 1 else ""
        return RiskBound(
            self.kind,
            self.risk,
            (
                Term("empirical risk", log_of(found.empirical), "mean of min(hinge, 1)"),
                Term("complexity", log_of(found.complexity), self.complexity.formula),
                Term("confidence", log_of(found.confidence), f"{times}√(ln(1/δ_B)/2N)"),
            ),
            1.0,
            log_of(worst_loss(self.losses)),
            self.delta,
            self.losses.n_queries,
            found.radius.constants(self.delta, *self.complexity.constants),
            (
                "vector contraction would give a complexity of "
                f"{self.complexity.contraction * found.radius.B:.4g} instead",
                *self.complexity.notes,
            ),
        )


class _Found(NamedTuple):
    """The terms of a bound at some B."""

    radius: Radius
    empirical: float
    complexity: float
    confidence: float

    @property
    def total(self) -> float:
        """The bound."""
        return self.empirical + self.complexity + self.confidence


def _exponents(per_radius: float) -> range:
    """k for which B = 2^k is worth a look."""
    if per_radius == 0:
        return range(1)
    return range(floor(log2(_LEAST_COMPLEXITY / per_radius)), ceil(log2(_MOST_COMPLEXITY / per_radius)) + 1)
