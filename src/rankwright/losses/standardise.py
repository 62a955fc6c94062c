"""Standardisation functions: supervision as a weight per document that is right in expectation (paper O, section 5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_choice, check_whole
from rankwright.errors import ParameterError
from rankwright.judgments.judgments import Judgments
from rankwright.judgments.supervision import FullRanking, PreferenceGraph, Supervision
from rankwright.measures.conventions import LARGEST_GRADE, Convention, check_greatest_grade, convention_of
from rankwright.types import Array


def gains(judgments: Judgments, convention: Convention) -> Array:
    """2^y − 1, or y where the convention has linear gains, of each document, each query's documents together."""
    grades = judgments.grouping.gather(judgments.y)
    if convention.gain == "linear":
        return np.ascontiguousarray(grades, dtype=np.float64)
    check_greatest_grade(judgments, LARGEST_GRADE, "2^y − 1 overflows")
    gain: Array = np.exp2(grades) - 1
    return gain


def dcg_weights(judgments: Judgments, cutoff: int | None, convention: Convention) -> Array:
    """r_i = gain(y_i), for DCG at any cutoff; 0 in a query that the convention leaves out."""
    return gains(judgments, convention) * np.repeat(_counts(judgments, convention), judgments.sizes)


def ndcg_weights(judgments: Judgments, cutoff: int | None, convention: Convention) -> Array:
    """r_i = gain(y_i) / max DCG@K, so that nDCG@K = Σ_i r_i D(rank of i), with the convention's gain and discount D.

    It is 0 in a query without a relevant document. A query of fewer than K documents, whose nDCG@K is 0 for every
    ranking under some conventions, is weighed as it is: no order of it is wrong, so it may as well tell what it knows.
    """
    gain, offsets = gains(judgments, convention), judgments.grouping.offsets
    sizes = judgments.sizes
    query = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(gain)) - np.repeat(offsets[:-1], sizes)
    best = gain[np.lexsort((-gain, query))]
    discounts = convention.discounts(int(sizes.max(initial=1)))
    discounted = np.where(place < (cutoff or len(gain)), best * discounts[place], 0.0)
    ideal = np.add.reduceat(discounted, offsets[:-1])
    counts = (ideal > 0) & _counts(judgments, convention)
    weights: Array = np.divide(gain, ideal[query], out=np.zeros_like(gain), where=counts[query])
    return weights


def _counts(judgments: Judgments, convention: Convention) -> npt.NDArray[np.bool_]:
    """Which queries count at all: all of them, unless the convention leaves out those without relevant documents."""
    if convention.empty is not None:
        return np.ones(judgments.n_queries, bool)
    greatest = np.maximum.reduceat(judgments.grouping.gather(judgments.y), judgments.grouping.offsets[:-1])
    counts: npt.NDArray[np.bool_] = greatest >= convention.relevant_from
    return counts


def wpd_weights(judgments: Judgments, cutoff: int | None, convention: Convention) -> Array:
    """r_i = m_q C + Σ_k (a_ik − a_ki), where C is the largest a_ij; a_ij adds up the edges from i to j."""
    graph = judgments.supervision
    assert isinstance(graph, PreferenceGraph)
    net = np.bincount(graph.preferred, graph.weights, judgments.n_documents)
    net -= np.bincount(graph.other, graph.weights, judgments.n_documents)
    bound = judgments.whole.greatest_preference * np.repeat(judgments.sizes, judgments.sizes)
    weights: Array = bound + judgments.grouping.gather(net)
    return weights


def zero_one_weights(judgments: Judgments, cutoff: int | None, convention: Convention) -> Array:
    """r_i = Σ_k [y(i) ≤ k] = m_q + 1 − the rank of i."""
    ranking = judgments.supervision
    assert isinstance(ranking, FullRanking)
    weights: Array = np.repeat(judgments.sizes, judgments.sizes) + 1.0 - judgments.grouping.gather(ranking.ranks)
    return weights


_FUNCTIONS: dict[str, tuple[str, Callable[[Judgments, int | None, Convention], Array]]] = {
    "dcg": ("grades", dcg_weights),
    "ndcg": ("grades", ndcg_weights),
    "wpd": (PreferenceGraph.kind, wpd_weights),
    "zero-one": (FullRanking.kind, zero_one_weights),
}

_COUNTEREXAMPLE = """\
standardize: {name} has no standardisation function, so no order-preserving loss is consistent with it \
(theorem 3 of Buffoni et al., 2011). Counterexample: four documents whose grades are (1, 1, 0, 0) or (0, 0, 1, 1), \
each half of the time. By symmetry a standardisation function would expect the same of all four, so every order would \
be optimal; but E[{name}] is {one} for the order 1, 3, 2, 4 and {other} for 1, 2, 3, 4. Use 'dcg' or 'ndcg'"""

# Exact values; the paper's differences 1/24 and −1/12 are those of the sums over both supervisions.
_REFUSED = {"err": ("ERR", "43/96", "41/96"), "ap": ("AP", "2/3", "17/24")}


def check_standardisation(name: object, cutoff: object, convention: str | Convention = "default") -> None:
    """Refuse a standardisation function that does not exist, or a cutoff or convention that means nothing."""
    convention_of(convention)
    wanted = str(name).lower().partition("@")[0].strip()
    if wanted in ("err", "ap", "map"):
        told, one, other = _REFUSED[wanted.removeprefix("m")]
        raise ParameterError(_COUNTEREXAMPLE.format(name=told, one=one, other=other))
    check_choice("standardize", name, _FUNCTIONS)
    if cutoff is None:
        return
    check_whole("cutoff", cutoff, 1, or_else="None")
    if name not in ("dcg", "ndcg"):
        raise ParameterError(f"cutoff is for 'dcg' and 'ndcg', not for standardize={name!r}")


def standardised(
    judgments: Judgments, name: str, cutoff: int | None, convention: str | Convention = "default"
) -> Array:
    """The weights of documents for a measure as a convention computes it, each query's documents together."""
    check_standardisation(name, cutoff, convention)
    kind, weights = _FUNCTIONS[name]
    supervision: Supervision = judgments.supervision
    if supervision.kind != kind:
        fitting = " or ".join(repr(other) for other, (of, _) in _FUNCTIONS.items() if of == supervision.kind)
        raise ParameterError(
            f"standardize={name!r} needs {kind}, but the queries have a {supervision.kind}: use {fitting}"
            if supervision.kind != "grades"
            else f"standardize={name!r} needs a {kind}, but the queries have grades: use {fitting}"
        )
    return weights(judgments, cutoff, convention_of(convention))
