"""Sums over parts: the order of adding, and that what parts keep stays as it is."""

from typing import NamedTuple

import numpy as np
import pytest

import rankwright as rw
from rankwright.engines import Local, Stream
from tests.streaming import streamed


@pytest.fixture(scope="module")
def queries():
    return rw.datasets.make_queries(n_queries=30, documents=5, seed=0).queries


class Pair(NamedTuple):
    array: np.ndarray
    number: float


def _keeps(part):
    """Returns arrays that belong to the part, as a step may."""
    kept = part.state.setdefault("kept", np.full(2, float(part.n_queries)))
    return Pair(kept, 1.0), [part.first_query], None


def _of_state(state):
    return state["kept"]


@pytest.mark.parametrize("n_parts", [1, 2, 3, 7])
def test_a_sum_does_not_change_what_parts_keep(queries, n_parts):
    stream = streamed(queries, n_parts)
    engine = Stream(stream)
    for _ in range(3):
        (array, number), firsts, nothing = engine.sum(_keeps)
        assert array.tolist() == [30, 30]
        assert number == stream.n_parts == len(firsts)
        assert firsts == sorted(firsts)
        assert nothing is None
        assert engine.sum_of_states(_of_state).tolist() == [30, 30]
    (array, _), _, _ = Local(queries).sum(_keeps)
    assert array.tolist() == [30, 30]
