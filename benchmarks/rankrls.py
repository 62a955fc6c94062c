"""RankRLS on 3,000 queries × 120 documents × 136 features: a path of 30 λ here, one λ for the peer."""

from __future__ import annotations

from typing import Any

import numpy as np

import rankwright as rw
from benchmarks import rlscore_numpy as rlscore
from benchmarks.collections import mslr_sized
from benchmarks.timing import Row, alternate, fastest_threads, threads_note, with_blas_threads

_ALPHAS = np.exp2(np.arange(-15, 15))
_PEERS_ALPHA = 15  # the place of the peer's λ among them: 2⁰
_MOST_REPEATS = 3  # the peer takes many seconds


def run(repeats: int) -> list[Row]:
    """Time both in turns; the weights must be the same."""
    queries = mslr_sized()
    answers: dict[str, Any] = {}

    def ours() -> None:
        answers["ours"] = rw.RankRLS().path(queries, _ALPHAS)[_PEERS_ALPHA]

    def peer() -> None:
        model = rlscore.decompose(queries.X, queries.y, queries.grouping.offsets)
        answers["peer"] = rlscore.rankrls_weights(model, _ALPHAS[_PEERS_ALPHA])

    threads = fastest_threads(peer)
    taken = alternate({"ours": ours, "peer": with_blas_threads(threads, peer)}, min(repeats, _MOST_REPEATS))
    np.testing.assert_allclose(answers["ours"], answers["peer"], rtol=1e-6, atol=1e-8)
    note = f"{len(_ALPHAS)} λ against one; same weights; {threads_note(threads)}"
    return [Row("rankrls", rlscore.NAME, taken["ours"], taken["peer"], 10, note)]
