"""Measures that look at positions: DCG, nDCG, P, recall, AP, reciprocal rank and ERR, for ranges of queries.

Every kernel takes queries as `along_ranking` does: their grades, the ranking that `rank_documents` gave, and where each
begins. A query's value is the mean over all orders of its tied documents (paper O, definition 1), in closed form or by
an exact dynamic programme. Where nothing is tied this is the usual value. ``gain`` is whether gains are exponential,
and the discounts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel
from rankwright.measures.sorting import along_ranking, room_along

_TABLED = 64
_EXPONENTIAL_GAINS = np.exp2(np.arange(_TABLED)) - 1
_NEGLIGIBLE = 1e-20


@kernel
def _gain(grade: float, exponential: bool) -> float:
    """2^y − 1, or y."""
    if not exponential:
        return grade
    whole = np.int64(grade)
    return _EXPONENTIAL_GAINS[whole] if 0 <= whole < _TABLED and whole == grade else np.exp2(grade) - 1.0


@kernel
def _ranked_gains(ranked: Any, tie_ends: Any, depth: int, exponential: bool, gains: Any) -> None:
    """The expected gain at each of the first ``depth`` places: over a tie, the mean gain of its documents."""
    place = 0
    while place < depth:
        end = tie_ends[place]
        gain = _gain(ranked[place], exponential)
        if end > place + 1:
            total = 0.0
            equal = True
            for i in range(place, end):
                total += _gain(ranked[i], exponential)
                equal &= ranked[i] == ranked[place]
            # Equal gains are taken as they are, so that a perfect ranking has an nDCG of exactly 1.
            gain = gain if equal else total / (end - place)
        for i in range(place, min(end, depth)):
            gains[i] = gain
        place = end


@kernel
def _ideal_gains(ranked: Any, n: int, depth: int, exponential: bool, gains: Any, counts: Any) -> None:
    """The ``depth`` greatest gains, descending: by counting if the grades are small whole numbers."""
    counts[:] = 0
    greatest = 0
    countable = True
    for i in range(n):
        whole = np.int64(ranked[i])
        countable = 0 <= whole < _TABLED and whole == ranked[i]
        if not countable:
            break
        counts[whole] += 1
        greatest = max(greatest, whole)
    if countable:
        place = 0
        for grade in range(greatest, -1, -1):
            gain = _gain(np.float64(grade), exponential)
            for _ in range(min(counts[grade], depth - place)):
                gains[place] = gain
                place += 1
    else:
        descending = np.sort(ranked[:n])[::-1]
        for place in range(depth):
            gains[place] = _gain(descending[place], exponential)


@kernel
def dcg(queries: Any, cutoff: int, gain: Any, out: Any) -> None:
    """DCG@k = Σ_{p ≤ k} gain(y at place p) · discount(p) (paper O, eq. 9)."""
    exponential, discounts = gain
    ranked, tie_ends = room_along(queries)
    gains = np.empty_like(ranked)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked, tie_ends)
        depth = min(cutoff, n)
        _ranked_gains(ranked, tie_ends, depth, exponential, gains)
        total = 0.0
        for place in range(depth):
            total += gains[place] * discounts[place]
        out[q] = total


@kernel
def ndcg(
    queries: Any, cutoff: int, gain: Any, over_all_cutoffs: bool, empty: float, short_is_zero: bool, out: Any
) -> None:
    """nDCG@k = DCG@k / max DCG@k (paper L, eq. 1), or its mean over k = 1, …, m_q (LETOR's MeanNDCG)."""
    exponential, discounts = gain
    ranked, tie_ends = room_along(queries)
    gains, ideal, counts = np.empty_like(ranked), np.empty_like(ranked), np.empty(_TABLED, np.int64)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked, tie_ends)
        depth = min(cutoff, n)
        _ranked_gains(ranked, tie_ends, depth, exponential, gains)
        _ideal_gains(ranked, n, depth, exponential, ideal, counts)
        total = best = mean = 0.0
        for place in range(depth):
            total += gains[place] * discounts[place]
            best += ideal[place] * discounts[place]
            if over_all_cutoffs and best > 0:
                mean += total / best / n
        if n == 0 or ideal[0] == 0:
            out[q] = empty
        elif over_all_cutoffs:
            out[q] = mean
        else:
            out[q] = 0.0 if short_is_zero and n < cutoff else total / best


@kernel
def _relevant_in(ranked: Any, start: int, stop: int, level: float) -> int:
    count = 0
    for i in range(start, stop):
        count += 1 if ranked[i] >= level else 0
    return count


@kernel
def _expected_hits(ranked: Any, tie_ends: Any, depth: int, level: float) -> float:
    """The expected number of relevant documents among the first ``depth``."""
    hits = 0.0
    place = 0
    while place < depth:
        end = tie_ends[place]
        relevant = _relevant_in(ranked, place, end, level)
        hits += relevant if end <= depth else relevant * (depth - place) / (end - place)
        place = end
    return hits


@kernel
def precision(queries: Any, cutoff: int, level: float, pad: bool, out: Any) -> None:
    """P@k = relevant documents among the first k / k, or / the number of documents if that is smaller."""
    ranked, tie_ends = room_along(queries)
    for q in range(len(out)):
        depth = min(cutoff, along_ranking(queries, q, ranked, tie_ends))
        out[q] = _expected_hits(ranked, tie_ends, depth, level) / (cutoff if pad else max(depth, 1))


@kernel
def recall(queries: Any, cutoff: int, level: float, empty: float, out: Any) -> None:
    """Recall@k = relevant documents among the first k / all relevant documents."""
    ranked, tie_ends = room_along(queries)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked, tie_ends)
        relevant = _relevant_in(ranked, 0, n, level)
        out[q] = _expected_hits(ranked, tie_ends, min(cutoff, n), level) / relevant if relevant > 0 else empty


@kernel
def average_precision(
    queries: Any, cutoff: int, level: float, reachable: bool, unbroken: bool, empty: float, out: Any
) -> None:
    """AP@k = (1/R) Σ_{p ≤ k, p relevant} (relevant documents up to p) / p (paper O, eq. 11).

    In a tie of t documents, r of them relevant, that begins after a places with h relevant documents,
    place a + j is relevant with probability r/t, and then h + 1 + (j − 1)(r − 1)/(t − 1) relevant
    documents are expected up to it. ``unbroken`` takes the precision below the whole tie instead.
    """
    ranked, tie_ends = room_along(queries)
    for q in range(len(out)):
        n = along_ranking(queries, q, ranked, tie_ends)
        depth = min(cutoff, n)
        above = 0
        total = 0.0
        place = 0
        while place < depth:
            end = tie_ends[place]
            t = end - place
            r = 1 if ranked[place] >= level else 0
            if t > 1:
                r = _relevant_in(ranked, place, end, level)
            if t == 1 or unbroken:
                total += r * (above + r) / end
            elif r > 0:
                others = (r - 1) / (t - 1)
                for j in range(min(t, depth - place)):
                    total += r / t * (above + 1 + j * others) / (place + 1 + j)
            above += r
            place = end
        relevant = above + _relevant_in(ranked, place, n, level)
        divisor = min(relevant, cutoff) if reachable else relevant
        out[q] = total / divisor if relevant > 0 else empty


@kernel
def reciprocal_rank(queries: Any, cutoff: int, level: float, out: Any) -> None:
    """RR@k = 1 / the place of the first relevant document, 0 if there is none among the first k."""
    ranked, tie_ends = room_along(queries)
    for q in range(len(out)):
        depth = min(cutoff, along_ranking(queries, q, ranked, tie_ends))
        out[q] = 0.0
        place = 0
        while place < depth:
            end = tie_ends[place]
            r = _relevant_in(ranked, place, end, level)
            if r > 0:
                none_yet = 1.0  # the chance that no relevant document of the tie came before
                for i in range(place, min(end - r + 1, depth)):
                    here = none_yet * r / (end - i)
                    out[q] += here / (i + 1)
                    none_yet -= here
                break
            place = end


@kernel
def _expected_survival(stops: Any, most: int, survival: Any) -> int:
    """E_s = the mean of Π (1 − R_i) over all choices of s documents of a tie, s = 0, …, most; returns how many.

    Adding the n-th document: E_s ← (n − s)/n · E_s + s/n · (1 − R_n) · E_{s−1}. Taken in ascending order of
    R, every E_s only falls, so that what has become negligible can be dropped for good.
    """
    survival[0] = 1.0
    length = 1
    for n in range(1, len(stops) + 1):
        stay = 1.0 - stops[n - 1]
        if stay == 1.0:  # documents that stop nobody come first
            if n <= most:
                survival[n] = 1.0
                length = n + 1
            continue
        survival[length] = 0.0
        for s in range(length, 0, -1):
            survival[s] = (n - s) / n * survival[s] + s / n * stay * survival[s - 1]
        length = min(length + 1, most + 1)
        while length > 1 and survival[length - 1] < _NEGLIGIBLE:
            length -= 1
    return length


@kernel
def expected_reciprocal_rank(queries: Any, cutoff: int, max_grade: float, out: Any) -> None:
    """ERR@k = Σ_{p ≤ k} R_p/p Π_{i < p} (1 − R_i), R = (2^y − 1)/2^max_grade (paper O, eq. 10)."""
    ranked, tie_ends = room_along(queries)
    survival, scale = np.empty(len(ranked) + 2), np.exp2(-max_grade)
    for q in range(len(out)):
        depth = min(cutoff, along_ranking(queries, q, ranked, tie_ends))
        reached = 1.0
        total = 0.0
        place = 0
        while place < depth and reached > _NEGLIGIBLE:
            end = tie_ends[place]
            if end == place + 1:
                stop = _gain(ranked[place], True) * scale
                total += reached * stop / end
                reached *= 1.0 - stop
            else:
                stops = np.sort(ranked[place:end])
                for i in range(len(stops)):
                    stops[i] = _gain(stops[i], True) * scale
                length = _expected_survival(stops, min(end, depth) - place, survival)
                survival[length] = 0.0
                for s in range(min(length, end - place, depth - place)):
                    total += reached * (survival[s] - survival[s + 1]) / (place + s + 1)
                reached *= survival[end - place] if length > end - place else 0.0
            place = end
        out[q] = total
