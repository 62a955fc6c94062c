"""States of parts in memory and in files: a step does not see the difference."""

from pathlib import Path

import numpy as np
import pytest

from rankwright.data.state import State
from rankwright.engines.states import States

MEMORY = [10**9, 500, 0]


def new(first_query=0):
    return State(np.array([0, 2, 5]), first_query)


@pytest.mark.parametrize("memory", MEMORY)
def test_arrays_are_what_they_were_left_as(memory):
    rng, states = np.random.default_rng(0), States(memory)
    expected = {}
    for number in range(3):
        expected[number] = {"a": rng.standard_normal((4, 5)), "b": np.arange(6, dtype=np.int64).reshape(2, 3)}
        with states.use(number, new(2 * number)) as state:
            state.update({name: array.copy() for name, array in expected[number].items()})
    assert len(states) == 3
    for round_number in range(3):
        for number in range(3):
            with states.use(number) as state:
                assert (state.first_query, state.n_queries) == (2 * number, 2)
                assert set(state) == set(expected[number])
                assert "z" not in state
                assert state.get("z") is None
                for name, array in expected[number].items():
                    np.testing.assert_array_equal(state[name], array)
                    assert state[name].dtype == array.dtype
                    assert type(state[name]) is np.ndarray
                state["a"][round_number] = number  # in place
                expected[number]["a"][round_number] = number
                state["b"] = np.pad(state["b"], ((0, 0), (0, 1)))  # another array
                expected[number]["b"] = np.pad(expected[number]["b"], ((0, 0), (0, 1)))
                state["c"] = state["a"][:2]  # a view of what is in a file
                expected[number]["c"] = expected[number]["a"][:2].copy()
                if round_number == 2:
                    del state["a"]
                    del expected[number]["a"]


def test_a_step_sees_only_what_it_asks_for():
    states = States(0)
    with states.use(0, new()) as state:
        state["large"], state["small"] = np.zeros(1000), np.ones(3)
    with states.use(0) as state:
        state["small"] += 1
        assert set(state.keys()) <= {"small"}
    with states.use(0) as state:
        np.testing.assert_array_equal(state["small"], [2, 2, 2])
        assert not state["large"].any()


@pytest.mark.parametrize(("memory", "in_files"), [(24 * 8, 0), (24 * 8 - 1, 1), (8 * 8, 2), (0, 3)])
def test_only_what_does_not_fit_lies_in_files(memory, in_files):
    states = States(memory)
    for number in range(3):
        with states.use(number, new()) as state:
            state["a"] = np.zeros(8)
    folder = states._folder
    assert in_files == (0 if folder is None else len(list(Path(folder.name).iterdir())))
