"""Position-sensitive margins on 3,000 queries × 120 documents × 136 features."""

from __future__ import annotations

import rankwright as rw
from benchmarks.pair_fits import collection, compared_with_squared_hinge, hinge_rows
from benchmarks.timing import Row


def run(repeats: int) -> list[Row]:
    """Smooth losses against the plain squared hinge, then the plain hinge to a gap of 0.1 %."""
    queries = collection()
    rows = [
        compared_with_squared_hinge(
            f"position margin, {loss}", rw.RankSVM(alpha=1e4, loss=loss, margin="position"), queries, repeats
        )
        for loss in ("squared-hinge", "huber-hinge")
    ]
    return [*rows, *hinge_rows(queries, "position", repeats)]
