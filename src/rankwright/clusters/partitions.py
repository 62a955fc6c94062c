"""`Partitions`: some objects `Queries`, each in the memory of some process of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rankwright.data.queries import Queries

# The place of a partition, and what a function is given besides, of this partition alone.
Own = tuple[int, tuple[Any, ...]]


class Move(NamedTuple):
    """Queries of a partition, by their places in it, that go to another one."""

    queries: npt.NDArray[np.intp]
    source: int
    goal: int


class Partitions(ABC):
    """Queries that stay where they are. What a cluster loses of them, it makes again in the same way.

    While they are loaded, they are what was read, with what is known of the reading: see `Read`.
    """

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def made(self, what: str, function: Callable[..., Queries], own: Sequence[Own]) -> Partitions:
        """``function(queries, *own)`` of some of them, which stays there; ``what`` is what people call it.

        A partition that is named several times is cut: what is made of it is dealt to all processes.
        """

    @abstractmethod
    def moved(self, moves: Sequence[Move]) -> Partitions:
        """The same with some queries in other partitions, by `with_moved`."""

    @abstractmethod
    def results(
        self, what: str, function: Callable[..., Any], *sent: Any, only: Sequence[int] | None = None
    ) -> Iterator[Any]:
        """``function(queries, *sent)`` of all of them, or of some, in their order, brought here."""

    @abstractmethod
    def put(self, parts: Iterable[Queries]) -> Partitions:
        """Queries that are here, as partitions of the same cluster."""

    @abstractmethod
    def followed_by(self, others: Partitions) -> Partitions:
        """These, and others of the same cluster behind them."""
