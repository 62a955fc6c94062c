"""Filling in and indicating missing values is at least as good as training on complete documents alone."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import missing


@pytest.mark.parametrize("holes", list(missing.HOLES))
def test_fit_is_better_than_the_complete_case(holes: str) -> None:
    gains = []
    for seed in range(2):
        train, test = missing.drawn(50, holes, seed)
        assert 0.1 < np.isnan(train.X).mean() < 0.2
        gains.append(missing.by_fit(train, test) - missing.complete_case(train, test))
    difference = np.concatenate(gains)
    assert difference.mean() > 2 * difference.std() / np.sqrt(len(difference))


def test_holes_by_meaning_are_where_documents_are_bad() -> None:
    train, _ = missing.drawn(100, "by meaning", 0)
    is_missing = np.isnan(train.X)
    assert is_missing[train.y == 0].mean() == pytest.approx(0.25, abs=0.02)
    assert is_missing[train.y > 0].mean() == pytest.approx(0.05, abs=0.02)
