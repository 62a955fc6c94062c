"""`Partitions`: some objects `Queries`, each in the memory of some process of a cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rankwright.data.queries import Queries

# The place of a partition, and what a function is given besides, of this partition alone.
Own = tuple[int, tuple[Any, ...]]


class Partitions(ABC):
    """Queries that stay where they are. What a cluster loses of them, it makes again in the same way."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def made(self, what: str, function: Callable[..., Queries], own: Sequence[Own]) -> Partitions:
        """``function(queries, *own)`` of some of them, which stays there; ``what`` is what people call it."""

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
