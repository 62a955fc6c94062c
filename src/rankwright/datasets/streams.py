"""Synthetic queries of any number, made when they are read and never stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries
from rankwright.data.streams.streamed import StreamedQueries
from rankwright.datasets.stream_kernels import make_documents
from rankwright.datasets.synthetic import (
    check_amounts,
    checked_shares,
    draw_columns,
    draw_mixture,
    draw_sizes,
    draw_weights,
)
from rankwright.judgments.grouping import Grouping
from rankwright.judgments.supervision import Grades

# Thresholds of grades are taken from so many queries of a collection of their own.
_SAMPLED = 4000


class SyntheticStream(StreamedQueries):
    """Queries that are made while they are read, with the truth that they are made from.

    Attributes
    ----------
    best_weights : array of float64
        w*: no ranker that sees the features alone ranks better in expectation than ``X @ best_weights``.
    informative, correlated, useless : arrays of int
        The columns that make the utility, their noisy mixtures, and the rest.
    """

    def __init__(self, source: _Synthetic, memory: int | str) -> None:
        super().__init__(source, memory)
        self.best_weights: npt.NDArray[np.float64] = source.weights
        self.informative, self.correlated, self.useless = source.columns


def stream_queries(
    n_queries: int = 1_000_000,
    documents: int = 100,
    n_features: int = 136,
    *,
    n_informative: int = 5,
    n_correlated: int = 5,
    grade_mix: Sequence[float] = (0.7, 0.2, 0.1),
    noise: float = 1.0,
    query_offset: float = 0.5,
    seed: int = 0,
    memory: int | str = "1GB",
) -> SyntheticStream:
    """Synthetic queries of any number with a known best ranker, made part by part whenever they are read.

    Utilities and grades are those of :func:`~rankwright.datasets.make_queries`, so ``best_weights`` are best for the
    same reason. Three things differ. Features (float32) and offsets are uniform, not normal. The thresholds of grades
    are taken from a sample, so the shares of grades are nearly those asked for. And each number is a hash of the seed
    and its place: every document is the same however the queries are cut into parts, sliced or repeated.

    Parameters
    ----------
    n_queries, documents, n_features, n_informative, n_correlated, grade_mix, noise, query_offset, seed
        As :func:`~rankwright.datasets.make_queries` takes them. For each query, its id, its size and a few bytes more
        are in memory all the time.
    memory : int or str
        How much memory may be used: a number of bytes, or as ``"1GB"``.

    Examples
    --------
    >>> import rankwright as rw
    >>> queries = rw.datasets.stream_queries(n_queries=20_000, documents=50, n_features=20, memory="50MB")
    >>> queries
    StreamedQueries(20,000 queries, 1,000,000 documents, 20 features; 104 MB in 9 parts from a generator, memory 50 MB)
    >>> next(queries.parts())
    Queries(2,399 queries, 120,182 documents, 20 features, grades 0–2)
    """
    check_amounts(n_queries, documents, seed, noise, query_offset)
    shares = checked_shares(grade_mix)
    rng = np.random.default_rng(seed)
    columns = draw_columns(rng, n_features, n_informative, n_correlated)
    source = _Synthetic(rng, columns, n_features, noise, query_offset)
    source.set_thresholds(draw_sizes(rng, _SAMPLED, documents), shares)
    source.set_sizes(draw_sizes(rng, n_queries, documents))
    return SyntheticStream(source, memory)


class _Synthetic:
    """A source that makes what is read from it."""

    given_names = None

    def __init__(
        self,
        rng: np.random.Generator,
        columns: tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.intp]],
        n_features: int,
        noise: float,
        query_offset: float,
    ) -> None:
        self.columns, self.n_features = columns, n_features
        self.weights = draw_weights(rng, n_features, columns[0])
        self.weights.setflags(write=False)
        self._mixture = draw_mixture(rng, len(columns[0]), len(columns[1]), np.dtype(np.float32))
        self._spreads = rng.uniform(0, 2 * query_offset, n_features).astype(np.float32)
        self._noise = float(noise), float(query_offset)
        self._sample_seed, self._seed = rng.integers(2**63, size=2, dtype=np.uint64)
        self._thresholds = np.zeros(0)

    def set_thresholds(self, sizes: npt.NDArray[np.int64], shares: npt.NDArray[np.float64]) -> None:
        """Take the thresholds of grades from other queries that are made alike."""
        utility = self._made(self._sample_seed, 0, 0, sizes)[1]
        self._thresholds = np.quantile(utility, np.cumsum(shares)[:-1].clip(0, 1))

    def set_sizes(self, sizes: npt.NDArray[np.int64]) -> None:
        """How many documents each query has."""
        self.sizes = sizes
        self.query_ids: npt.NDArray[Any] = np.arange(1, len(sizes) + 1)
        self._offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
        for array in (self.sizes, self.query_ids):
            array.setflags(write=False)

    def row_bytes(self) -> float:
        """The memory that a document takes."""
        return 4.0 * self.n_features + 24.0

    def told(self) -> str:
        """Where the queries come from."""
        return "a generator"

    def read(self, first: int, last: int, *, features: bool = True) -> Queries:
        """Make queries first … last − 1."""
        sizes = self.sizes[first:last]
        x, _, grades = self._made(self._seed, int(self._offsets[first]), first, sizes)
        grades.setflags(write=False)
        grouping = Grouping.of_sizes(self.query_ids[first:last], sizes)
        return Queries.of_parts(x if features else x[:, :0], Grades(grades), grouping, None, None)

    def _made(self, seed: np.uint64, first_document: int, first_query: int, sizes: npt.NDArray[np.int64]) -> Any:
        rows = int(sizes.sum())
        x = np.empty((rows, self.n_features), np.float32)
        utility, grades = np.empty(rows), np.empty(rows)
        truth = (self._spreads, *self.columns[:2], *self._mixture, self.weights, *self._noise, self._thresholds)
        make_documents(seed, first_document, first_query, sizes, truth, x, utility, grades)
        return x, utility, grades
