"""The scores of every query by RankRLS trained without it: 3,000 queries × 120 documents × 136 features, six λ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import rankwright as rw
from benchmarks import rlscore_numpy as rlscore
from benchmarks.algorithm1 import centred
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, alternate, fastest_threads, threads_note, with_blas_threads

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

    threads = fastest_threads(peer)
    sides: dict[str, Callable[[], object]] = {
        "ours": ours,
        "thirty": thirty,
        "peer": with_blas_threads(threads, peer),
    }
    taken = alternate(sides, min(repeats, _MOST_REPEATS))
    for mine, theirs in zip(answers["ours"], answers["peer"], strict=True):
        np.testing.assert_allclose(centred(mine, offsets), centred(theirs, offsets), atol=1e-7)
    note = f"6 λ each; same scores up to a constant per query; {threads_note(threads)}"
    return [
        Row("lqo", rlscore.NAME, taken["ours"], taken["peer"], 10, note),
        Row("lqo", rlscore.NAME, taken["thirty"], taken["peer"], 1, f"30 λ against 6; {threads_note(threads)}"),
    ]
