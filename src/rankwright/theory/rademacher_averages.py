"""The empirical Rademacher average of linear rankers, in closed form and by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.checks import check_positive, check_whole
from rankwright.data.as_queries import checked_queries
from rankwright.data.queries import Queries
from rankwright.data.query_blocks import ROWS_PER_BLOCK, QueryBlocks
from rankwright.data.streams.streamed import in_memory
from rankwright.errors import DataError
from rankwright.evaluation.tables import Tabled
from rankwright.html import Block
from rankwright.theory.lengths import block_spreads, squares
from rankwright.types import Array

_MOST_NUMBERS = 4_000_000  # of signs, or of sums Σ ε x, at a time


@dataclass(frozen=True, repr=False)
class Rademacher(Tabled):
    """R_N = (1/N) E_ε sup_{‖w‖ ≤ B} Σ_q Σ_i ε_qi x_qi·w of some queries, and what is known of it.

    ``upper`` is B/N √Σ‖x‖² (Jensen), ``lower`` is ``upper``/√2 (Khintchine–Kahane), ``estimate`` the mean over
    ``draws`` of the signs ε, with its ``standard_error``.
    """

    B: float
    n_queries: int
    n_documents: int
    upper: float
    lower: float
    estimate: float
    standard_error: float
    draws: int

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        told = dict(self.__dict__)
        return {"queries": told.pop("n_queries"), "documents": told.pop("n_documents"), **told}

    def _blocks(self) -> list[Block]:
        title = f"linear rankers with ‖w‖ ≤ {self.B:g} on {self.n_queries:,} queries, {self.n_documents:,} documents"
        told = f"{self.estimate:.6g} ± {self.standard_error:.2g}"
        rows = [
            ("closed form, upper bound", f"{self.upper:.6g}", "B/N · √Σ‖x‖²"),
            ("by simulation", told, f"mean over {self.draws:,} draws of signs, ± standard error"),
            ("closed form, lower bound", f"{self.lower:.6g}", "the upper bound / √2"),
        ]
        return [Block(title, ("Rademacher average", "value", "how"), rows, texts=(0, 2))]


def rademacher(
    queries: Queries, B: float = 1.0, *, centred: bool = False, draws: int = 200, seed: int = 0
) -> Rademacher:
    """R_N = (B/N) E‖Σ ε_qi x_qi‖ for independent signs ε: how well linear rankers fit noise (paper P, lemma 1).

    Parameters
    ----------
    queries : Queries
        N of them; supervision plays no part.
    B : float
        The rankers are all w with ‖w‖ ≤ B.
    centred : bool
        Take the mean of its query off each x. Losses of rankings see differences of scores only, so this is the average
        that matters for them, and it is never above √2 times the other one.
    draws, seed : int
        How many draws of signs to average over; 2 at least.

    Examples
    --------
    >>> import rankwright as rw
    >>> found = rw.theory.rademacher(rw.Queries([[3.0], [4.0]], [0, 1]), B=2.0)
    >>> found.upper, found.lower <= found.estimate <= found.upper
    (10.0, True)
    """
    check_positive("B", B)
    check_whole("draws", draws, 2)
    check_whole("seed", seed, 0)
    queries = in_memory(checked_queries(queries), "rademacher", "risk_bound, which bounds them by sums over queries")
    if queries.n_documents == 0:
        raise DataError("there are no documents")
    blocks = QueryBlocks(queries.X, queries.grouping)
    sampled, total = _lengths_of_sums(blocks, centred, int(draws), seed)
    factor = B / queries.n_queries
    upper = factor * sqrt(total)
    return Rademacher(
        B=float(B),
        n_queries=queries.n_queries,
        n_documents=queries.n_documents,
        upper=upper,
        lower=upper / sqrt(2),
        estimate=factor * float(sampled.mean()),
        standard_error=factor * float(sampled.std(ddof=1)) / sqrt(draws),
        draws=int(draws),
    )


def _lengths_of_sums(blocks: QueryBlocks, centred: bool, draws: int, seed: int) -> tuple[Array, float]:
    """‖Σ ε x‖ for so many draws of ε, and Σ‖x‖², in as few passes as memory allows."""
    generator = np.random.default_rng(seed)
    at_a_time = max(1, min(draws, _MOST_NUMBERS // max(blocks.n_features, ROWS_PER_BLOCK)))
    lengths, total = [], 0.0
    for first in range(0, draws, at_a_time):
        count = min(at_a_time, draws - first)
        sums, total = np.zeros((blocks.n_features, count)), 0.0
        for queries, documents, rows in blocks:
            size = (documents.stop - documents.start, count)
            signs = generator.integers(0, 2, size, dtype=np.int8) * 2.0 - 1.0
            sums += rows.T @ (_centred(blocks, queries, signs) if centred else signs)
            total += float((block_spreads(blocks, queries, rows) if centred else squares(rows)).sum())
        lengths.append(np.sqrt(np.einsum("ij,ij->j", sums, sums)))
    return np.concatenate(lengths), total


def _centred(blocks: QueryBlocks, queries: slice, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Each query's numbers less their mean: Σ ε x̂ = Σ ε̂ x."""
    offsets = blocks.offsets[queries.start : queries.stop + 1] - blocks.offsets[queries.start]
    sizes = np.diff(offsets)
    means = np.add.reduceat(values, offsets[:-1], axis=0) / sizes[:, None]
    centred: npt.NDArray[Any] = values - np.repeat(means, sizes, axis=0)
    return centred
