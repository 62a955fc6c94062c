"""Documents from their numbers alone: each value is a hash of the seed, the document and the feature.

So any run of documents can be made without those before it, and comes out the same however the data are cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rankwright.machine.compile import kernel

_U32, _U64 = np.uint32, np.uint64
_TO_UNIT = np.float32(2.0**-23)
_ROOT_3 = np.float32(3.0**0.5)
_GOLDEN = _U32(0x9E3779B9)


@kernel
def mixed64(number: Any) -> Any:
    """SplitMix64: every bit depends on every bit of the number."""
    z = _U64(number) + _U64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> _U64(30))) * _U64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U64(27))) * _U64(0x94D049BB133111EB)
    return z ^ (z >> _U64(31))


@kernel
def _mixed32(h: Any) -> Any:
    """The same of 32 bits, in operations that processors do on many numbers at once."""
    h = _U32(h ^ (h >> _U32(16)))
    h = _U32(h * _U32(0x7FEB352D))
    h = _U32(h ^ (h >> _U32(15)))
    h = _U32(h * _U32(0x846CA68B))
    return _U32(h ^ (h >> _U32(16)))


@kernel
def fill_uniform(key: Any, row: Any) -> None:
    """Numbers between −√3 and √3, so of variance 1, that the key determines."""
    low, high = _U32(key & _U64(0xFFFFFFFF)), _U32(key >> _U64(32))
    for j in range(len(row)):
        h = _mixed32(_U32(low + _U32(_U32(j) * _GOLDEN)))
        h = _mixed32(_U32(h ^ high))
        row[j] = (np.float32(np.int32(h >> _U32(8))) * _TO_UNIT - np.float32(1.0)) * _ROOT_3


@kernel
def normal(key: Any) -> Any:
    """A normal number that the key determines, by Box and Muller."""
    a, b = mixed64(key), mixed64(key ^ _U64(0x5851F42D4C957F2D))
    u = (np.float64(a >> _U64(11)) + 1.0) / 9007199254740993.0
    return np.sqrt(-2.0 * np.log(u)) * np.cos(2.0 * np.pi * (np.float64(b >> _U64(11)) / 9007199254740992.0))


@kernel
def make_documents(
    seed: Any, first_document: int, first_query: int, sizes: Any, truth: Any, x: Any, utility: Any, grades: Any
) -> None:
    """Features, utilities and grades of documents of queries of these sizes; the first of each have these numbers.

    ``truth`` is what all of them are made by.
    """
    spreads, informative, correlated, mixture, own, weights, noise, query_offset, thresholds = truth
    n_features = len(spreads)
    offsets = np.empty(n_features, np.float32)
    document_key, query_key = mixed64(seed ^ _U64(1)), mixed64(seed ^ _U64(2))
    row = 0
    for q in range(len(sizes)):
        key = mixed64(query_key ^ _U64(first_query + q))
        fill_uniform(key, offsets)
        shift = query_offset * normal(key)
        for j in range(n_features):
            offsets[j] *= spreads[j]
        for k in range(len(informative)):
            shift -= np.float64(offsets[informative[k]]) * weights[informative[k]]
        for _ in range(sizes[q]):
            key = mixed64(document_key ^ _U64(first_document + row))
            values = x[row]
            fill_uniform(key, values)
            for c in range(len(correlated)):
                mixed = own[c] * values[correlated[c]]
                for k in range(len(informative)):
                    mixed += mixture[k, c] * values[informative[k]]
                values[correlated[c]] = mixed
            for j in range(n_features):
                values[j] += offsets[j]
            u = shift + noise * normal(key)
            for k in range(len(informative)):
                u += np.float64(values[informative[k]]) * weights[informative[k]]
            grade = 0
            for t in range(len(thresholds)):
                if u > thresholds[t]:
                    grade += 1
            utility[row] = u
            grades[row] = grade
            row += 1
