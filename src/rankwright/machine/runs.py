"""Queries cut into runs of whole queries, by how many documents they have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import numpy.typing as npt


def runs_of_queries(
    offsets: npt.NDArray[np.int64], documents: int, first: int = 0, last: int | None = None
) -> Iterator[tuple[int, int]]:
    """Runs [begin, end) of queries first … last − 1 with at most so many documents; a longer query is a run of its own.

    >>> list(runs_of_queries(np.array([0, 2, 4, 9, 10]), 4))
    [(0, 2), (2, 3), (3, 4)]
    """
    last = len(offsets) - 1 if last is None else last
    while first < last:
        within = int(np.searchsorted(offsets, offsets[first] + documents, side="right")) - 1
        end = min(max(within, first + 1), last)
        yield first, end
        first = end


def split_by_size(offsets: npt.NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Cut the queries into at most ``parts`` runs [first, last) of nearly equal numbers of documents."""
    queries, documents = len(offsets) - 1, int(offsets[-1])
    targets = [documents * part // parts for part in range(1, parts)]
    inner = np.searchsorted(offsets, targets, side="left")
    cuts = sorted({0, queries, *(min(int(cut), queries) for cut in inner)})
    return list(pairwise(cuts))
