"""The compiled loops of :mod:`rankwright.data.inspection`: one pass over the stored values of a column.

A column is given as the positions and values of its stored entries, positions rising, with zero wherever
nothing is stored. So one loop serves dense columns (every position is stored) and sparse ones, which are
never filled up. Positions count documents with each query's rows together: query q owns the positions
``offsets[q]`` … ``offsets[q + 1] − 1``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.machine.compile import kernel

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]

_NAN_BITS = np.uint64(0x7FF8000000000000)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


class ColumnFacts(NamedTuple):
    """What one pass tells of a column; ``low`` and ``high`` are over its finite values (∞, −∞ if none)."""

    nan: int
    infinite: int
    nonzero: int
    low: float
    high: float
    whole: bool
    constant: bool
    varies_in_a_query: bool
    fingerprint: np.uint64


@kernel
def _mixed(word: np.uint64) -> np.uint64:
    """SplitMix64's finalizer: words that differ in one bit differ in half of the bits afterwards."""
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@kernel
def _value_word(value: float, bits: np.uint64) -> np.uint64:
    """The bits of a value, the same for all NaN."""
    return _NAN_BITS if value != value else bits


@kernel
def scan_column(
    column: int,
    positions: Integers,
    values: Floats,
    bits: Words,
    offsets: Integers,
    first_document: int,
    row_fingerprints: Words,
) -> tuple[int, int, int, float, float, bool, bool, bool, np.uint64]:
    """The :class:`ColumnFacts` of one column, and its part added to each row's fingerprint.

    A fingerprint is Σ mix(mix(place) + bits(value)) mod 2⁶⁴ over the non-zero values, the place being the row
    for a column's, counted from ``first_document``, and the column for a row's. Zeros add nothing, so stored and
    absent zeros are alike; −0 counts as 0 and every NaN as the same value.
    """
    nan, infinite, nonzero, whole = 0, 0, 0, True
    low, high = np.inf, -np.inf
    fingerprint = np.uint64(0)
    row_salt = _mixed(np.uint64(column + 1) * _GOLDEN)
    for k in range(len(positions)):
        value = values[k]
        if value == 0:
            low, high = min(low, 0.0), max(high, 0.0)
            continue
        nonzero += 1
        word = _value_word(value, bits[k])
        fingerprint += _mixed(_mixed(np.uint64(first_document + positions[k] + 1) * _GOLDEN) + word)
        row_fingerprints[positions[k]] += _mixed(row_salt + word)
        if value != value:
            nan += 1
        elif np.isinf(value):
            infinite += 1
        else:
            low, high = min(low, value), max(high, value)
            whole = whole and value == np.floor(value)
    if len(positions) < offsets[-1]:
        low, high = min(low, 0.0), max(high, 0.0)
    constant = not _varies(positions, values, np.array([0, offsets[-1]]))
    varies_in_a_query = not constant and _varies(positions, values, offsets)
    return nan, infinite, nonzero, low, high, whole, constant, varies_in_a_query, fingerprint


@kernel
def _varies(positions: Integers, values: Floats, offsets: Integers) -> bool:
    """Whether some query holds two different values; NaN is equal to NaN."""
    k, q = 0, 0
    while k < len(positions):
        while offsets[q + 1] <= positions[k]:
            q += 1
        first = values[k]
        stored = 0
        while k < len(positions) and positions[k] < offsets[q + 1]:
            value = values[k]
            if value != first and (value == value or first == first):
                return True
            stored += 1
            k += 1
        if first != 0 and stored < offsets[q + 1] - offsets[q]:
            return True
    return False


@kernel
def level_queries(supervision: Floats, offsets: Integers, levels: Integers, pairs: Integers) -> None:
    """Number the distinct supervision values of each query 0, 1, … upwards, and count its unequal pairs."""
    for q in range(len(offsets) - 1):
        first, last = offsets[q], offsets[q + 1]
        order = np.argsort(supervision[first:last])
        level, start = 0, 0
        for k in range(last - first):
            if k > 0 and supervision[first + order[k]] != supervision[first + order[k - 1]]:
                level, start = level + 1, k
            levels[first + order[k]] = level
            pairs[q] += start


@kernel
def pairwise_errors(
    positions: Integers,
    values: Floats,
    offsets: Integers,
    levels: Integers,
    pairs: Integers,
    limit: float,
    upwards: float,
    downwards: float,
) -> tuple[float, float]:
    """How many of the pairs of unequal documents a column orders wrongly, read upwards and read downwards.

    A tied pair, or one with a NaN, is half wrong either way. Counting ends as soon as both numbers are
    above ``limit``: a column that tells nothing is given up after a few queries. ``upwards`` and ``downwards`` are
    those of queries before these.
    """
    k = 0
    for q in range(len(pairs)):
        first, last = offsets[q], offsets[q + 1]
        start = k
        while k < len(positions) and positions[k] < last:
            k += 1
        # A pair of documents without a stored value is a tie, and few pairs have one if few are stored.
        surely_tied = max(0, pairs[q] - (k - start) * (last - first))
        if min(upwards, downwards) + surely_tied / 2 > limit:
            return np.inf, np.inf
        if pairs[q] == 0:
            continue
        full = np.zeros(last - first)
        for entry in range(start, k):
            full[positions[entry] - first] = values[entry]
        agreeing, opposing = _ordered_pairs(full, levels[first:last])
        tied = pairs[q] - agreeing - opposing
        upwards += opposing + tied / 2
        downwards += agreeing + tied / 2
    return upwards, downwards


@kernel
def _ordered_pairs(values: Floats, levels: Integers) -> tuple[int, int]:
    """How many pairs of different level have their values in the same order, how many in the opposite one.

    Documents are taken by rising value; a Fenwick tree counts the levels of the documents taken before.
    """
    order = np.argsort(values)  # NaN last
    tree = np.zeros(levels.max() + 2, dtype=np.int64)
    agreeing, opposing, taken = 0, 0, 0
    while taken < len(order) and values[order[taken]] == values[order[taken]]:
        value = values[order[taken]]
        end = taken
        while end < len(order) and values[order[end]] == value:
            level = levels[order[end]]
            agreeing += _count_below(tree, level)
            opposing += taken - _count_below(tree, level + 1)
            end += 1
        for k in range(taken, end):
            node = levels[order[k]] + 1
            while node < len(tree):
                tree[node] += 1
                node += node & -node
        taken = end
    return agreeing, opposing


@kernel
def _count_below(tree: Integers, level: int) -> int:
    """How many documents with a level under ``level`` the tree holds."""
    count = 0
    while level > 0:
        count += tree[level]
        level -= level & -level
    return count
