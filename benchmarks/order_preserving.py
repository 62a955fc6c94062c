"""The order-preserving loss on 3,000 queries × 120 documents × 136 features, against the plain squared hinge."""

from __future__ import annotations

import rankwright as rw
from benchmarks.pair_fits import collection, compared_with_squared_hinge
from benchmarks.timing import Row
from rankwright.losses.pairwise import levels_of
from rankwright.losses.standardise import standardised


def run(repeats: int) -> list[Row]:
    """Each to the same relative gradient tolerance; λ is to the sum of weights as it is for RankSVM."""
    queries = collection()
    n_pairs = float(levels_of(queries.judgments).pairs().sum())
    rows = []
    for measure in ("ndcg", "dcg"):
        weights = standardised(queries.judgments, measure, None)
        total = float((weights * queries.sizes.repeat(queries.sizes)).sum())
        ranker = rw.OrderPreservingRanker(alpha=1e4 * total / n_pairs, standardize=measure)
        rows.append(compared_with_squared_hinge(f"order-preserving for {measure}", ranker, queries, repeats))
    return rows
