"""The three kinds of supervision a query can carry: grades, a full ranking, or a preference graph."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from rankwright.arrays import real_numbers
from rankwright.errors import DataError
from rankwright.judgments.grouping import Grouping, own_and_frozen


class _Remade:
    """Copied and unpickled by making it anew, so that its arrays are frozen again."""

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]


def _column(values: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    column = real_numbers(values, name)
    if isinstance(values, np.ndarray) and values.dtype != np.float64:
        column.setflags(write=False)  # it was made here: no need to copy it once more
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1:
        raise DataError(f"{name} must be one number per row, not an array of shape {column.shape}")
    return column


def _whole_numbers(values: npt.ArrayLike, name: str) -> npt.NDArray[np.int64]:
    column = _column(values, name)
    if not np.all(np.abs(column) < 2.0**53) or not np.all(column == np.floor(column)):
        raise DataError(f"{name} must be whole numbers")
    return column.astype(np.int64)


@dataclass(frozen=True, eq=False)
class Grades(_Remade):
    """One relevance grade y_i ≥ 0 per document, 0 = bad. Fractions are allowed; NaN and infinity are not."""

    values: npt.NDArray[np.float64]
    kind: ClassVar[str] = "grades"

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", own_and_frozen(_column(self.values, "grades")))

    def __len__(self) -> int:
        return len(self.values)

    def validate(self, grouping: Grouping) -> None:
        """Raise a :class:`DataError` that names the row and query of the first grade that is not one."""
        bad = ~(self.values >= 0) | np.isinf(self.values)
        if bad.any():
            row = int(np.argmax(bad))
            raise DataError(
                f"row {row} (query {grouping.query_of_row(row)!r}): the grade is {self.values[row]:g}, "
                "but grades are finite and at least 0 (0 = not relevant)"
            )

    def take(self, rows: npt.NDArray[np.intp] | slice) -> Grades:
        """The grades of the given rows; of a slice, a view of these, which never change."""
        taken = object.__new__(Grades)
        values = self.values[rows]
        values.setflags(write=False)
        object.__setattr__(taken, "values", values)
        return taken


@dataclass(frozen=True, eq=False)
class FullRanking(_Remade):
    """A complete order of each query's documents: one rank per document, 1 = best, each rank once."""

    ranks: npt.NDArray[np.int64]
    kind: ClassVar[str] = "full ranking"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ranks", own_and_frozen(_whole_numbers(self.ranks, "ranks")))

    def __len__(self) -> int:
        return len(self.ranks)

    def validate(self, grouping: Grouping) -> None:
        """Raise a :class:`DataError` that names the first query whose ranks are not 1, …, m_q."""
        grouped = grouping.gather(self.ranks)
        sizes = np.diff(grouping.offsets)
        query = np.repeat(np.arange(len(sizes)), sizes)
        in_order = np.lexsort((grouped, query))
        expected = np.arange(len(grouped)) - np.repeat(grouping.offsets[:-1], sizes) + 1
        wrong = grouped[in_order] != expected
        if wrong.any():
            q = int(query[np.argmax(wrong)])
            raise DataError(
                f"query {grouping.query_id(q)!r}: a full ranking must have each rank from 1 to {sizes[q]} exactly once"
            )

    def take(self, rows: npt.NDArray[np.intp] | slice) -> FullRanking:
        """The ranks of the given rows."""
        return FullRanking(self.ranks[rows])


@dataclass(frozen=True, eq=False)
class PreferenceGraph(_Remade):
    """Weighted edges i → j between rows of one query: a_ij ≥ 0 is the cost of putting j above i."""

    n_documents: int
    preferred: npt.NDArray[np.intp]
    other: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float64] = None  # type: ignore[assignment]  # None becomes ones
    kind: ClassVar[str] = "preference graph"

    def __post_init__(self) -> None:
        preferred, other = (_whole_numbers(ends, "ends of edges") for ends in (self.preferred, self.other))
        weights = np.ones(len(preferred)) if self.weights is None else _column(self.weights, "edge weights")
        if not len(preferred) == len(other) == len(weights):
            raise DataError(
                f"an edge has two ends and a weight, but there are {len(preferred)} preferred rows, "
                f"{len(other)} other rows and {len(weights)} weights"
            )
        for name, values in (("preferred", preferred), ("other", other), ("weights", weights)):
            object.__setattr__(self, name, own_and_frozen(values))

    def __len__(self) -> int:
        return self.n_documents

    def validate(self, grouping: Grouping) -> None:
        """Raise a :class:`DataError` that names the first edge that cannot be one."""
        for ends in (self.preferred, self.other):
            outside = (ends < 0) | (ends >= self.n_documents)
            if outside.any():
                edge = int(np.argmax(outside))
                raise DataError(f"edge {edge} names row {ends[edge]}, but rows go from 0 to {self.n_documents - 1}")
        across = grouping.codes[self.preferred] != grouping.codes[self.other]
        if across.any():
            edge = int(np.argmax(across))
            i, j = int(self.preferred[edge]), int(self.other[edge])
            raise DataError(
                f"edge {edge} joins rows {i} and {j} of different queries "
                f"({grouping.query_of_row(i)!r} and {grouping.query_of_row(j)!r})"
            )
        loops = self.preferred == self.other
        if loops.any():
            edge = int(np.argmax(loops))
            raise DataError(f"edge {edge} prefers row {self.preferred[edge]} to itself")
        bad = ~(self.weights >= 0) | np.isinf(self.weights)
        if bad.any():
            edge = int(np.argmax(bad))
            raise DataError(f"edge {edge} has weight {self.weights[edge]:g}, but weights are finite and at least 0")

    def take(self, rows: npt.NDArray[np.intp] | slice) -> PreferenceGraph:
        """The edges between the given rows, renumbered; rows must hold whole queries."""
        positions = np.arange(self.n_documents)[rows]
        new_row = np.full(self.n_documents, -1, dtype=np.intp)
        new_row[positions] = np.arange(len(positions))
        kept = (new_row[self.preferred] >= 0) & (new_row[self.other] >= 0)
        return PreferenceGraph(
            len(positions), new_row[self.preferred[kept]], new_row[self.other[kept]], self.weights[kept]
        )


Supervision = Grades | FullRanking | PreferenceGraph
