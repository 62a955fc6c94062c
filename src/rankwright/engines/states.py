"""The states of parts that are read one after the other: in memory up to a limit, beyond it in files of their own."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.state import State


class _File(NamedTuple):
    """An array in a file: nothing but its numbers."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def mapped(self) -> npt.NDArray[Any]:
        """The array, whose changes go to the file. Kernels take plain arrays, which see the same memory."""
        return np.asarray(np.memmap(self.path, self.dtype, "r+", shape=self.shape))


class States:
    """A state for each part seen so far. Files are in a temporary folder that goes when this does, or the program ends.

    ``memory`` is how many bytes all arrays in memory may take. A part whose arrays do not fit keeps them in files,
    which are mapped while a step works on them, so that only what it looks at is read.
    """

    def __init__(self, memory: int) -> None:
        self._memory = memory
        self._states: list[State] = []
        self._sizes: list[int] = []
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
        yield state
        if isinstance(state, _FiledState):
            state.put_away()
            return
        self._sizes[number] = sum(array.nbytes for array in state.values())
        if sum(self._sizes) > self._memory:
            self._sizes[number] = 0
            self._states[number] = self._filed(state)

    def _filed(self, state: State) -> _FiledState:
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="rankwright-")
        filed = _FiledState(state, Path(self._folder.name), self._numbers)
        filed.put_away()
        return filed


class _FiledState(State):
    """Arrays in files. One is mapped when it is asked for, until all are put away."""

    def __init__(self, state: State, folder: Path, numbers: Iterator[int]) -> None:
        super().__init__(state.offsets, state.first_query)
        self._folder, self._numbers = folder, numbers
        self._files: dict[Hashable, _File] = {}
        self._mapped: dict[Hashable, npt.NDArray[Any]] = {}
        self.update(state)

    def __missing__(self, name: Hashable) -> npt.NDArray[Any]:
        self[name] = self._mapped[name] = self._files[name].mapped()
        return self[name]

    def get(self, name: Hashable, default: Any = None) -> Any:
        """As of other dictionaries."""
        return self[name] if name in self else default  # noqa: SIM401 - this is what get is made of

    def __contains__(self, name: object) -> bool:
        return super().__contains__(name) or name in self._files

    def __iter__(self) -> Iterator[Hashable]:
        return iter({**dict.fromkeys(self._files), **dict.fromkeys(super().__iter__())})

    def __delitem__(self, name: Hashable) -> None:
        if super().__contains__(name):
            super().__delitem__(name)
        if name in self._files:
            self._files.pop(name).path.unlink()

    def put_away(self) -> None:
        """Write what is new, and let go of what is mapped."""
        for name, array in super().items():
            if name in self._files and array is self._mapped.get(name):
                continue
            if name in self._files:
                self._files.pop(name).path.unlink()
            path = self._folder / str(next(self._numbers))
            np.ascontiguousarray(array).tofile(path)
            self._files[name] = _File(path, array.dtype, array.shape)
        self._mapped.clear()
        self.clear()
