"""Documents in the order of their scores, and which of them are tied.

A document is sorted as one 64-bit word: the leading bits of its score above, its place in the query
below. All words of a query differ, the order is stable, and half as much memory moves as with keys and
places apart. Documents whose scores agree in all leading bits are then sorted by the bits left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel
from rankwright.machine.words import float_bits

_ALL_BUT_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_BLOCK = 32  # blocks of this size are sorted by counting, without a branch

# How documents with one score are arranged.
LEAVE_TIED, KEEP_ORDER, BY_SECOND_KEY = 0, 1, 2


@inlined_kernel
def _descending_key(score: float) -> Any:
    """A whole number that is smaller the larger the score: equal scores, and 0 and −0, give equal numbers."""
    bits = np.int64(float_bits(score + 0.0))
    return ~(bits ^ ((bits >> 63) & _ALL_BUT_SIGN))


@kernel
def _sort_block(words: Any, start: int, stop: int, block: Any) -> None:
    """Sort words[start:stop], at most a block of them: each goes where the number of smaller ones says."""
    n = stop - start
    for i in range(n):
        block[i] = words[start + i]
    for i in range(n):
        word = block[i]
        smaller = 0
        for j in range(n):
            smaller += 1 if block[j] < word else 0
        words[start + smaller] = word


@kernel
def _merge(words: Any, start: int, middle: int, stop: int, to: Any) -> None:
    """Merge two sorted runs; which side is taken is arithmetic, not a branch that cannot be foretold."""
    i, j = start, middle
    for k in range(start, stop):
        if i == middle or j == stop:
            for rest in range(k, stop):
                to[rest] = words[rest - k + (j if i == middle else i)]
            break
        left, right = words[i], words[j]
        smaller = right < left
        to[k] = right if smaller else left
        j += np.int64(smaller)
        i += np.int64(not smaller)


@kernel
def _sort(words: Any, spare: Any, n: int, block: Any) -> None:
    """Sort the first n words, all different: blocks by counting, then merging."""
    for start in range(0, n, _BLOCK):
        _sort_block(words, start, min(start + _BLOCK, n), block)
    width = _BLOCK
    there = False
    while width < n:
        for start in range(0, n, 2 * width):
            middle, stop = min(start + width, n), min(start + 2 * width, n)
            if there:
                _merge(spare, start, middle, stop, words)
            else:
                _merge(words, start, middle, stop, spare)
        there = not there
        width *= 2
    if there:
        for i in range(n):  # an assignment of slices would take seconds to compile
            words[i] = spare[i]


@kernel
def _sort_by_keys(keys: Any, n: int, order: Any, words: Any, spare: Any, block: Any) -> None:
    """The places 0, …, n − 1 in ascending order of their keys, stably, into ``order``."""
    place_bits = 0
    while (1 << place_bits) < n:
        place_bits += 1
    low = (1 << place_bits) - 1
    for i in range(n):
        words[i] = (keys[i] & ~low) | i
    _sort(words, spare, n, block)
    i = 0
    while i < n:
        end = i + 1
        while end < n and words[end] ^ words[i] <= low and words[end] ^ words[i] >= 0:
            end += 1
        if end > i + 1:  # only the low bits of these keys differ, and they fit beside the places
            for k in range(i, end):
                place = words[k] & low
                words[k] = ((keys[place] & low) << place_bits) | place
            _sort(words[i:end], spare[i:end], end - i, block)
        for k in range(i, end):
            order[k] = words[k] & low
        i = end


@kernel
def rank_documents(
    scores: Any, second_keys: Any, arrangement: int, offsets: Any, first: int, last: int, order: Any
) -> None:
    """The documents of queries first … last − 1 by descending score, as positions among all documents.

    A document that is tied with the one after it is noted as ~position, a negative number. With
    KEEP_ORDER tied documents keep their order, with BY_SECOND_KEY they are arranged by ascending second
    key; both leave no ties.
    """
    longest = longest_query(offsets, first, last)
    keys, tied_keys = np.empty(longest, np.int64), np.empty(longest, np.int64)
    words, spare = np.empty(longest, np.int64), np.empty(longest, np.int64)
    places, arranged = np.empty(longest, np.int64), np.empty(longest, np.int64)
    block = np.empty(_BLOCK, np.int64)
    for q in range(first, last):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        for i in range(n):
            keys[i] = _descending_key(scores[start + i])
        _sort_by_keys(keys, n, places, words, spare, block)
        for i in range(n):
            tied = arrangement == LEAVE_TIED and i + 1 < n and keys[places[i]] == keys[places[i + 1]]
            order[start + i] = ~(start + places[i]) if tied else start + places[i]
        if arrangement == BY_SECOND_KEY:
            i = 0
            while i < n:
                end = i + 1
                while end < n and keys[places[end]] == keys[places[i]]:
                    end += 1
                if end > i + 1:
                    for k in range(end - i):
                        tied_keys[k] = ~_descending_key(second_keys[start + places[i + k]])
                    _sort_by_keys(tied_keys, end - i, arranged, words, spare, block)
                    for k in range(end - i):
                        order[start + i + k] = start + places[i + arranged[k]]
                i = end


@kernel
def longest_query(offsets: Any, first: int, last: int) -> int:
    """The largest number of documents of queries first … last − 1."""
    longest = 0
    for q in range(first, last):
        longest = max(longest, offsets[q + 1] - offsets[q])
    return longest


@kernel
def room_along(queries: Any) -> Any:
    """Room for what `along_ranking` writes, of any of the queries."""
    offsets = queries[2]
    longest = longest_query(offsets, 0, len(offsets) - 1)
    return np.empty(longest), np.empty(longest, np.int64)


@kernel
def along_ranking(queries: Any, q: int, ranked: Any, tie_ends: Any) -> int:
    """One query's values along its ranking, and for each place where its tie ends; returns their number.

    Queries are a value of each document, their order as `rank_documents` gives it, and where each query begins.
    """
    values, order, offsets = queries
    start, n = offsets[q], offsets[q + 1] - offsets[q]
    tied = False
    for i in range(n):
        position = order[start + i]
        tied |= position < 0
        ranked[i] = values[max(position, ~position)]
        tie_ends[i] = i + 1
    if tied:
        for i in range(n - 2, -1, -1):
            if order[start + i] < 0:
                tie_ends[i] = tie_ends[i + 1]
    return n
