"""The scores of every query by RankRLS trained without it: 3,000 queries × 120 documents × 136 features, six λ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks import rlscore_numpy as rlscore
from benchmarks.algorithm1 import centred
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, alternate

_SIX = np.exp2(np.arange(-10, 11, 4))
_THIRTY = np.exp2(np.arange(-15, 15))
_MOST_REPEATS = 3  # the peer takes many seconds


def run(repeats: int) -> list[Row]:
    """Time both in turns; the scores must be the same up to a constant for each query, which ranks nothing."""
    queries = mslr_sized()
    offsets = queries.grouping.offsets
    answers: dict[str, Any] = {}

    def ours() -> None:
        answers["ours"] = rw.leave_query_out(rw.RankRLS(), queries, _SIX).scores

    def peer() -> None:
        model = rlscore.decompose(queries.X, queries.y, offsets)
        answers["peer"] = [rlscore.leave_query_out(model, alpha) for alpha in _SIX]

    def thirty() -> None:
        rw.leave_query_out(rw.RankRLS(), queries, _THIRTY)

    sides: dict[str, Callable[[], object]] = {"ours": ours, "thirty": thirty, "peer": peer}
    taken = alternate(sides, min(repeats, _MOST_REPEATS))
    for mine, theirs in zip(answers["ours"], answers["peer"], strict=True):
        np.testing.assert_allclose(centred(mine, offsets), centred(theirs, offsets), atol=1e-7)
    note = "same scores up to a constant per query"
    return [
        Row("lqo", rlscore.NAME, taken["ours"], taken["peer"], 10, f"6 λ each; {note}"),
        Row("lqo", rlscore.NAME, taken["thirty"], taken["peer"], 10, "30 λ against 6"),
        Row("lqo", rlscore.ITSELF, taken["ours"], rlscore.itself_s(queries.X, 3860), 10, "6 λ each"),
    ]
