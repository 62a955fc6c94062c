"""The benchmark of boosting rounds: every loss is timed against lambdarank, and what is lost is said."""

import pytest

from benchmarks import boosting
from rankwright.datasets import make_queries
from rankwright.losses import LOSSES


@pytest.mark.peers
def test_every_loss_is_held_against_lambdarank(monkeypatch):
    monkeypatch.setenv("RANKWRIGHT_THREADS", "1")
    rows = boosting.rows_of(make_queries(30, 15, 12, seed=0).queries, rounds=2)
    assert [row.name for row in rows] == [f"a boosting round, {name}" for name in LOSSES]
    for row in rows:
        assert row.ours > 0 < row.peer
        assert row.note.startswith("lost: ") == (row.ratio < 1 / 1.5)
