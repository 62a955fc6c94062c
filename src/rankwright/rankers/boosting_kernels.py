"""Compiled loops of RankBoost: weights of pairs without the pairs, features as bins, sums over bins.

For weights of pairs, documents stand query by query and level by level within a query, the worst level first:
level l has the documents runs[l] … runs[l + 1] − 1, and query q the levels first_level[q] … first_level[q + 1] − 1.
Bin b of a feature holds the values that are above exactly b of its thresholds.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import inlined_kernel, kernel

# Weights of pairs


@inlined_kernel
def _log_of_sum(a: float, b: float) -> float:
    """log(e^a + e^b)."""
    larger, smaller = max(a, b), min(a, b)
    return larger if smaller == -np.inf else larger + np.log1p(np.exp(smaller - larger))


@kernel
def weigh_pairs(
    scores: Any,
    runs: Any,
    first_level: Any,
    log_weights: Any,
    first: int,
    last: int,
    better: Any,
    worse: Any,
    log_better: Any,
    log_worse: Any,
    log_losses: Any,
) -> None:
    """Σ_j e^{H_j − H_i} over the worse documents j, for each document i; and Σ_i over the better ones, for each j.

    The former is e^log_better of the level times ``better`` of the document, the latter e^log_worse times ``worse``.
    No factor of a document is above 1, and one in each level is 1: nothing overflows, and what underflows is nothing
    beside its level. ``log_losses`` has the logarithm of the sum over all pairs of a query.
    """
    most = 0
    for q in range(first, last):
        most = max(most, first_level[q + 1] - first_level[q])
    rises = np.empty(most)  # log Σ e^{−H} of each level of a query
    for q in range(first, last):
        begin, end = first_level[q], first_level[q + 1]
        total = below = -np.inf
        for level in range(begin, end):
            log_better[level] = log_worse[level] = -np.inf
            low, high = np.inf, -np.inf
            for d in range(runs[level], runs[level + 1]):
                low, high = min(low, scores[d]), max(high, scores[d])
            if level > begin:
                summed = 0.0
                for d in range(runs[level], runs[level + 1]):
                    better[d] = np.exp(low - scores[d])
                    summed += better[d]
                rises[level - begin] = np.log(summed) - low
                log_better[level] = below - low + log_weights[q]
                total = _log_of_sum(total, log_better[level] + np.log(summed))
            if level < end - 1:
                summed = 0.0
                for d in range(runs[level], runs[level + 1]):
                    worse[d] = np.exp(scores[d] - high)
                    summed += worse[d]
                below = _log_of_sum(below, high + np.log(summed))
                log_worse[level] = high + log_weights[q]
        log_losses[q] = total
        above = -np.inf
        for level in range(end - 1, begin - 1, -1):
            log_worse[level] += above
            if level > begin:
                above = _log_of_sum(above, rises[level - begin])


@kernel
def potentials_of_levels(
    runs: Any,
    first_level: Any,
    better: Any,
    worse: Any,
    log_better: Any,
    log_worse: Any,
    log_loss: float,
    first: int,
    last: int,
    out: Any,
) -> None:
    """What each document is worth where a stump is 1: its weight as the better one of pairs minus as the worse one."""
    for level in range(first_level[first], first_level[last]):
        up, down = np.exp(log_better[level] - log_loss), np.exp(log_worse[level] - log_loss)
        for d in range(runs[level], runs[level + 1]):
            out[d] = up * better[d] - down * worse[d]


# Thresholds and bins


@kernel
def _distinct(ascending: Any, n_zeros: int, values: Any, counts: Any) -> int:
    """The different values among ascending ones and so many zeros, and how often each is there; how many they are."""
    n = 0
    zeros_are_due = n_zeros > 0
    for k in range(len(ascending)):
        value = ascending[k]
        if zeros_are_due and value >= 0:
            values[n], counts[n] = 0, n_zeros
            n += 1
            zeros_are_due = False
        if n > 0 and values[n - 1] == value:
            counts[n - 1] += 1
        else:
            values[n], counts[n] = value, 1
            n += 1
    if zeros_are_due:
        values[n], counts[n] = 0, n_zeros
        n += 1
    return n


@kernel
def find_thresholds(ascending: Any, n_zeros: int, most: int, out: Any) -> int:
    """Thresholds between ascending values and so many zeros besides: between all, or ``most`` with even counts between.

    A value that would fill a bin has one of its own, and the others share the bins that are left; one that is half full
    ends before such a value. Thresholds are halfway, so that values rounded to float32 stay on their side.
    """
    values, counts = np.empty(len(ascending) + 1), np.empty(len(ascending) + 1, np.int64)
    n_values = _distinct(ascending, n_zeros, values, counts)
    every = n_values - 1 <= most
    total = light_left = len(ascending) + n_zeros
    heavy_left = 0
    for k in range(n_values):
        if counts[k] * (most + 1) >= total:
            heavy_left += 1
            light_left -= counts[k]
    n = in_bin = 0
    for k in range(n_values - 1):
        is_heavy, is_before_heavy = counts[k] * (most + 1) >= total, counts[k + 1] * (most + 1) >= total
        bins_left = most + 1 - n - heavy_left
        if is_heavy:
            heavy_left -= 1
        else:
            in_bin += counts[k]
        if every or is_heavy or (2 if is_before_heavy else 1) * in_bin * bins_left >= light_left:
            low, high = values[k], values[k + 1]
            middle = low / 2 + high / 2
            out[n] = middle if low <= middle < high else low
            n += 1
            light_left -= in_bin
            in_bin = 0
            if n == most:
                break
    return n


@kernel
def assign_bins(values: Any, thresholds: Any, out: Any) -> None:
    """How many thresholds each value is above."""
    for d in range(len(values)):
        value = values[d]
        low, high = 0, len(thresholds)
        while low < high:
            middle = (low + high) >> 1
            if thresholds[middle] < value:
                low = middle + 1
            else:
                high = middle
        out[d] = low


@kernel
def sum_packed_bins(words: Any, values: Any, first: int, last: int, sums: Any) -> None:
    """Σ of the values of the documents in each bin, for words of eight features × documents, 256 bins for a feature.

    A document's bins of eight features are the bytes of a word, loaded at once; and no sum waits for the one before.
    """
    byte, bins = np.uint64(255), np.uint64(256)
    for w in range(first, last):
        own, word_of = sums[w], words[w]
        for k in range(len(own)):
            own[k] = 0
        for d in range(len(values)):
            value, word = values[d], word_of[d]
            own[word & byte] += value
            own[bins + ((word >> np.uint64(8)) & byte)] += value
            own[np.uint64(2) * bins + ((word >> np.uint64(16)) & byte)] += value
            own[np.uint64(3) * bins + ((word >> np.uint64(24)) & byte)] += value
            own[np.uint64(4) * bins + ((word >> np.uint64(32)) & byte)] += value
            own[np.uint64(5) * bins + ((word >> np.uint64(40)) & byte)] += value
            own[np.uint64(6) * bins + ((word >> np.uint64(48)) & byte)] += value
            own[np.uint64(7) * bins + (word >> np.uint64(56))] += value


@kernel
def sum_wide_bins(bins: Any, first_bin: Any, values: Any, first: int, last: int, sums: Any) -> None:
    """The same for bins features × documents, of which there may be more than 256 for a feature."""
    for f in range(first, last):
        own, bin_of = sums[first_bin[f] : first_bin[f + 1]], bins[f]
        for k in range(len(own)):
            own[k] = 0
        for d in range(len(values)):
            own[bin_of[d]] += values[d]


@kernel
def sum_sparse_bins(
    bins: Any,
    documents: Any,
    first_entry: Any,
    zero_bins: Any,
    first_bin: Any,
    values: Any,
    first: int,
    last: int,
    sums: Any,
) -> None:
    """The same for bins of the entries that are stored, feature by feature, and values whose sum is 0."""
    for f in range(first, last):
        own = sums[first_bin[f] : first_bin[f + 1]]
        for k in range(len(own)):
            own[k] = 0
        total = 0.0
        for k in range(first_entry[f], first_entry[f + 1]):
            value = values[documents[k]]
            own[bins[k]] += value
            total += value
        own[zero_bins[f]] -= total


@kernel
def sum_above_thresholds(sums: Any, first_bin: Any, first_threshold: Any, out: Any) -> None:
    """Σ over the bins above each threshold."""
    for f in range(len(first_threshold) - 1):
        above = 0.0
        for k in range(first_threshold[f + 1] - first_threshold[f], 0, -1):
            above += sums[first_bin[f] + k]
            out[first_threshold[f] + k - 1] = above
