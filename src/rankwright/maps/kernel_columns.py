"""`FourierColumns` and `NystroemColumns`: columns whose inner products are a Gaussian kernel, or nearly so."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.engines.driver import share_by_size
from rankwright.judgments.grouping import Grouping
from rankwright.machine.blas import one_thread_per_call
from rankwright.maps import wave_kernels as kernels
from rankwright.maps.feature_map import ColumnMap
from rankwright.maps.standardised import Standardised
from rankwright.types import Array, Columns

_ROWS_PER_BLOCK = 512  # so that what is made of a block stays in a core's cache until it is used


@dataclass(frozen=True, eq=False)
class KernelColumns(ColumnMap):
    """The features on one scale, if ``linear``, and behind them the columns of the kernel.

    Attributes
    ----------
    standardised : how features are put on one scale, z
    linear : whether z are columns too
    """

    standardised: Standardised
    linear: bool

    @property
    def n_features(self) -> int:  # type: ignore[override]
        """How many features there are."""
        return self.standardised.preparation.n_features

    @property
    def n_linear(self) -> int:
        """How many columns come before those of the kernel."""
        return self.standardised.n_columns if self.linear else 0

    @property
    @abstractmethod
    def n_components(self) -> int:
        """How many columns the kernel has."""

    @property
    def n_columns(self) -> int:
        """Of both."""
        return self.n_linear + self.n_components

    @abstractmethod
    def write(self, z: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
        """Write the columns of the kernel for some rows of z."""

    def columns(self, x: Any, grouping: Grouping | None, dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
        """A block of rows at a time, blocks side by side."""
        z = self.standardised.rows(x, grouping, dtype)
        out = np.empty((len(z), self.n_columns), dtype)
        out[:, : self.n_linear] = z[:, : self.n_linear]
        starts = np.append(np.arange(0, len(z), _ROWS_PER_BLOCK), len(z))

        def work(first: int, last: int) -> None:
            for begin, end in zip(starts[first:last], starts[first + 1 : last + 1], strict=True):
                self.write(z[begin:end], out[begin:end, self.n_linear :])

        with one_thread_per_call():
            share_by_size(work, starts)
        return out

    def scores(self, z: Array, weights: Array) -> Array:
        """The columns times weights, of which no more than a few blocks are there at a time."""
        linear, waves = weights[: self.n_linear], weights[self.n_linear :]
        scores = z[:, : self.n_linear] @ linear
        starts = np.append(np.arange(0, len(z), _ROWS_PER_BLOCK), len(z))

        def work(first: int, last: int) -> None:
            for begin, end in zip(starts[first:last], starts[first + 1 : last + 1], strict=True):
                columns = np.empty((end - begin, self.n_components))
                self.write(z[begin:end], columns)
                scores[begin:end] += columns @ waves

        with one_thread_per_call():
            share_by_size(work, starts)
        return scores

    def names(self, feature_names: Sequence[str]) -> tuple[str, ...]:
        """Those of the features, and numbers for the others."""
        by, own = self.standardised, list(feature_names)
        n = by.preparation.n_features
        columns = by.kept[: self.n_linear].tolist()
        told = [own[j] if j < n else f"{own[by.preparation.indicated[j - n]]} is missing" for j in columns]
        known = set(told)
        for number in range(1, self.n_components + 1):
            name = f"{self._prefix}{number}"
            while name in known:  # a feature may have that name
                name += "'"
            told.append(name)
        return tuple(told)

    @property
    @abstractmethod
    def _prefix(self) -> str:
        """What the names of its columns begin with."""

    def used_features(self, weights: Array) -> Columns:
        """All that vary, unless the kernel has no weight at all."""
        sources = self.standardised.sources
        if np.any(weights[self.n_linear :]):
            return np.unique(sources)
        return np.unique(sources[: self.n_linear][weights[: self.n_linear] != 0])

    def folded(self, weights: Array) -> tuple[KernelColumns, Array]:
        """The simplest map that gives the same scores, with its weights, as models keep it."""
        return self, weights


@dataclass(frozen=True, eq=False)
class FourierColumns(KernelColumns):
    """√(2/D) · (cos 2πUᵀz, sin 2πUᵀz), whose inner products tend to the kernel as D grows.

    Attributes
    ----------
    turns : U, columns of z × frequencies, in turns
    n_waves : D, how many cosines and sines there are: if it is odd, the last frequency has no sine
    """

    turns: Array
    n_waves: int

    _prefix = "wave "

    @property
    def n_components(self) -> int:
        """D."""
        return self.n_waves

    @property
    def size(self) -> float:
        """√(2/D)."""
        return float(np.sqrt(2 / self.n_waves))

    def write(self, z: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
        """A product and the waves."""
        if z.dtype == np.float32:
            kernels.single_waves(z @ self._single_turns, np.float32(self.size), out)
        else:
            kernels.double_waves(z @ self.turns, self.size, out)

    @cached_property
    def _single_turns(self) -> npt.NDArray[np.float32]:
        return self.turns.astype(np.float32)


@dataclass(frozen=True, eq=False)
class NystroemColumns(KernelColumns):
    """k(z, landmarks) · W, whose inner products are the kernel's projection on what the landmarks span.

    Attributes
    ----------
    landmarks : documents, landmarks × columns of z
    gamma : k(z, z') = exp(−gamma · ‖z − z'‖²)
    whitening : W = K^(−1/2) of the landmarks, or None: the columns are k(z, landmarks)
    """

    landmarks: Array
    gamma: float
    whitening: Array | None

    _prefix = "landmark "

    @property
    def n_components(self) -> int:
        """As many as W has columns."""
        return len(self.landmarks) if self.whitening is None else self.whitening.shape[1]

    def write(self, z: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
        """Squared distances, their Gaussians, and W."""
        kernel = gaussian(z, self.landmarks.astype(z.dtype), self.gamma)
        out[:] = kernel if self.whitening is None else kernel @ self.whitening.astype(z.dtype)

    def folded(self, weights: Array) -> tuple[KernelColumns, Array]:
        """W becomes part of the weights."""
        if self.whitening is None:
            return self, weights
        n = self.n_linear
        plain = replace(self, whitening=None)
        return plain, np.concatenate([weights[:n], self.whitening @ weights[n:]])


def gaussian(z: npt.NDArray[Any], landmarks: npt.NDArray[Any], gamma: float) -> npt.NDArray[Any]:
    """exp(−gamma · ‖z − z'‖²) of each row and each landmark."""
    squares = np.einsum("ij,ij->i", z, z)[:, None] + np.einsum("ij,ij->i", landmarks, landmarks)
    squares -= 2 * (z @ landmarks.T)
    np.maximum(squares, 0, out=squares)
    squares *= -gamma
    kernel: npt.NDArray[Any] = np.exp(squares, out=squares)
    return kernel
