"""The bounds of paper P (Riezler and De Bona): sums of hinges over pairs or over rankings, theorems 3 and 4.

The loss is a sum of K hinges of linear functions of w whose features have length 2M at most. So the Rademacher average
of the loss is at most K · 2BM/√N, and the risk exceeds the empirical risk by twice that, 4KBM/√N, plus a term for the
draw of the queries. `docs/theory.md` has the steps, and what had to be corrected.
"""

from __future__ import annotations

from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from rankwright.errors import DataError, ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import PreferenceGraph
from rankwright.losses.listwise import ListwiseHinge
from rankwright.losses.pairwise import Levels, PreorderLoss, levels_of
from rankwright.losses.structured import StructuredHinge, StructuredLosses
from rankwright.theory.bound import Constant, RiskBound, Term
from rankwright.theory.formulas import (
    log_binomial,
    log_factorial,
    log_less_one,
    log_of,
    log_sum,
    sum_of_hinges,
)
from rankwright.theory.lipschitz import lipschitz_of, risk_of, worst_loss
from rankwright.theory.scored import ScoredQueries
from rankwright.types import Array

_LONGEST_SUM = 8  # documents whose orders are all looked at
_MOST_PLACES = 1_000_000  # of relevant documents, in all rankings of a query that are summed for corollary 3
_LEARNED = "B was measured after training, so δ is divided among all B = 2^k, for all of which the bound holds"
_MEASURED = (
    "the bound assumes that no new query exceeds what was measured on these queries (documents, levels, pairs, and M "
    "unless it is given)"
)


class _Pairs(NamedTuple):
    """K, the largest margin, the factor to the 0-1 error, and how they were found."""

    log_count: float
    largest_margin: float
    factor: float
    constants: tuple[Constant, ...]
    count_formula: str
    margin_formula: str


def pairwise_bound(scored: ScoredQueries, kind: str, delta: float, B: float | None, M: float | None) -> RiskBound:
    """Theorem 3 and corollaries 1 and 2, for the position-sensitive hinge and the number of pairs in wrong order."""
    queries = scored.judgments
    if isinstance(queries.supervision, PreferenceGraph):
        raise ParameterError(f"kind={kind!r} needs grades or full rankings, not preference graphs")
    levels = levels_of(queries)
    pairs = _PAIRS[kind](queries, levels)
    radius = scored.radius(B)
    length, length_from = scored.document_length(M)
    hinges = PreorderLoss("hinge", margin="position").on(queries).at(scored.scores_within(radius.B)).values
    deviation = sum_of_hinges(
        pairs.log_count, pairs.largest_margin, radius.B, length, queries.n_queries, delta * radius.share
    )
    K, a = pairs.count_formula, pairs.margin_formula
    corrected = (
        f"the paper has factor 1, but a pair in the wrong order may cost as little as 1/{pairs.factor:g}: margins are "
        f"{pairs.factor + 1:g}/ρ_i − {pairs.factor + 1:g}/ρ_j"
    )
    return RiskBound(
        kind,
        "expected number of pairs of a new query that are in the wrong order or tied",
        (
            Term("empirical risk", log_of(float(hinges.mean())), "mean of the pairwise hinge ℓ_P"),
            Term("complexity", deviation.complexity, f"{K} · 4BM/√N"),
            Term("confidence", deviation.confidence, f"{K} ({a} + 2BM) √(8 ln(2/δ_B)/N)"),
        ),
        pairs.factor,
        log_of(float(levels.pairs().mean())),
        delta,
        queries.n_queries,
        radius.constants(delta, Constant("M", length, length_from), *pairs.constants),
        (*([corrected] if pairs.factor > 1 else []), *([_LEARNED] if B is None else []), _MEASURED),
    )


def _all_pairs(queries: Judgments, levels: Levels) -> _Pairs:
    """Theorem 3: a full ranking of m documents."""
    tied = levels.per_query < queries.sizes
    if tied.any():
        name = queries.grouping.query_id(int(np.argmax(tied)))
        raise DataError(
            f"query {name!r} has documents of equal rank, but theorem 3 is for full rankings: use kind='corollary1'"
        )
    m = int(queries.sizes.max())
    count = m * (m - 1) // 2
    constants = (Constant("m", m, "the largest number of documents in a query"), Constant("pairs", count, "m(m − 1)/2"))
    return _Pairs(log_of(count), m - 1, max(m - 1, 1), constants, "pairs", "m − 1")


def _level_pairs(queries: Judgments, levels: Levels) -> _Pairs:
    """Corollary 1: r levels."""
    r, count = int(levels.per_query.max()), int(levels.pairs().max())
    constants = (
        Constant("m", int(queries.sizes.max()), "the largest number of documents in a query"),
        Constant("r", r, "the largest number of levels in a query"),
        Constant("pairs", count, "the largest number of pairs of different levels in a query"),
    )
    return _Pairs(log_of(count), r - 1, max(r - 1, 1), constants, "pairs", "r − 1")


def _two_level_pairs(queries: Judgments, levels: Levels) -> _Pairs:
    """Corollary 2: relevant and other documents."""
    if (levels.per_query > 2).any():
        name = queries.grouping.query_id(int(np.argmax(levels.per_query > 2)))
        raise DataError(f"query {name!r} has more than two levels, but corollary 2 is for two: use kind='corollary1'")
    most = int(np.argmax(levels.pairs()))
    better = int(levels.counts[levels.first[most + 1] - 1]) if levels.per_query[most] == 2 else 0
    others = int(queries.sizes[most]) - better
    of_query = f"of query {queries.grouping.query_id(most)!r}, which has most pairs"
    constants = (
        Constant("m", int(queries.sizes.max()), "the largest number of documents in a query"),
        Constant("r", 2, "two levels"),
        Constant("rel", better, f"documents of the better level {of_query}"),
        Constant("nrel", others, f"the other documents {of_query}"),
    )
    return _Pairs(log_of(better * others), 1, 1, constants, "rel · nrel", "1")


_PAIRS = {"theorem3": _all_pairs, "corollary1": _level_pairs, "corollary2": _two_level_pairs}


def listwise_bound(
    scored: ScoredQueries, kind: str, hinge: StructuredHinge, delta: float, B: float | None, M: float | None
) -> RiskBound:
    """Theorem 4 and corollary 3, for the sum of hinges over rankings and the loss L = 1 − measure."""
    queries, losses = scored.judgments, hinge.on(scored.judgments)
    lipschitz = lipschitz_of(losses)
    radius = scored.radius(B)
    document_length, length_from = scored.document_length(M)
    coefficients = float(lipschitz.sums.max(initial=0.0))
    length = coefficients * document_length
    length_of_map = (
        f"length of Ψ(x, π): {coefficients:.4g} (sum of its coefficients) times ‖x‖ ≤ {document_length:.4g}, "
        f"{length_from}"
    )
    scores = scored.scores_within(radius.B)
    log_counts, counted, sums, how = _SUMS[kind](queries, hinge, losses, scores)
    deviation = sum_of_hinges(
        float(log_counts.max(initial=-np.inf)), 1.0, radius.B, length, queries.n_queries, delta * radius.share
    )
    K = "m!" if kind == "theorem4" else "C(m, rel)"
    return RiskBound(
        kind,
        risk_of(hinge),
        (
            Term("empirical risk", log_sum(sums) - log_of(queries.n_queries), how),
            Term("complexity", deviation.complexity, f"{K} · 4BM/√N"),
            Term("confidence", deviation.confidence, f"{K} (1 + 2BM) √(8 ln(2/δ_B)/N)"),
        ),
        1.0,
        log_of(worst_loss(losses)),
        delta,
        queries.n_queries,
        radius.constants(delta, Constant("M", length, length_of_map), *counted),
        (*([_COROLLARY_3] if kind == "corollary3" else []), *([_LEARNED] if B is None else []), _MEASURED),
    )


_COROLLARY_3 = (
    "this is the bound as printed: each class of rankings counts once, in the order of the scores. The paper's proof "
    "is for fixed rankings, so the complexity term is not proved for this sum (it is for kind='argmax')"
)


# ln of how many rankings each query has, what tells so, ln of the sum of their hinges, and how that was found.
_Summed = tuple[Array, tuple[Constant, ...], Array, str]


def _over_orders(queries: Judgments, hinge: StructuredHinge, losses: StructuredLosses, scores: Array) -> _Summed:
    """All m_q! orders; of long lists, what the sum cannot exceed."""
    m, log_counts = int(queries.sizes.max()), log_factorial(queries.sizes)
    constants = (Constant("m", m, "the largest number of documents in a query"),)
    if m <= _LONGEST_SUM:
        every = ListwiseHinge(hinge.measure, "sum", 1.0, hinge.position_weights, hinge.convention)
        sums, how = _logs(every.on(queries).at(scores).values), "mean of the sum of hinges over all rankings"
    else:
        sums, how = _at_most(losses, scores, log_counts), "at most (m! − 1) times the largest hinge, on average"
    return log_counts, constants, sums, how


def _over_classes(queries: Judgments, hinge: StructuredHinge, losses: StructuredLosses, scores: Array) -> _Summed:
    """C(m_q, rel) classes of rankings by where relevant documents stand, each in the order that the scores give it."""
    relevant = np.add.reduceat(losses.levels, losses.offsets[:-1]).astype(np.int64)
    log_counts = log_binomial(queries.sizes, relevant)
    most = int(np.argmax(log_counts))
    of_query = f"of query {queries.grouping.query_id(most)!r}, which has most rankings"
    constants = (
        Constant("m", int(queries.sizes[most]), f"documents {of_query}"),
        Constant("rel", int(relevant[most]), f"relevant documents {of_query}"),
        Constant("nrel", int(queries.sizes[most] - relevant[most]), f"other documents {of_query}"),
    )
    if (log_counts + np.log(np.maximum(relevant, 1))).max() <= log_of(_MOST_PLACES):
        sums = _logs(precision_hinges(losses, losses.grouped(scores, "score")))
        how = "mean of the sum of hinges over C(m, rel) rankings"
    else:
        sums = _at_most(losses, scores, log_counts)
        how = "at most C(m, rel) − 1 times the largest hinge, on average"
    return log_counts, constants, sums, how


_SUMS = {"theorem4": _over_orders, "corollary3": _over_classes}


def _at_most(losses: StructuredLosses, scores: Array, log_counts: Array) -> Array:
    others = np.array([log_less_one(float(count)) for count in log_counts])
    return others + _logs(losses.at(scores).values)


def _logs(values: Array) -> Array:
    with np.errstate(divide="ignore"):
        logs: Array = np.log(values)
    return logs


def precision_hinges(losses: StructuredLosses, scores: Array) -> Array:
    """Σ (1 − AP(π) + c(π)ᵀs − tᵀs)_+ of each query over the C(m, rel) ways to place its relevant documents."""
    sums = np.zeros(losses.n_queries)
    for q in np.flatnonzero(losses.weights > 0):
        own = slice(int(losses.offsets[q]), int(losses.offsets[q + 1]))
        is_relevant = losses.levels[own] > 0
        better, others = (np.sort(scores[own][chosen])[::-1] for chosen in (is_relevant, ~is_relevant))
        sums[q] = _hinges_of_places(better, others)
    return sums


def _hinges_of_places(better: Array, others: Array) -> float:
    """Scores of relevant and of other documents, each descending; all ways to put them into one list."""
    R, M = len(better), len(others)
    places = np.fromiter(chain.from_iterable(combinations(range(R + M), R)), np.int64).reshape(-1, R)
    above = places - np.arange(R)  # others above each relevant document
    scores_above = np.append(0.0, np.cumsum(others))[above].sum(axis=1)  # Σ of the others above each, over all
    precision = (np.arange(1, R + 1) / (places + 1)).mean(axis=1)
    joint = ((M - 2 * above) @ better - (R * others.sum() - 2 * scores_above)) / (R * M)
    hinges = (1 - precision) + joint - (better.mean() - others.mean())
    is_ideal = (above == 0).all(axis=1)
    return float(np.maximum(hinges, 0.0)[~is_ideal].sum())
