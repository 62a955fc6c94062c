"""The states of parts that are read one after the other: in memory up to a limit, beyond it in files of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwright.data.state import State


class States:
    """A state for each part seen so far. Files are in a temporary folder that goes when this does, or the program ends.

    ``memory`` is how many bytes all arrays in memory may take. A part whose arrays do not fit keeps them in files,
    which are mapped while a step works on them, so that only what it looks at is read.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._states: list[State] = []
        self._sizes: list[int] = []
        self._files: dict[int, dict[Hashable, Path]] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._states)

    @contextmanager
    def use(self, number: int, new: State | None = None) -> Iterator[State]:
        """The state of a part, to be read and changed; parts are seen in their order, and bring a new one at first."""
        if number == len(self._states):
            assert new is not None
            self._states.append(new)
            self._sizes.append(0)
        state = self._states[number]
        mapped = self._mapped(number)
        state.update(mapped)
        yield state
        self._sizes[number] = 0 if mapped else _n_bytes(state)
        if mapped or sum(self._sizes) > self._memory:
            self._put_into_files(number, state, mapped)

    def _mapped(self, number: int) -> dict[Hashable, npt.NDArray[Any]]:
        files = self._files.get(number, {})
        # Kernels take plain arrays: these see the same memory as the mapped ones.
        return {name: np.asarray(np.load(path, mmap_mode="r+", allow_pickle=False)) for name, path in files.items()}

    def _put_into_files(self, number: int, state: State, mapped: dict[Hashable, npt.NDArray[Any]]) -> None:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="rankwright-")
        files = self._files.setdefault(number, {})
        for name in [*files]:
            if state.get(name) is not mapped.get(name):
                files.pop(name).unlink()  # what is mapped stays readable until it is let go
        for name, array in state.items():
            if name not in files:
                path = Path(self._folder.name) / f"{next(self._numbers)}.npy"
                np.save(path, array, allow_pickle=False)
                files[name] = path
        state.clear()
        self._sizes[number] = 0


def _n_bytes(state: State) -> int:
    return sum(array.nbytes for array in state.values())
