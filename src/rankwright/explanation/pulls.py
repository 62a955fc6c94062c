"""Pairs of documents in the wrong order, and which features put them there."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rankwright.judgments.supervision import FullRanking, Grades, PreferenceGraph, Supervision
from rankwright.types import Array


@dataclass(frozen=True)
class Pull:
    """What a feature adds to the score of the better document minus that of the worse, in the mean over pairs.

    Attributes
    ----------
    feature : its name
    wrong : over pairs whose better document is not above the worse one; below 0, it pulls good documents down there
    right : over the other pairs
    """

    feature: str
    wrong: float
    right: float


@dataclass(frozen=True, eq=False)
class Pairs:
    """How often each document is the better of a pair minus how often it is the worse, and how many pairs there are."""

    times: Array
    n: int

    def mean_difference(self, contributions: Array) -> Array:
        """Σ over pairs of (c_better − c_worse) / n, of each feature; 0 if there are no pairs."""
        return self.times @ contributions / max(self.n, 1)


def worth_of(supervision: Supervision) -> Array | None:
    """Numbers that order the documents of a query as its supervision does; a preference graph has none."""
    if isinstance(supervision, Grades):
        return supervision.values
    return -supervision.ranks.astype(np.float64) if isinstance(supervision, FullRanking) else None


def wrong_and_right(supervision: Supervision, scores: Array) -> tuple[Pairs, Pairs]:
    """The pairs of one query whose better document is not scored above the worse one, and those where it is."""
    if isinstance(supervision, PreferenceGraph):
        asked = supervision.weights > 0
        better, worse = supervision.preferred[asked], supervision.other[asked]
        is_wrong, m = scores[better] <= scores[worse], len(scores)
        wrong, right = (_pairs_of_edges(better[kept], worse[kept], m) for kept in (is_wrong, ~is_wrong))
        return wrong, right
    worth = worth_of(supervision)
    assert worth is not None
    return _pairs_of_worth(worth, scores, wrong=True), _pairs_of_worth(worth, scores, wrong=False)


def _pairs_of_edges(better: npt.NDArray[np.intp], worse: npt.NDArray[np.intp], m: int) -> Pairs:
    times = np.bincount(better, minlength=m) - np.bincount(worse, minlength=m)
    return Pairs(times.astype(np.float64), len(better))


def _pairs_of_worth(worth: Array, scores: Array, *, wrong: bool) -> Pairs:
    """Document by document, so that the pairs of a long list take no memory."""
    times, n = np.zeros(len(worth)), 0
    for i in range(len(worth)):
        worse = (worth < worth[i]) & ((scores >= scores[i]) == wrong)
        count = int(np.count_nonzero(worse))
        times[i] += count
        times -= worse
        n += count
    return Pairs(times, n)
