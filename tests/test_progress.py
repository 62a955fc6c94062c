"""How far work is, alone and as a part of something larger."""

from __future__ import annotations

import pytest

from rankwright.progress import Iteration, Progress, part_of


@pytest.mark.parametrize(
    ("now", "amount", "share"),
    [
        (Progress("folds", 2.5, 5), "2/5", 0.5),
        (Progress("folds", 3, None), "3/?", 0.0),
        (Progress("nothing to do", 0, 0), "0/0", 0.0),
        (Progress("reading", 1.25e9, 5e9, in_bytes=True), "1.2/5.0 GB", 0.25),
        (Progress("reading", 5e5, 2e6, in_bytes=True), "0.5/2.0 MB", 0.25),
        (Progress("reading", 3e7, None, in_bytes=True), "30.0/? MB", 0.0),
        (Progress("a file that grew", 300, 200, in_bytes=True), "0.3/0.2 kB", 1.0),
    ],
)
def test_amounts_and_shares(now, amount, share):
    assert (now.amount, now.share) == (amount, share)
    assert str(now) == f"{now.what}, {amount}"


def test_parts_of_parts_are_told_as_the_whole():
    told = []
    fold = part_of(told.append, "fold 2 of 4", 1, 4)
    reading = part_of(fold, "λ = 1", 1, 2)
    iteration = Iteration(1.0, 3, 0.5, 0.1, 7, None)
    reading(Progress("pass 7", 2e9, 4e9, in_bytes=True, iteration=iteration))
    fold(Progress("", 0, None))
    assert told == [
        Progress("fold 2 of 4, λ = 1, pass 7, 2.0/4.0 GB", 1.75, 4, iteration=iteration),
        Progress("fold 2 of 4", 1, 4),
    ]
    assert part_of(None, "fold 2 of 4", 1, 4) is None
