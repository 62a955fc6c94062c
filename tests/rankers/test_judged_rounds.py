"""Queries that are held out to judge rounds: which, how many, and when none."""

import numpy as np

from rankwright.rankers.judged_rounds import held_out_queries


def test_a_share_of_the_queries_that_count_is_held_out():
    weights = np.tile([0.0, 1.0, 2.0], 40)
    is_held_out = held_out_queries(120, weights, 0.25, seed=1)
    assert is_held_out.sum() == 20
    assert (weights[is_held_out] > 0).all()
    np.testing.assert_array_equal(held_out_queries(120, weights, 0.25, seed=1), is_held_out)
    assert (held_out_queries(120, weights, 0.25, seed=2) != is_held_out).any()
    assert held_out_queries(120, None, 0.25, seed=1).sum() == 30


def test_fewer_than_ten_are_none():
    assert held_out_queries(40, None, 0.25, seed=0).sum() == 10
    assert held_out_queries(39, None, 0.23, seed=0) is None
    assert held_out_queries(1000, None, 0.0, seed=0) is None
    assert held_out_queries(200, np.arange(200) < 50, 0.1, seed=0) is None
