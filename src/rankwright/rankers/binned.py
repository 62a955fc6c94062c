"""Features as bins, read once: what a stump needs to know of a value is which thresholds it is above."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from rankwright.engines.driver import in_order, share_by_size
from rankwright.rankers import boosting_kernels as kernels
from rankwright.types import Array

Bins = npt.NDArray[np.unsignedinteger[Any]]
Rows = npt.NDArray[np.intp]

# Columns that are copied out of X at a time: a cache line of float32.
_COLUMNS = 16

_BINS_OF_BYTE = 256
_WORD = 8


class BinnedFeatures(ABC):
    """The thresholds of every feature, and the bins of every document, which stand as ``rows`` lists them.

    Attributes
    ----------
    thresholds : of all features, feature by feature, ascending
    features : to which feature each threshold belongs
    """

    _sums: Array  # of all bins
    _first_bin: npt.NDArray[np.int64]

    def _set_thresholds(self, thresholds: list[Array]) -> None:
        sizes = [len(own) for own in thresholds]
        self.thresholds = np.concatenate(thresholds)
        self.features = np.repeat(np.arange(len(sizes)), sizes)
        self._first_threshold = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._first_bin = self._first_threshold + np.arange(len(sizes) + 1)
        self._sums = np.empty(self._first_bin[-1])

    def agreements(self, potentials: Array) -> Array:
        """Σ of the potentials of the documents above each threshold, in one pass; potentials sum to 0."""
        sums = np.empty(len(self.thresholds))
        self._sum_bins(potentials)
        kernels.sum_above_thresholds(self._sums, self._first_bin, self._first_threshold, sums)
        return sums

    def above(self, threshold: int) -> npt.NDArray[np.bool_]:
        """Which documents are above a threshold: those in the bins after it."""
        feature = int(self.features[threshold])
        return self._above(feature, int(threshold - self._first_threshold[feature]))

    @abstractmethod
    def _sum_bins(self, potentials: Array) -> None:
        """The sums of potentials in every bin."""

    @abstractmethod
    def _above(self, feature: int, place: int) -> npt.NDArray[np.bool_]:
        """Which documents are in bins after that one of a feature."""


class DenseBins(BinnedFeatures):
    """Bins of all features of all documents.

    With at most 255 thresholds a bin takes a byte, and a document's bins of eight features stand together, as a word.
    """

    def __init__(self, x: npt.NDArray[Any], rows: Rows, most: int) -> None:
        self._is_packed = most < _BINS_OF_BYTE
        n_features, n_words = x.shape[1], -(-x.shape[1] // _WORD)
        if self._is_packed:
            words = np.zeros((n_words, len(rows), _WORD), np.uint8)
            self._words = words.view(np.uint64)[:, :, 0]
            self._bins: list[Bins] = [words[f // _WORD, :, f % _WORD] for f in range(n_features)]
        else:
            self._wide = np.empty((n_features, len(rows)), np.min_scalar_type(len(rows)))
            self._bins = list(self._wide)

        def read(start: int) -> list[Array]:
            columns = np.ascontiguousarray(x[:, start : start + _COLUMNS].T)
            thresholds = [_thresholds(column, 0, most) for column in columns]
            for feature, (column, own) in enumerate(zip(columns, thresholds, strict=True), start):
                kernels.assign_bins(column[rows], own, self._bins[feature])
            return thresholds

        blocks = in_order(read, range(0, n_features, _COLUMNS))
        self._set_thresholds([own for block in blocks for own in block])
        if self._is_packed:
            self._sums = np.empty(n_words * _WORD * _BINS_OF_BYTE)
            self._first_bin = _BINS_OF_BYTE * np.arange(n_features + 1)
        self._parts = len(rows) * np.arange((n_words if self._is_packed else n_features) + 1)

    def _sum_bins(self, potentials: Array) -> None:
        def work(first: int, last: int) -> None:
            if self._is_packed:
                kernels.sum_packed_bins(self._words, potentials, first, last, self._sums.reshape(len(self._words), -1))
            else:
                kernels.sum_wide_bins(self._wide, self._first_bin, potentials, first, last, self._sums)

        # Features take the part of queries: each thread has its own, so no sum depends on how many threads there are.
        share_by_size(work, self._parts)

    def _above(self, feature: int, place: int) -> npt.NDArray[np.bool_]:
        above: npt.NDArray[np.bool_] = self._bins[feature] > place
        return above


class SparseBins(BinnedFeatures):
    """Bins of the entries of CSR features that are stored; all other documents are in the bin of 0."""

    def __init__(self, x: Any, rows: Rows, most: int) -> None:
        by_feature = x[rows].tocsc()
        self._n_documents = len(rows)
        self._documents, self._entries = by_feature.indices, by_feature.indptr.astype(np.int64)
        self._bins: Bins = np.empty(by_feature.nnz, np.min_scalar_type(min(most, len(rows))))
        self._zero_bins = np.empty(x.shape[1], np.int64)

        def read(feature: int) -> Array:
            entries = slice(self._entries[feature], self._entries[feature + 1])
            stored = by_feature.data[entries]
            own = _thresholds(stored, len(rows) - len(stored), most)
            kernels.assign_bins(stored, own, self._bins[entries])
            self._zero_bins[feature] = np.searchsorted(own, 0.0)
            return own

        self._set_thresholds([read(feature) for feature in range(x.shape[1])])

    def _sum_bins(self, potentials: Array) -> None:
        known = (self._bins, self._documents, self._entries, self._zero_bins, self._first_bin, potentials)
        share_by_size(lambda first, last: kernels.sum_sparse_bins(*known, first, last, self._sums), self._entries)

    def _above(self, feature: int, place: int) -> npt.NDArray[np.bool_]:
        entries = slice(self._entries[feature], self._entries[feature + 1])
        above = np.full(self._n_documents, self._zero_bins[feature] > place)
        above[self._documents[entries]] = self._bins[entries] > place
        return above


def binned(x: Any, rows: Rows, most: int | None) -> BinnedFeatures:
    """The features of these rows with at most so many thresholds each; None stands for all."""
    most = len(rows) if most is None else most
    return SparseBins(x, rows, most) if sp.issparse(x) else DenseBins(x, rows, most)


def _thresholds(column: npt.NDArray[Any], n_zeros: int, most: int) -> Array:
    """Between the values of a column and so many zeros besides."""
    found = np.empty(min(most, len(column)))
    return found[: kernels.find_thresholds(np.sort(column), n_zeros, most, found)].copy()
